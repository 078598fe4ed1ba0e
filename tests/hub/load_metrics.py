"""Run metrics from Spaces, as somebody who has `evaluate` and not unbag: `python load_metrics.py < inputs > scores`.

The inputs are JSON, {Space: {name: column or option}}; so is what comes out, {Space: {"scores": …, "example": [got,
said]}}: what the example on the Space's card gives, and what the card says.
"""

import ast
import json
import re
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec


class WithoutSome(PathFinder):
    """A finder that hides packages that a user of a metric may not have installed."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name in ("unbag", "torch", "transformers", "sklearn", "scipy", "spacy", "nltk")
        return None if hidden else super().find_spec(name, path, target)


def main():
    sys.meta_path[:] = [WithoutSome if finder is PathFinder else finder for finder in sys.meta_path]
    assert find_spec("unbag") is None
    import evaluate

    found = {
        space: {"scores": evaluate.load(space).compute(**inputs), "example": _example(space)}
        for space, inputs in json.load(sys.stdin).items()
    }
    sys.stdout.write(json.dumps(found))


def _example(space):
    from huggingface_hub import hf_hub_download

    with open(hf_hub_download(space, "README.md", repo_type="space"), encoding="utf-8") as card:
        code = re.search(r"```python\n(.*?)```", card.read(), flags=re.DOTALL)[1]
    *statements, last = ast.parse(code).body
    names = {}
    exec(compile(ast.Module(statements, []), space, "exec"), names)
    got = eval(compile(ast.Expression(last.value), space, "eval"), names)
    return [repr(got), code.strip().splitlines()[-1].removeprefix("# ")]


if __name__ == "__main__":
    main()
