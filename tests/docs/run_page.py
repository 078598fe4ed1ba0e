"""Run the Python blocks and the commands of a page in order, in the current folder: `python run_page.py PAGE WORLD`.

Each command runs in a process of its own, so that it leaves no trace in the memory of this process. Prints the
failures, and exits with code 1 if there are any. What a block reads and no earlier block wrote is replaced by
stand-ins.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shlex
import shutil
import sys
import traceback
from collections.abc import Sequence
from itertools import cycle
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Final, NoReturn

from tests.challenge_sets.conftest import install_package
from tests.docs import stand_ins
from tests.docs.blocks import ROOT, Block, find_unbag_arguments, iter_blocks, parse_command, split_command

_PATH: Final = re.compile(
    r'(save\(|to_html\(|open\(|to_csv\(|output_dir=)?"((?:runs/|\w+\.(?:csv|jsonl|parquet))[\w/.-]*)"'
)
"""A path in code, and a function or argument that writes it."""
_CLAIMS: Final = (
    *("--data", "org/DATASET", "--split", "test", "--columns", "premise=document,hypothesis=claim", "--sets", "plain"),
    *("--labels", "not_entailment,entailment"),
)
_SETS: Final = ("--corpus", "snli", "--sets", "plain,swapped,permuted,soswap_addamod", "-o", "permuted.q=5")
GATE_FAILS: Final = 1  # the exit code of `unbag check` for a model that fails a gate


class Page:
    """The blocks of a page, and what is needed to run them. `failures` has one entry per failed block."""

    def __init__(self, page: Path, world: Path) -> None:
        self.text = page.read_text(encoding="utf-8")
        self.world = world
        self.services: dict[str, str] = json.loads((world / "services.json").read_text())
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.failures: list[str] = []
        # Two different runs and models, so that a comparison has something to compare.
        self.models = cycle(("org/MODEL", "org/MODEL-int8"))
        self.seeds = cycle("12")
        sys.path.insert(0, os.getcwd())
        for name in ("metrics", "dataset_scripts", "examples", "trainers"):
            Path(name).symlink_to(ROOT / name)
        if "capitals" in self.text:
            site = Path("site")
            site.mkdir()
            install_package(site)
            sys.path.insert(0, str(site.absolute()))
        self._commands, commands = Pipe()
        if not os.fork():
            self._commands.close()
            _serve_commands(commands)
        commands.close()

    def run(self) -> None:
        """Run all blocks."""
        for block in iter_blocks(self.text):
            if block.file:
                Path(block.file).write_text(stand_ins.substitute(block.text, self.services), encoding="utf-8")
                sys.modules.pop(Path(block.file).stem, None)
            elif block.language == "python":
                self._run_python(block)
            for line in block.commands:
                self._run_line(line)

    def _run_python(self, block: Block) -> None:
        code = stand_ins.substitute(block.text, self.services)
        try:
            for name, config in re.findall(r'load_dataset\(\s*"org/(\w+)", "([\w-]+)"', code):
                self._once("publish", "dataset", name, "--repo-id", "org", "--config", config, "--yes")
            for name in re.findall(r'evaluate\.load\("org/(\w+)"', code):
                self._once("publish", "metric", name, "--repo-id", "org", "--yes")
            stand_ins.provide_names(code, self.names)
            paths = _PATH.findall(code)
            written = {path for writes, path in paths if writes}
            for path in dict.fromkeys(path for _, path in paths if path not in written):
                self._provide(path)
            run_code(code, self.names)
        except BaseException:
            self.failures.append(f"{block.text}\n{traceback.format_exc()}")

    def _run_line(self, line: str) -> None:
        line = stand_ins.substitute(re.sub(r"(?<=[/-])…", "any", line), self.services)
        arguments = find_unbag_arguments(split_command(line))
        if arguments is None or "…" in line:
            return
        sys.stderr.write(f"\n$ {line}\n")
        try:
            arguments = [str(found) for word in arguments for found in self._expand(word)]
            self._provide_inputs(arguments)
            if arguments[:2] == ["publish", "pair"]:
                self._once("lexical", "fit", "--train-data", "snli", "--output-dir", "lexical")
                arguments += ["--lexical-model", str(self.world / "once/lexical")]
            code = self._unbag(*arguments, *_list_small_options(arguments))
            assert code == 0 or (code == GATE_FAILS and arguments[0] == "check"), f"exit code {code}"
        except BaseException:
            self.failures.append(f"{line}\n{traceback.format_exc()}")

    def _expand(self, word: str) -> list[Any]:
        """Expand a pattern of files as a shell does."""
        if "*" not in word:
            return [word]
        self._provide(word.rpartition("/")[0])
        return sorted(Path().glob(word))

    def _unbag(self, *arguments: str) -> int:
        """Run a command of unbag in the current folder. Return its exit code."""
        self._commands.send((os.getcwd(), arguments))
        return int(self._commands.recv())

    def _once(self, *arguments: str) -> None:
        """Run a command once for all pages, in a folder of its own."""
        done = self.world / "done" / re.sub(r"\W+", "_", " ".join(arguments))
        if done.exists():
            return
        sys.stderr.write(f"\n(preparing) unbag {shlex.join(arguments)}\n")
        for folder in (self.world / "once", done.parent):
            folder.mkdir(exist_ok=True)
        with contextlib.chdir(self.world / "once"):
            assert self._unbag(*arguments) == 0, f"unbag {shlex.join(arguments)} failed"
        done.touch()

    def _provide_inputs(self, arguments: list[str]) -> None:
        """Create the missing files and folders that a command reads."""
        if "--config" in arguments:
            self._provide(arguments[arguments.index("--config") + 1])
        path, values = parse_command(arguments)
        is_verifier = re.search("auroc|false_entailment|average_precision", " ".join(arguments)) is not None
        for name, given in values.items():
            if name.startswith(("out", "predictions_csv", "badge")):
                continue
            for value in given if isinstance(given, list | tuple) else [given]:
                if not isinstance(value, str | Path):
                    continue
                text = str(value)
                if path == "publish model" and name == "results" and not Path(text).exists():
                    self._provide_model(str(values["folder"]), values)
                    self._unbag("evaluate", str(values["folder"]), *_SETS, "--max-examples", "30", "--output-dir", text)
                elif name in ("paths", "folders", "no_worse_than", "runs", "results", "compare_with") or (
                    (path, name) == ("check", "model") and ("runs/" in text or text == "RUN")
                ):
                    self._provide_run(Path(text), is_verifier)
                elif name in ("models", "model", "folder"):
                    self._provide_model(text, values)
                else:
                    for part in text.split(","):
                        self._provide(part.rpartition("=")[2])

    def _provide_run(self, path: Path, is_verifier: bool) -> None:
        if path.exists():
            return
        model = next(self.models)
        if path.name == "model":
            model = "org/MODEL"
        pairs = _CLAIMS if is_verifier else _SETS
        self._copy_output(path, f"run-{model.rpartition('/')[2]}-{is_verifier}", "evaluate", model, *pairs)

    def _copy_output(self, path: Path, name: str, *command: str) -> None:
        """Copy the output folder of a command, which runs once for all pages."""
        self._once(*command, "--output-dir", name)
        shutil.copytree(self.world / "once" / name, path)

    def _provide_model(self, name: str, values: dict[str, Any]) -> None:
        function = re.fullmatch(r"(\w+):(\w+)", name)
        if function and function[1] not in ("causal", "endpoint"):
            stand_ins.write_function(Path(f"{function[1]}.py"), function[2])
        elif name.startswith(("runs/", "./")) or re.fullmatch("[A-Z][A-Za-z0-9-]*|esim", name):
            path = Path(name)
            if path.exists():
                return
            if values.get("head"):
                self._copy_output(path, "hex", "train", "hex", "--model", "org/PRETRAINED", "--corpus", "snli")
            elif "export" in name:
                shutil.copytree(self.world / "exported", path)
            elif name == "esim":
                self._copy_output(path, "esim", "models", "init", "esim", "--corpus", "snli")
            else:
                train = ("train", "finetune", "--model", "org/MODEL", "--corpus", "snli")
                seed = next(self.seeds)
                self._copy_output(path, f"trained-{seed}", *train, "--seed", seed)

    def _provide(self, name: str) -> None:
        stand_ins.provide_file(Path(name), self.text, self.world)
        if name.startswith("runs/") and not Path(name).exists():
            run = Path(name).parent if Path(name).suffix in (".yaml", ".json") else Path(name)
            self._provide_run(run, is_verifier=False)


def _serve_commands(commands: Connection) -> NoReturn:
    """Run each command in a forked process, until the page ends.

    The process of the page cannot fork them, since its Python blocks start threads, which a forked process lacks.
    """
    while True:
        try:
            folder, arguments = commands.recv()
        except EOFError:
            os._exit(0)
        if not (pid := os.fork()):
            from unbag.cli import app, run

            code = 3
            os.chdir(folder)
            try:
                code = run(app, list(arguments))
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        commands.send(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _list_small_options(arguments: Sequence[str]) -> list[str]:
    """List the options with which a command runs on few pairs."""
    path, values = parse_command(arguments)
    if path == "train kfold":
        return ["--max-examples", "60"] if "max_examples" in values else []
    if path.startswith("train ") and values.get("max_examples"):
        return ["--max-examples", "600"]  # the corpora of the test Hub are small
    if path not in ("evaluate", "check") or values.get("config") or values.get("cross_domain"):
        return []
    if path == "check" and (values["no_worse_than"] or (Path(values["model"]) / "results.json").exists()):
        return []  # on the rows of a run
    small = [] if values["max_examples"] else ["--max-examples", "30"]
    if values["corpus"] == ["ocnli"]:
        return [*small, "--sets", "permuted,swapped"]  # cs_lambda needs a Chinese pipeline
    sets = values.get("sets") or (() if path == "check" else ("cs_lambda",))
    has_cs_lambda = "cs_lambda" in sets and not values.get("text")
    return [*small, "-o", "cs_lambda.max_train_pairs=200"] if has_cs_lambda else small


def run_code(code: str, names: dict[str, Any]) -> int:
    """Run code as a notebook does, and compare the values of expressions with the comment behind or below them.

    A comment that is no Python literal describes the value, and is not compared.

    Returns:
        The number of compared values.
    """
    lines = code.splitlines()
    compared = 0
    for statement in ast.parse(code).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), "page", "exec"), names)
            continue
        value = eval(compile(ast.Expression(statement.value), "page", "eval"), names)
        last = statement.end_lineno or 1
        comment = lines[last - 1].partition("  # ")[2] or (lines[last].removeprefix("# ") if len(lines) > last else "")
        for text in (comment, comment.rpartition(": ")[0]):
            with contextlib.suppress(SyntaxError, ValueError):
                expected = ast.literal_eval(text)
                assert value == expected, f"{ast.unparse(statement)} is {value!r}, and the page says {text}"
                compared += 1
    return compared


if __name__ == "__main__":
    this_page = Page(*map(Path, sys.argv[1:]))
    this_page.run()
    for failure in this_page.failures:
        print(f"=== {failure}")  # noqa: T201
    sys.exit(bool(this_page.failures))
