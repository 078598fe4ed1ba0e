"""HTML report: one self-contained file that works offline.

`data` loads the results of runs. The modules of each set provide its figures and examples. `examples` selects the
pairs for the cards at the top and formats examples. `charts` draws figures as SVG. `page` renders the template.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from unbag.evaluation.result_folder import FolderContents
from unbag.reports.html.data import load_report_data
from unbag.utils.files import atomic_write

FILE: Final = "report.html"


def write_report(folders: Sequence[Path | FolderContents], path: Path) -> None:
    """Write an HTML report that shows the models of one or more runs side by side.

    A run is given by the folder that `unbag.evaluate` wrote, or by the contents of the folder.
    """
    from unbag.reports.html.page import render_page  # slow to import

    text = render_page(load_report_data(folders))
    with atomic_write(path) as tmp:
        tmp.write_text(text, encoding="utf-8")
