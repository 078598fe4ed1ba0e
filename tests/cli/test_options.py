"""What all commands have alike: lists, completion, quiet and verbose, the version."""

import logging
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.factories import result, run
from unbag import challenge_sets, cli
from unbag.cli import output, typer_utils
from unbag.cli.options import PairOptions


def unbag(*arguments, **env):
    return CliRunner(env={"COLUMNS": "200", **env}).invoke(cli.app, list(map(str, arguments)))


def commands(app=cli.app, path=()):
    """Yield every command of an app, with what its command line begins with."""
    from typer.main import get_command

    def walk(command, path):
        if inner := getattr(command, "commands", None):
            for name, each in inner.items():
                yield from walk(each, (*path, name))
        else:
            yield path, command

    yield from walk(get_command(app), path)


def test_every_list_is_comma_separated_or_repeated():
    found = []
    for path, command in commands():
        for param in command.params:
            if getattr(param, "multiple", False) and not str(param.metavar).endswith("NAME=VALUE"):
                assert param.callback is not None, f"{path} {param.name}: takes no commas"
                found.append(param.name)
    assert {"sets", "train_data", "labels", "columns", "label_map", "results", "config", "compare_with"} <= set(found)


def test_a_list_is_the_same_however_it_is_given(tmp_path):
    assert typer_utils.comma_separated(["a, b", "c"]) == ["a", "b", "c"] == typer_utils.comma_separated(["a", "b", "c"])
    assert typer_utils.comma_separated(None) is None
    (tmp_path / "a,b").mkdir()
    paths = typer_utils.comma_separated_paths([tmp_path / "a,b", tmp_path / "c,d"])
    assert [path.name for path in paths] == ["a,b", "c", "d"]
    assert typer_utils.comma_separated_paths([Path("c,")]) == [Path("c")]  # and not this folder


def test_a_sets_own_list_may_be_repeated_and_what_is_none_may_not():
    made = PairOptions(corpus=["sick"], option=["train_data=snli", "train_data=mnli,sick", "min_lms=.5"])
    [request] = made.requests(["cs_lambda"])
    assert request.options["train_data"] == ("snli", "mnli", "sick")
    done = unbag("build", "permuted", "-o", "q=2", "-o", "q=3", "--output", "a.parquet")
    assert done.exit_code == 2
    assert "q: expected one value, got two" in done.output
    several = unbag("build", "permuted", "--corpus", "snli,mnli", "--output", "a.parquet")
    assert several.exit_code == 2
    assert "expected one --corpus, found snli, mnli" in several.output


def test_lists_of_trainers_are_given_in_a_row_or_with_commas_or_again(monkeypatch):
    told = []

    def record(recipe, config, seeds, sets, **_):
        told.append((config.corpus, seeds, config.label_map))

    monkeypatch.setattr("unbag.cli.train._run", record)
    labels = ("--label-map", "neutral", "--label-map", "entailment,contradiction")
    base = ["train", "finetune", "--model", "org/model", "--output-dir", "a", *labels]
    for more in (
        ["--corpus", "snli=2", "mnli", "--seeds", "1", "2", "3"],
        ["--corpus", "snli=2,mnli", "--seeds=1,2,3"],
        ["--seeds", "1", "--corpus", "snli=2", "--seeds", "2,3", "--corpus=mnli"],
    ):
        done = unbag(*base, *more)
        assert done.exit_code == 0, done.output
    assert told == [(("snli=2", "mnli"), (1, 2, 3), "neutral,entailment,contradiction")] * 3
    assert unbag(*base, "--seeds").exit_code == 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("evaluate m --sets sw", {"swapped"}),
        ("evaluate m --sets plain,sw", {"plain,swapped"}),
        ("evaluate m --corpus s", {"snli", "sick", "scitail"}),
        ("evaluate m --corpus sick --split t", {"test", "train"}),
        ("build res", {"resnli"}),
        ("score f --set cs", {"cs_lambda"}),
        ("sets per", {"permuted"}),
        ("lexical fit --train-data o", {"ocnli"}),
        ("publish metric swap", {"swap_consistency"}),
        ("check m --min swapped:sc", {"swapped:score="}),
        ("export lm-eval --sets plain,permuted,sw", {"plain,permuted,swapped"}),
    ],
)
def test_a_shell_completes_names(line, expected):
    words = ["unbag", *line.split(" ")]
    asked = {"_UNBAG_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    shown = CliRunner().invoke(cli.app, prog_name="unbag", env=asked)
    assert set(shown.output.split()) == expected


def test_the_version_is_the_packages():
    assert unbag("--version").output == f"unbag {version('unbag')}\n"


def test_every_command_can_be_quiet_or_verbose(tmp_path):
    for path, command in commands():
        assert {"-q", "--quiet", "-v", "--verbose"} <= {name for param in command.params for name in param.opts}, path
    both = unbag("sets", "-q", "-v")
    assert both.exit_code == 2
    assert "--quiet and --verbose: name one of them" in both.output


def test_quiet_and_verbose_are_over_with_their_command(tmp_path, monkeypatch, caplog):
    folder = run(tmp_path / "run", result())
    seen = {}

    def look(*_):
        seen.update(quiet=output.is_quiet(), debug=logging.getLogger("unbag").isEnabledFor(logging.DEBUG))
        raise ValueError("what went wrong")

    monkeypatch.setattr("unbag.evaluation.gates.of_one_model", look)
    before = (output.is_quiet(), logging.getLogger("unbag").level, logging.getLogger().level)
    gate = ("check", folder, "--min", "plain:score=.1")
    expected = {"-q": {"quiet": True, "debug": False}, "-v": {"quiet": False, "debug": True}}
    for option, state in expected.items():
        caplog.clear()
        unbag(*gate, option)
        assert seen == state
        assert [record.exc_info is not None for record in caplog.records] == ([True] if option == "-v" else [])
        assert (output.is_quiet(), logging.getLogger("unbag").level, logging.getLogger().level) == before


@pytest.mark.parametrize("form", ["md", "csv", "latex", "json"])
def test_what_is_to_be_pasted_has_nothing_that_a_terminal_obeys(tmp_path, form):
    ours, theirs = run(tmp_path / "a", result()), run(tmp_path / "b", result("x\x1b]0;t\x07y\x9b1m"))
    for command in (("report", theirs), ("compare", ours, theirs), ("check", theirs, "--no-worse-than", theirs)):
        done = unbag(*command, "--format", form)
        assert done.exit_code == 0, done.output
        assert not set(done.output) & {"\x1b", "\x07", "\x9b"}, command


def test_a_badge_can_be_written_by_report_too(tmp_path):
    folder = run(tmp_path / "run", result(set_name="swapped"))
    done = unbag("report", folder, "--format", "csv", "--badge", tmp_path / "badge.svg")
    assert done.exit_code == 0, done.output
    assert "shown on 1 of 1 set" in (tmp_path / "badge.svg").read_text()
    assert challenge_sets.get("swapped").name in done.output
