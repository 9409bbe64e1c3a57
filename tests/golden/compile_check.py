"""Do mlx-lm's compiled functions give the bytes of the plain operations on this machine's CPU?

usage: compile_check.py        (with the oracle's Python; about a minute)

Runs itself twice, with and without MLX_DISABLE_COMPILE, compares every output as bits (two NaNs count
as equal), prints a table and fails when anything differs. See docs/decisions/0002-compile-on-cpu.md.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

SCALES = (0.01, 1, 10, 60)  # of the normal float32 values


def inputs(dtype):
    """(x, y): every value of a 16-bit type, or 16 million float32 values, with normal partners."""
    import mlx.core as mx

    rng = np.random.default_rng(0)
    if dtype == mx.float32:
        x = mx.array(np.concatenate([rng.standard_normal(4_000_000).astype(np.float32) * s for s in SCALES]))
    else:
        x = mx.concatenate([mx.array(np.arange(65536, dtype=np.uint16)).view(dtype)] * 16)
    y = mx.array(rng.standard_normal(x.size).astype(np.float32)).astype(dtype)
    return x, y


def outputs(path):
    """Saves the bits of every function's output to `path`."""
    import mlx.core as mx
    import mlx.nn as nn
    from mlx_lm.models.activations import swiglu
    from mlx_lm.models.gemma3_text import clip_residual

    mx.set_default_device(mx.cpu)
    functions = {
        "swiglu": swiglu, "clip_residual": clip_residual, "silu": lambda x, y: nn.silu(x),
        "gelu": lambda x, y: nn.gelu(x), "gelu_approx": lambda x, y: nn.gelu_approx(x),
        "gelu_approx * y": lambda x, y: nn.gelu_approx(x) * y,
    }
    bits = {}
    for dtype, name in ((mx.bfloat16, "bf16"), (mx.float16, "f16"), (mx.float32, "f32")):
        x, y = inputs(dtype)
        for shape in ((1, 1, x.size), (x.size // 1000, 1000) if name == "f32" else (x.size // 1024, 1024)):
            for label, function in functions.items():
                value = function(x.reshape(shape), y.reshape(shape)).astype(mx.float32)
                bits[f"{label}, {name}, {len(shape)} dims"] = np.array(value).reshape(-1)
    np.savez(path, **bits)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, extra in (("on", {}), ("off", {"MLX_DISABLE_COMPILE": "1"})):
            environment = {k: v for k, v in os.environ.items() if k != "MLX_DISABLE_COMPILE"}
            subprocess.run([sys.executable, __file__, folder / f"{name}.npz"], check=True,
                           env={**environment, **extra})
        on, off = np.load(folder / "on.npz"), np.load(folder / "off.npz")
        worst = 0
        for key in on.files:
            a, b = on[key], off[key]
            differ = int(((a.view(np.uint32) != b.view(np.uint32)) & ~(np.isnan(a) & np.isnan(b))).sum())
            print(f"{key}: {differ} of {a.size} differ")
            worst = max(worst, differ)
    if worst:
        raise SystemExit("compiled and plain operations differ on this machine")


if __name__ == "__main__":
    outputs(sys.argv[1]) if len(sys.argv) > 1 else main()
