"""Hub benchmark of a result, and differences between the evaluated and the published rows."""

import json
from typing import Any, NamedTuple

from unbag.challenge_sets import loading
from unbag.challenge_sets.results import Result
from unbag.data.corpora import CORPORA, OFFICIAL
from unbag.hub.cards import replace_paths_with_file_names

_MAX_EXAMPLES = "max_examples"
_SAMPLING = (_MAX_EXAMPLES, "sample_seed")  # keys of a result's config if only a sample of the examples was evaluated


class Benchmark(NamedTuple):
    """Benchmark on the Hub, which consists of one config of a challenge set."""

    repo: str
    config: str


def find_published_config(result: Result) -> str | None:
    """Find the published config on which a result was computed. None for user-provided pairs.

    >>> data = {"name": "snli", "split": "test", "origin": "stanfordnlp/snli (plain_text)"}
    >>> find_published_config(Result("permuted", {"mode": "hypothesis"}, {}, data, {}, {}))
    'snli-test-hypothesis'
    """
    name, split = result.data["name"], result.data["split"]
    ours = CORPORA.get(name)
    if name != OFFICIAL and (ours is None or not result.data["origin"].startswith(ours.hub_id)):
        return None
    chosen = {option: value for option, value in result.config.items() if isinstance(value, str)}
    # A set that merges the splits of a corpus has a single config.
    single = split if split and "+" not in split else None
    try:
        return loading.resolve_config(result.set, name, single, chosen)[0]
    except ValueError:
        return None


def find_benchmark(result: Result, organization: str) -> Benchmark | None:
    """Find the Hub benchmark of a result among the sets of an organization. None for user-provided pairs."""
    config = find_published_config(result)
    return None if config is None else Benchmark(f"{organization}/{result.set}", config)


def find_option_differences(result: Result) -> dict[str, Any]:
    """Find the options in which a result differs from the published config, including `max_examples`.

    Options whose default is "" are ignored, because the set fills them in. For the official pairs of a set, only
    `max_examples` is a deviation, because the other options select additional counts and do not change the rows.
    """
    sampled = {name: value for name, value in result.config.items() if name == _MAX_EXAMPLES}
    if result.data["name"] == OFFICIAL:
        return sampled
    config = find_published_config(result) or ""
    defaults = {
        option.name: option.default for option in loading.describe_set_options(result.set) if option.default != ""
    }
    changed = {
        name: value
        for name, value in result.config.items()
        if name in defaults and not _is_same_json(value, defaults[name]) and not config.endswith(f"-{value}")
    }
    return changed | sampled


def collect_published_options(result: Result) -> dict[str, Any]:
    """Collect the challenge-set options of a result for publication, including the size and seed of a sample.

    Files are listed without their folders, which are meaningless to other users.
    """
    own = {option.name for option in loading.describe_set_options(result.set)}
    chosen = {name: value for name, value in result.config.items() if name in own or name in _SAMPLING}
    return {name: replace_paths_with_file_names(value) for name, value in sorted(chosen.items()) if value is not None}


def _is_same_json(one: Any, other: Any) -> bool:
    """Check whether two values are equal as JSON, since results read from JSON have lists instead of tuples."""
    return json.dumps(one) == json.dumps(other)
