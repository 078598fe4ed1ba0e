"""Results of pseudo-random predictions on SNLI, as of models on the Hub."""

from dataclasses import replace
from typing import Final

from tests.factories import build_result

SNLI: Final = {
    "name": "snli",
    "split": "test",
    "origin": "stanfordnlp/snli (plain_text)",
    "revision": "c" * 40,
    "rows": 60,
    "excluded": {},
    "sha256": "5" * 64,
}


def build_model_record(name="org/model", revision="a" * 40, **more):
    return {"name": name, "kind": "transformer", "model": name, "revision": revision, "dtype": "float32", **more}


def build_plain_result(about=None, *, seed=1):
    """Build a result on an unmodified corpus."""
    return replace(build_result(rows=60, seed=seed), model=about or build_model_record(), data=SNLI)


def build_swapped_result(about=None, *, seed=1):
    """Build a result on swapped pairs, of which 40 of 60 are neutral or contradictions."""
    made = build_result(set_name="swapped", rows=60, seed=seed)
    return replace(made, model=about or build_model_record(), data=SNLI | {"sha256": "6" * 64})
