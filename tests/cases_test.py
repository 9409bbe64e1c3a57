"""docs/cases.md against the cases and the tests: every case has its row, every test that a row names is there."""
import json
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
CASES = pathlib.Path(os.environ.get("HEARTH_CASES") or ROOT.parent / "shared" / "cases" / "cases.jsonl")
TEST = re.compile(r"`([\w/.-]+\.\w+)(?:::(\w+))?`")


def rows():
    """(id, text) of every row of the table."""
    lines = (ROOT / "docs/cases.md").read_text(encoding="utf-8").splitlines()
    cells = [re.split(r"\s*\|\s*", line.strip("| ")) for line in lines if line.startswith("| ")]
    return [(one[0], one[1]) for one in cells if one[0] != "Case"]


class Cases(unittest.TestCase):
    def test_every_case_has_one_row_and_every_row_its_case(self):
        cases = [json.loads(line)["id"] for line in CASES.read_text(encoding="utf-8").splitlines() if line.strip()]
        self.assertGreater(len(cases), 40)
        self.assertEqual(sorted(cases), sorted(case for case, _ in rows()))

    def test_every_test_that_is_named_is_there(self):
        for case, text in rows():
            for file, name in TEST.findall(text):
                path = ROOT / file
                self.assertTrue(path.is_file(), f"{case}: no {file}")
                if name:
                    self.assertTrue(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")), f"{case}: {file} has no {name}")

    def test_every_row_names_a_test_or_says_what_is_missing(self):
        for case, text in rows():
            self.assertTrue(TEST.search(text) or text.startswith("later: "), case)


if __name__ == "__main__":
    unittest.main()
