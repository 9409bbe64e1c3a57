"""FOLDER/renderings.json: every template x conversation x generation prompt by transformers' own renderer.

The templates are those of reference/ and the suite's own (tests/text/templates), which use the parts of
Jinja that the real ones leave out. The clock stands at 2025-03-04 05:06:07.
"""
import copy
import datetime
import glob
import json
import os
import shutil
import sys

from conversations import CONVERSATIONS
from transformers.utils import chat_template_utils

HERE = os.path.dirname(os.path.abspath(__file__))


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2025, 3, 4, 5, 6, 7)


def render(source, spec, prompt):
    spec = copy.deepcopy(spec)
    messages, tools = spec.pop("messages"), spec.pop("tools", None)
    try:
        rendered, _ = chat_template_utils.render_jinja_template(
            conversations=[messages], tools=tools, chat_template=source, add_generation_prompt=prompt,
            bos_token="<s>", eos_token="</s>", **spec)
        return {"text": rendered[0]}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"[:200]}


def main():
    root = sys.argv[1]
    chat_template_utils.datetime = Clock
    own = os.path.join(root, "own")
    os.makedirs(own, exist_ok=True)
    for path in glob.glob(os.path.join(HERE, "templates", "*.jinja")):
        shutil.copy(path, own)
    paths = sorted(glob.glob(os.path.join(root, "own", "*.jinja")) + glob.glob(os.path.join(root, "reference", "templates", "*.jinja"))
                   + glob.glob(os.path.join(root, "reference", "*", "chat_template.jinja")))
    out = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            source = f.read()
        out[os.path.relpath(path, root)] = {f"{name}/{int(prompt)}": render(source, spec, prompt)
                                            for name, spec in CONVERSATIONS.items() for prompt in (False, True)}
    with open(os.path.join(root, "renderings.json"), "w", encoding="utf-8") as f:
        json.dump({"conversations": CONVERSATIONS, "out": out}, f, ensure_ascii=False)
    errors = sum("error" in c for cases in out.values() for c in cases.values())
    print(f"{len(paths)} templates, {sum(map(len, out.values()))} renderings, {errors} errors")


if __name__ == "__main__":
    main()
