"""Invalid or corrupted records, configs and models: results, examples, training records, run.yaml, weights."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.robustness.malformed_inputs.inputs import TEXTS, VALUES, Input, as_json, corrupt, damage

_REQUIRED = (
    ("schema",),
    ("results",),
    *(("results", 0, key) for key in ("set", "config", "model", "data", "scores", "environment")),
    ("results", 0, "model", "name"),
    *(("results", 0, "data", key) for key in ("name", "split", "origin", "revision", "sha256")),
)
NO_FILE = ("empty", "an LFS pointer", "a page of HTML", "brackets", "truncated", "NUL within")


def _commands(valid_files: Path) -> tuple[tuple[str, ...], ...]:
    return (
        ("report", "run", "--output", "report.html"),
        ("report", "run", "other", "--output", "report.html"),
        ("report", "run", "--format", "csv"),
        ("compare", "run", "other"),
        ("check", "run", "--min", "plain:score=.1"),
        ("check", "run", "--no-worse-than", "other"),
        ("check", "other", "--no-worse-than", "run"),
    )


def results(valid_files: Path) -> Any:
    """Return a function that samples corrupted results."""
    record = json.loads((valid_files / "run/results.json").read_text())

    def draw(rng: random.Random) -> Input:
        how, expected = rng.randrange(5), ""
        if how == 0:
            *above, last = rng.choice(_REQUIRED)
            changed = json.loads(json.dumps(record))
            inner = changed
            for key in above:
                inner = inner[key]
            if rng.random() < 0.5:
                del inner[last]
            else:
                inner[last] = rng.choice(([1], None, 3.5, True))
            content, about, expected = as_json(changed), f"{[*above, last]}", "refuse"
        elif how == 1:
            content, about = damage(as_json(record), rng)
            expected = "refuse" if about in NO_FILE else ""
        else:
            changed, about = corrupt(record, rng, rng.choice((1, 1, 2, 5)))
            content = as_json(changed)
        arguments = rng.choice(_commands(valid_files))
        return Input("results", arguments, {"run/results.json": content}, ("run", "other"), expected, about)  # type: ignore[arg-type]

    return draw


def run_folders(valid_files: Path) -> Any:
    """Return a function that samples runs with another corrupted file: examples or stored samples."""
    files = [path for path in (valid_files / "run").rglob("*") if path.is_file() and path.name != "results.json"]

    def draw(rng: random.Random) -> Input:
        path = rng.choice(files)
        content: Any = path.read_bytes()
        if path.suffix == ".json" and rng.random() < 0.7:
            changed, about = corrupt(json.loads(content), rng, rng.choice((1, 1, 3)))
            content = as_json(changed)
        elif rng.random() < 0.1:
            content = about = rng.choice(("fifo", "folder", "absent", "loop"))
        else:
            content, about = damage(content, rng)
        name = str(path.relative_to(valid_files))
        arguments = rng.choice(_commands(valid_files))
        return Input("files of a run", arguments, {name: content}, ("run", "other"), "", f"{path.name}: {about}")

    return draw


def configs(rng: random.Random) -> Input:
    """Sample an invalid config file."""
    texts = (
        ("unknwon: 1", "refuse"),
        ("corpus: {a: 1}", "refuse"),
        ("corpus: [snli, mnli", "refuse"),
        ("max-examples: many", "refuse"),
        ("max-examples: -5", "refuse"),
        ("max-examples: 1.5", "refuse"),
        ("max-examples: .nan", "refuse"),
        ("max-examples: 99999999999999999999999", "refuse"),
        ("max-examples: [1, 2]", "refuse"),
        ("max-examples: true", "refuse"),
        ("full: perhaps", "refuse"),
        ("seed: 2020-01-01", "refuse"),
        ("- a\n- b", "refuse"),
        ("just text", "refuse"),
        ("", "refuse"),
        ("null", "refuse"),
        ("a: &a [*a]\n", "refuse"),
        ("set-option: &a [*a]\n", "refuse"),
        ("x: !!python/object/apply:os.system ['echo x > owned']", "refuse"),
        ("!!python/object/new:subprocess.Popen [['touch', 'owned']]", "refuse"),
        ("corpus: !!binary c25saQ==", "refuse"),
        ("corpus: snli\ncorpus: mnli", ""),
        ("\t corpus: snli", "refuse"),
        ("corpus: \x00", "refuse"),
        ("? [a, b]\n: 1", "refuse"),
        ("? {a: b}\n: 1", "refuse"),
        ("1: 2", "refuse"),
        ("null: 2", "refuse"),
        ("set-option: {q: {a: 1}}", "refuse"),
        ("set-option: [nonsense]", "refuse"),
        ("labels: {a: b}", "refuse"),
        ("columns: [[a, b]]", "refuse"),
        ("language: xx", "refuse"),
        ("language: no", "refuse"),
        ("data: {x: y}", "refuse"),
        ("output-dir: [a, b]", "refuse"),
        ("sets: [[[]]]", "refuse"),
        ("sets: nonsense", "refuse"),
        ("models: {}", ""),
        ("config: x.yaml", "refuse"),
        ("json: true", "refuse"),
        (
            "b: &b [x,x,x,x,x,x,x,x,x]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]\nsets: [*d,*d]",
            "refuse",
        ),
        ("[" * 3000, "refuse"),
        ("{a: " * 3000, "refuse"),
        ("quiet: true", "refuse"),
        ("lexical: maybe", "refuse"),
        ("lexical: false", "succeed"),
        ("seed: 5", "succeed"),
    )
    keys = "corpus split data columns labels language max-examples seed set-option sets output-dir".split()
    how = rng.randrange(3)
    if how == 0:
        key, value = rng.choice(keys), rng.choice(VALUES)
        content, expected, about = f"{key}: {json.dumps(value)}".encode(), "", f"{key}: {repr(value)[:30]}"
    elif how == 1:
        content, about = damage(b"sets: [plain]\nmax-examples: 5\nseed: 7\nset-option: []\n", rng)
        expected = "refuse" if about in ("an LFS pointer", "a page of HTML") else ""
    else:
        text, expected = rng.choice(texts)
        content, about = text.encode(), text[:40]
    arguments = ("evaluate", "majority", "--train-data", "pairs.csv", "--config", "run.yaml")
    # The config must set the sets itself, since the command line takes precedence.
    if b"sets" not in content:
        arguments += ("--sets", "plain")
    if b"data" not in content and b"corpus" not in content:
        arguments += ("--data", "pairs.csv")
    if b"out:" not in content:
        arguments += ("--output-dir", "out")
    return Input("config files", arguments, {"run.yaml": content}, ("pairs.csv",), expected, about)  # type: ignore[arg-type]


def models(valid_files: Path) -> Any:
    """Return a function that samples models with corrupted files, from unbag and from other tools."""
    made = {
        "bert": (
            "evaluate",
            "bert",
            "--sets",
            "plain",
            "--data",
            "pairs.csv",
            "--max-examples",
            "3",
            "--output-dir",
            "out",
        ),
        "trained": (
            "evaluate",
            "trained",
            "--sets",
            "plain",
            "--data",
            "pairs.csv",
            "--max-examples",
            "3",
            "--output-dir",
            "out",
        ),
        "dan": (
            *("train", "finetune", "--model", "dan", "--corpus", "pairs.csv", "--validation", "pairs.csv"),
            *("--max-steps", "1", "--output-dir", "out"),
        ),
        "lexical": ("lexical", "score", "--premise", "A man.", "--hypothesis", "A dog.", "--model", "lexical"),
    }

    def draw(rng: random.Random) -> Input:
        which = rng.choice(list(made))
        # Files of unbag have checksums, others have none.
        files = [path for path in (valid_files / which).rglob("*") if path.is_file() and path.name != "checksums.json"]
        path = rng.choice([each for each in files if each.suffix in (".json", ".safetensors")])
        content: Any = path.read_bytes()
        needed = path.name in ("config.json", "model.safetensors")
        how = rng.randrange(10)
        expected = ""
        if path.suffix == ".json" and how < 6:
            changed, about = corrupt(json.loads(content), rng)
            content = as_json(changed)
        elif how < 8:
            content, about = damage(content, rng)
            expected = "refuse" if needed and about in NO_FILE and about != "NUL within" else ""
        else:
            content = about = rng.choice(("fifo", "folder", "absent", "loop"))
            expected = "refuse" if needed else ""
        name = str(path.relative_to(valid_files))
        return Input("models", made[which], {name: content}, (which, "pairs.csv"), expected, f"{name}: {about}")  # type: ignore[arg-type]

    return draw


def trainings(valid_files: Path) -> Any:
    """Return a function that samples corrupted training records for the model card."""
    record = json.loads((valid_files / "trained/training.json").read_text())
    code = (
        "from pathlib import Path\nfrom unbag.hub.model import build_checkpoint_upload\n"
        "build_checkpoint_upload(Path('trained'), 'org/name', base_license='mit')"
    )

    def draw(rng: random.Random) -> Input:
        if rng.random() < 0.8:
            changed, about = corrupt(record, rng, rng.choice((1, 1, 3)))
            content, expected = as_json(changed), ""
        else:
            content, about = damage(as_json(record), rng)
            expected = "refuse" if about in NO_FILE else ""
        arguments = (code,)
        return Input(
            "trainings", arguments, {"trained/training.json": content}, ("trained",), expected, about, "python"
        )  # type: ignore[arg-type]

    return draw


def texts(rng: random.Random) -> Input:
    """Sample two unusual sentences."""
    premise, hypothesis = rng.choice(TEXTS), rng.choice(TEXTS)
    premise, hypothesis = (text.replace("\0", "\\0") for text in (premise, hypothesis))
    arguments = ("lexical", "score", f"--premise={premise}", f"--hypothesis={hypothesis}", "--model", "lexical")
    if rng.random() < 0.5:
        arguments += (f"--label={rng.choice(('neutral', '1', '', 'x', 'Entailment', '-1'))}",)
    return Input("sentences", arguments, {}, ("lexical",), "", repr(premise[:20]))
