"""Rows out of files and Hub data sets, each with its number and a name for its place in an error message."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from unbag.file_rows import ENDINGS, kind_of
from unbag.file_rows import open_file as open_file
from unbag.row import Row as Row
from unbag.row import cell as cell
from unbag.utils.hashing import content_hash
from unbag.utils.hub import HubReadError, absence_of, hub_read
from unbag.utils.offline import unless_unreachable
from unbag.utils.redaction import first_line
from unbag.utils.retries import was_reached
from unbag.utils.safe_io import DataError as DataError

_BATCH = 1000


class Table(Protocol):
    """Rows that can be read again and again."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns' names."""
        ...

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Yield a range of rows."""
        ...

    def label_names(self, column: str) -> Sequence[str] | None:
        """Return the names that are stored with the data for a column's label ids, if any."""
        ...

    def spans(self, size: int) -> tuple[tuple[int, int | None], ...]:
        """Return ranges of about `size` rows that cover the table; one open range where rows have no random access."""
        ...


@dataclass(frozen=True)
class HubTable:
    """One split of a data set on the Hub, memory-mapped from the cache or streamed."""

    name: str
    data: Any  # datasets.Dataset or IterableDataset

    @property
    def columns(self) -> Sequence[str]:
        """The columns' names."""
        return list(self.data.column_names or self.data.features or next(iter(self.data)))

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Yield a range of rows."""
        data = self.data
        if hasattr(data, "num_rows"):
            data = data.select(range(start, data.num_rows if stop is None else min(stop, data.num_rows)))
        else:
            data = data.skip(start) if stop is None else data.skip(start).take(stop - start)
        number = start
        for batch in data.iter(batch_size=_BATCH):
            for values in zip(*batch.values(), strict=True):
                yield Row(number, f"{self.name}, row {number}", dict(zip(batch, values, strict=True)))
                number += 1

    def label_names(self, column: str) -> Sequence[str] | None:
        """Return the names of a `ClassLabel` column."""
        return getattr((self.data.features or {}).get(column), "names", None)

    def spans(self, size: int) -> tuple[tuple[int, int | None], ...]:
        """Return ranges of `size` rows; one open range for a stream."""
        if not hasattr(self.data, "num_rows"):
            return ((0, None),)
        n = self.data.num_rows
        return tuple((start, min(start + size, n)) for start in range(0, n, size)) or ((0, 0),)

    def content_hash(self, columns: Sequence[str]) -> str:
        """Return the hash of the named columns' rows (`unbag.utils.hashing`)."""
        return content_hash(self.data.with_format("arrow").iter(batch_size=_BATCH), columns)


def is_hub_id(name: str) -> bool:
    """Tell whether a name is that of a data set on the Hub: `org/name`, and no file that is there or could be.

    >>> is_hub_id("org/my.pairs"), is_hub_id("folder/pairs.csv"), is_hub_id("./model")
    (True, False, False)
    """
    path = Path(name)
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None and not path.exists() and kind_of(path) not in ENDINGS


def hub_commit(repo_id: str, revision: str) -> str:
    """Return the commit at which a branch, tag or other ref of a data set stands; the ref itself when offline.

    Raises:
        DataError: if there is no such repository or ref.
    """
    if len(revision) == 40:  # a commit stays where it is
        return revision
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        info = hub_read(f"the data set {repo_id}", lambda: HfApi().dataset_info(repo_id, revision=revision))
        return str(info.sha or revision)
    except HubReadError as error:
        if was_reached(error):
            raise DataError(str(error)) from error
        return revision
    except HfHubHTTPError as error:
        absent = absence_of(error, "data set", repo_id)
        raise DataError(absent or f"{repo_id} at {revision}: {first_line(error)}") from error
    except OSError:  # offline
        return revision  # as out of reach, what is in the cache is used; `load_dataset` says so if nothing is


def open_hub(
    repo_id: str, config: str | None, split: str, revision: str, *, streaming: bool = False
) -> tuple[HubTable, str]:
    """Open one split of a data set on the Hub, and return it with the commit it was read at.

    Raises:
        DataError: if it is not there or cannot be reached.
    """
    with unless_unreachable() as unreachable:
        return _open_hub(repo_id, config, split, revision, streaming=streaming, unreachable=unreachable)


def _open_hub(
    repo_id: str, config: str | None, split: str, revision: str, *, streaming: bool, unreachable: str
) -> tuple[HubTable, str]:
    import datasets
    from huggingface_hub.errors import HfHubHTTPError

    commit = hub_commit(repo_id, revision)

    if datasets.config.HF_HUB_OFFLINE:
        datasets.utils.logging.set_verbosity_error()  # else it tells for each split that it uses the cache

    def load(**how: Any) -> Any:
        data = datasets.load_dataset(repo_id, config, split=split, revision=commit, streaming=streaming, **how)
        if streaming or len(commit) < 40 or commit in str(data.cache_files):
            return data
        if datasets.config.HF_HUB_OFFLINE:
            raise DataError(
                f"{repo_id}: expected commit {commit}, found another on this machine, which is offline; fetch it while "
                "there is a network (unbag prefetch)"
            )
        # `datasets` takes what it has where the Hub does not answer.
        raise ConnectionAbortedError("the Hub does not say what is there, and on this machine is another commit")

    what = f"{repo_id} (config {config}, split {split}, revision {commit})"
    try:
        try:
            data = hub_read(what, load)
        except (datasets.exceptions.DatasetGenerationError, OSError, ValueError) as error:
            if not is_damage(error) or datasets.config.HF_HUB_OFFLINE:
                raise
            data = hub_read(what, partial(load, download_mode="force_redownload"))
    except DataError:
        raise
    except HubReadError as error:
        raise DataError(str(error)) from error
    except (datasets.exceptions.DatasetsError, HfHubHTTPError, OSError, ValueError) as error:
        if unreachable:
            raise DataError(f"{repo_id}, split {split}, is not on this machine, and {unreachable}") from error
        raise DataError(f"{what} could not be loaded: {first_line(error.__cause__ or error)}") from error
    return HubTable(repo_id, data), commit


def is_damage(error: BaseException) -> bool:
    """Tell whether an error of `datasets` means that a file in its cache is no longer what was written there.

    A full disk or a dead network is none: those have a number or a type of their own.
    """
    import datasets
    import pyarrow as pa

    cause = error.__cause__ if isinstance(error, datasets.exceptions.DatasetGenerationError) else error
    unnumbered = type(cause) is OSError and cause.errno is None  # Arrow's, about a file that ends too early
    return unnumbered or isinstance(cause, pa.ArrowInvalid) or type(cause) is FileNotFoundError
