"""Tests that messages name only options of the current command."""

import ast
from pathlib import Path

import pytest
from typer.testing import CliRunner

import unbag
from tests.cli.test_options import iter_commands
from unbag import cli
from unbag.evaluation.model_loading import validate_model_options
from unbag.utils import advice

PAIRS = {
    "columns.csv": "one,two,three\nA man.,A dog.,neutral\n",
    "letters.csv": "premise,hypothesis,label\nA man.,A dog.,E\n",
    "numbers.csv": "premise,hypothesis,label\nA man.,A dog.,1\n",
    "twice.csv": "id,premise,hypothesis,label\n" + "a,A man.,A dog.,neutral\n" * 2,
}
OF_OTHERS = frozenset(  # options of other programs that appear in messages
    "--tasks --custom-tasks --include --always --dirty --match --abbrev --nproc_per_node --hash --no-deps".split()
)


@pytest.fixture
def options_of():
    return {
        path: {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        for path, command in iter_commands()
    }


@pytest.mark.parametrize("file", PAIRS)
@pytest.mark.parametrize(
    "line",
    [
        "evaluate majority --sets plain --data {}",
        "evaluate majority --sets plain --data {} --train-data {}",
        "check majority --min plain:score=0 --data {}",
        "build plain --data {} --output out.parquet",
        "export lm-eval --output-dir out --sets plain --data {}",
        "lexical fit --train-data {} --output-dir out",
        "prefetch majority --sets plain --data {} --train-data {}",
        "train finetune --model m --corpus {} --validation {} --output-dir out",
    ],
)
def test_file_error_names_only_options_of_command(file, line, options_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(PAIRS[file])
    words = line.format(*[file] * 2).split()
    done = CliRunner(env={"COLUMNS": "500"}).invoke(cli.app, words)
    message = f"{done.output} {done.exception}"
    path = next(path for path in options_of if tuple(words[: len(path)]) == path)
    assert advice.extract_options(message) <= options_of[path], message


def test_download_error_names_only_options_of_command(options_of):
    from unbag.data import downloads

    file = downloads.PinnedFile("https://example.org/a.zip", "0" * 64, "a.zip")
    for path, options in options_of.items():
        with advice.register_command_options(options):
            assert advice.extract_options(downloads._by_hand(file)) <= options, path


def test_model_option_error_names_options_as_in_the_command(options_of):
    words = "is for a Hub id or a folder; my:model is a function, which takes only"
    with pytest.raises(ValueError, match=f"^head {words} label_map, long_premise, threshold$"):
        validate_model_options(["my:model"], {"head": "plain"})
    with (
        advice.register_command_options(options_of[("evaluate",)]),
        pytest.raises(ValueError, match=f"^--head {words} --label-map, --long-premise, --threshold$"),
    ):
        validate_model_options(["my:model"], {"head": "plain"})


def test_every_option_in_messages_exists(options_of):
    known = frozenset().union(*options_of.values())
    named = {}
    for path in Path(unbag.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if " " in text and "\n" not in text and "var(--" not in text:
                named.setdefault(path.name, set()).update(advice.extract_options(text))
    assert sum(map(len, named.values())) > 50
    unknown = {file: sorted(options - known - OF_OTHERS) for file, options in named.items()}
    assert {file: options for file, options in unknown.items() if options} == {}


def test_command_options_are_registered_while_it_runs(monkeypatch):
    seen = {}

    def look(name):
        seen[name] = (advice.has_command_options("--columns"), advice.has_command_options("--output-dir"))
        raise ValueError("that is all")

    monkeypatch.setattr("unbag.challenge_sets.loading.describe_set_options", look)
    monkeypatch.setattr("unbag.challenge_sets.loading.list_set_summaries", lambda: look("all"))
    CliRunner().invoke(cli.app, ["sets"])
    assert seen == {"all": (False, False)}
    assert advice.has_command_options("--columns")
