"""Write the numbers of one stored run of MiniLM-L6 into the documentation pages.

    unbag evaluate nli-fixtures/minilm-l6-snli --output-dir RUN     # a sample of every set, on SNLI validation
    python -m tools.page_numbers RUN/results.json                   # stores the results, and writes the pages
    python -m tools.page_numbers                                    # writes the pages again

A page contains a block of the run between `<!-- run: NAME -->` and `<!-- end of run -->`.
"""

import gzip
import io
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType

from unbag.challenge_sets.results import Result, read_results
from unbag.evaluation.metrics import compute_verdicts
from unbag.evaluation.verdict import SetVerdict
from unbag.reports.terminal import build_result_view, build_summary_table

ROOT: Final = Path(__file__).parents[1]
RUN: Final = ROOT / "benchmarks" / "minilm_run.json.gz"
PAGES: Final = tuple(ROOT / name for name in ("README.md", "docs/guides/evaluate.md", "docs/concepts/skill_score.md"))
_BLOCK: Final = re.compile(r"(?s)(<!-- run: ([a-z ]+) -->\n).*?(<!-- end of run -->)")
_FIRST_ROWS: Final = 2


def read_run() -> list[Result]:
    """Read the stored results."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        file.write_bytes(gzip.decompress(RUN.read_bytes()))
        return read_results(file)


def build_blocks(results: Sequence[Result]) -> dict[str, str]:
    """Build the blocks of the pages from the results of one model, by name."""
    summary = _print(build_summary_table(results))
    verdict = next(index for index, line in enumerate(summary) if line.startswith("Verdict"))
    [verdicts] = compute_verdicts(results).values()
    return {
        "summary": _fence(summary),
        # Three lines precede the first row: the name of the model, which is omitted, and the header.
        "first lines": _fence([*summary[1 : 3 + _FIRST_ROWS], "…", summary[verdict], f"{summary[verdict + 1]} …"]),
        "permuted": _fence(_print(build_result_view(next(each for each in results if each.set == "permuted")))),
        "scores": "\n| set | rows | model | shuffled | lexical | skill score [95 % jointly] | verdict |\n"
        "|---|---:|---:|---:|---:|---:|---|\n" + "".join(_score_row(each) for each in verdicts) + "\n",
    }


def fill_page(text: str, blocks: dict[str, str]) -> str:
    """Replace the blocks of a page."""
    return _BLOCK.sub(lambda match: match[1] + blocks[match[2]] + match[3], text)


def _print(renderable: RenderableType) -> list[str]:
    output = io.StringIO()
    Console(file=output, width=80).print(renderable)
    return [line.rstrip() for line in output.getvalue().rstrip().splitlines()]


def _fence(lines: Sequence[str]) -> str:
    return "```\n" + "\n".join(lines) + "\n```\n"


def _score_row(each: SetVerdict) -> str:
    low, high = _number(each.score.low), _number(each.score.high)
    parts = [_number(value) for value in (each.model, each.shuffled, each.lexical)]
    cells = [each.result.set, f"{each.score.n:,}", *parts, f"{_number(each.score.value)} [{low}, {high}]"]
    return f"| {' | '.join(cells)} | {each.standing} |\n"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".replace("-", "−").replace("0.", ".", 1)


def main() -> None:
    """Store the results of a run if its file is given, and write the pages."""
    for results in sys.argv[1:]:
        RUN.write_bytes(gzip.compress(Path(results).read_bytes(), mtime=0))
    blocks = build_blocks(read_run())
    for page in PAGES:
        page.write_text(fill_page(page.read_text(encoding="utf-8"), blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
