"""Challenge sets that could not be evaluated, with the reason. If one set fails, the others still run."""

from dataclasses import dataclass

from unbag.challenge_sets.loading import UnsuitablePairsError
from unbag.challenge_sets.requirements import MissingResourceError
from unbag.data.downloads import MissingFileError
from unbag.utils.hub import HubReadError
from unbag.utils.redaction import redact


@dataclass(frozen=True)
class EvaluationFailure:
    """A challenge set that could not be evaluated, and the error that stopped it."""

    set: str
    error: Exception
    model: str | None = None  # name of the model; None if the set could not be built, which concerns all models

    @property
    def is_skipped(self) -> bool:
        """Whether the set was skipped because a package or file is missing, or because the pairs are unsuitable."""
        missing = ImportError | MissingResourceError | MissingFileError | HubReadError
        return isinstance(self.error, missing | UnsuitablePairsError)

    def is_fatal(self, *, is_named: bool) -> bool:
        """Check whether this failure makes the command exit with code 1.

        A skipped set is fatal only if the user named the sets, not if the suite chose them. Any other failure is fatal.
        """
        return is_named or not self.is_skipped

    @property
    def reason(self) -> str:
        """The error message in one line. For unexpected exception types, the type name precedes the message."""
        message = " ".join(redact(str(self.error)).split())
        ours = isinstance(self.error, ValueError | ImportError | OSError)
        return message if ours and message else f"{type(self.error).__name__}: {message}"
