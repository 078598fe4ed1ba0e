"""Where a run leaves its results where no folder is named: another folder for each run that may have other numbers.

runs/MODEL/SETS-PAIRS                        as by default
runs/MODEL/SETS-PAIRS-q=5-dtype=bfloat16     with what is not
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from unbag.challenge_sets.request import Request

RUNS: Final = Path("runs")
CROSS: Final = "cross-domain"
ALL_CORPORA: Final = "all-corpora"
_LONGEST: Final = 120  # characters of a folder's name; file systems take 255 bytes
_LONGEST_OPTIONS: Final = 60
_BY_CONTENT: Final = ("data", "file")  # the one names the pairs anyway, the other has one content only


def run_folder(names: Sequence[str], requests: "Sequence[Request]", options: Mapping[str, Any], *, about: str) -> Path:
    """Return the folder for the results of a run; the same for the same command.

    Args:
        names: the models, or the file of predictions, as they were named.
        requests: the sets.
        options: those of the models.
        about: the names of the sets, `suite` or `full`; or `cross`, with the corpora where they are named.
    """
    non_defaults: dict[str, Any] = {}
    for request in requests:
        non_defaults |= _not_by_default(request, in_suite=about.removeprefix(f"{ALL_CORPORA}-") == "suite")
    non_defaults |= _of_models(options)
    if about.startswith(ALL_CORPORA):
        pairs = ["with=official"] if any("file" in request.options for request in requests) else []
    else:
        pairs = [] if about.startswith(CROSS) else [_pairs(requests)]
    return (
        RUNS / _short("+".join(map(_readable, names))) / _short("-".join([about, *pairs, *_name_parts(non_defaults)]))
    )


def _pairs(requests: "Sequence[Request]") -> str:
    """Return what the pairs are called."""
    from unbag.challenge_sets import suite

    first, *_ = requests
    if "data" in first.options:
        return _readable(str(first.options["data"]))
    # The first set's config tells those of the others, unless they are made from other pairs than it by default.
    default = {request.name: suite.request(request.name).config for request in requests}
    others = [
        str(request.config)
        for request in requests
        if request.config != default[request.name]
        if first.config == default[first.name] or not f"{first.config}-".startswith(f"{request.config}-")
    ]
    return "-with=".join([str(first.config), *(["+".join(dict.fromkeys(others))] if others else [])])


def _not_by_default(request: "Request", *, in_suite: bool) -> dict[str, Any]:
    """Return the options of a set that decide its rows and are not as by default."""
    from unbag.challenge_sets import loading, suite
    from unbag.challenge_sets.request import Request

    where = {"data": request.options["data"]} if "data" in request.options else {}
    plain = Request(request.name, request.config, where)
    plain = suite.sampled(plain) if in_suite else plain
    defaults = {option.name: option.default for option in loading.described_options(request.name)} | {"language": "en"}
    non_defaults = {}
    if request.options != plain.options:
        for name, value in request.options.items():
            if value not in (None, defaults.get(name)) and name not in _BY_CONTENT:
                non_defaults["split" if name == "source_split" else name] = value
    for name in ("max_examples", "seed"):
        if getattr(request, name) != getattr(plain, name):
            non_defaults[name] = getattr(request, name)
    return non_defaults


def _of_models(options: Mapping[str, Any]) -> dict[str, Any]:
    from unbag.evaluation.model_loading import cache_key_config

    device = options.get("device")  # another one rounds differently
    return cache_key_config(options) | ({} if device is None else {"device": device})


def _name_parts(options: Mapping[str, Any]) -> list[str]:
    """Return options as parts of a name: readable ones as they are, the shortest while there is room; a hash of others.

    >>> _name_parts({"q": 5, "train_data": ("my data.csv",)})
    ['q=5', '27dc26c8']
    """
    parts = {}
    for name, value in options.items():
        items = [str(item) for item in (value if isinstance(value, list | tuple) else [value])]
        if all(re.fullmatch(r"[\w.-]+", item) for item in items):
            parts[name] = f"{name}={'+'.join(items)}"
    room = _LONGEST_OPTIONS
    for name in sorted(parts, key=lambda name: len(parts[name])):
        room -= len(parts[name])
        if room < 0:
            del parts[name]
    rest = {name: value for name, value in options.items() if name not in parts}
    return [*parts.values(), *([_hash(json.dumps(rest, sort_keys=True, default=str))] if rest else [])]


def _readable(name: str) -> str:
    """Return a folder's name for a model or a file, which no other has.

    >>> _readable("org/model"), _readable("./mine"), _readable("causal:org/lm")
    ('org__model', 'mine', 'causal--org__lm')
    >>> _readable("../a/m") == _readable("/a/m")
    False
    """
    name = name.removeprefix("./").rstrip("/") or name
    escaped = name.replace("/", "__").replace(":", "--")
    if re.fullmatch(r"\w[\w.:/-]*", name) and escaped.replace("__", "/").replace("--", ":") == name:
        return escaped
    about = re.sub(r"[^\w.-]+", "__", name).strip("._")[-_LONGEST_OPTIONS:]
    return f"{about}-{_hash(name)}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 9]}-{_hash(name)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
