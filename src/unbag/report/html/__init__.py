"""One HTML file that shows results: self-contained, so it opens from a disk and asks no network for anything.

`gathered` reads what runs left; `sets/<set>.py` say what is shown of a set, as tables and figures of plain numbers;
`charts` draws the figures; `page` puts it all into the template.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from unbag.files import atomic_write
from unbag.report.html.gathered import gather

FILE: Final = "report.html"


def write(folders: Sequence[Path], path: Path) -> None:
    """Write the report of the results in some folders, their models side by side.

    Args:
        folders: what `unbag.evaluate` left: `results.json`, and `examples.json` for the examples.
        path: the file.

    Raises:
        ValueError: if a folder has no results, or they cannot be read.
        ImportError: without the extra `report`.
    """
    gathered = gather(folders)
    try:
        from unbag.report.html.page import render
    except ImportError as error:
        raise ImportError(f"the HTML report needs two more packages: pip install 'unbag[report]' ({error})") from error
    text = render(gathered)
    with atomic_write(path) as tmp:
        tmp.write_text(text, encoding="utf-8")
