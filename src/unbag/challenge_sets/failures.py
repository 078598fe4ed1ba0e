"""A challenge set that could not be evaluated, and why: told at the end, so that it does not cost the others."""

from dataclasses import dataclass

from unbag.challenge_sets.loading import UnfitError
from unbag.challenge_sets.requirements import MissingError
from unbag.data.downloads import MissingFileError
from unbag.utils.redaction import redact


@dataclass(frozen=True)
class Failure:
    """A set without a result.

    Attributes:
        set: its name.
        error: what went wrong.
        model: of which model; None where the set could not be made, so for all.
    """

    set: str
    error: Exception
    model: str | None = None

    @property
    def is_skipped(self) -> bool:
        """Whether nothing went wrong: a package or other people's file is not at hand, or the pairs are not for it."""
        return isinstance(self.error, ImportError | MissingError | MissingFileError | UnfitError)

    def counts(self, *, named: bool) -> bool:
        """Check whether the command has failed by it (exit code 1): a set that the user named is required.

        Args:
            named: whether the user named the sets, and did not leave the choice to the suite.
        """
        return named or not self.is_skipped

    @property
    def reason(self) -> str:
        """The reason in one line; what is none of our own messages with the name of its type."""
        message = " ".join(redact(str(self.error)).split())
        ours = isinstance(self.error, ValueError | ImportError | OSError)
        return message if ours and message else f"{type(self.error).__name__}: {message}"
