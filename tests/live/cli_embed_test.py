"""Embeddings by a real encoder, against its own forward pass written out in numpy."""
import base64
import json
import math
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest
import tokenizers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "wire"))
import serving  # noqa: E402

erf = np.vectorize(math.erf)
ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTMODELS = pathlib.Path(os.environ.get("HEARTH_TESTMODELS") or ROOT.parent / "shared" / "testmodels")
TEXTS = ["A cat sleeps on the sofa.", "The stock market fell sharply today.", "Ein Kätzchen schläft auf dem Sofa.",
         "sea", "The lighthouse keeper wrote in her journal every evening. " * 14]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = ROOT / ".cache" / "minilm"
    if not (folder / "model.safetensors").exists():
        subprocess.run([sys.executable, TESTMODELS / "make_minilm.py", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def reference(encoder):
    """A function: text to the vector that arXiv 1810.04805 and the folder's own files give, in float64."""
    from safetensors.numpy import load_file

    config = json.loads((encoder / "config.json").read_text())
    w = {name: x.astype(np.float64) for name, x in load_file(encoder / "model.safetensors").items()}
    tokenizer = tokenizers.Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    heads = config["num_attention_heads"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + config["layer_norm_eps"])
        return scaled * w[name + ".weight"] + w[name + ".bias"]

    def split(x):
        return x.reshape(len(x), heads, -1).transpose(1, 0, 2)

    def vector(text):
        ids = tokenizer.encode(text).ids
        h = norm(w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:len(ids)]
                 + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for i in range(config["num_hidden_layers"]):
            at = f"encoder.layer.{i}"
            q, k, v = (split(linear(h, f"{at}.attention.self.{part}")) for part in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (weights / weights.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
            h = norm(h + linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            wide = linear(h, f"{at}.intermediate.dense")
            wide = wide * (1 + erf(wide / np.sqrt(2))) / 2
            h = norm(h + linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = h.mean(0)
        return mean / np.linalg.norm(mean), len(ids)

    return vector


def cosine(a, b):
    return float(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.fixture(scope="module")
def server(encoder):
    with serving.Server(encoder) as running:
        yield running


def ask(server, expect=200, **body):
    reply = server.http.post("/v1/embeddings", json=body)
    assert reply.status_code == expect, reply.text
    return reply.json()


@pytest.mark.parametrize("tier", [[], ["--l1"]])
def test_lines_become_the_vectors_of_the_reference(hearth, encoder, reference, tier):
    done = hearth("embed", encoder, *tier, input="\n\n".join(TEXTS).encode())
    assert done.returncode == 0, done.stderr
    vectors = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(vectors) == len(TEXTS)
    for text, vector in zip(TEXTS, vectors):
        assert cosine(vector, reference(text)[0]) > 0.9999, text
        assert abs(np.linalg.norm(vector) - 1) < 1e-5
    assert cosine(vectors[0], vectors[2]) > cosine(vectors[0], vectors[1])


def test_a_batch_gives_what_each_text_gives_alone(server, reference):
    together = ask(server, model=server.model, input=TEXTS)
    for row, text in zip(together["data"], TEXTS):
        alone = ask(server, input=text)["data"][0]["embedding"]
        assert row["embedding"] == alone
    assert [row["index"] for row in together["data"]] == list(range(len(TEXTS)))
    tokens = sum(reference(text)[1] for text in TEXTS)
    assert together["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}


def test_base64_holds_the_same_floats(server):
    plain = ask(server, input="hello", encoding_format="float")["data"][0]["embedding"]
    packed = base64.b64decode(ask(server, input="hello", encoding_format="base64")["data"][0]["embedding"])
    assert list(struct.unpack(f"<{len(packed) // 4}f", packed)) == pytest.approx(plain, rel=1e-7)


def test_token_ids_are_taken_as_they_are(server, encoder):
    tokenizer = tokenizers.Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tokenizer.no_padding()
    ids = tokenizer.encode("hello there").ids
    as_text = ask(server, input="hello there")["data"][0]["embedding"]
    assert ask(server, input=ids)["data"][0]["embedding"] == as_text
    assert ask(server, input=[ids, ids])["data"][1]["embedding"] == as_text


def test_the_official_client_reads_it(server):
    import openai

    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
    assert len(client.embeddings.create(model=server.model, input="hello").data[0].embedding) == 384


@pytest.mark.parametrize("body, field", [
    ({"input": ""}, "input"), ({"input": []}, "input"), ({"input": ["a", ""]}, "input"), ({}, "input"),
    ({"input": [[]]}, "input"), ({"input": [99999999]}, "input"), ({"input": "a", "encoding_format": "hex"}, "encoding_format"),
    ({"input": "a", "dimensions": 128}, "dimensions"), ({"input": "a", "prompt_name": "query"}, "prompt_name"),
    ({"input": "word " * 700}, "input"), ({"input": ["a"] * 2049}, "input"),
])
def test_what_cannot_be_embedded_is_a_400_that_names_the_field(server, body, field):
    assert ask(server, expect=400, **body)["error"]["param"] == field


def test_a_long_text_is_cut_only_when_asked(server):
    cut = ask(server, input="word " * 700, truncate=True)
    assert cut["usage"]["prompt_tokens"] == 256
    ollama = server.http.post("/api/embed", json={"input": ["word " * 700, "hi"]}).json()
    assert len(ollama["embeddings"]) == 2 and len(ollama["embeddings"][0]) == 384


def test_it_does_not_chat(server):
    reply = server.http.post("/v1/completions", json={"prompt": "hello", "max_tokens": 3})
    assert reply.status_code == 400 and "/v1/embeddings" in reply.json()["error"]["message"]


def test_json_is_openais_list(hearth, encoder):
    done = hearth("embed", "--model", encoder, "--json", "hello")
    answer = json.loads(done.stdout)
    assert answer["object"] == "list" and answer["data"][0]["object"] == "embedding"


def test_without_an_embedding_model_it_says_so(hearth, model):
    done = hearth("embed", "--text", "hello")
    assert done.returncode == 1 and b"no embedding model" in done.stderr
    done = hearth("embed", model, "hello")
    assert done.returncode == 1 and b"makes no embeddings" in done.stderr
