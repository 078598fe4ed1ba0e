"""Run the examples of set cards without unbag: `python run_card_examples.py REPOSITORY… > printed.json`."""

import contextlib
import io
import json
import re
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from load_metrics import PackageHider


def main():
    sys.meta_path[:] = [PackageHider if finder is PathFinder else finder for finder in sys.meta_path]
    assert find_spec("unbag") is None
    from huggingface_hub import hf_hub_download

    printed = {}
    for repository in sys.argv[1:]:
        card = Path(hf_hub_download(repository, "README.md", repo_type="dataset")).read_text(encoding="utf-8")
        [code] = [
            each for each in re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL) if "import evaluate" in each
        ]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, repository, "exec"), {})
        printed[repository] = out.getvalue().split()
    sys.stdout.write(json.dumps(printed))


if __name__ == "__main__":
    main()
