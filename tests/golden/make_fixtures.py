"""Makes the golden fixtures: models, prompts, and the logits mlx-lm gives for them on this machine.

usage: make_fixtures.py FOLDER [NAME ...]      (with the oracle's Python; NAME as in the manifest)

FOLDER/manifest.json lists the models: {"models": [{"name", "folder", "fast", "fixtures"}]}, paths relative to
FOLDER; "fast" says whether the fast tier is held to it too. A fixture is a safetensors file:
    prompt  int32   [P]       token ids
    chunk   int32   [1]       most tokens of a chunk of it
    greedy  int32   [S]       what mlx-lm's greedy sampler picked
    logits  float32 [S+1, V]  raw logits after the prompt and after each greedy token, widened
The numbers come from mlx_lm.generate.generate_step itself, on the CPU, in its own chunks.

Nothing here is committed: kernels differ between processors, so the machine that checks also makes.
A model whose scripts, pins and processor have not changed is kept from the last run.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import multiprocessing
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTMODELS = pathlib.Path(os.environ.get("HEARTH_TESTMODELS") or ROOT.parent / "shared" / "testmodels")
ORACLE_PACKAGES = ("mlx", "mlx-lm")

TINY_FAMILIES = {  # our name -> (family of make_tiny.py, what differs)
    "llama": ("llama", {}),
    "llama_wide": ("llama", {"hidden_size": 192, "num_attention_heads": 3, "num_key_value_heads": 1,
                             "head_dim": 64, "intermediate_size": 320}),
    "llama_rope3": ("llama_rope3", {}),
    "mistral": ("mistral", {}),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {}),
    "qwen3_yarn": ("qwen3_yarn", {}),
    "gemma3_text": ("gemma3_text", {}),
    "gemma3_window512": ("gemma3_text", {"sliding_window": 512}),
}
TINY_VARIANTS = ("bf16", "f16", "f32", "q4", "q8")
FEWER_VARIANTS = {  # these differ from their family in shape or positions alone
    "llama_wide": ("f32", "q4"), "mistral": ("bf16", "q4"), "llama_rope3": ("bf16", "q4"), "qwen3_yarn": ("bf16", "q4"),
    "gemma3_window512": ("bf16", "q4")}
TINY_PROMPTS, TINY_STEPS = (1, 17, 600, 2100), 100

SHORT_FAMILIES = {  # as above, with less to run: the graph is what is new in them
    **{name: (name, {}) for name in (
        "smollm3", "gemma", "gemma2", "phi3", "phi3_longrope", "olmo2", "olmo3", "glm4", "granite", "starcoder2",
        "minicpm", "mistral3", "ministral3", "qwen3_moe", "qwen2_moe", "mixtral", "gpt_oss", "glm4_moe",
        "qwen3_5", "lfm2", "gemma4_text", "gemma4", "deepseek_v3", "glm4_moe_lite")},
    "llama_formats": ("llama", {"hidden_size": 128, "intermediate_size": 256}),
    "llama_linear": ("llama", {"rope_scaling": {"type": "linear", "factor": 4.0}}),
    "llama_dynamic": ("llama", {"rope_scaling": {"type": "dynamic", "factor": 2.0}, "max_position_embeddings": 48}),
    "phi4_partial": ("phi3", {"partial_rotary_factor": 0.75, "tie_word_embeddings": True}),
    "seed_oss": ("llama", {"model_type": "seed_oss", "head_dim": 32, "attention_bias": True}),
    "ernie4_5": ("llama", {"model_type": "ernie4_5", "head_dim": 32, "use_bias": False, "tie_word_embeddings": True}),
    "hunyuan_v1_dense": ("llama", {"model_type": "hunyuan_v1_dense", "head_dim": 32, "rope_scaling": {
        "type": "dynamic", "alpha": 1000.0, "factor": 1.0}}),
}
SHORT_VARIANTS = ("bf16", "q4")
FORMATS = {  # of llama_formats: (mode, group, bits)
    "q2": ("affine", 32, 2), "q3": ("affine", 64, 3), "q4g128": ("affine", 128, 4), "q5": ("affine", 64, 5),
    "q6": ("affine", 32, 6), "mxfp4": ("mxfp4", 32, 4), "mxfp8": ("mxfp8", 32, 8), "nvfp4": ("nvfp4", 16, 4)}
WITHOUT_BF16 = {"qwen3_moe", "qwen2_moe", "mixtral", "gpt_oss", "glm4_moe", "gemma4", "deepseek_v3", "glm4_moe_lite"}  # MLX gathers dense float32 only
SHORT_PROMPTS, SHORT_STEPS, SHORT_CHUNK = (1, 75), 32, 32
ONLY_L1 = {
    "llama_dynamic/bf16", "llama_dynamic/q4",  # beyond its window our kernels turn as within it
    "gemma4/q4",  # bfloat16 rounds the router's scores, so that some tokens choose other experts; f32 is held
}

REAL_MODELS = {  # name -> (script of TESTMODELS, its flags)
    "smollm2/f32-scales": ("make_smollm2.py", ["--form", "exact"]),
    "smollm2/bf16": ("make_smollm2.py", ["--form", "bf16"]),
    "qwen2.5-0.5b/q4": ("make_qwen25.py", ["--form", "q4"]),
    "gemma3-270m/bf16": ("make_gemma3.py", ["--form", "bf16"]),
}
REAL_PROMPT, REAL_STEPS = 30, 20
REAL_TEXT = ("The lighthouse keeper wrote in her journal every evening. On the third of March she noted that "
             "the wind had turned, that two ships had passed to the north, and that the lamp needed oil.")


def names():
    """Every model, the slowest first."""
    tiny = [f"{family}/{variant}" for family in TINY_FAMILIES
            for variant in FEWER_VARIANTS.get(family, TINY_VARIANTS)]
    short = [f"{family}/{'f32' if family in WITHOUT_BF16 and variant == 'bf16' else variant}"
             for family in SHORT_FAMILIES
             for variant in (FORMATS if family == "llama_formats" else SHORT_VARIANTS)]
    return [*REAL_MODELS, *tiny, *short]


def is_short(name):
    return name.split("/")[0] in SHORT_FAMILIES


def processor():
    """What tells this machine's kernels from another's."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    except OSError:
        return platform.processor() + platform.machine()


