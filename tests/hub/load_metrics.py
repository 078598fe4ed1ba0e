"""Run metrics from Spaces in an environment without unbag: `python load_metrics.py < inputs > scores`.

The input is JSON, {Space: {name: column or option}}. The output is {Space: {"scores": …, "example": [computed,
stated]}}, where `example` compares the example on the Space's card with the result that the card states.
"""

import ast
import json
import re
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec


class PackageHider(PathFinder):
    """An import finder that hides packages that users of a metric may not have installed."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name in ("unbag", "torch", "transformers", "sklearn", "spacy", "nltk")
        return None if hidden else super().find_spec(name, path, target)


def main():
    sys.meta_path[:] = [PackageHider if finder is PathFinder else finder for finder in sys.meta_path]
    assert find_spec("unbag") is None
    import evaluate

    found = {
        space: {"scores": evaluate.load(space).compute(**inputs), "example": _read_example(space)}
        for space, inputs in json.load(sys.stdin).items()
    }
    sys.stdout.write(json.dumps(found))


def _read_example(space):
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
