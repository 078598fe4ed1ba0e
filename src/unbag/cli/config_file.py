"""`--config run.yaml`: reading a command's options from a file, and writing the file of a run.

    models: [ORG/MODEL]
    corpus: mnli
    max-examples: 500
    set-option: [q=10]

The keys are the long options, and `models`. The command line and the environment take precedence over the file.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

import typer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Group = TypeVar("_Group", bound="DataclassInstance")
CONFIG_FILE: Final = "run.yaml"
# Options that do not affect the results, options of the machine, and the push to the Hub, which needs consent each
# time. A file may contain them, but a run does not write them.
_NOT_WRITTEN: Final = ("as_json", "quiet", "verbose", "shard", "num_proc", "engine", "num_gpus", "push_results")
_CONFIRMED: Final = ("trust_remote_code",)  # a file from someone else must not enable these options
# Key of a context's `meta`: map from an enabled option to the file that enables it.
_UNCONFIRMED: Final = f"{__name__}.unconfirmed"


def _read_into(ctx: typer.Context, path: Path | None) -> Path | None:
    if path is not None and not ctx.resilient_parsing:
        record, keys = _mapping(path), _keys(ctx.command.params)
        for key in (each for each in record if each not in keys):
            similar = get_close_matches(str(key), keys, n=1)
            hint = f"did you mean {similar[0]}?" if similar else f"the options are {', '.join(keys)}"
            raise typer.BadParameter(f"{path}: expected an option of this command, got {key!r}; {hint}")
        values = _to_texts(path, record, keys)
        enabled = {name: path for name in _CONFIRMED if values.pop(name, False)}
        ctx.meta[_UNCONFIRMED] = enabled
        ctx.default_map = values
    return path


def require_confirmation(ctx: typer.Context, param: typer.CallbackParam, value: bool) -> bool:
    """Check that an option set in a config file is also passed on the command line (for `_CONFIRMED` options)."""
    if not value and param.name in (files := ctx.meta.get(_UNCONFIRMED, {})):
        option = param.opts[0]
        raise typer.BadParameter(
            f"{files[param.name]}: expected {option} on the command line too, got {option} only in the file; add it to "
            "the command line, or remove it from the file"
        )
    return value


# Eager, because the other options take their defaults from the file.
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=_read_into,
        is_eager=True,
        help="YAML file with options, such as a run.yaml; command-line options override it.",
    ),
]


def write_config(ctx: typer.Context, folder: Path) -> None:
    """Write the options of a command to `run.yaml` in a folder, with defaults resolved.

    If an earlier command in the folder differed only in `--sets`, the file lists the sets of both commands.
    """
    import yaml  # type: ignore[import-untyped]

    from unbag.utils.files import atomic_write

    keys = {key: param for key, param in _keys(ctx.command.params).items() if param.name not in _NOT_WRITTEN}
    values = {key: ctx.params.get(param.name) for key, param in keys.items()}
    # A flag is written only if its value differs from the default.
    changed = {
        key: value
        for key, value in values.items()
        if (keys[key].default is not False if value is False else value not in (None, (), []))
    }
    resolved = json.loads(json.dumps(changed, default=str))  # YAML has no paths and tuples
    if resolved.get("sets") and (folder / CONFIG_FILE).is_file():
        with suppress(typer.BadParameter):  # an unreadable file is replaced
            earlier = _mapping(folder / CONFIG_FILE)
            if isinstance(earlier.get("sets"), list) and {**earlier, "sets": 0} == {**resolved, "sets": 0}:
                resolved["sets"] = list(dict.fromkeys([*earlier["sets"], *resolved["sets"]]))
    text = yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True, width=120)
    with atomic_write(folder / CONFIG_FILE) as tmp:
        tmp.write_text(f"# unbag {ctx.info_name} --config {CONFIG_FILE}\n{text}", encoding="utf-8")


class EarlierOptions(NamedTuple):
    """Options of an earlier run."""

    file: Path  # for error messages
    models: Sequence[str]
    sets: Sequence[str]  # listed with `--sets`, each with all examples
    full: bool  # whether the suite used all examples of each set
    values: Mapping[str, Any]  # of the other options, by parameter name

    def apply(self, ctx: typer.Context, group: _Group, *, skip: Collection[str] = ()) -> _Group:
        """Replace the values of a group of options, except those in `skip`, by those of the earlier run."""
        params = {str(param.name): param for param in ctx.command.params}
        names = [each.name for each in fields(group)]
        ours = [name for name in names if name in self.values and name not in skip]
        ctx.meta[_UNCONFIRMED] = {name: self.file for name in ours if name in _CONFIRMED and self.values[name]}
        given = {name: False if name in _CONFIRMED else self.values[name] for name in ours}
        return replace(group, **{name: params[name].process_value(ctx, value) for name, value in given.items()})


def is_set_by_user(ctx: typer.Context, name: str) -> bool:
    """Check whether an option has a value from the command line, the environment or `--config`."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def load_earlier_options(results: Path, model: Mapping[str, Any], params: Sequence[Any]) -> EarlierOptions:
    """Load the options of an earlier run from its `run.yaml`. Without this file, those in the record of its model.

    Options in the file that are not in `params` are ignored.
    """
    # The values on the command line are texts.
    values = {
        name: value if isinstance(value, bool) else list(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in model.get("options", {}).items()
    }
    path = results.with_name(CONFIG_FILE)
    if not path.is_file():
        return EarlierOptions(results, [str(model["name"])], (), False, values)
    record, keys = _mapping(path), _keys(params)
    values |= _to_texts(path, {key: value for key, value in record.items() if key in keys}, keys)
    models, sets = (list(map(str, record.get(key) or ())) for key in ("models", "sets"))
    return EarlierOptions(path, models, sets, bool(record.get("full")), values)


def _to_texts(path: Path, record: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the values of a file to the texts of the command line, by parameter name. A switch keeps its bool."""
    values: dict[str, Any] = {}
    for key, value in record.items():
        param = keys[key]
        is_list, is_switch = getattr(param, "multiple", False) or param.nargs == -1, getattr(param, "is_flag", False)
        is_single = isinstance(value, bool) if is_switch else not isinstance(value, list | Mapping)
        if value in (None, [], {}) or not (is_list or is_single):
            expected = "values" if is_list else "true or false" if is_switch else "one value"
            raise typer.BadParameter(
                f"{path}: expected {expected} for {key}, got {'none' if value is None else repr(value)}; correct "
                "it, or omit the key to use the default"
            )
        if isinstance(value, Mapping):  # set-option: {q: 10}
            value = [f"{name}={_joined(each)}" for name, each in value.items()]
        # Values are passed as text and parsed like the command line. Otherwise `true` and 1.5 would pass as integers.
        if is_list:
            values[param.name] = [_joined(each) for each in (value if isinstance(value, list) else [value])]
        else:
            values[param.name] = value if is_switch else str(value)
    return values


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _mapping(path: Path) -> dict[str, Any]:
    import yaml

    from unbag.utils.safe_io import validate_file

    try:
        record = yaml.safe_load(validate_file(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        # PyYAML is recursive, so a deeply nested file exceeds the recursion limit.
        reason = " ".join(str(error).split())
        raise typer.BadParameter(
            f"--config: expected a YAML file of options, got {path}: {reason}; correct the file"
        ) from None
    if not isinstance(record, dict):
        raise typer.BadParameter(
            f"{path}: expected a mapping of options to values, got {record!r}; write a line such as `corpus: snli` for "
            "each option"
        )
    return record


def _keys(params: Sequence[Any]) -> dict[str, Any]:
    """Collect the parameters that a file may set, by key (the long option without dashes, or the argument name)."""
    keys = {}
    for param in params:
        long = [name for name in param.opts if name.startswith("--")]
        if param.name != "config" and param.expose_value:  # a file cannot include another file
            keys[long[0].removeprefix("--") if long else str(param.name)] = param
    return keys
