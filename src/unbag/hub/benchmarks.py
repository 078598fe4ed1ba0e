"""Where on the Hub a challenge set is that a result is about, and whether the result is of the set as it is there."""

import json
from typing import Any, NamedTuple

from unbag.challenge_sets import loading
from unbag.challenge_sets.results import Result
from unbag.data.corpora import CORPORA, OFFICIAL
from unbag.hub.local_paths import strip_folders

_DRAWN = "max_examples"  # in a result's config where not all examples were asked


class Benchmark(NamedTuple):
    """A config of a challenge set.

    Attributes:
        repo: the data set repository.
        config: its config.
    """

    repo: str
    config: str


def published_config_name(result: Result) -> str | None:
    """Return which of its set's configs a result is about; None where the pairs were a user's own.

    >>> data = {"name": "snli", "split": "test", "origin": "stanfordnlp/snli (plain_text)"}
    >>> published_config_name(Result("permuted", {"mode": "hypothesis"}, {}, data, {}, {}))
    'snli-test-hypothesis'
    """
    name, split = result.data["name"], result.data["split"]
    ours = CORPORA.get(name)
    if name != OFFICIAL and (ours is None or not result.data["origin"].startswith(ours.hub_id)):
        return None
    chosen = {option: value for option, value in result.config.items() if isinstance(value, str)}
    # A set that merges the splits of a corpus has one config for all of them.
    single = split if split and "+" not in split else None
    try:
        return loading.config_name(result.set, name, single, chosen)[0]
    except ValueError:
        return None


def find_benchmark(result: Result, organisation: str) -> Benchmark | None:
    """Return where the challenge set of a result is, in the organisation that publishes the sets."""
    config = published_config_name(result)
    return None if config is None else Benchmark(f"{organisation}/{result.set}", config)


def find_deviations(result: Result) -> dict[str, Any]:
    """Return what tells the rows that were asked from those that the config's name stands for: options, and a draw.

    An option whose default is "" is one that the set fills in itself, with more than a name, and is not among them. Of
    pairs that a set comes with, options only say what else is counted.
    """
    drawn = {name: value for name, value in result.config.items() if name == _DRAWN}
    if result.data["name"] == OFFICIAL:
        return drawn
    config = published_config_name(result) or ""
    defaults = {option.name: option.default for option in loading.described_options(result.set) if option.default != ""}
    changed = {
        name: value
        for name, value in result.config.items()
        if name in defaults and not _is_same_json(value, defaults[name]) and not config.endswith(f"-{value}")
    }
    return changed | drawn


def published_options(result: Result) -> dict[str, Any]:
    """Return a set's own options as a result was made with, and the number of examples drawn, if not all.

    Files are named without the folder they lie in: where that is says nothing to others.
    """
    own = {option.name for option in loading.described_options(result.set)}
    kept = {name: value for name, value in result.config.items() if name in own or name.startswith(_DRAWN)}
    return {name: strip_folders(value) for name, value in sorted(kept.items()) if value is not None}


def _is_same_json(one: Any, other: Any) -> bool:
    """Tell whether two values are the same in JSON, which a result came out of."""
    return json.dumps(one) == json.dumps(other)
