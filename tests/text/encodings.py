"""FOLDER/encodings/NAME.json: thousands of strings, encoded and decoded by the Python `tokenizers`.

texts    with markers, code, many scripts, broken spacing, long runs; a part made for NAME alone
plain, special  ids of every text without and with special tokens
unmarked ids with every marker read as plain text; null where the vocabulary itself spells one
kept, skipped   decodes of the special ids, with and without special tokens; null: equal to the text
random, random_text  lists of ids of no text, and their decodes
folder   ids that transformers' AutoTokenizer gives, special tokens added (some tokenizers)
"""
import glob
import json
import os
import random
import sys

from tokenizers import Tokenizer

RANGES = [(0x20, 0x7e), (0xa0, 0x24f), (0x300, 0x36f), (0x370, 0x3ff), (0x400, 0x4ff), (0x5d0, 0x5ea),
          (0x620, 0x64a), (0x900, 0x94d), (0xe00, 0xe5b), (0x1100, 0x11ff), (0x2000, 0x206f), (0x2190, 0x21ff),
          (0x2580, 0x259f), (0x3040, 0x30ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3), (0xe000, 0xe0ff), (0xfe00, 0xfe0f),
          (0xff00, 0xffef), (0x10000, 0x100ff), (0x1d400, 0x1d4ff), (0x1f300, 0x1faff), (0x20000, 0x200ff)]
WORDS = """the of and a to in is you that it he was for on are as with his they I at be this have from or one had by
word but not what all were we when your can said there use an each which she do how their if will up other about out
many then them these so some her would make like him into time has look two more write go see number no way could
naïve façade Straße über años corazón 東京 日本語 中文 한국어 мир привет שלום سلام नमस्ते ภาษาไทย 🎉 👩🏽‍🚀 🏳️‍🌈 ½ ²""".split()
CODE = ["def f(x):", "    return x", "for (int i = 0; i < n; ++i) {", "}", "\t\tif a == b:", "#include <vector>", "// comment",
        "let s = `x${y}`;", "SELECT * FROM t WHERE a >= 1;", "<div class=\"a\">&amp;</div>", "{\"k\": [1, 2.5e-3, null]}", "\\n\\t\\\\"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", " \n ", "\u00a0", "\u3000", "\u200b", "\u2581", "    ", "\x0b", "\x0c", "\u2028"]
GUARDED = {"deepseek_v3", "gemma1", "llama2", "minilm", "qwen3"}


def text(rng, markers):
    kind = rng.randrange(10)
    if kind == 0:
        lo, hi = rng.choice(RANGES)
        return "".join(chr(rng.randint(lo, hi)) for _ in range(rng.randint(1, 30)))
    if kind == 1:
        return "".join(chr(rng.randint(*rng.choice(RANGES))) for _ in range(rng.randint(1, 40)))
    if kind == 2:
        return rng.choice(["\n", "\n  ", "\n\t", " "]).join(rng.choice(CODE) for _ in range(rng.randint(1, 6)))
    if kind == 3:
        return "".join(rng.choice(SPACES) + rng.choice(["", rng.choice(WORDS)]) for _ in range(rng.randint(1, 12)))
    if kind == 4 and markers:
        return "".join(rng.choice(["", " ", "  ", "\n"]) + rng.choice([rng.choice(markers), rng.choice(WORDS)])
                       for _ in range(rng.randint(1, 8)))
    if kind == 5:
        return "".join(rng.choice("0123456789.,-+eExX %$") for _ in range(rng.randint(1, 25)))
    if kind == 6:
        return rng.choice("aA1 \n.!-=_#*\u4e2d\u00e9") * rng.randint(1, 80)
    if kind == 7:
        return "".join(rng.choice("<>[]|/{}()'\"`~@^&\\" + "im_startend ") for _ in range(rng.randint(1, 30)))
    return rng.choice(["", " ", "  "]) + " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 25)))


def texts(name, tok):
    rng = random.Random(f"hearth {name}")
    added = [t.content for t in tok.get_added_tokens_decoder().values()]
    markers = [t for t in added if t.strip()][:200] or ["<s>"]
    made = ["", " ", "Dear team,\n\n  two spaces here.", "<0x0A> <0xE6>", "\ufffd", "a\ufffdb"] + added[:50]
    made += [text(rng, markers) for _ in range(2200)]
    made += [" ".join(rng.choice(WORDS) for _ in range(1500)), "A" * 5000, "\n".join(CODE * 30), "日本語" * 700]
    return made


def is_marker(token):
    t = token.content.strip()
    return token.special or (len(t) > 2 and (t[0], t[-1]) in (("<", ">"), ("[", "]")))


def unmarked(path, tok, made):
    """Encodings by a copy of the tokenizer without its markers."""
    with open(path, encoding="utf-8") as f:
        spec = json.load(f)
    markers = {i for i, t in tok.get_added_tokens_decoder().items() if is_marker(t)}
    spec["added_tokens"] = [t for t in spec["added_tokens"] if t["id"] not in markers]
    spec["post_processor"] = None
    copy = Tokenizer.from_str(json.dumps(spec))
    copy.no_padding(), copy.no_truncation()
    result = []
    for e in copy.encode_batch(made, add_special_tokens=False):
        ids = [tok.token_to_id(t) for t in e.tokens]
        result.append(None if markers & set(ids) else ids)
    return result


def folder_ids(folder, made):
    from transformers import AutoTokenizer
    tok = AutoTokenizer.from_pretrained(folder)
    sample = made[:6] + made[60:260]
    return {"texts": sample, "ids": [tok(t).input_ids for t in sample]}


def encode(path, name):
    tok = Tokenizer.from_file(path)
    tok.no_padding(), tok.no_truncation()
    made = texts(name, tok)
    plain = [e.ids for e in tok.encode_batch(made, add_special_tokens=False)]
    special = [e.ids for e in tok.encode_batch(made, add_special_tokens=True)]

    def decoded(skip):
        return [None if d == t else d for d, t in zip(tok.decode_batch(special, skip_special_tokens=skip), made)]

    rng = random.Random(f"ids {name}")
    size = tok.get_vocab_size()
    lists = [[rng.randrange(size) for _ in range(rng.randint(1, 40))] for _ in range(300)]
    folder = folder_ids(os.path.dirname(path), made) if name in GUARDED else None
    return {"texts": made, "plain": plain, "special": special, "unmarked": unmarked(path, tok, made),
            "kept": decoded(False), "skipped": decoded(True), "random": lists,
            "random_text": tok.decode_batch(lists, skip_special_tokens=False), "folder": folder}


def main():
    root = sys.argv[1]
    os.makedirs(os.path.join(root, "encodings"), exist_ok=True)
    for path in sorted(glob.glob(os.path.join(root, "reference", "*", "tokenizer.json"))):
        name = os.path.basename(os.path.dirname(path))
        with open(os.path.join(root, "encodings", name + ".json"), "w", encoding="utf-8") as f:
            json.dump(encode(path, name), f, ensure_ascii=False)


if __name__ == "__main__":
    main()
