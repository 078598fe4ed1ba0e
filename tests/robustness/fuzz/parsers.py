"""The parsers of external files, as functions of bytes that raise only unexpected exceptions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from unbag.baselines.lexical.word_vectors import read_word_vectors
from unbag.challenge_sets import results
from unbag.data.sources import open_data
from unbag.evaluation import human_study, report_examples
from unbag.inference.prediction_files import read_published_predictions
from unbag.training.record import read_training_record

CORPUS = Path(__file__).parent / "corpus"
FOUND = Path(__file__).parent / "found"

Parse = Callable[[Path], Any]


@cache
def _params() -> Any:
    """Return the options of `unbag evaluate`."""
    import typer

    from unbag.cli import app

    return typer.main.get_group(app).commands["evaluate"].params


def _config(path: Path) -> Any:
    from unbag.cli import config_file

    return config_file._values(path, _params())


def _sheet(path: Path) -> Any:
    (path.parent / human_study.KEY).write_text("number,id,label,drawn_from\n0,a,neutral,D^c\n1,b,neutral,D^f\n")
    return human_study.score_annotation_sheet(path.parent, path)


def _lexical(path: Path) -> Any:
    from unbag.baselines.lexical.model import LexicalModel

    shutil.copyfile(path, path.parent / "config.json")
    shutil.copyfile(CORPUS / "lexical.safetensors" / "sound", path.parent / "model.safetensors")
    return LexicalModel.load(path.parent)


def _weights(path: Path) -> Any:
    from unbag.baselines.lexical.model import LexicalModel

    shutil.copyfile(CORPUS / "lexical.json" / "sound", path.parent / "config.json")
    shutil.copyfile(path, path.parent / "model.safetensors")
    return LexicalModel.load(path.parent)


PARSERS: dict[str, tuple[str, Parse]] = {
    "rows.csv": ("pairs.csv", lambda path: list(open_data(path).iter_examples())),
    "rows.tsv": ("pairs.tsv", lambda path: list(open_data(path).iter_examples())),
    "rows.jsonl": ("pairs.jsonl", lambda path: list(open_data(path).iter_examples())),
    "rows.parquet": ("pairs.parquet", lambda path: list(open_data(path).iter_examples())),
    "rows.csv.gz": ("pairs.csv.gz", lambda path: list(open_data(path).iter_examples())),
    "predictions.csv": ("answers.csv", read_published_predictions),
    "predictions.jsonl": ("answers.jsonl", read_published_predictions),
    "vectors.txt": ("words.txt", read_word_vectors),
    "vectors.zip": ("words.zip", read_word_vectors),
    "results.json": (results.FILE, results.read_results),
    "examples.json": (report_examples.FILE, report_examples.read_selections),
    "training.json": ("training.json", lambda path: read_training_record(path.parent)),
    "config.yaml": ("run.yaml", _config),
    "sheet.csv": ("sheet.csv", _sheet),
    "lexical.json": ("given.json", _lexical),
    "lexical.safetensors": ("given.safetensors", _weights),
}
"""Of each parser the name that a file has, and what reads it."""

_number = count()


@cache
def _folder() -> Path:
    memory = Path("/dev/shm")  # avoids a million files per run on the disk
    return Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.is_dir() else None))


def parse(name: str, content: bytes) -> Any:
    """Parse the content. Return the parsed value, or the exception if the content is rejected.

    Raises:
        Exception: Any other than ValueError and OSError, or one with a message of several lines.
    """
    import typer

    file, read = PARSERS[name]
    folder = _folder() / str(next(_number))  # a new name each time, since readers may cache by name
    folder.mkdir()
    path = folder / file
    path.write_bytes(content)
    try:
        return read(path)
    except (ValueError, OSError, ImportError) as error:
        if isinstance(error, UnicodeError) or "\n" in str(error) or not str(error).strip():
            raise AssertionError(f"no clear line: {type(error).__name__}: {error!r}") from error
        return error
    except typer.BadParameter as error:
        return error
    finally:
        shutil.rmtree(folder)
