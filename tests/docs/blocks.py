"""The code blocks and commands of the documentation pages and of the help texts, and the parser of the commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main

from unbag import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CARDS = [card for folder in ("dataset_scripts", "metrics") for card in sorted((ROOT / folder).glob("*/README.md"))]
PAGES = [
    *(ROOT / "README.md", *sorted(DOCS.glob("*.md"))),
    # Not the folders with copies of other pages, which Sphinx writes.
    *(page for name in ("guides", "concepts", "studies", "reference") for page in sorted((DOCS / name).rglob("*.md"))),
    *CARDS,
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "skills").rglob("*.md")),
]
PROGRAMS = (
    *("unbag", "python", "torchrun", "make", "pip", "uvx", "git", "cd", "hf", "vllm", "sbatch"),
    *("examples/slurm_evaluate.sh", "examples/hf_jobs.sh"),
)
"""Programs with which the command lines of a block start."""

_FENCE = re.compile(
    r"^```(?:\{code-block\} )?(?P<language>[\w{}-]*)\n(?::caption: (?P<file>\S+)\n)?(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SHELL = ("", "console", "bash", "sh", "shell")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page. `file` is its caption, or the name in the comment of its first line."""

    language: str
    file: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The command lines of the block; empty if the block is code or output.

        A block with a prompt (`$`) contains commands and their output. Other blocks contain only commands, or none.
        """
        if self.language not in _SHELL:
            return []
        text = re.sub(r"\\\n\s*", "", self.text)
        lines = re.findall(r"^\$ (.*)", text, re.MULTILINE) or text.splitlines()
        lines = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        has_prompt = re.search(r"^\$ ", text, re.MULTILINE)
        return lines if has_prompt or (lines and lines[0].split()[0] in PROGRAMS) else []


def iter_blocks(page: str) -> Iterator[Block]:
    """Iterate over the fenced blocks of a page."""
    for found in _FENCE.finditer(page):
        text = found["text"]
        comment = re.match(r"# ([\w.]+\.py)\n", text)
        yield Block(found["language"], found["file"] or (comment[1] if comment else ""), text)


def iter_inline_commands(page: str) -> Iterator[str]:
    """Iterate over the commands in code spans. These may be abbreviated."""
    for span in re.findall(r"`(unbag [a-z][^`]*)`", _FENCE.sub("", page)):
        yield " ".join(span.split())


def split_command(line: str) -> list[str]:
    """Split a command line as a shell does, without comments, variables, and commands after a pipe or `&&`.

    >>> split_command("OMP_NUM_THREADS=1 unbag sets 'a b' && make docs  # both")
    ['unbag', 'sets', 'a b']
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words = list(lexer)
    end = next((number for number, word in enumerate(words) if set(word) <= set("|&;<>")), len(words))
    words = words[:end]
    while words and re.match(r"[A-Z_]+=", words[0]):
        words.pop(0)
    return words


def find_unbag_arguments(words: list[str]) -> list[str] | None:
    """Return the arguments of `unbag` in a command that starts it, directly or with a launcher. Else return None."""
    for place, word in enumerate(words):
        if word == "unbag" and (place == 0 or words[0] == "uvx" or words[place - 1] == "-m"):
            return words[place + 1 :]
        if re.fullmatch(r"trainers/\w+\.py", word):
            return ["train", Path(word).stem.replace("_", "-"), *words[place + 1 :]]
    if words[0] == "examples/slurm_evaluate.sh":
        return ["evaluate", "--output-dir", *words[2:]]
    if words[:2] == ["sbatch", "examples/slurm_train.sh"]:
        return ["train", *words[2:]]
    if words[0] == "examples/hf_jobs.sh":
        job, target, *others = words[1:]
        if job == "build":
            return ["publish", "dataset", *others, "--repo-id", target, "--yes"]
        return [job, *others, "--output-dir", f"job-{job}", "--push-results", target]
    return None


COMMANDS: Any = typer.main.get_command(cli.app)


def parse_command(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Parse a command line completely: types, choices, required arguments and callbacks.

    Returns:
        The name of the command without `unbag`, and its parameters.
    """
    with mock.patch("unbag.utils.offline.enable_offline_mode"):  # would change this process
        context = COMMANDS.make_context("unbag", list(arguments))
        path = []
        while hasattr(context.command, "commands") and (rest := [*context._protected_args, *context.args]):
            name, command, rest = context.command.resolve_command(context, rest)
            path.append(name)
            context = command.make_context(name, rest, parent=context)
    return " ".join(path), context.params
