"""Sets that hold their authors' own pairs, from a file of theirs, beside such as are made from any corpus."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import datasets

from unbag.builder import ChallengeSetBuilder, SourceConfig
from unbag.corpora import OFFICIAL
from unbag.files import atomic_write, cache_folder
from unbag.pinned import PinnedFile, fetch
from unbag.sources import Source, open_data


@dataclass
class OfficialConfig(SourceConfig):
    """Which pairs: the authors', or such as are made from English ones.

    Attributes:
        file: the official configs: your copy of the authors' file, or the folder it is in under its own name; without
            it, it is downloaded.
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
            raise ValueError(f"expected a file with the config {OFFICIAL!r} only, found {self.file!r}")
        if self.language != "en":
            raise ValueError(
                f"expected English pairs, found the language {self.language!r}: what is put into them is English"
            )


class OfficialSet(ChallengeSetBuilder):
    """The builder of such a set.

    Attributes:
        FILE: the authors' file.
        LICENCE: of their pairs.
    """

    FILE: ClassVar[PinnedFile]
    LICENCE: ClassVar[str]
    DEFAULT_CONFIG_NAME = OFFICIAL

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        file = kwargs.get("file")
        if file and Path(file).is_dir():  # the one file, or all of the folder would be part of the cache key
            kwargs["file"] = str(Path(file) / self.FILE.name)
        super().__init__(*args, **kwargs)

    def official_file(self) -> Path:
        """Return a path to the authors' file: the user's copy or a download."""
        return fetch(self.FILE, local_copy=Path(self.config.file) if self.config.file else None)

    def official_source(self, name: str, lines: bytes, columns: Mapping[str, str] | None = None) -> Source:
        """Open the authors' pairs, rewritten as lines of JSON, which are kept under a name beside other pinned files.

        Args:
            name: of the file of lines.
            lines: its content.
            columns: its names of our columns (`unbag.sources`).
        """
        path = cache_folder("files") / self.FILE.sha256[:16] / name
        with atomic_write(path) as tmp:
            tmp.write_bytes(lines)
        source = open_data(path, columns=columns)
        return replace(source, name=OFFICIAL, licence=self.LICENCE, origin=self.FILE.url, revision=self.FILE.sha256)

    def _info(self) -> datasets.DatasetInfo:
        info = super()._info()
        if self.config.is_official:
            info.license = self.LICENCE
        return info
