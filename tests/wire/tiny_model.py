"""Makes a llama of random weights with the starter model's tokenizer: quick, never at a loss for words."""
import json
import pathlib
import shutil
import sys

import numpy
from safetensors.numpy import save_file

HIDDEN, LAYERS, HEADS, KV_HEADS, FEED_FORWARD = 64, 2, 4, 2, 128


def make(source, folder, seed=1):
    """Writes the model to `folder`. `source` has the tokenizer and the chat template."""
    source, folder = pathlib.Path(source), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = json.loads((source / "config.json").read_text())
    vocab, head = config["vocab_size"], HIDDEN // HEADS
    config.update(
        model_type="llama", hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS, intermediate_size=FEED_FORWARD, head_dim=head,
        tie_word_embeddings=True, max_position_embeddings=4096, torch_dtype="float32")
    for gone in ("quantization", "quantization_config"):
        config.pop(gone, None)
    random = numpy.random.default_rng(seed)

    def matrix(rows, columns):
        return random.normal(0, 0.08, (rows, columns)).astype(numpy.float32)

    weights = {"model.embed_tokens.weight": matrix(vocab, HIDDEN),
               "model.norm.weight": numpy.ones(HIDDEN, numpy.float32)}
    for i in range(LAYERS):
        at = f"model.layers.{i}"
        weights |= {
            f"{at}.self_attn.q_proj.weight": matrix(HEADS * head, HIDDEN),
            f"{at}.self_attn.k_proj.weight": matrix(KV_HEADS * head, HIDDEN),
            f"{at}.self_attn.v_proj.weight": matrix(KV_HEADS * head, HIDDEN),
            f"{at}.self_attn.o_proj.weight": matrix(HIDDEN, HEADS * head),
            f"{at}.mlp.gate_proj.weight": matrix(FEED_FORWARD, HIDDEN),
            f"{at}.mlp.up_proj.weight": matrix(FEED_FORWARD, HIDDEN),
            f"{at}.mlp.down_proj.weight": matrix(HIDDEN, FEED_FORWARD),
            f"{at}.input_layernorm.weight": numpy.ones(HIDDEN, numpy.float32),
            f"{at}.post_attention_layernorm.weight": numpy.ones(HIDDEN, numpy.float32),
        }
    save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    for path in source.iterdir():
        if path.suffix in (".json", ".jinja", ".txt") and path.name not in (
                "config.json", "model.safetensors.index.json", "generation_config.json"):
            shutil.copy(path, folder / path.name)
    return folder


if __name__ == "__main__":
    print(make(sys.argv[1], sys.argv[2]))
