"""Run published metrics, and the examples on cards, without unbag: `python run_without_unbag.py < requests > answers`.

A request is JSON: the type of a repository, its id, and the inputs of a metric or null. An answer has the scores for
these inputs, and what the example on the card prints, its value, and the value that the card states.
"""

import ast
import io
import json
import re
import sys
from contextlib import redirect_stdout
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path


class PackageHider(PathFinder):
    """An import finder that hides packages that users of a metric may not have installed."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name in ("unbag", "torch", "transformers", "sklearn", "spacy", "nltk")
        return None if hidden else super().find_spec(name, path, target)


def main():
    sys.meta_path[:] = [PackageHider if finder is PathFinder else finder for finder in sys.meta_path]
    assert find_spec("unbag") is None
    from huggingface_hub import hf_hub_download

    answers = {}
    for kind, repo, inputs in json.load(sys.stdin):
        card = Path(hf_hub_download(repo, "README.md", repo_type=kind)).read_text(encoding="utf-8")
        examples = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
        code = next(each for each in examples if "import evaluate" in each)
        *statements, last = ast.parse(code).body
        printed, names = io.StringIO(), {}
        with redirect_stdout(printed):
            exec(compile(ast.Module(statements, []), repo, "exec"), names)
            value = eval(compile(ast.Expression(last.value), repo, "eval"), names)
        answers[repo] = {
            "scores": inputs and names.get("metric", names.get("measurement")).compute(**inputs),
            "printed": printed.getvalue().split(),
            "value": repr(value),
            "stated": code.strip().splitlines()[-1].removeprefix("# "),
        }
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
