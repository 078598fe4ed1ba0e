"""Run unbag on inputs in separate processes, print the table, and minimize failing inputs."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fork_server import Forked, ForkServer
from tests.robustness.malformed_inputs import files, from_python, names, options, records, valid_files
from tests.robustness.malformed_inputs.inputs import Input, Make
from tests.robustness.malformed_inputs.verdicts import (
    FAILURES,
    VERDICTS,
    Verdict,
    judge,
    last_line,
    read_folder,
    symptom,
)

SECONDS = 45
"""An input that is not done by then hangs; the slowest sound one takes two."""

WARM = (
    *(
        "unbag.cli",
        "unbag.evaluation.evaluator",
        "unbag.api",
        "unbag.evaluation.model_loading",
        "unbag.inference.transformer",
        "unbag.training.run",
    ),
    *(
        "unbag.reports.html",
        "unbag.integrations.harness.export",
        "unbag.hub.dataset",
        "unbag.hub.model",
        "unbag.evaluation.comparison",
    ),
    *(
        "unbag.training.initialization",
        "unbag.baselines.lexical.fitting",
        "unbag.challenge_sets.results",
        "unbag.evaluation.human_study",
        "jinja2",
        "sklearn",
    ),
    *("tests.robustness.malformed_inputs.inputs", "accelerate", "transformers.models.bert.modeling_bert"),
)
"""What the processes are forked with, so that an input takes a fraction of a second."""


def list_classes(of: Path, *, heavy: bool = True) -> dict[str, Make]:
    """Return the functions that sample an input of each class.

    Args:
        of: the folder of valid files.
        heavy: whether to include classes that need a trained model.
    """
    sources: list[Make] = [
        *(files.pairs, files.bytes_of_pairs, files.places_of_pairs, files.predictions(valid_files.ids(of))),
        *(files.vectors, files.sheets, files.authors, records.results(of), records.run_folders(of), records.configs),
        *(records.texts, options.bounds, names.names, from_python.calls, from_python.answers, from_python.metrics),
        *(options.counts, options.reals, options.choices, options.outputs),
    ]
    if heavy:
        sources += [records.models(of), records.trainings(of)]
    return {f"{make.__module__.rpartition('.')[2]}.{make.__qualname__.partition('.')[0]}": make for make in sources}


def sample_inputs(of: Mapping[str, Make], n: int, seed: int) -> Iterator[Input]:
    """Sample the same number of inputs of each class. The same seed gives the same inputs."""
    for name, make in of.items():
        rng = random.Random(f"{seed} {name}")
        met: set[tuple[object, ...]] = set()
        for _ in range(20 * n):
            sample = make(rng)
            key = (sample.arguments, tuple(sorted(sample.files.items())))
            if key not in met:
                met.add(key)
                yield sample
            if len(met) >= max(1, n // len(of)):
                break


@dataclass(frozen=True)
class Outcome:
    """The result of an input."""

    sample: Input
    verdict: Verdict
    err: str

    @property
    def symptom(self) -> str:
        """A key that is equal for failures with the same cause."""
        return symptom(self.verdict, self.sample, self.err)


class Attack:
    """The attack in a folder, with valid files and a temporary folder per input."""

    def __init__(self, folder: Path) -> None:
        """Create the valid files."""
        self.folder = folder.resolve()
        folder.mkdir()
        self.env = valid_files.environment(folder / "home", dict(os.environ))
        self.server = ForkServer(WARM)
        self.valid_files = folder / "valid_files"
        valid_files.create_files(self.valid_files, self.server, self.env)
        self._given = 0

    def list_valid_inputs(self) -> list[Input]:
        """Return valid inputs for the commands of all classes, which must succeed so that rejections are meaningful."""
        everything = ("pairs.csv", "set.parquet", "run", "other", "lexical", "dan", "trained", "bert", "people")
        arguments = [
            *([part.replace("FILE", "pairs.csv") for part in command] for command in files._COMMANDS),
            ["score", "answers.csv", "--set", "set.parquet", "--output-dir", "out"],
            ["models", "init", "dan", "--corpus", "pairs.csv", "--vectors", "vectors.txt", "--output-dir", "out"],
            ["human-study", "score", "people", "people/sheet.csv"],
            ["report", "run", "other", "--output", "report.html"],
            ["compare", "run", "other"],
            ["check", "run", "--min", "plain:score=-1"],
            ["evaluate", "bert", "--sets", "plain", "--data", "pairs.csv", "--output-dir", "out"],
            ["evaluate", "trained", "--sets", "plain", "--data", "pairs.csv", "--output-dir", "out"],
            ["lexical", "score", "--premise", "A man.", "--hypothesis", "A dog.", "--model", "lexical"],
        ]
        uses = (*everything, "answers.csv", "vectors.txt")
        return [Input("sound", tuple(each), {}, uses, "succeed", "as it is") for each in arguments]

    def run(self, inputs: Iterable[Input], report: Callable[[Outcome], None] = lambda _: None) -> list[Outcome]:
        """Run inputs in parallel on all cores, and return the outcomes."""
        waiting, running, done = iter(inputs), [], []
        while True:
            while len(running) < (os.cpu_count() or 1) and (sample := next(waiting, None)) is not None:
                running.append(self._start(sample))
            if not running:
                return done
            for one in list(running):
                if (outcome := self._judge_outcome(*one)) is not None:
                    running.remove(one)
                    done.append(outcome)
                    report(outcome)
            time.sleep(0.005)

    def rerun_alone(self, outcome: Outcome) -> Outcome:
        """Return an outcome. If the input seemed to hang, run it again without other load."""
        return self.run([outcome.sample])[0] if outcome.verdict == "hang" else outcome

    def _start(self, sample: Input) -> tuple[Input, Path, dict[str, str], Forked, float]:
        self._given += 1
        place = self.folder / f"{self._given}"
        write_input_files(sample, self.valid_files, place)
        before = read_folder(place)
        if sample.door == "python":
            process = self.server.start(
                "-m",
                "tests.robustness.malformed_inputs.python_runner",
                env=self.env,
                cwd=place,
                stdin=sample.arguments[0],
            )
        else:
            process = self.server.start("-m", "unbag", *sample.arguments, env=self.env, cwd=place)
        return sample, place, before, process, time.monotonic()

    def _judge_outcome(
        self, sample: Input, place: Path, before: dict[str, str], process: Forked, since: float
    ) -> Outcome | None:
        code = process.poll()
        if code is None and time.monotonic() - since < SECONDS:
            return None
        if code is None:
            process.kill()
        with contextlib.suppress(TimeoutError):
            process.wait(10)
        err = process._err.read_text(errors="backslashreplace")
        verdict = judge(sample, code, err, before, read_folder(place))
        shutil.rmtree(place)
        for path in (process._err, process._out):
            path.unlink()
        return Outcome(sample, verdict, err)

    def minimize(self, failed: Outcome, tries: int = 24) -> Outcome:
        """Return the smallest input that fails in the same way, by removing lines or bytes, starting with halves."""
        [name, *_] = [*[name for name, content in failed.sample.files.items() if isinstance(content, bytes)], ""]
        if not name or failed.verdict in ("hang", "silent"):  # removal could make these inputs valid
            return failed
        best, chunk = failed, len(bytes(failed.sample.files[name])) // 2  # type: ignore[arg-type]
        while chunk and tries > 0:
            content, start = bytes(best.sample.files[name]), 0  # type: ignore[arg-type]
            while start < len(content) and tries > 0:
                less = content[:start] + content[start + chunk :]
                tries -= 1
                [tried] = self.run([replace(best.sample, files={**best.sample.files, name: less})])
                if tried.symptom == best.symptom:
                    best, content = tried, less
                else:
                    start += chunk
            chunk //= 2
        return best


def write_input_files(sample: Input, of: Path, place: Path) -> None:
    """Write the files of an input to a new folder."""
    place.mkdir()
    for name in sample.uses:
        (shutil.copytree if (of / name).is_dir() else shutil.copyfile)(of / name, place / name)
    for name, content in sample.files.items():
        (place / name).parent.mkdir(exist_ok=True)
        _put(place / name, content)


def _put(path: Path, content: bytes | str) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "fifo":
        os.mkfifo(path)
    elif content == "folder":
        path.mkdir()
    elif content == "zero":
        path.symlink_to("/dev/zero")
    elif content == "loop":
        path.symlink_to(path.name)


def format_table(outcomes: Sequence[Outcome]) -> str:
    """Return the counts as a Markdown table with classes as rows and verdicts as columns."""
    kinds = list(dict.fromkeys(each.sample.kind for each in outcomes))
    counts = Counter((each.sample.kind, each.verdict) for each in outcomes)
    lines = [f"| class | inputs | {' | '.join(VERDICTS)} |", "|---|" + "---:|" * (len(VERDICTS) + 1)]
    for kind in kinds:
        cells = [counts[kind, verdict] for verdict in VERDICTS]
        lines.append(f"| {kind} | {sum(cells)} | {' | '.join(map(str, cells))} |")
    totals = [sum(counts[kind, verdict] for kind in kinds) for verdict in VERDICTS]
    return "\n".join([*lines, f"| all | {sum(totals)} | {' | '.join(map(str, totals))} |"])


def group_failures(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Return the failures by symptom, smallest input first."""
    found: dict[str, list[Outcome]] = {}
    for each in sorted(outcomes, key=lambda each: each.sample.size):
        if each.verdict in FAILURES:
            found.setdefault(f"{each.verdict}: {each.symptom}", []).append(each)
    return found


def describe_outcome(outcome: Outcome) -> str:
    """Return a description of a failure: the input and its outcome."""
    sample = outcome.sample
    command = sample.arguments[0] if sample.door == "python" else f"unbag {shlex.join(sample.arguments)}"
    lines = [f"  {sample.about}", *(f"  {line}" for line in command[:800].splitlines())]
    lines += [
        f"  {name}: {bytes(c[:200])!r}" if isinstance(c, bytes) else f"  {name}: {c}"
        for name, c in sample.files.items()
    ]
    return "\n".join([*lines, f"  → {last_line(outcome.err)[:300]}"])
