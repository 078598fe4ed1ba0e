"""Build the sets in `unbag.data.demo`: `python -m tools.demo_corpus.built_sets [SET ...]` (default: all).

Requires network access, or the spaCy pipeline in the Hub cache. Run this script after `python -m tools.demo_corpus`,
and after changes of the builders that affect the rows.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from unbag.challenge_sets.request import BuiltSet, SetRequest, build_requested_set, draw_examples, export_built_set
from unbag.data import demo
from unbag.data.columns import count_distinct
from unbag.data.text.tagging import PIPELINE
from unbag.evaluation.demo import get_seed_file, write_demo_data
from unbag.utils.files import atomic_write

# More rows would dominate the run time of the demonstration. More sources are better than more rows of each source.
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "recombined": {"k": "1,4,8"}
}  # short, because the training pairs have at most three sentences
_EXAMPLES: Final = {"negation": 120, "soswap_addamod": 800, "recombined": 165}
_GROUPS: Final = {"negation": ("mirror", 760), "sicck": ("pair", 1_500)}  # column of rows drawn together, and groups


def build_set(name: str, pipeline: str = PIPELINE) -> BuiltSet:
    """Build one of `demo.BUILT_SETS`, and draw some of its rows. The spaCy pipeline parses the captions."""
    with tempfile.TemporaryDirectory() as folder:
        write_demo_data(Path(folder))
        options: dict[str, Any] = {"data": str(demo.get_demo_file("validation")), "pipeline": pipeline}
        if name == "sicck":
            options = {"data": str(get_seed_file(Path(folder)))}
        options |= _OPTIONS.get(name, {})
        built = build_requested_set(SetRequest(name, options=options, max_examples=_EXAMPLES.get(name)))
        if name in _GROUPS:
            column, n = _GROUPS[name]
            total = count_distinct(built.rows, column)
            rows = draw_examples(built.rows, n, built.request.seed, column)
            built = replace(built, rows=rows, config={**built.config, "drawn": f"{n} of {total} {column}s"})
        return built


def compress(path: Path) -> None:
    """Compress a Parquet file more than is worth the time for other sets: the file becomes a third smaller."""
    table = pq.read_table(path, partitioning=None)
    with atomic_write(path) as tmp:
        pq.write_table(
            table, tmp, compression="brotli", compression_level=11, use_dictionary=False, write_statistics=False
        )


def main() -> None:
    """Write the sets, with a record of the source pairs and options."""
    for name in sys.argv[1:] or demo.BUILT_SETS:
        export_built_set(build_set(name), demo.BUILT_SETS[name])
        compress(demo.BUILT_SETS[name])


if __name__ == "__main__":
    main()
