"""Render docs/report.png, the picture of the README: the report of the demonstration to the end of its first cards.

    python docs/picture.py [RUN_FOLDER]     folder of a run of `unbag demo` (default: runs the demonstration)

Its sentences are those of the bundled corpus. Needs playwright and Chromium.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from unbag.evaluation.demo import run_demo
from unbag.reports import html

_PICTURE = Path(__file__).parent / "report.png"
_SIZE = {"width": 1120, "height": 1040}
_BELOW = 16  # pixels below the first row of cards


def main() -> None:
    """Write the picture."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("expected Chromium on the PATH, got none; install the package chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        demo = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder)
        if len(sys.argv) == 1:
            run_demo(demo)
        page_file = Path(folder) / html.FILE
        html.write_report([demo], page_file)
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=_SIZE, color_scheme="light")
        page.goto(page_file.as_uri())
        card = page.locator(".cards li").first.bounding_box()
        height = card["y"] + card["height"] + _BELOW
        page.screenshot(path=_PICTURE, full_page=True, clip={"x": 0, "y": 0, "width": _SIZE["width"], "height": height})
        browser.close()


if __name__ == "__main__":
    main()
