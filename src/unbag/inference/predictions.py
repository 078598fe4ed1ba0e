"""Finished predictions, as they are read."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unbag.inference.store import MANIFEST, SCHEMA, Store, StoreError
from unbag.utils.storage import Folder


@dataclass(frozen=True)
class Predictions:
    """Finished predictions, read when asked for.

    Attributes:
        store: where they are.
        reused: how many of the rows were there before the run that returned this.
    """

    store: Store
    reused: int = 0

    @classmethod
    def open(cls, path: str | Path | Folder) -> "Predictions":
        """Open the folder of one store.

        Raises:
            StoreError: if there is no manifest of this version in it.
        """
        folder = Folder(path)
        try:
            manifest = json.loads(folder.read(MANIFEST))
            if manifest["schema"] != SCHEMA:
                raise StoreError(
                    f"{path} is of version {manifest['schema']}, this package reads {SCHEMA}; predict again"
                )
            store = Store(folder, manifest["key"], manifest["rows"], manifest["chunk_rows"], tuple(manifest["space"]))
        except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
            raise StoreError(
                f"expected a folder of predictions with a manifest.json, found {path} ({error})"
            ) from error
        return cls(store)

    @property
    def path(self) -> Path:
        """The folder of the parts.

        Raises:
            ValueError: if it is not on this machine.
        """
        return self.store.folder.path

    @property
    def label_space(self) -> tuple[str, ...]:
        """The labels of the probability columns."""
        return self.store.label_space

    def __len__(self) -> int:
        return self.store.rows

    @property
    def has_probabilities(self) -> bool:
        """False if the model gave labels only, so that its probabilities are all 0 or 1 and say nothing of doubt."""
        return all(meta["has_probabilities"] for meta in self._said)

    @property
    def truncated(self) -> int:
        """How many pairs were longer than the model reads."""
        return sum(int(meta["truncated"]) for meta in self._said)

    def array(self, labels: Sequence[str] | None = None) -> NDArray[np.float32]:
        """Return the probabilities in the order of the rows, shape (n, labels): of these labels, or of them all."""
        table = self.table(list(labels or self.label_space))
        return np.stack([values.to_numpy() for values in table.itercolumns()], axis=1)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows in their order, a part at a time, of the named columns or all.

        Raises:
            StoreError: at a part that is missing or damaged.
        """
        for table in self._parts():
            yield table if columns is None else table.select(list(columns))

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows of the named columns, or of all, in their order.

        Raises:
            StoreError: as `batches`.
        """
        return pa.concat_tables(self.batches(columns))

    @cached_property
    def _said(self) -> list[dict[str, Any]]:
        """What each part says of its rows; the parts are read, and checked, for it unless all were read before."""
        return [self.store.read(part)[1] for part in range(self.store.parts)]

    def _parts(self) -> Iterator[pa.Table]:
        """Yield the rows of each part, and keep what they say of them for `_said`."""
        said = []
        for part in range(self.store.parts):
            table, meta = self.store.read(part)
            said.append(meta)
            yield table
        vars(self)["_said"] = said


def load_predictions(path: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the predictions in the folder of one store: `id`, `source_id` and a float32 column for each label.

    Args:
        path: the folder with the manifest, or its address.
        columns: the columns to return; all by default.

    Raises:
        StoreError: if there are none, they are unfinished, or a part is damaged.
    """
    return Predictions.open(path).table(columns)