@functools.cache
def key():
    """Changes when a fixture made earlier may no longer be what this script would make."""
    from importlib.metadata import version

    scripts = [pathlib.Path(__file__), *sorted(TESTMODELS.glob("*.py"))]
    parts = [path.read_bytes() for path in scripts]
    parts += [f"{package} {version(package)}".encode() for package in ORACLE_PACKAGES]
    return hashlib.sha256(b"\0".join([*parts, processor().encode()])).hexdigest()


@functools.cache
def make_tiny():
    """The module of TESTMODELS with our families, and q8 for all, added to its tables."""
    sys.path.insert(0, str(TESTMODELS))
    import make_tiny as tiny

    tiny.EXTRA = {}
    known = dict(tiny.FAMILIES)
    for name, (family, changes) in {**TINY_FAMILIES, **SHORT_FAMILIES}.items():
        tiny.FAMILIES[name] = {"model_type": family, **known[family], "max_position_embeddings": 4096, **changes}
        tiny.EXTRA[name] = {"q8": ("affine", 64, 8), **(FORMATS if name == "llama_formats" else {})}
    return tiny


def make_model(name, folder):
    """Writes the model's folder."""
    if name in REAL_MODELS:
        script, flags = REAL_MODELS[name]
        subprocess.run([sys.executable, TESTMODELS / script, folder, *flags], check=True,
                       stdout=subprocess.DEVNULL)
        return
    tiny = make_tiny()
    family, variant = name.split("/")
    tokenizer, template = tiny.tiny_tokenizer()
    tiny.build(family, variant, str(folder), tokenizer, template, [1, 2, 3])


