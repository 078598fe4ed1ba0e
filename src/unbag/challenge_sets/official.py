"""Sets with official configs for the authors' published pairs, in addition to configs that generate pairs."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import datasets

from unbag.challenge_sets.builder import ChallengeSetBuilder, PairPart
from unbag.challenge_sets.config import SourceConfig
from unbag.data.corpora import OFFICIAL
from unbag.data.downloads import PinnedFile, fetch_pinned_file, find_local_copy
from unbag.data.sources import PairSource, open_data
from unbag.utils.files import atomic_write, get_cache_folder

_TEST: Final = "test"


@dataclass
class OfficialConfig(SourceConfig):
    """Config that selects either the authors' published pairs or pairs generated from an English corpus.

    Attributes:
        file: Official configs only. Your copy of the authors' file, or a folder that has the file under its own name,
            also in a subfolder (default: download).
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "file")

    file: str | None = None

    @property
    def is_official(self) -> bool:
        """Whether the config selects the authors' published pairs."""
        return bool(self.name.split("-")[0] == OFFICIAL)

    def get_set_options(self) -> dict[str, Any]:
        """Collect the options that determine the rows."""
        # Without `file`, because the checksum guarantees that all copies of the file are equal.
        return {name: value for name, value in super().get_set_options().items() if name != "file"}

    def validate(self) -> None:
        """Validate the options."""
        if self.is_official:
            return
        super().validate()
        if self.file:
            raise ValueError(_unexpected_file_message(self.name, self.file))
        if self.language != "en":
            raise ValueError(
                f"language: expected English pairs (en), got {self.language!r}; use English pairs, since the set "
                "inserts English words"
            )


def _unexpected_file_message(config: str, file: object) -> str:
    return (
        f"file: expected the config {OFFICIAL!r}, which reads the authors' pairs from a file, got {file!r:.200} with "
        f"the config {config!r}; omit the file, or the corpus or data"
    )


class OfficialSetBuilder(ChallengeSetBuilder):
    """Builder of a set that has configs with the authors' published pairs."""

    FILE: ClassVar[PinnedFile]
    LICENSE: ClassVar[str]
    # Creators of the authors' sentences and labels, in the format of `list_creators`.
    CREATORS: ClassVar[Mapping[PairPart, Sequence[str]]]
    DEFAULT_CONFIG_NAME = OFFICIAL
    REQUIRES_ENGLISH = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        config = kwargs.get("config_name") or kwargs.get("name") or OFFICIAL
        file = kwargs.get("file")
        if isinstance(file, str | os.PathLike) and file and config.startswith(OFFICIAL):
            # Resolve a folder to the file itself: otherwise all of the folder would enter the cache key. A wrong file
            # also raises here, before any work is done.
            kwargs["file"] = str(fetch_pinned_file(self.FILE, local_copy=find_local_copy(self.FILE, Path(file))))
        elif file:  # raised here, since the base class would first open the file and complain about its format
            raise ValueError(_unexpected_file_message(config, file))
        super().__init__(*args, **kwargs)

    def find_official_file(self) -> Path:
        """Locate the authors' file: the user's copy, the cached copy or a new download."""
        return fetch_pinned_file(self.FILE, local_copy=Path(self.config.file) if self.config.file else None)

    def open_official_source(self, name: str, lines: bytes, columns: Mapping[str, str] | None = None) -> PairSource:
        """Write the authors' pairs, as JSON lines, to the cache, and open them as a data source.

        `columns` maps our column names to those of the lines (`unbag.data.sources`).
        """
        path = get_cache_folder("files") / self.FILE.sha256[:16] / name
        with atomic_write(path) as tmp:
            tmp.write_bytes(lines)
        source = open_data(path, columns=columns)
        return replace(source, name=OFFICIAL, license=self.LICENSE, origin=self.FILE.url, revision=self.FILE.sha256)

    def list_creators(self) -> dict[PairPart, list[str]]:
        """List the creators of the sentences and of the labels, for the dataset card."""
        if not self.config.is_official:
            return super().list_creators()
        return {what: list(who) for what, who in self.CREATORS.items()}

    def get_split_name(self, source: PairSource) -> str:
        """Return the name of the split: `test` for the authors' pairs, whose file does not specify a split."""
        return _TEST if self.config.is_official else super().get_split_name(source)

    def _info(self) -> datasets.DatasetInfo:
        info = super()._info()
        if self.config.is_official:
            info.license = self.LICENSE
        return info
