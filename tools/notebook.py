"""Convert the quickstart page to a notebook: `python -m tools.notebook`. A test compares both."""

import json
import re
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).parents[1] / "docs" / "quickstart.md"
NOTEBOOK: Final = PAGE.with_suffix(".ipynb")
BLOCK: Final = re.compile(r"^```(?:\{code-block\} )?(\w*)\n(?::caption: (\S+)\n)?(.*?)^```\n", re.MULTILINE | re.DOTALL)


def build_notebook(page: str) -> dict[str, Any]:
    """Convert a Markdown page to a notebook. Python code and commands become code cells, the rest text cells."""
    page = re.sub(r" It is also available as a\s\{download\}`[^`]*`\.", "", page)
    cells, at = [], 0
    for block in BLOCK.finditer(page):
        language, file, code = block.groups()
        if language not in ("python", "console"):
            continue
        cells.append(_text(page[at : block.start()]))
        at = block.end()
        if file:
            code = f"%%writefile {file}\n{code}"
        elif language == "console":
            code = re.sub(r"^\$ ", "!", code, flags=re.MULTILINE)
        cells.append(
            {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": code.strip()}
        )
    cells.append(_text(page[at:]))
    for number, cell in enumerate(cells):
        # Format 4.5 requires ids. Numbers keep the file equal between runs, unlike random ids.
        cell["id"] = f"cell-{number}"
    return {
        "cells": cells,
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _text(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip()}


def main() -> None:
    """Write the notebook of the quickstart."""
    made = build_notebook(PAGE.read_text(encoding="utf-8"))
    NOTEBOOK.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
