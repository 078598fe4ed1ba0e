"""`--config run.yaml`: a command's options from a file, and the file that a run leaves, to be given again.

    models: [ORG/MODEL]
    corpus: mnli
    max-examples: 500
    set-option: [q=10]

Its keys are the long options, and `models`. The command line wins over it, and so does the environment.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from unbag.cli.options import PairOptions

FILE: Final = "run.yaml"
_LARGEST: Final = 100_000  # bytes of such a file
_DEEPEST: Final = 4
_NESTED: Final = "config"  # a file names no other file
# How a run is shown or shared, which decides nothing that comes out; another machine's means; and what goes to the Hub,
# which is asked each time. A file may have them, but a run leaves none of them in its own.
_NOT_WRITTEN: Final = ("as_json", "quiet", "verbose", "shard", "num_proc", "engine", "num_gpus", "push_results")
_CONFIRMED: Final = ("trust_remote_code",)  # a file that someone else wrote must not switch it on alone
_UNCONFIRMED: Final = f"{__name__}.unconfirmed"  # in a context's `meta`: the file that has such an option, by its name


def _read_into(ctx: typer.Context, path: Path | None) -> Path | None:
    if path is not None and not ctx.resilient_parsing:
        values = _values(path, ctx.command.params)
        switched_on = {name: path for name in _CONFIRMED if values.pop(name, False)}
        ctx.meta[_UNCONFIRMED] = switched_on
        ctx.default_map = values
    return path


def confirmed(ctx: typer.Context, param: typer.CallbackParam, value: bool) -> bool:
    """Require on the command line too what a file switches on, as the callback of an option in `_CONFIRMED`.

    Raises:
        typer.BadParameter: if the file alone has it.
    """
    if not value and param.name in (files := ctx.meta.get(_UNCONFIRMED, {})):
        option = param.opts[0]
        raise typer.BadParameter(
            f"{files[param.name]}: the run had {option}, which a file alone does not switch on; add {option} to this "
            "command, or take the line out of the file"
        )
    return value


# Eager: the other options look for their defaults in what it has read.
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=_read_into,
        is_eager=True,
        help=f"A YAML file of long options and values, as a run leaves it ({FILE}); the command line wins.",
    ),
]


def write(ctx: typer.Context, folder: Path) -> None:
    """Leave the options of a command as they were resolved in a folder.

    Where an earlier command differed in its `--sets` alone, the file names the sets of both, as the folder has them.
    """
    import yaml  # type: ignore[import-untyped]

    from unbag.utils.files import atomic_write

    keys = {key: param for key, param in _keys(ctx.command.params).items() if param.name not in _NOT_WRITTEN}
    given = {key: ctx.params.get(param.name) for key, param in keys.items()}
    resolved = {key: _plain(value) for key, value in given.items() if value not in (None, False, (), [])}
    # What is off by default is left out; what is on and was switched off says so.
    resolved |= {key: False for key, value in given.items() if value is False and keys[key].default is not False}
    if resolved.get("sets") and (folder / FILE).is_file():
        resolved["sets"] = _sets_of_both(folder / FILE, resolved)
    text = yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True, width=120)
    with atomic_write(folder / FILE) as tmp:
        tmp.write_text(f"# unbag {ctx.info_name} --config {FILE}\n{text}", encoding="utf-8")


def _sets_of_both(file: Path, resolved: Mapping[str, Any]) -> list[str]:
    """Return the sets of a command, after those of an earlier one that it adds to."""
    try:
        earlier = _mapping(file)
    except typer.BadParameter:
        return list(resolved["sets"])
    sets = earlier.get("sets")
    if not isinstance(sets, list) or {**earlier, "sets": None} != {**resolved, "sets": None}:
        return list(resolved["sets"])
    return list(dict.fromkeys([*sets, *resolved["sets"]]))


class Recorded(NamedTuple):
    """What a run was asked, but for its model.

    Attributes:
        pairs: which pairs.
        sets: the sets that it named, all of each.
        full: whether it took all of each set, where it named none.
        lexical_baseline: whether a lexical model was asked too.
        shuffled: whether the model was asked the pairs with shuffled words too.
    """

    pairs: PairOptions
    sets: Sequence[str]
    full: bool
    lexical_baseline: bool
    shuffled: bool


def recorded(path: Path, params: Sequence[Any]) -> Recorded:
    """Return what a run was asked.

    Args:
        path: what the run left.
        params: of the command that reads it, of which the file may have more.

    Raises:
        typer.BadParameter: if the file cannot be read.
    """
    record = _mapping(path)
    names = {name for name in PairOptions.__dataclass_fields__ if name in record}
    keys = {key: param for key, param in _keys(params).items() if key in names}
    values = _typed(path, {key: record[key] for key in keys}, keys)
    return Recorded(
        PairOptions(**values),
        list(record.get("sets") or ()),
        bool(record.get("full")),
        record.get("lexical-baseline") is not False,
        record.get("shuffled") is not False,
    )


def _values(path: Path, params: Sequence[Any]) -> dict[str, Any]:
    keys = _keys(params)
    record = _mapping(path)
    for key in record:
        if key not in keys:
            alike = get_close_matches(str(key), keys, n=1)
            hint = f"did you mean {alike[0]}?" if alike else f"expected some of {', '.join(keys)}"
            raise typer.BadParameter(f"{path}: no option {key!r}, {hint}")
    values = _typed(path, record, keys)
    switches = {param.name for param in params if getattr(param, "is_flag", False)}
    for key, param in keys.items():
        if param.name in switches and not isinstance(values.get(str(param.name), False), bool):
            raise typer.BadParameter(f"{path}: expected {key} to be true or false, found {values[param.name]!r}")
    # As text, which the option reads as it does on the command line: or true and 1.5 would be taken for 1.
    return {
        name: value if name in switches or isinstance(value, list) else str(value) for name, value in values.items()
    }


def _typed(path: Path, record: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the names of parameters, as the command line has them."""
    values = {}
    for key, value in record.items():
        param = keys[key]
        several = getattr(param, "multiple", False) or param.nargs == -1
        if value in (None, [], {}):
            found = "none" if value is None else value
            raise typer.BadParameter(f"{path}: expected a value for {key}, found {found}; leave it out for the default")
        if isinstance(value, Mapping) and several:  # set-option: {q: 10}
            value = [f"{name}={_joined(each)}" for name, each in value.items()]
        if isinstance(value, Mapping) or (isinstance(value, list) and not several):
            raise typer.BadParameter(f"{path}: expected one value for {key}, found {value!r}")
        values[param.name] = [_joined(each) for each in (value if isinstance(value, list) else [value])]
        if not several:
            [values[param.name]] = [value]
    return values


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _mapping(path: Path) -> dict[str, Any]:
    import yaml

    from unbag.utils.safe_io import validate_file

    try:
        text = validate_file(path, largest=_LARGEST).read_text(encoding="utf-8")
        _require_flat(yaml.parse(text, yaml.SafeLoader))
        record = yaml.safe_load(text)
    except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise typer.BadParameter(f"expected a YAML file of options, found {path}: {reason}") from None
    if not isinstance(record, dict):
        raise typer.BadParameter(f"{path}: expected options with values, such as corpus: snli, found {record!r}")
    return record


def _require_flat(events: Iterable[Any]) -> None:
    """Refuse what takes minutes to read, or gigabytes to print, though it is a few lines.

    Args:
        events: of a YAML text, as they come.
    """
    import yaml

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"lists within lists, more than {_DEEPEST} deep")
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("an alias (*name), expected each value written out")


def _keys(params: Sequence[Any]) -> dict[str, Any]:
    """Return the parameters that a file may set, by key: the long option without its dashes, or an argument's name."""
    keys = {}
    for param in params:
        long = [name for name in param.opts if name.startswith("--")]
        if param.name != _NESTED and param.expose_value:
            keys[long[0].removeprefix("--") if long else str(param.name)] = param
    return keys


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value
