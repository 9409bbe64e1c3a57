"""The scripts of tools/: pins that agree, and the starter model's conversion keeping every weight."""
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import fetch_mlx  # noqa: E402
import gguf  # noqa: E402
import pins  # noqa: E402
import starter_model  # noqa: E402


def codes(words, bits):
    """The codes inside MLX's words, first weight in the lowest bits."""
    per_byte = 8 // bits
    return [byte >> (bits * i) & ((1 << bits) - 1) for byte in words for i in range(per_byte)]


def half(value):
    return struct.pack("<e", value)


class Pins(unittest.TestCase):
    def test_the_oracle_runs_the_mlx_that_hearth_links(self):
        lines = (ROOT / "tests/oracle/requirements.txt").read_text(encoding="utf-8").splitlines()
        locked = dict(re.match(r"([\w.-]+)==([^;\s]+)", line).groups()
                      for line in lines if line and not line.startswith("#"))
        pinned = pins.load()
        self.assertEqual(locked["mlx"], pinned["mlx"]["version"])
        self.assertEqual(locked["mlx-cpu"], pinned["mlx"]["version"])
        for package, version in pinned["oracle"].items():
            self.assertEqual(locked[package], version, package)

    def test_every_pack_has_hashes(self):
        for name, pack in pins.load()["mlx"]["packs"].items():
            self.assertTrue(pack["sha256"], name)
            for digest in pack["sha256"].values():
                self.assertRegex(digest, r"^[0-9a-f]{64}$")

    def test_an_unknown_pack_names_the_known_ones(self):
        with self.assertRaisesRegex(SystemExit, "cpu, cuda12, cuda13, metal"):
            fetch_mlx.fetch("gpu", "nowhere")


class StarterModel(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(3)

    def test_q4_1_keeps_every_weight(self):
        blocks, weights = b"", []
        for _ in range(5):
            scale, low = self.random.randrange(1, 90) / 64, self.random.randrange(-90, 90) / 64
            q = [self.random.randrange(16) for _ in range(32)]
            blocks += half(scale) + half(low) + bytes(q[j] | q[j + 16] << 4 for j in range(16))
            weights += [scale * code + low for code in q]
        words, scales, biases = starter_model.affine_q4_1(blocks)
        made = [scales[i // 32] * code + biases[i // 32] for i, code in enumerate(codes(words, 4))]
        self.assertEqual(made, weights)

    def test_q8_0_keeps_every_weight(self):
        blocks, weights = b"", []
        for _ in range(5):
            scale = self.random.randrange(1, 90) / 64
            q = [self.random.randrange(-128, 128) for _ in range(32)]
            blocks += half(scale) + struct.pack("<32b", *q)
            weights += [scale * code for code in q]
        words, scales, biases = starter_model.affine_q8_0(blocks)
        made = [scales[i // 32] * code + biases[i // 32] for i, code in enumerate(codes(words, 8))]
        self.assertEqual(made, weights)

    def test_rotary_rows_are_put_back_in_halves(self):
        rows = bytes([0, 2, 1, 3, 10, 12, 11, 13])  # two heads of four rows, interleaved
        self.assertEqual(starter_model.half_split(rows, rows=8, heads=2),
                         bytes([0, 1, 2, 3, 10, 11, 12, 13]))

    def test_the_commonest_width_is_the_default(self):
        made = starter_model.Checkpoint()
        made.bits = {"a": 4, "b": 4, "embed": 8}
        self.assertEqual(made.quantization(), {"group_size": 32, "bits": 4, "mode": "affine",
                                               "embed": {"group_size": 32, "bits": 8}})

    def test_a_file_that_is_no_gguf_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "not a GGUF file"):
            gguf.Gguf(b"PK\3\4" + bytes(40))

    def test_a_model_already_made_is_only_named(self):
        with tempfile.TemporaryDirectory() as home:
            model = pathlib.Path(home) / "models" / "SmolLM2-135M-Instruct"
            model.mkdir(parents=True)
            said = subprocess.run([ROOT / "tools/starter-model"], check=True, capture_output=True,
                                  text=True, env={**os.environ, "HEARTH_HOME": home})
            self.assertEqual((said.stdout, said.stderr), (f"{model}\n", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
