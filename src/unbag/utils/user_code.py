"""Errors of code that a user hands over or names as `module:function`: one line, with the user's own lines."""

import os
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from unbag.utils.redaction import redact

_LONGEST: Final = 300  # characters of the user's own message
_LISTED: Final = 3  # frames, the innermost first
_WITHIN: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")  # on the line of the function around them
_OURS: Final = (f"{Path(__file__).parents[1]}{os.sep}", "<frozen ")  # and the import system's
_LIBRARIES: Final = tuple(
    f"{folder}{os.sep}"
    for folder in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


class UserCodeError(ValueError):
    """An error that the user's own code raised. Its `__cause__` is that error, with the whole traceback."""


class _Frame(NamedTuple):
    """A line of code that was reached, and the function that it is in."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        path = Path(self.file)
        place = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        return f"{place}:{self.line} ({self.function})"


def user_code_error(expected: str, error: BaseException, advice: str) -> UserCodeError:
    """Build the error to raise for one that the user's code raised.

    Args:
        expected: where it was raised, and what was expected of the code: the message begins with it.
        error: what was raised instead.
        advice: what the user can do.

    >>> print(user_code_error("model.py:predict: expected labels", KeyError("dog"), "correct it"))
    model.py:predict: expected labels, got KeyError: 'dog'; correct it
    """
    # What a SyntaxError says of itself ends in the file and the line, which stand among the places.
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    message = " ".join(redact(said).split())[:_LONGEST]
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    places = ", ".join(list(dict.fromkeys(map(str, _frames(error))))[:_LISTED])
    return UserCodeError(f"{expected}, got {what}{f' at {places}' if places else ''}; {advice}")


def _frames(error: BaseException) -> Iterator[_Frame]:
    """Yield the frames of the user's own code, the innermost first; of a library's where the code is in one."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:  # its code never ran
        yield _Frame(error.filename, error.lineno, "<module>")
        return
    frames = [
        _Frame(frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    others = [frame for frame in reversed(frames) if not frame.file.startswith(_OURS) and frame.function not in _WITHIN]
    own = [frame for frame in others if not frame.file.startswith(_LIBRARIES)]
    yield from own or others[:1]
