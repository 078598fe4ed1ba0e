"""Predict every row of a data set once, in processes that nothing connects but the folder of the predictions.

Any number of machines take part, started at any time, each as one shard of so many. A shard begins with every
so-many-th piece, so that those who start together do not meet, and then helps with whatever nobody has claimed: all is
done in the end, even if some shards die or are never started.
"""

import json
import logging
import time
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, Final

from unbag.inference.function import CallablePredictor
from unbag.inference.leases import LEASE, LeaseManager
from unbag.inference.prediction_store import Predictions, Store
from unbag.inference.predictor import Predictor
from unbag.inference.runner import SAVE_EVERY, PredictionJob, Progress, RowCount

CLAIMS: Final = "claims"
"""The folder of claims within another."""

_SHARES: Final = "shares.json"
_LOOKS_A_LEASE: Final = 30

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shard:
    """One of several processes that share an evaluation.

    Attributes:
        index: which, from 0.
        of: how many there are to be; fewer or more may come.
        lease: see `leases.LEASE`.

    >>> str(Shard.parsed("0/3"))
    '0/3'
    """

    index: int
    of: int
    lease: float = LEASE

    def __post_init__(self) -> None:
        """Refuse what is none.

        Raises:
            ValueError: if there is no such shard.
        """
        if not 0 <= self.index < self.of:
            raise ValueError(f"expected a shard as i/n with i from 0 to n - 1, such as 0/3, 1/3 and 2/3; found {self}")

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    @classmethod
    def parsed(cls, text: str) -> "Shard":
        """Return a shard from text such as `0/3`.

        Raises:
            ValueError: if it is none.
        """
        index, _, of = text.partition("/")
        if not (index.isdecimal() and of.isdecimal()):
            raise ValueError(f"expected a shard as i/n, such as 0/3 for the first of three, found {text!r}")
        return cls(int(index), int(of))


def work_of(rows: Any, predictor: Predictor, folder: Any, **options: Any) -> PredictionJob:
    """Return the work that shards share: as `Work.of`, of a predictor that all of them know again.

    Raises:
        ValueError: as `Work.of`, or if nothing says what decides the predictor's answers.
    """
    identity: Mapping[str, str] | None = None
    if predictor.identity is None:
        identity = predictor.source if isinstance(predictor, CallablePredictor) else None
        if identity is None:
            raise ValueError(
                "processes that share an evaluation must know that they ask the same model: expected a model of the "
                "Hub, a folder, a built-in model or a function that its module has under its name (module:function; of "
                "a closure, a lambda or a method, give a CallablePredictor an identity), found "
                f"{type(predictor).__name__}"
            )
    return PredictionJob.of(rows, predictor, folder, identity=identity, **options)


def predict_shard(
    work: PredictionJob,
    shard: Shard,
    *,
    wait: bool = True,
    save_every: float = SAVE_EVERY,
    progress: Progress | None = None,
) -> Predictions:
    """Make what is missing and nobody else makes.

    Args:
        work: what there is to do, as `work_of` returns it.
        shard: which of the processes this is.
        wait: stay until all parts are there, and take over from those who die; else return when nothing is left to be
            claimed.
        save_every: seconds between two savings of an unfinished part.
        progress: see `runner.Progress`; of all rows, whoever makes them.

    Raises:
        ValueError: if the predictor's answers are no probabilities.
    """
    store = work.store
    store.describe(work.material)
    store.clean()
    shares = _agreed_shares(store, work.shares(shard.of))
    pieces = store.pieces(range(store.parts), shares)
    # Its own first, then those of the next shard, so that helpers do not all come to the same.
    own = set(pieces[shard.index :: shard.of])
    pieces = [piece for turn in range(shard.of) for piece in pieces[(shard.index + turn) % shard.of :: shard.of]]
    reused = store.rows - sum(map(work.size, store.pieces(store.missing())))
    count = RowCount(reused, store.rows, progress)
    helping = False
    with LeaseManager(store.folder / CLAIMS, f"shard {shard}", shard.lease) as claims:
        claims.take(f"shard-{shard.index}of{shard.of}")
        while True:
            todo = store.to_make(pieces)
            count.reach(store.rows - sum(map(work.size, todo)))
            if shares > 1:
                _join(work, {piece.part for piece in todo})
            if not todo:
                break
            taken = False
            for piece in todo:
                if not helping and piece not in own:
                    helping = True
                    _warn_if_alone(store, shard)
                if not claims.take(str(piece)):
                    continue
                if not store.is_made(piece):  # it may be since, by who claimed it before
                    with count.making(work.size(piece)) as answered:
                        work.make(piece, save_every=save_every, on_answers=answered)
                    taken = True
                claims.release(str(piece))
            if taken:
                continue
            if not wait:
                break
            time.sleep(shard.lease / _LOOKS_A_LEASE)
    return Predictions(store, reused=reused)


def _agreed_shares(store: Store, wanted: int) -> int:
    """Return into how many shares each part is cut, as the first process decided it, who may have counted on others."""
    store.folder.create(_SHARES, json.dumps({"shares": wanted}).encode())
    try:
        return int(json.loads(store.folder.read(_SHARES))["shares"])
    except (ValueError, KeyError, TypeError):  # damaged: nothing depends on it but who makes what
        store.folder.write(_SHARES, json.dumps({"shares": wanted}).encode())
        return wanted


def _join(work: PredictionJob, unmade: Container[int]) -> None:
    """Store the parts of which no share is unmade as such: who finished the last one may have died over it."""
    for part in work.store.missing():
        if part not in unmade:
            work.join(part)


def _warn_if_alone(store: Store, shard: Shard) -> None:
    others = [
        name
        for name in (store.folder / CLAIMS).names()
        if name.startswith("shard-") and name != f"shard-{shard.index}of{shard.of}.json"
    ]
    if not others and shard.of > 1:
        logger.warning(
            "shard %s has done its own part, and sees no other shard at work in %s; if others are at work, they do not "
            "see this folder: name one that all see, or an address such as s3://… (--output-dir)",
            shard,
            store.folder,
        )
