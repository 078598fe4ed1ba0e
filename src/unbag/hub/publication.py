"""What is to be published: the files of one repository, as one commit will leave them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["dataset", "model", "space"]
"""The kinds of repositories of the Hub, by its clients' names."""


@dataclass(frozen=True)
class Publication:
    """The files of one repository.

    Attributes:
        repo: `organisation/name`.
        kind: of repository; a space is one of gradio.
        files: what to write, by the path in the repository: the content itself, or the file that holds it.
        message: of the commit.
    """

    repo: str
    kind: Kind
    files: Mapping[str, bytes | Path]
    message: str