def prompts(name, folder, vocabulary):
    """{length: ids}: seeded random ids for the tiny models, the start of REAL_TEXT for real ones."""
    import numpy as np
    import tokenizers

    if name in REAL_MODELS:
        ids = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(REAL_TEXT).ids
        assert len(ids) >= REAL_PROMPT
        return {REAL_PROMPT: ids[:REAL_PROMPT]}
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))
    lengths = SHORT_PROMPTS if is_short(name) else TINY_PROMPTS
    return {length: rng.integers(0, vocabulary, length).tolist() for length in lengths}


def greedy_run(model, prompt, steps, chunk):
    """(greedy ids [steps], raw logits [steps + 1, V] float32) as mlx-lm generates."""
    import mlx.core as mx
    import numpy as np
    from mlx_lm.generate import generate_step

    seen = []

    def keep(_, logits):
        seen.append(logits)
        return logits

    tokens = generate_step(mx.array(prompt), model, max_tokens=steps, logits_processors=[keep],
                           prefill_step_size=chunk)
    greedy = [int(token) for token, _ in tokens]
    logits = np.array(mx.concatenate(seen).astype(mx.float32))
    assert len(greedy) == steps and logits.shape[0] == steps + 1
    if not np.isfinite(logits).all():
        raise SystemExit("the oracle's logits are not finite")
    return np.array(greedy, np.int32), logits


def make(root, name):
    """One model and its fixtures in root/name. @return its entry of the manifest"""
    folder = root / name
    stamp = folder / "made-of"
    if not (stamp.exists() and stamp.read_text() == key()):
        shutil.rmtree(folder, ignore_errors=True)
        fill(folder, name)
        stamp.write_text(key())
    fixtures = sorted(folder.glob("prompt-*.safetensors"))
    return {"name": name, "folder": f"{name}/model", "fast": name not in ONLY_L1,
            "fixtures": [str(path.relative_to(root)) for path in fixtures]}


def fill(folder, name):
    import mlx.core as mx

    mx.set_default_device(mx.cpu)  # before mlx_lm, which makes its stream on import
    import numpy as np
    from mlx_lm.utils import load_model

    make_model(name, folder / "model")
    model, config = load_model(folder / "model")
    steps = REAL_STEPS if name in REAL_MODELS else SHORT_STEPS if is_short(name) else TINY_STEPS
    chunk = SHORT_CHUNK if is_short(name) else 2048
    vocabulary = {**config, **config.get("text_config", {})}["vocab_size"]
    for length, prompt in prompts(name, folder / "model", vocabulary).items():
        greedy, logits = greedy_run(model, prompt, steps, chunk)
        mx.save_safetensors(str(folder / f"prompt-{length:04}.safetensors"), {
            "prompt": mx.array(np.array(prompt, np.int32)), "chunk": mx.array([chunk]), "greedy": mx.array(greedy),
            "logits": mx.array(logits)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="only these models; the manifest then lists them alone")
    args = parser.parse_args()
    if not (TESTMODELS / "make_tiny.py").exists():
        raise SystemExit(f"{TESTMODELS} is missing: it holds the scripts that make the test models. "
                         "Put it beside the repository, or name it in HEARTH_TESTMODELS.")
    unknown = set(args.names) - set(names())
    if unknown:
        raise SystemExit(f"unknown models {', '.join(sorted(unknown))}; known: {', '.join(names())}")

    args.folder.mkdir(parents=True, exist_ok=True)
    workers = min(8, os.cpu_count() or 1)
    context = multiprocessing.get_context("spawn")  # a forked MLX does not run
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        made = list(pool.map(make, [args.folder] * len(names()), args.names or names()))
    manifest = args.folder / "manifest.json"
    temporary = manifest.with_suffix(".tmp")
    temporary.write_text(json.dumps({"key": key(), "models": made}, indent=2) + "\n", encoding="utf-8")
    temporary.replace(manifest)
    print(f"{len(made)} models in {args.folder}")


if __name__ == "__main__":
    main()
