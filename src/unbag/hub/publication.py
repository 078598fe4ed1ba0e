"""What is to be published: the files of one repository, as one commit will leave them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from unbag.utils.hub_names import require_path, require_repo

Kind: TypeAlias = Literal["dataset", "model", "space"]
"""The kinds of repositories of the Hub, by its clients' names."""

Merge: TypeAlias = Callable[[bytes | None], bytes]
"""What a file shall be, given what it is (None where there is none): for a file that others write to as well."""


@dataclass(frozen=True)
class Publication:
    """The files of one repository.

    Attributes:
        repo: `organisation/name`.
        kind: of repository; a space is one of gradio.
        files: what to write, by the path in the repository: the content itself, the file that holds it, or how to make
            it from what is there. The last is called again whenever somebody else's commit came first.
        message: of the commit; a pull request's title.
        owns: patterns (`fnmatch`) of paths that belong to this publication alone, such as `data/snli-test/*`: what an
            earlier one left there and `files` does not name is deleted. Everything else in the repository stays.
    """

    repo: str
    kind: Kind
    files: Mapping[str, bytes | Path | Merge]
    message: str
    owns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names that are none of the Hub's.

        Raises:
            ValueError: if the repository or a file has no such name.
        """
        require_repo(self.repo)
        for path in self.files:
            require_path(path)
