"""Write the files in `unbag.data.demo`: `python -m tools.demo_corpus`."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from tools.demo_corpus import vectors
from tools.demo_corpus.corpus import generate_pairs
from unbag.data import demo
from unbag.utils.files import atomic_write


def iter_files() -> Iterator[tuple[Path, str]]:
    """Iterate over the files of the demonstration, with their texts."""
    for split in demo.SPLITS:
        yield demo.get_demo_file(split), _text([json.dumps(pair._asdict()) for pair in generate_pairs(split)])
    sentences = (sentence for pair in generate_pairs("train") for sentence in (pair.premise, pair.hypothesis))
    yield demo.VECTORS, _text(vectors.build_vector_lines(sentences))


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Write the files. The gzip headers contain no time, so that equal content has equal bytes."""
    for path, text in iter_files():
        with atomic_write(path) as tmp, tmp.open("wb") as raw:
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
                file.write(text.encode())


if __name__ == "__main__":
    main()
