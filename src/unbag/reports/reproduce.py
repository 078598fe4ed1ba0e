"""Command that reproduces a result, and remarks on output threshold, truncation and executed code."""

import shlex
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.base import DETECTION, SKILL
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.results import Result
from unbag.data.corpora import CORPORA, OFFICIAL
from unbag.data.labels import CONTRADICTION, get_positive_label
from unbag.evaluation.model_loading import PROMPT_MARK
from unbag.evaluation.published import separate_options
from unbag.evaluation.verdict import format_percentage
from unbag.inference.options import MODEL_OPTIONS
from unbag.inference.single_output import describe_ranking
from unbag.utils.options import format_option

_COMMIT: Final = 40  # hexadecimal digits
_HASH_LENGTH: Final = 64  # hexadecimal digits of the hash of a file or local folder


class ReproduceCommand(NamedTuple):
    """A command that reproduces a result, or the reason why there is no such command."""

    command: str  # empty if no command reproduces the result
    remark: str  # additional inputs of the command, or why there is none; may be empty


class _NoCommandError(ValueError):
    """Raised if an input of the result has no equivalent on the command line."""


def build_reproduce_command(result: Result) -> ReproduceCommand:
    """Build the command that reproduces a result exactly, on the same machine with the same software versions.

    The command includes the commit of the model and all non-default options that affect the metrics. The device is
    omitted, although results on different devices have different rounding errors. A predictor with a custom command has
    this command as `command` in its identity.
    """
    if command := result.model.get("command"):
        return ReproduceCommand(str(command), "Only this command evaluates the model, on all sets that it builds.")
    try:
        if result.model.get("kind") == "file":
            options = result.model.get("read_options", {})
            words = ["score", str(result.model.get("file", result.model["name"]))]
            words += [] if _is_own(result) else _reading(options)
            words += [*(["--by-order"] if options.get("by_order") else []), "--set", result.set]
            words += format_option("threshold", result.model["threshold"]) if "threshold" in result.model else []
        else:
            words = ["evaluate", *_model(result), "--sets", result.set]
        words += [*_pairs(result), *_options(result)]
        if (skill := result.scores.get(SKILL)) and skill["lexical_model"] is None:
            words.append("--no-lexical-baseline")
        if (
            skill
            and skill.get("shuffled") is None
            and words[0] == "evaluate"
            and challenge_sets.get_challenge_set(result.set).has_shuffled_control
        ):
            words.append("--no-shuffled")
        return ReproduceCommand(shlex.join(["unbag", *words]), _remark(result))
    except _NoCommandError as error:
        return ReproduceCommand("", f"No command reproduces this result: {error}.")


def _remark(result: Result) -> str:
    """Describe the inputs of the command that are not pinned to a commit on the Hub."""
    data = result.data
    # A file has no splits. A local folder may have some.
    on_hub = not _is_own(result) or (data["split"] and len(data["revision"]) != _HASH_LENGTH)
    is_file = result.model.get("kind") == "file"
    files = [str(result.model.get("file", result.model["name"]))] if is_file else []
    files += [] if on_hub else [data["origin"]]
    sentences = [f"Run the command in the folder that contains {' and '.join(files)}."] if files else []
    if data["name"] == OFFICIAL:
        sentences.append("The command downloads the authors' file; pass a local copy with --official-file.")
    if _is_own(result) and on_hub:
        sentences.append(
            f"The command loads the latest revision of the data set; this result used commit {data['revision']}."
        )
    return " ".join(sentences)


def _merge_reading_options(result: Result) -> Mapping[str, Any]:
    """Merge the options for reading the pairs with those for reading a file of predictions, if the pairs are own."""
    of_pairs: Mapping[str, Any] = result.data.get("load_options", {})
    of_file: Mapping[str, Any] = result.model.get("read_options", {})
    if not _is_own(result) or not {"columns", "labels"} & of_file.keys():
        return of_pairs
    merged = {**of_pairs, **{name: of_file[name] for name in ("columns", "labels") if name in of_file}}
    if "columns" in merged:
        merged["columns"] = {**of_pairs.get("columns", {}), **merged["columns"]}
    recorded = (of_pairs.get("columns"), of_pairs.get("labels"), of_file.get("columns"), of_file.get("labels", ()))
    if separate_options(merged.get("columns"), merged.get("labels"), has_pairs=True) != recorded:
        raise _NoCommandError(
            "columns and labels of predictions that differ from those of your own pairs are available only in Python"
        )
    return merged


def _reading(options: Mapping[str, Any]) -> list[str]:
    """Build the arguments that describe the columns and the encoding of a file."""
    given = [name for name in ("columns", "labels", "language", "encoding") if name in options]
    given += ["join_passages"] if options.get("join_passages") else []
    return [word for name in given for word in format_option(name, options[name])]


