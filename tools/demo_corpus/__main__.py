"""Write the files that `unbag.data.demo` ships: `python -m tools.demo_corpus`."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from tools.demo_corpus import vectors
from tools.demo_corpus.corpus import generate
from unbag.data import demo
from unbag.utils.files import atomic_write


def contents() -> Iterator[tuple[Path, str]]:
    """Yield each shipped file with the text in it."""
    for split in demo.SPLITS:
        yield demo.get_demo_file(split), _text([json.dumps(pair._asdict()) for pair in generate(split)])
    sentences = (sentence for pair in generate("train") for sentence in (pair.premise, pair.hypothesis))
    yield demo.VECTORS, _text(vectors.lines(sentences))


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Write them, without the time in their heads: the same content is the same bytes."""
    for path, text in contents():
        with atomic_write(path) as tmp, tmp.open("wb") as raw:
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
                file.write(text.encode())


if __name__ == "__main__":
    main()
