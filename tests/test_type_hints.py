"""Test of the types that a user's type checker sees."""

import re
import sys
from pathlib import Path

import pytest

import unbag

pytestmark = pytest.mark.nightly

mypy = pytest.importorskip("mypy.api")
SCRIPT = Path(__file__).parent / "typed" / "user_script.py"
# Large packages that take minutes to check. No types of users except these depend on them.
NOT_READ = "torch transformers accelerate huggingface_hub tokenizers spacy rich openai sklearn scipy httpx2 datasets"


@pytest.mark.slow
def test_user_script_passes_strict_mypy_without_any(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(Path(unbag.__file__).parents[1]))
    config = tmp_path / "mypy.ini"
    skipped = [f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in NOT_READ.split()]
    config.write_text(
        "[mypy]\nstrict = True\nfollow_imports = silent\nignore_missing_imports = True\n" + "".join(skipped)
    )
    options = [f"--config-file={config}", f"--cache-dir={tmp_path}", f"--python-executable={sys.executable}"]
    said, errors, _ = mypy.run([*options, str(SCRIPT)])
    assert not errors
    assert ": error:" not in said
    shown = re.findall(r'Revealed type is "(.*)"', said)
    assert [each.replace("builtins.", "") for each in shown] == [
        "unbag.reports.report.Report",
        "str",
        "unbag.challenge_sets.results.Result",
        "float | None",
    ]
