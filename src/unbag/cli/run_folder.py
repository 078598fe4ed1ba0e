"""Default output folder of a run. Runs that differ in an option that can change the scores get different folders.

runs/MODEL/SETS-PAIRS                        default options
runs/MODEL/SETS-PAIRS-q=5-dtype=bfloat16     other options
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from unbag.challenge_sets.request import SetRequest

RUNS_FOLDER: Final = Path("runs")
CROSS_DOMAIN: Final = "cross-domain"
ALL_CORPORA: Final = "all-corpora"
_MAX_NAME: Final = 120  # characters of a folder name; file systems allow 255 bytes
_MAX_OPTIONS: Final = 60
# The name already contains the data, and the content of the authors' file is pinned.
_UNLISTED: Final = ("data", "text", "file")


def build_run_folder(
    names: Sequence[str], requests: "Sequence[SetRequest]", options: Mapping[str, Any], *, title: str
) -> Path:
    """Build the path of the default folder of a run. Identical commands get the same path.

    `title` has the names of the sets, `suite`, `full`, or `cross-domain` with the corpora of the command line.
    """
    from unbag.evaluation.model_loading import select_cache_key_options

    non_defaults: dict[str, Any] = {}
    for request in requests:
        non_defaults |= _non_default_options(request, in_suite=title.removeprefix(f"{ALL_CORPORA}-") == "suite")
    non_defaults |= select_cache_key_options(options)
    if options.get("device") is not None:  # rounding differs between devices
        non_defaults["device"] = options["device"]
    if title.startswith(ALL_CORPORA):
        pairs = ["with=official"] if any("file" in request.options for request in requests) else []
    else:
        pairs = [] if title.startswith(CROSS_DOMAIN) else [_pairs_name(requests)]
    return (
        RUNS_FOLDER
        / _short("+".join(map(_build_folder_name, names)))
        / _short("-".join([title, *pairs, *_name_parts(non_defaults)]))
    )


def _pairs_name(requests: "Sequence[SetRequest]") -> str:
    from unbag.challenge_sets import selection

    first, *_ = requests
    if texts := first.options.get("text"):
        return (
            _build_folder_name(str(texts[0])) if len(texts) == 1 else f"{len(texts)}-texts-{_hash(json.dumps(texts))}"
        )
    if "data" in first.options:
        return _build_folder_name(str(first.options["data"]))
    # The config of the first set represents all sets, unless their default configs use other pairs.
    default = {request.name: selection.build_suite_request(request.name).config for request in requests}
    others = [
        str(request.config)
        for request in requests
        if request.config != default[request.name]
        if first.config == default[first.name] or not f"{first.config}-".startswith(f"{request.config}-")
    ]
    return "-with=".join([str(first.config), *(["+".join(dict.fromkeys(others))] if others else [])])


def _non_default_options(request: "SetRequest", *, in_suite: bool) -> dict[str, Any]:
    """Collect the options of a set that affect its rows and differ from the defaults."""
    from unbag.challenge_sets import loading, selection
    from unbag.challenge_sets.request import SetRequest

    source = {name: request.options[name] for name in ("data", "text") if name in request.options}
    default = SetRequest(request.name, request.config, source)
    default = selection.apply_suite_sample(default) if in_suite else default
    defaults = {option.name: option.default for option in loading.describe_set_options(request.name)} | {
        "language": "en"
    }
    non_defaults = {}
    if request.options != default.options:
        for name, value in request.options.items():
            if value not in (None, defaults.get(name)) and name not in _UNLISTED:
                non_defaults["split" if name == "source_split" else name] = value
    for name in ("max_examples", "seed"):
        if getattr(request, name) != getattr(default, name):
            non_defaults[name] = getattr(request, name)
    return non_defaults


def _name_parts(options: Mapping[str, Any]) -> list[str]:
    """Format options as components of a folder name, with a hash instead of a value that is no file name.

    >>> _name_parts({"q": 5, "train_data": ("my data.csv",)})
    ['q=5', 'train_data=f6d6d847']
    """
    parts = []
    for name, value in options.items():
        items = [str(item) for item in (value if isinstance(value, list | tuple) else [value])]
        is_readable = all(re.fullmatch(r"[\w.-]+", item) for item in items)
        parts.append(
            f"{name}={'+'.join(items) if is_readable else _hash(json.dumps(value, sort_keys=True, default=str))}"
        )
    return parts


def _build_folder_name(name: str) -> str:
    """Build a unique, readable folder name for a model or a file.

    >>> _build_folder_name("org/model"), _build_folder_name("./mine"), _build_folder_name("causal:org/lm")
    ('org__model', 'mine', 'causal--org__lm')
    >>> _build_folder_name("../a/m") == _build_folder_name("/a/m")
    False
    """
    name = name.removeprefix("./").rstrip("/") or name
    escaped = name.replace("/", "__").replace(":", "--")
    if re.fullmatch(r"\w[\w.:/-]*", name) and escaped.replace("__", "/").replace("--", ":") == name:
        return escaped
    # Not reversible, so a hash distinguishes names with the same stem.
    stem = re.sub(r"[^\w.-]+", "__", name).strip("._")[-_MAX_OPTIONS:]
    return f"{stem}-{_hash(name)}"


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 9]}-{_hash(name)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
