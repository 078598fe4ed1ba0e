"""What a process makes of a store at a time: the rows of a part, and a part or a share of one."""

from typing import NamedTuple

import pyarrow as pa


class PartRows(NamedTuple):
    """The rows of a part.

    Attributes:
        table: the columns `store.ASKED` of its r rows.
        sha256: a hash of them.
    """

    table: pa.Table
    sha256: str


class Piece(NamedTuple):
    """What a process makes at a time: a part, or one of several shares of a part.

    A share of a part is every so-many-th of the batches that the part is cut into, so that no batch, and no answer,
    depends on how many shares there are.

    Attributes:
        part: the part's number.
        share: which share of it, from 0.
        shares: how many shares there are.

    >>> str(Piece(3)), str(Piece(3, share=1, shares=4))
    ('00003', '00003-1of4')
    """

    part: int
    share: int = 0
    shares: int = 1

    def __str__(self) -> str:
        return f"{self.part:05}" + (f"-{self.share}of{self.shares}" if self.shares > 1 else "")
