"""Types as a user's type checker sees them."""

import re
import sys
from pathlib import Path

import pytest

import unbag

pytestmark = pytest.mark.nightly

mypy = pytest.importorskip("mypy.api")
SCRIPT = Path(__file__).parent / "typed" / "a_users_script.py"
# Other people's large packages take minutes to read, and are in no type that a user meets but these.
NOT_READ = "torch transformers accelerate huggingface_hub tokenizers spacy rich openai sklearn scipy httpx2 datasets"


@pytest.mark.slow
def test_a_users_script_passes_strict_mypy_and_nothing_of_ours_is_any(tmp_path, monkeypatch):
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