def _model(result: Result) -> list[str]:
    """Build the arguments that specify the model, without its training data."""
    model = result.model
    if "options" not in model:
        raise _NoCommandError("the model is a Python object; pass it to unbag.evaluate again")
    name = str(model["name"])
    words = [name.partition(PROMPT_MARK)[0] if "prompt" in model["options"] else name]
    revision = str(model.get("revision", ""))
    if len(revision) == _COMMIT:  # a commit on the Hub; the revision of a folder is a longer hash
        words += ["--revision", revision]
    for name, value in model["options"].items():
        if name not in (*MODEL_OPTIONS, "trust_labels"):
            raise _NoCommandError(f"the model option {name}={value} is available only in Python")
        if name != "train_data":
            words += format_option(name, value)
    return words


def _is_own(result: Result) -> bool:
    """Check whether the pairs are user-provided."""
    return result.data["name"] not in (*CORPORA, OFFICIAL)


def _pairs(result: Result) -> list[str]:
    """Build the arguments that specify the pairs and their maximum number."""
    data = result.data
    load_options: dict[str, Any] = data.get("load_options", {})
    if python_only := sorted(
        load_options.keys() - {"columns", "labels", "language", "encoding", "join_passages", "text"}
    ):
        name = python_only[0]
        raise _NoCommandError(f"the data option {name}={load_options[name]} is available only in Python")
    words: list[str] = []
    if "text" in load_options:
        words += ["--text", *load_options["text"], *(["--split", data["split"]] if data["split"] else [])]
    elif _is_own(result):
        words += ["--data", *([data["name"], "--split", data["split"]] if data["split"] else [data["origin"]])]
    elif data["name"] in CORPORA:
        words += ["--corpus", data["name"]]
        words += ["--split", data["split"]] if loading.has_split_config(result.set, data["name"]) else []
    words += _reading(_merge_reading_options(result))
    if "max_examples" in result.config:
        words += ["--max-examples", str(result.config["max_examples"]), "--seed", str(result.config["sample_seed"])]
    return words


def _options(result: Result) -> list[str]:
    """Build the arguments for the set-specific options and for the training data of a built-in model."""
    defaults: dict[str, Any] = {option.name: option.default for option in loading.describe_set_options(result.set)}
    if "seed" in defaults:  # --seed is the default seed of all sampling
        defaults["seed"] = result.config.get("sample_seed", DEFAULT_SEED)
    words: list[str] = []
    train_data = result.model.get("options", {}).get("train_data")
    if train_data is not None:
        words += ["--train-data", ",".join(train_data)]
    for name, recorded in result.config.items():
        value = list(recorded) if isinstance(recorded, tuple) else recorded
        if name not in defaults or value in (defaults[name], None, "", []):
            continue
        if name == "embeddings" and str(value).startswith("sha256:"):
            raise _NoCommandError(f"the file with the word embeddings is unknown; only its hash is recorded: {value}")
        words += ["-o", f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"]
    return words


def list_remarks(result: Result) -> list[str]:
    """List remarks on a result: threshold, truncated and unanswered pairs, stored answers, code of the repository."""
    model = result.model
    sentences = []
    if ranking := model.get("ranking"):
        is_detector = DETECTION in result.scores
        label = CONTRADICTION if is_detector else get_positive_label(str(model.get("label_order", "")).split(","))
        sentences.append(describe_ranking(str(model["name"]), ranking, str(model.get("threshold")), label))
    if pairs := model.get("truncated_pairs"):
        limit = f" ({model['max_length']} tokens)" if "max_length" in model else ""
        sentences.append(
            f"{format_percentage(result.truncated_share)} of the pairs ({pairs:,}) exceed the maximum input length "
            f"of {model['name']}{limit} and were truncated."
        )
    if documents := result.data.get("shared_documents"):
        sentences.append(
            f"Several examples share a document ({documents:,} documents). The intervals treat the examples as "
            "independent, and may be too narrow."
        )
    if days := model.get("stored_answers"):
        sentences.append(f"{model['name']}: stored answers of {days} (--no-cache sends the requests again).")
    if matched := model.get("matched"):
        parts = [
            f"{model['name']}: predictions of {matched['rows']:,} of {matched['of']:,} rows "
            f"({matched['rows'] / matched['of']:.1%}), matched by {matched['by']}"
        ]
        if matched["unmatched"]:
            parts.append(f"{matched['unmatched']:,} rows of the file are not in the set")
        if matched["ambiguous"]:
            parts.append(f"{matched['ambiguous']:,} rows match several different predictions and are not scored")
        sentences.append("; ".join([*parts, *matched.get("warnings", ())]) + ".")
    if result.unanswered:
        sentences.append(f"Unanswered, counted as wrong: {result.unanswered}.")
    if "trusted_code" in model:
        sentences.append(f"{model['name']} ran Python code from its repository (--trust-remote-code).")
    return sentences
