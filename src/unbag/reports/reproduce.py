"""The command that reproduces a result, and remarks on how a model's output was read and what code it ran."""

import shlex
from typing import Any, Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.results import Result
from unbag.data.corpora import CORPORA, OFFICIAL
from unbag.data.labels import positive_label
from unbag.evaluation.verdict import percentage
from unbag.inference.single_output import describe_ranking

_COMMIT: Final = 40  # hexadecimal digits
_VALUES: Final = ("dtype", "head", "label_map", "threshold", "long_premise", "num_fewshot", "base_url")
_SWITCHES: Final = {
    "apply_chat_template": {True: "--apply-chat-template", False: "--no-apply-chat-template"},
    "trust_labels": {True: "--trust-labels"},
    "trust_remote_code": {True: "--trust-remote-code"},
}


class ReproduceCommand(NamedTuple):
    """How to get a result again.

    Attributes:
        command: the command; nothing where none can ask that.
        remark: what it takes beside, or why there is none; nothing where nothing is to say.
    """

    command: str
    remark: str


class _NoCommandError(ValueError):
    """What decided the numbers has no place in a command."""


def rerun(result: Result) -> ReproduceCommand:
    """Return the command that gives a result again, on the same machine with the same versions to the bit.

    The model is named with the commit that was asked, and so are all options that decide the numbers and are not as by
    default. The device is left out: another one rounds differently. A predictor that has a command of its own names it
    in its identity, as `command`.
    """
    if command := result.model.get("command"):
        return ReproduceCommand(
            str(command), "This model is asked by no other command; it asks it on every set that it makes."
        )
    try:
        if result.model.get("kind") == "file":
            words = ["score", str(result.model["name"]), "--set", result.set]
        else:
            words = ["evaluate", *_model(result), "--sets", result.set]
        words += [*_pairs(result), *_options(result)]
        if (beyond := result.scores.get(SKILL)) and beyond["lexical_model"] is None:
            words.append("--no-lexical-baseline")
        if beyond and beyond.get("shuffled") is None and challenge_sets.get(result.set).has_shuffled_control:
            words.append("--no-shuffled")
        return ReproduceCommand(shlex.join(["unbag", *words]), _remark(result))
    except _NoCommandError as error:
        return ReproduceCommand("", f"No command asks the same again: {error}.")


def _remark(result: Result) -> str:
    """Return what a command takes that is not on the Hub at the commit it was read at."""
    data = result.data
    on_hub = not _is_own(result) or data["split"]  # a file has no splits
    files = [str(result.model["name"])] if result.model.get("kind") == "file" else []
    files += [] if on_hub else [data["origin"]]
    sentences = [f"To be given where {' and '.join(files)} {'is' if len(files) == 1 else 'are'}."] if files else []
    if data["name"] == OFFICIAL:
        sentences.append("It downloads the authors' file; a copy of yours is named with --official-file.")
    if _is_own(result) and on_hub:
        sentences.append(f"The data set is read as it is on that day; here it was commit {data['revision']}.")
    return " ".join(sentences)


def _model(result: Result) -> list[str]:
    """Return what a command says of the model, but for what it is trained on."""
    model = result.model
    if "options" not in model:
        raise _NoCommandError("the model was handed in from Python; hand it to unbag.evaluate again")
    words = [str(model["name"])]
    revision = str(model.get("revision", ""))
    if len(revision) == _COMMIT:  # of the Hub; a folder has a hash
        words += ["--revision", revision]
    for name, value in model["options"].items():
        if name in _VALUES:
            words += [f"--{name.replace('_', '-')}", str(value)]
        elif name in _SWITCHES:
            words.append(_SWITCHES[name][value])
        elif name != "train_data":
            raise _NoCommandError(f"the model's option {name}={value} can be given from Python only")
    return words


def _is_own(result: Result) -> bool:
    """Tell whether the pairs are a user's own."""
    return result.data["name"] not in (*CORPORA, OFFICIAL)


def _pairs(result: Result) -> list[str]:
    """Return what a command says of the pairs and how many of them."""
    data = result.data
    load_options: dict[str, Any] = data.get("load_options", {})
    if lost := sorted(load_options.keys() - {"columns", "labels", "language"}):
        raise _NoCommandError(f"{lost[0]}={load_options[lost[0]]} of the pairs can be given from Python only")
    words: list[str] = []
    if _is_own(result):
        words += ["--data", *([data["name"], "--split", data["split"]] if data["split"] else [data["origin"]])]
    elif data["name"] in CORPORA:
        words += ["--corpus", data["name"]]
        words += ["--split", data["split"]] if loading.takes_split(result.set, data["name"]) else []
    if "columns" in load_options:
        words += ["--columns", ",".join(f"{ours}={theirs}" for ours, theirs in load_options["columns"].items())]
    if "labels" in load_options:
        words += ["--labels", ",".join(load_options["labels"])]
    if "language" in load_options:
        words += ["--language", load_options["language"]]
    if "max_examples" in result.config:
        words += ["--max-examples", str(result.config["max_examples"]), "--seed", str(result.config["sample_seed"])]
    return words


def _options(result: Result) -> list[str]:
    """Return what a command says of the set's own options and of what a built-in model is fitted to."""
    defaults: dict[str, Any] = {option.name: option.default for option in loading.described_options(result.set)}
    defaults["seed"] = result.config.get("sample_seed", DEFAULT_SEED)  # --seed is for all that is drawn
    options = {name: _listed(value) for name, value in result.config.items() if name in loading.options(result.set)}
    words: list[str] = []
    train_data = result.model.get("options", {}).get("train_data")
    if train_data is not None:
        words += ["--train-data", ",".join(train_data)]
    for name, value in options.items():
        if value in (defaults[name], None, "", []):
            continue
        if name == "embeddings" and str(value).startswith("sha256:"):
            raise _NoCommandError(f"the word embeddings are known by their content alone, {value}")
        words += ["-o", f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"]
    return words


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def remarks(result: Result) -> list[str]:
    """Return a sentence or two for each thing that a reader of a result must know of its model; most have none."""
    model = result.model
    said = []
    if ranking := model.get("ranking"):
        label = positive_label(str(model.get("label_order", "")).split(","))
        said.append(describe_ranking(str(model["name"]), ranking, str(model.get("threshold")), label))
    if result.truncated_share:
        limit = f"{model['max_length']} tokens that" if "max_length" in model else "input that"
        said.append(
            f"{percentage(result.truncated_share)} of the pairs ({model['truncated_pairs']:,}) are longer than the "
            f"{limit} {model['name']} reads at most; they were truncated."
        )
    if "trusted_code" in model:
        said.append(f"{model['name']} ran Python code of its own repository, as asked (--trust-remote-code).")
    return said
