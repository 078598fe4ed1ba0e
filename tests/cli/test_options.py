"""Tests of the options of all commands: lists, completion, help, quiet, verbose and version."""

import ast
import logging
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import unbag
from tests.factories import build_result, run_unbag, write_run
from unbag import cli
from unbag.cli import output, typer_utils


def iter_commands(command=get_command(cli.app), path=()):  # noqa: B008
    """Yield all commands with their paths."""
    for name, each in getattr(command, "commands", {}).items():
        yield from iter_commands(each, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


def test_every_list_option_accepts_commas():
    found = set()
    for path, command in iter_commands():
        for param in command.params:
            # Lists of `unbag train` are split when they are parsed (`test_lists_accept_several_values_in_all_forms`).
            if getattr(param, "multiple", False) and not str(param.metavar).endswith(("NAME=VALUE", typer_utils.LIST)):
                assert param.callback is not None, f"{path} {param.name}: takes no commas"
                found.add(param.name)
    assert {"sets", "train_data", "labels", "columns", "label_map", "results", "config", "compare_with"} <= found


def test_lists_accept_several_values_in_all_forms(monkeypatch):
    told = []

    def record(config, seeds, sets, **_):
        told.append((config.corpus, seeds, sets, config.label_map, config.hypothesis_only))

    monkeypatch.setattr("unbag.cli.train._run", record)
    labels = ("--label-map", "neutral", "--label-map", "entailment,contradiction")
    flags = ("--hypothesis-only", "--evaluate", "permuted")
    base = ["train", "finetune", "--model", "org/model", "--output-dir", "a", *labels, *flags]
    for more in (
        ["--corpus=snli=2", "mnli", "--seeds", "1", "2", "3"],
        ["--corpus", "snli=2,mnli", "--seeds=1,2,3"],
        ["--seeds", "1", "--corpus", "snli=2", "--seeds", "2,3", "--corpus=mnli"],
    ):
        done = run_unbag(*base, *more)
        assert done.exit_code == 0, done.output
    assert told == [(("snli=2", "mnli"), (1, 2, 3), ("permuted",), "neutral,entailment,contradiction", True)] * 3
    assert run_unbag(*base, "--seeds").exit_code == run_unbag(*base, "--seeds", "one").exit_code == 2
    evaluate = get_command(cli.app).commands["evaluate"]
    assert list(evaluate.make_context("evaluate", ["m", "--text=a.md", "b.md"]).params["text"]) == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("evaluate m --sets sw", {"swapped"}),
        ("evaluate m --corpus s", {"snli", "sick", "scitail"}),
        ("evaluate m --corpus sick --split t", {"test", "train"}),
        ("publish metric swap", {"swap_consistency"}),
        ("export lm-eval --sets plain,permuted,sw", {"plain,permuted,swapped"}),
        ("evaluate m --sets permuted --sets sicck -o m", {"min_words=", "minitrees=", "minitree_by=", "mode="}),
    ],
)
def test_completion_lists_names(line, expected):
    words = ["unbag", *line.split(" ")]
    asked = {"_UNBAG_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    shown = CliRunner().invoke(cli.app, prog_name="unbag", env=asked)
    assert set(shown.output.split()) == expected


def test_version_and_short_help_are_printed_as_written():
    assert run_unbag("--version").output == f"unbag {version('unbag')}\n"
    printed = 0
    for path, command in iter_commands():
        shown = CliRunner(env={"COLUMNS": "400"}).invoke(cli.app, [*path, "--help"])
        assert shown.exit_code == 0
        page = " ".join(shown.output.split())
        for param in command.params:
            if param.help:
                assert len(param.help) <= 80, (path, param.name)
                # Rich drops text in brackets, which looks like the name of a style.
                assert " ".join(param.help.split()) in page, (path, param.name)
                printed += 1
    assert printed > 200


def test_every_command_has_quiet_and_verbose():
    for path, command in iter_commands():
        assert {"-q", "--quiet", "-v", "--verbose"} <= {name for param in command.params for name in param.opts}, path
    both = run_unbag("sets", "-q", "-v")
    assert both.exit_code == 2
    assert "expected one of --quiet and --verbose, got both" in both.output


def test_quiet_and_verbose_are_reset_after_command(tmp_path, monkeypatch, caplog):
    folder = write_run(tmp_path / "run", build_result())
    seen = {}

    def look(*_):
        seen.update(quiet=output.is_quiet(), debug=logging.getLogger("unbag").isEnabledFor(logging.DEBUG))
        raise ValueError("what went wrong")

    monkeypatch.setattr("unbag.evaluation.gates.select_results_of_single_model", look)
    before = (output.is_quiet(), logging.getLogger("unbag").level, logging.getLogger().level)
    gate = ("check", folder, "--min", "plain:score=.1")
    for option in ("-q", "-v"):
        caplog.clear()
        run_unbag(*gate, option)
        assert seen == {"quiet": option == "-q", "debug": option == "-v"}
        assert [record.exc_info is not None for record in caplog.records] == ([True] if option == "-v" else [])
        assert (output.is_quiet(), logging.getLogger("unbag").level, logging.getLogger().level) == before


@pytest.mark.parametrize("form", ["md", "csv", "latex", "json"])
def test_exported_text_has_no_control_characters(tmp_path, form):
    names = ("model", "x\x1b]0;t\x07y\x9b1m")
    ours, theirs = (write_run(tmp_path / str(number), build_result(name)) for number, name in enumerate(names))
    for command in (("report", theirs), ("compare", ours, theirs), ("check", theirs, "--no-worse-than", theirs)):
        done = run_unbag(*command, "--format", form)
        assert done.exit_code == 0, done.output
        assert not set(done.output) & {"\x1b", "\x07", "\x9b"}, command


OF_OTHERS = frozenset(  # options of other programs that appear in messages
    "--tasks --custom-tasks --include --always --dirty --match --abbrev --nproc_per_node --hash --no-deps".split()
)


def find_options(message):
    """Return the long options in a message, except those in quoted commands."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", re.sub("`[^`]*`", "", message)))


FAULTY = {
    "columns.csv": "one,two,three\nA man.,A dog.,neutral\n",
    "letters.csv": "premise,hypothesis,label\nA man.,A dog.,E\n",
    "mixed.csv": "premise,hypothesis,label\nA man.,A dog.,not_entailment\nA man.,A dog.,neutral\n",
    "twice.csv": "id,premise,hypothesis,label\n" + "a,A man.,A dog.,neutral\n" * 2,
    "passages.jsonl": '{"premise": ["A.", "B."], "hypothesis": "A dog.", "label": "neutral"}\n',
    "latin.csv": "premise,hypothesis,label\nA caf\xe9.,A dog.,neutral\n",
}


@pytest.mark.parametrize("file", FAULTY)
@pytest.mark.parametrize(
    "line",
    [
        "build plain --output out.parquet --data",
        "lexical fit --pipeline all --output-dir out --train-data",
        "models init esim --output-dir out --corpus",
        "train finetune --model m --output-dir out --corpus",
    ],
)
def test_errors_of_files_name_only_options_of_the_command(file, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(FAULTY[file], encoding="latin-1")
    words = [*line.split(), file]
    done = run_unbag(*words)
    [options] = [
        {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        for path, command in iter_commands()
        if tuple(words[: len(path)]) == path
    ]
    message = f"{done.output} {done.exception}"
    if line.startswith(("build", "train")):  # the others need no ids or labels, or join passages
        assert file in message
    assert find_options(message) <= options, message


def test_every_option_in_messages_exists():
    known = {
        name for _, command in iter_commands() for each in command.params for name in (*each.opts, *each.secondary_opts)
    }
    named = {}
    for path in Path(unbag.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if " " in text and "\n" not in text and "var(--" not in text:
                named.setdefault(path.name, set()).update(find_options(text))
    assert sum(map(len, named.values())) > 50
    unknown = {file: sorted(options - known - OF_OTHERS) for file, options in named.items()}
    assert {file: options for file, options in unknown.items() if options} == {}


def test_model_folder_given_by_dots_has_its_own_name(tmp_path, monkeypatch):
    repos = []
    (tmp_path / "hex" / "evaluation").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "hex" / "evaluation")
    monkeypatch.setattr("unbag.cli.publish.build_model_upload", lambda folder, repo, *_: repos.append(repo))
    monkeypatch.setattr("unbag.cli.publish.publish_all", lambda uploads, options: None)
    done = run_unbag("publish", "model", "..", "--repo-id", "org")
    assert (done.exit_code, repos) == (0, ["org/hex"]), done.output
