"""One HTML file that shows results: self-contained, so it opens from a disk and asks no network for anything.

`gathered` reads what runs left; the sets' own modules say what is shown of them, as figures of plain numbers and as
examples. `telling` picks the pairs that the page begins with, `cards` puts models' answers and scores to them, `told`
has examples in words, `beside_papers` published figures; `charts` draws; `page` puts it all into the template.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from unbag.reports.html.data import gather
from unbag.utils.files import atomic_write

FILE: Final = "report.html"


def write(folders: Sequence[Path], path: Path) -> None:
    """Write the report of the results in some folders, their models side by side.

    Args:
        folders: what `unbag.evaluate` left: `results.json`, and `examples.json` for the examples.
        path: the file.

    Raises:
        ValueError: if a folder has no results, or they cannot be read.
    """
    from unbag.reports.html.page import render  # slow to import

    text = render(gather(folders))
    with atomic_write(path) as tmp:
        tmp.write_text(text, encoding="utf-8")
