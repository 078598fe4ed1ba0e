"""Errors: one-line errors of user code, and detection of full disks and Rust panics.

A panic is not an `Exception`, so `except Exception` does not catch it.
"""

import errno
import os
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from unbag.utils.redaction import extract_first_line, redact
from unbag.utils.retries import iter_causes

_DISK_FULL_CODES: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DISK_FULL_MESSAGES: Final = (
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "disk is full",  # SQLite
    "PytorchStreamWriter failed writing file",  # torch.save, for any failed write
)


def is_disk_full(error: BaseException) -> bool:
    """Check whether an error or one of its causes means that a disk is full."""
    # Libraries wrap the OSError in other errors, some of which keep only the message.
    return any(
        (isinstance(cause, OSError) and cause.errno in _DISK_FULL_CODES)
        or any(text in str(cause) for text in _DISK_FULL_MESSAGES)
        for cause in iter_causes(error)
    )


def build_disk_full_message(error: BaseException) -> str:
    """Build the error message for a full disk."""
    return f"no space left on a disk ({extract_first_line(error)}); free disk space and rerun the command"


def is_rust_panic(error: BaseException) -> bool:
    """Check whether an error is a panic of a Rust library (tokenizers, safetensors)."""
    return type(error).__name__ == "PanicException"  # each library has a private class with this name


@contextmanager
def convert_rust_panics() -> Iterator[None]:
    """Convert Rust panics in the `with` block to `RuntimeError` with the message of the library."""
    try:
        yield
    except BaseException as error:
        if is_rust_panic(error):
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        raise


_LONGEST: Final = 300  # maximum characters of the error message
_LISTED: Final = 3  # number of frames, innermost first
_WITHIN: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")  # the enclosing function also has a frame
_OURS: Final = (f"{Path(__file__).parents[1]}{os.sep}", "<frozen ")  # unbag and the import system
_LIBRARIES: Final = tuple(
    f"{folder}{os.sep}"
    for folder in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


class UserCodeError(ValueError):
    """Error raised by user code. Its `__cause__` is the original error with its complete traceback."""


def build_user_code_error(expected: str, error: BaseException, advice: str) -> UserCodeError:
    """Build the exception for an error in user code. `expected` names the code and the expectation.

    >>> print(build_user_code_error("model.py:predict: expected labels", KeyError("dog"), "correct it"))
    model.py:predict: expected labels, got KeyError: 'dog'; correct it
    """
    # The text of a SyntaxError ends with the file and the line, which the frames already contain.
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    message = " ".join(redact(text).split())[:_LONGEST]
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    places = ", ".join(list(dict.fromkeys(_list_places(error)))[:_LISTED])
    return UserCodeError(f"{expected}, got {what}{f' at {places}' if places else ''}; {advice}")


def _list_places(error: BaseException) -> list[str]:
    """List the lines of user code in a traceback, innermost first, or one line of a library if there is none."""
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(_OURS) and frame.f_code.co_name not in _WITHIN
    ][::-1]
    own = [frame for frame in frames if not frame[0].startswith(_LIBRARIES)] or frames[:1]
    if isinstance(error, SyntaxError) and error.filename and error.lineno:  # the code did not run, so it has no frame
        own = [(error.filename, error.lineno, "<module>")]
    return [f"{file.removeprefix(f'{Path.cwd()}{os.sep}')}:{line} ({function})" for file, line, function in own]
