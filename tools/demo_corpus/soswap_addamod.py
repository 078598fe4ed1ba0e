"""Build the SOSwap and AddAmod set that `unbag.data.demo` ships: `python -m tools.demo_corpus.soswap_addamod`.

It needs the network, or the spaCy pipeline in the Hub's cache. Run it after `python -m tools.demo_corpus`, and after a
change of what the set's builder makes.
"""

from unbag.challenge_sets.request import Request, export
from unbag.data import demo
from unbag.data.text.tagging import PIPELINE


def request(pipeline: str = PIPELINE) -> Request:
    """Return the request for the set.

    Args:
        pipeline: the spaCy pipeline that parses the captions.
    """
    return Request("soswap_addamod", options={"data": str(demo.get_demo_file("validation")), "pipeline": pipeline})


def main() -> None:
    """Write the set with the record of what it was built from."""
    export(request(), demo.SOSWAP_ADDAMOD)


if __name__ == "__main__":
    main()
