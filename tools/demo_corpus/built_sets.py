"""Build the sets in `unbag.data.demo`: `python -m tools.demo_corpus.built_sets [SET ...]` (default: all).

Requires network access, or the spaCy pipeline in the Hub cache. Run this script after `python -m tools.demo_corpus`,
and after changes of the builders that affect the rows.
"""

import sys
from typing import Any, Final

from unbag.challenge_sets.request import SetRequest, export_challenge_set
from unbag.data import demo
from unbag.data.text.tagging import PIPELINE

# More rows would dominate the run time of the demonstration.
_OPTIONS: Final[dict[str, dict[str, Any]]] = {"recombined": {"k": "1,4,16"}}  # no documents of 64 sentences
_EXAMPLES: Final = {"negation": 60}  # claims of some two dozen rows each


def build_request(name: str, pipeline: str = PIPELINE) -> SetRequest:
    """Build the request for a set.

    Args:
        name: Name of the set, one of `demo.BUILT_SETS`.
        pipeline: spaCy pipeline that parses the captions.
    """
    options = {"data": str(demo.get_demo_file("validation")), "pipeline": pipeline, **_OPTIONS.get(name, {})}
    return SetRequest(name, options=options, max_examples=_EXAMPLES.get(name))


def main() -> None:
    """Write the sets, with a record of the source pairs and options."""
    for name in sys.argv[1:] or demo.BUILT_SETS:
        export_challenge_set(build_request(name), demo.BUILT_SETS[name])


if __name__ == "__main__":
    main()
