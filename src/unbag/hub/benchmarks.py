"""The benchmark on the Hub that a result belongs to, and the differences between its rows and the published rows."""

import json
from typing import Any, NamedTuple

from unbag.challenge_sets import loading
from unbag.challenge_sets.results import Result
from unbag.data.corpora import CORPORA, OFFICIAL
from unbag.hub.local_paths import strip_folders

_MAX_EXAMPLES = "max_examples"
_SAMPLING = (_MAX_EXAMPLES, "sample_seed")  # in a result's config if only a sample of the examples was evaluated


class Benchmark(NamedTuple):
    """A config of a challenge set on the Hub.

    Attributes:
        repo: Data set repository, `organisation/name`.
        config: Name of the config.
    """

    repo: str
    config: str


def published_config_name(result: Result) -> str | None:
    """Find the published config of a result; None if the pairs are a user's own.

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
    """Find the benchmark of a result in the organisation that publishes the sets; None for a user's own pairs."""
    config = published_config_name(result)
    return None if config is None else Benchmark(f"{organisation}/{result.set}", config)


def find_deviations(result: Result) -> dict[str, Any]:
    """Find the options by which the evaluated rows differ from the published config, `max_examples` included.

    Options whose default is "" are ignored, because the set fills them in. For the official pairs of a set, options
    select additional counts and leave the rows unchanged; only `max_examples` is a deviation there.
    """
    sampled = {name: value for name, value in result.config.items() if name == _MAX_EXAMPLES}
    if result.data["name"] == OFFICIAL:
        return sampled
    config = published_config_name(result) or ""
    defaults = {option.name: option.default for option in loading.described_options(result.set) if option.default != ""}
    changed = {
        name: value
        for name, value in result.config.items()
        if name in defaults and not _is_same_json(value, defaults[name]) and not config.endswith(f"-{value}")
    }
    return changed | sampled


def published_options(result: Result) -> dict[str, Any]:
    """Collect the set's options of a result, with the sample's size and seed if only a sample was evaluated.

    Files are named without their folders, which mean nothing to other readers.
    """
    own = {option.name for option in loading.described_options(result.set)}
    chosen = {name: value for name, value in result.config.items() if name in own or name in _SAMPLING}
    return {name: strip_folders(value) for name, value in sorted(chosen.items()) if value is not None}


def _is_same_json(one: Any, other: Any) -> bool:
    """Check whether two values are equal as JSON. Results were read from JSON, so that tuples became lists."""
    return json.dumps(one) == json.dumps(other)
