"""Tests of the documentation pages: commands, options and links exist, and examples run."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from tests.docs import stand_ins
from tests.docs.blocks import (
    CARDS,
    COMMANDS,
    DOCS,
    PAGES,
    PROGRAMS,
    ROOT,
    find_unbag_arguments,
    iter_blocks,
    iter_inline_commands,
    parse_command,
    split_command,
)
from tests.docs.run_page import run_code
from tests.fake_hub.accounts import ALICE
from tests.fake_hub.running import running_hub
from tests.fake_llm import running_endpoint
from tests.fake_llm.classifier import Classifier, score_by_letters
from tests.fork_server import PYTHON
from tests.inference.llm.tiny_lm import save_tiny_lm
from tools.llms_txt import extract_title
from unbag.baselines.wordnet.install import get_wordnet_install_folder
from unbag.challenge_sets import get_challenge_set, list_set_names
from unbag.challenge_sets.request import read_exported_set
from unbag.data.demo import BUILT_SETS

SECONDS_AT_MOST = 3600  # a page that evaluates whole suites takes a quarter of an hour on a busy machine
QUICKSTART = DOCS / "quickstart.md"
README = ROOT / "README.md"
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def _name(page):
    return page.relative_to(ROOT).as_posix()


def check_abbreviated_command(line):
    """Check that the command and the options exist in a command with an ellipsis or without its arguments."""
    words = re.split(r"[\s|]+", line.replace("…", " ").strip())[1:]
    command, path = COMMANDS, ["unbag"]
    while words and words[0] in getattr(command, "commands", {}):
        path.append(words[0])
        command = command.commands[words.pop(0)]
    assert len(path) > 1 or words[0].startswith("-") or words[0].isupper(), f"no such command: {line}"
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in words if re.fullmatch(r"--[a-z-]+", word) and word not in known | {"--help"}]
    assert not unknown or hasattr(command, "commands"), f"{' '.join(path)} has no {unknown}: {line}"


def check_command(line):
    """Check a command line of a page: the real parser accepts it, or its program, file, target and extras exist."""
    words = split_command(stand_ins.substitute(line, {}))
    for config in re.findall(r"--config (\S+\.yaml)", line):
        Path(config).parent.mkdir(parents=True, exist_ok=True)
        Path(config).write_text("models: [org/MODEL]")
    arguments = find_unbag_arguments(words)
    if arguments is not None:
        if "…" in line:
            check_abbreviated_command(shlex.join(["unbag", *arguments]))
        else:
            parse_command(arguments)
    elif words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in words[1:] if "=" not in word} <= set(targets), line
    elif "install" in words[:4] and "pip" in words[:3]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        named = [part for word in words for part in re.findall(r"(?:unbag|\.)\[(.*)\]", word)]
        assert {extra for part in named for extra in part.split(",")} <= set(extras), line
    elif words[0] == "python" and words[1] == "-m":
        assert words[2] in ("pip", "venv") or importlib.util.find_spec(words[2]), line
    else:
        assert words[0] in PROGRAMS, f"unknown program: {line}"
        for word in words:
            if word.endswith((".py", ".sh")):
                code = (ROOT / word).read_text(encoding="utf-8")
                options = [word for word in words if re.fullmatch(r"--[a-z-]+", word)]
                assert [option for option in options if option not in code] == [], line


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_of_page_are_accepted_by_parser(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for block in iter_blocks(text):
        for line in block.commands:
            check_command(line)
        shown = re.findall(r"^(?:\$ )?unbag .*", block.text, re.MULTILINE)
        assert block.commands or not shown, f"a block with a command that no test runs:\n{block.text}"
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "yaml":
            yaml.safe_load(block.text)
    for line in iter_inline_commands(text):
        check_abbreviated_command(line)


def _iter_commands(command=COMMANDS, path=("unbag",)):
    for name, each in getattr(command, "commands", {}).items():
        yield from _iter_commands(each, (*path, name))
    yield " ".join(path), command


def test_commands_of_help_texts_are_accepted_by_parser(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = [
        (name, " ".join(line.split()))
        for name, command in _iter_commands()
        for line in re.findall(
            r"^ *(unbag [a-z].*(?:\n(?! *(?:unbag|torchrun) )[^\n]+)*)", command.help or "", re.MULTILINE
        )
    ]
    assert len(examples) > 30
    for name, line in examples:
        try:
            check_command(line)
        except Exception as error:
            raise AssertionError(f"{name} --help: {line}: {error}") from error


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_page_has_title_and_existing_links_and_closed_code_spans(page):
    text = page.read_text(encoding="utf-8")
    assert extract_title(text, page.stem)
    for target, anchor in LINK.findall(text):
        path = (page.parent / target).resolve()
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor[1:] in anchors, f"{target}{anchor}"
    blocks = MarkdownIt().enable("table").parse(text)
    texts = [token.content for block in blocks for token in block.children or () if token.type == "text"]
    assert texts
    # A line of a code span that starts with ">" or "-" begins a quotation or list, which ends the span.
    assert [each for each in texts if "`" in each] == []


def test_readme_is_short():
    text = README.read_text(encoding="utf-8")
    assert 300 < len(text.split()) <= 900
    assert text.count("\n") <= 120


STUDIED = {
    "DeBERTa-v3-base": "DeBERTa-v3 (cross-encoder), base",
    "GPT-4o": "GPT-4o, zero-shot",
    "Flan-T5-XL": "Flan-T5-XL, 3 shots",
    "ESIM": "ESIM",
    "bag of words": "Naive Bayes, bag of words",
}
"""Models in the README, with their names in the study of published predictions."""


def _split_cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_models_on_readme_have_numbers_and_sources_of_study():
    study = (ROOT / "docs/studies/published_predictions.md").read_text(encoding="utf-8")
    lines = README.read_text(encoding="utf-8").splitlines()
    [start] = [row for row, line in enumerate(lines) if line.startswith("| [published predictions]")]
    header, _, every, misleading = (_split_cells(line)[1:] for line in lines[start : start + 4])
    assert len(header) == len(STUDIED)
    for link, all_pairs, subset in zip(header, every, misleading, strict=True):
        name, source = re.fullmatch(r"\[(.+)\]\((.+)\)", link).groups()
        row = next(_split_cells(line) for line in study.splitlines() if line.startswith(f"| {STUDIED[name]} |"))
        accuracy, count = re.fullmatch(r"(.+) \((.+)\)", all_pairs).groups()
        assert (count, subset) == (row[2], row[5])
        assert float(accuracy) == pytest.approx(float(row[3]), abs=0.0501)
        [models] = [line for line in study.splitlines() if f"]({source})" in line]
        assert STUDIED[name].split(", ")[0] in models


@pytest.mark.parametrize("name", list_set_names())
def test_publisher_and_question_of_set_are_same_on_readme_card_and_code(name):
    described = get_challenge_set(name)
    [row] = re.findall(rf"^\| \[{name}\].* \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    publisher, address = described.publisher
    assert row.split(" | ")[1:] == [described.question, f"{publisher} |"]
    card = " ".join((ROOT / "dataset_scripts" / name / "README.md").read_text(encoding="utf-8").split())
    assert publisher in card
    assert address in card


@pytest.mark.parametrize("name", list_set_names())
def test_example_row_of_card_has_columns_of_set(name):
    blocks = iter_blocks((ROOT / "dataset_scripts" / name / "README.md").read_text(encoding="utf-8"))
    [row] = [json.loads(block.text) for block in blocks if block.language == "json"]
    builder = get_challenge_set(name).get_builder_class()
    assert list(row) == builder.SCHEMA.names
    assert row["id"].startswith("demo-validation-")
    if name in BUILT_SETS:
        assert row in read_exported_set(BUILT_SETS[name]).rows.to_list()


@pytest.mark.parametrize("page", sorted((ROOT / "metrics").glob("*/README.md")), ids=_name)
def test_python_of_metric_card_gives_values_of_card(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    code = [block.text for block in iter_blocks(page.read_text(encoding="utf-8")) if block.language == "python"]
    assert sum(run_code(each, names) for each in code) > 0


def _has_examples(page):
    blocks = list(iter_blocks(page.read_text(encoding="utf-8")))
    return any(block.language == "python" or block.commands for block in blocks)


@pytest.fixture(scope="session")
def world(shared, wordnet, make_model, tmp_path_factory):
    """Run a Hub and an LLM endpoint with small stand-ins. Return the folder and the environment of the pages."""
    root = tmp_path_factory.mktemp("world")
    models = {
        "classifier": make_model(positions=512),
        "one_output": make_model(order=("LABEL_0",), positions=512),
        "encoder": root / "encoder",
        "lm": save_tiny_lm(root / "lm"),
    }
    stand_ins.save_encoder(models["classifier"], models["encoder"])
    stand_ins.export_model(models["classifier"], root / "exported")
    cache = root / "cache" / "unbag"
    (root / "official").mkdir()
    for pinned in stand_ins.OFFICIAL_FILES:
        [found] = (shared / "data").rglob(pinned.name)
        (cache / "files" / pinned.sha256[:16]).mkdir(parents=True)
        for folder in (cache / "files" / pinned.sha256[:16], root / "official"):
            shutil.copy(found, folder / pinned.name)
    (cache / "wordnet").symlink_to(get_wordnet_install_folder())
    pins = stand_ins.write_hub(root / "hub", shared, models)
    with (
        running_hub(mount=root / "hub", pins=pins) as hub,
        running_endpoint() as endpoint,
        running_endpoint() as scorer,
    ):
        scorer.classifier = Classifier(outputs=score_by_letters, labels=("LABEL_0",))
        addresses = {
            name: app.base_url.removesuffix("/v1") for name, app in (("endpoint", endpoint), ("scorer", scorer))
        }
        (root / "services.json").write_text(json.dumps(addresses))
        environment = hub.env(root / "hf", token=ALICE) | {
            "UNBAG_CACHE": str(cache),
            "XDG_CACHE_HOME": str(root / "cache"),
            "SLURM_ARRAY_TASK_ID": "0",
            "PYTHONPATH": str(ROOT),
        }
        for name in stand_ins.STORED:
            upload = ("-m", "huggingface_hub.cli.hf", "upload", name, models["classifier"])
            assert PYTHON.start(*upload, env=environment, cwd=root).wait(SECONDS_AT_MOST) == 0
        yield root, environment


@pytest.fixture
def full_run(page):
    """Skip the slow pages, unless `make docs` runs them."""
    if page not in (*CARDS, QUICKSTART, README) and not os.environ.get("UNBAG_DOCS"):
        pytest.skip("the examples of guides and studies are run by `make docs`")


@pytest.mark.nightly
@pytest.mark.usefixtures("full_run")
@pytest.mark.parametrize("page", [page for page in PAGES if _has_examples(page)], ids=_name)
def test_examples_of_page_run(page, world, tmp_path):
    root, environment = world
    process = PYTHON.start("-m", "tests.docs.run_page", page, root, env=environment, cwd=tmp_path)
    code = process.wait(SECONDS_AT_MOST)
    assert code == 0, "\n".join(reversed(process.communicate()))
