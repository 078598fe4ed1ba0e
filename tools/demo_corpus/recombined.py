"""Build the recombined set that `unbag.data.demo` ships: `python -m tools.demo_corpus.recombined`.

It needs the network, or the spaCy pipeline in the Hub's cache. Run it after `python -m tools.demo_corpus`, and after a
change of what the set's builder makes.
"""

from typing import Final

from unbag.challenge_sets.request import Request, export
from unbag.data import demo
from unbag.data.text.tagging import PIPELINE

_SIZES: Final = "1,4,16"  # documents of 64 sentences would take most of the demonstration's minute


def request(pipeline: str = PIPELINE) -> Request:
    """Build the request for the set.

    Args:
        pipeline: spaCy pipeline that parses the captions.
    """
    options = {"data": str(demo.get_demo_file("validation")), "pipeline": pipeline, "k": _SIZES}
    return Request("recombined", options=options)


def main() -> None:
    """Write the set with the record of what it was built from."""
    export(request(), demo.RECOMBINED)


if __name__ == "__main__":
    main()
