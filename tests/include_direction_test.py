"""Holds every #include below src/ against the table of folders in docs/architecture.md.

usage: include_direction_test.py              checks src/ and this checker
"""
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]

# What a folder may include besides itself and `base`. "mlx" is MLX's own headers.
ALLOWED = {
    "base": set(),
    "text": set(),
    "tensor": {"mlx"},
    "models": {"tensor", "text", "mlx"},
    "engine": {"models", "tensor", "text", "mlx"},
    "services": {"engine", "text"},
    "services/model": {"models", "tensor"},  # model.{h,cpp}, which load a model with its texts
    "services/hub": {"models", "tensor"},  # which models on disk can run
    "services/audio": {"models", "tensor", "mlx"},
    "services/train": {"models", "tensor", "mlx"},
    "services/convert": {"models", "tensor", "mlx"},
    "server": {"services"},
    "cli": {"services", "server"},
}
FOLDERS = {name for name in ALLOWED if "/" not in name}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def allowed_for(path):
    """The folders that `path`, relative to src, may include."""
    parts = path.with_suffix("").parts
    more = ALLOWED.get("/".join(parts[:2]), set()) if len(parts) > 1 else set()
    return {parts[0], "base"} | ALLOWED.get(parts[0], set()) | more


def violations(source):
    """[(file, included)] of the includes below `source` that point the wrong way."""
    found = []
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".h", ".cpp", ".cu", ".metal") or path.is_dir():
            continue
        relative = path.relative_to(source)
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target = included.split("/")[0]
            if "/" in included and target in FOLDERS | {"mlx"} and target not in allowed_for(relative):
                found.append((str(relative), included))
            elif included.startswith("../"):
                found.append((str(relative), included))
    return found


class IncludeDirection(unittest.TestCase):
    def test_every_include_of_the_project_points_one_way(self):
        wrong = [f"{file} includes {included}" for file, included in violations(ROOT / "src")]
        self.assertEqual(wrong, [], "see the table in docs/architecture.md")

    def test_every_folder_of_src_is_in_the_table(self):
        folders = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
        self.assertEqual(folders, FOLDERS)

    def test_the_libraries_are_linked_as_the_table_says(self):
        for folder in FOLDERS:
            text = (ROOT / "src" / folder / "CMakeLists.txt").read_text(encoding="utf-8")
            call = re.search(rf"hearth_library\({folder}\b([^)]*)\)", text).group(1)
            depends = re.search(r"DEPENDS((?:\s+[a-z]+)*)", call)
            linked = set(depends.group(1).split()) if depends else set()
            permitted = set().union({"base"}, *(v for k, v in ALLOWED.items() if k.split("/")[0] == folder))
            self.assertLessEqual(linked, permitted, f"src/{folder}/CMakeLists.txt")


class Checker(unittest.TestCase):
    def check(self, file, line):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / file
            path.parent.mkdir(parents=True)
            path.write_text(f"#pragma once\n{line}\n")
            return violations(pathlib.Path(folder))

    def test_an_arrow_backwards_is_found(self):
        self.assertEqual(self.check("text/tokenizer.h", '#include "engine/plan.h"'),
                         [("text/tokenizer.h", "engine/plan.h")])
        self.assertEqual(self.check("server/http.cpp", '  #  include <models/family.h>'),
                         [("server/http.cpp", "models/family.h")])

    def test_mlx_stays_below_the_services(self):
        self.assertEqual(self.check("services/chat/x.cpp", '#include "mlx/array.h"'),
                         [("services/chat/x.cpp", "mlx/array.h")])
        self.assertEqual(self.check("tensor/x.cpp", '#include "mlx/array.h"'), [])

    def test_an_arrow_forwards_is_fine(self):
        for file, line in (("engine/plan.cpp", '#include "models/model.h"'),
                           ("cli/serve.cpp", '#include "base/result.h"'),
                           ("services/train/lora.cpp", '#include "tensor/array.h"'),
                           ("text/x.cpp", "#include <vector>")):
            self.assertEqual(self.check(file, line), [], file)

    def test_a_path_up_the_tree_is_found(self):
        self.assertEqual(self.check("text/x.cpp", '#include "../engine/plan.h"'),
                         [("text/x.cpp", "../engine/plan.h")])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
