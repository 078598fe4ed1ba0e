"""Sets that hold their authors' own pairs, from a file of theirs, beside such as are made from any corpus."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import datasets

from unbag.challenge_sets.builder import ChallengeSetBuilder, Made
from unbag.challenge_sets.config import SourceConfig
from unbag.data.corpora import OFFICIAL
from unbag.data.downloads import PinnedFile, fetch_pinned_file, find_local_copy
from unbag.data.sources import Source, open_data
from unbag.utils.files import atomic_write, cache_folder

_TEST: Final = "test"


@dataclass
class OfficialConfig(SourceConfig):
    """Which pairs: the authors', or such as are made from English ones.

    Attributes:
        file: the official configs: your copy of the authors' file, or a folder that it is in, or in a folder of that,
            under its own name; without it, it is downloaded.
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "file")

    file: str | None = None

    @property
    def is_official(self) -> bool:
        """Whether these are the authors' pairs."""
        return bool(self.name.split("-")[0] == OFFICIAL)

    def own_options(self) -> dict[str, Any]:
        """Return the options that decide the rows: not where the file is, since its content is known."""
        return {name: value for name, value in super().own_options().items() if name != "file"}

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if an option has no such value, or the config does not take it.
        """
        if self.is_official:
            return
        super().check()
        if self.file:
            raise ValueError(_no_file(self.name, self.file))
        if self.language != "en":
            raise ValueError(
                f"expected English pairs, found the language {self.language!r}: what is put into them is English"
            )


def _no_file(config: str, file: object) -> str:
    return (
        f"file: expected a file with the config {OFFICIAL!r} only, which has the authors' own pairs, got {file!r:.200} "
        f"with the config {config!r}; leave out the file, or the corpus or data"
    )


class OfficialSet(ChallengeSetBuilder):
    """The builder of such a set.

    Attributes:
        FILE: the authors' file.
        LICENCE: of their pairs.
        CREATORS: who made theirs, as `creators` says.
    """

    FILE: ClassVar[PinnedFile]
    LICENCE: ClassVar[str]
    CREATORS: ClassVar[Mapping[Made, Sequence[str]]]
    DEFAULT_CONFIG_NAME = OFFICIAL

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        config = kwargs.get("config_name") or kwargs.get("name") or OFFICIAL
        file = kwargs.get("file")
        if isinstance(file, str | os.PathLike) and file and config.startswith(OFFICIAL):
            # The one file, or all of the folder would be part of the cache key; and what is wrong with it is told now.
            kwargs["file"] = str(fetch_pinned_file(self.FILE, local_copy=find_local_copy(self.FILE, Path(file))))
        elif file:  # now: what the file is would be looked at first
            raise ValueError(_no_file(config, file))
        super().__init__(*args, **kwargs)

    def official_file(self) -> Path:
        """Return a path to the authors' file: the user's copy or a download."""
        return fetch_pinned_file(self.FILE, local_copy=Path(self.config.file) if self.config.file else None)

    def official_source(self, name: str, lines: bytes, columns: Mapping[str, str] | None = None) -> Source:
        """Open the authors' pairs, rewritten as lines of JSON, which are kept under a name beside other pinned files.

        Args:
            name: of the file of lines.
            lines: its content.
            columns: its names of our columns (`unbag.data.sources`).
        """
        path = cache_folder("files") / self.FILE.sha256[:16] / name
        with atomic_write(path) as tmp:
            tmp.write_bytes(lines)
        source = open_data(path, columns=columns)
        return replace(source, name=OFFICIAL, licence=self.LICENCE, origin=self.FILE.url, revision=self.FILE.sha256)

    def creators(self) -> dict[Made, list[str]]:
        """Return who made the sentences and the labels."""
        if not self.config.is_official:
            return super().creators()
        return {what: list(who) for what, who in self.CREATORS.items()}

    def split_name(self, source: Source) -> str:
        """Return the name of the split: the authors' pairs are for testing, though their file does not say so."""
        return _TEST if self.config.is_official else super().split_name(source)

    def _info(self) -> datasets.DatasetInfo:
        info = super()._info()
        if self.config.is_official:
            info.license = self.LICENCE
        return info
