"""Test of the notebook of the quickstart."""

import json

from tools.notebook import NOTEBOOK, PAGE, build_notebook


def test_notebook_equals_quickstart():
    made = build_notebook(PAGE.read_text(encoding="utf-8"))
    assert json.loads(NOTEBOOK.read_text(encoding="utf-8")) == made, "python -m tools.notebook"
    code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
    assert [source.split()[0] for source in code] == ["import", "%%writefile", "!unbag", "import"]
