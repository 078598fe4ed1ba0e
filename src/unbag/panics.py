"""Panics of libraries in Rust: what they raise is no `Exception`, so that whoever catches those lets it through."""

from collections.abc import Iterator
from contextlib import contextmanager


def is_panic(error: BaseException) -> bool:
    """Tell whether a library in Rust (tokenizers, safetensors) has given up over what it was given."""
    return type(error).__name__ == "PanicException"  # each has one of its own, which none of them names


@contextmanager
def as_errors() -> Iterator[None]:
    """Turn a panic within this block into an error like any other.

    Raises:
        RuntimeError: with what the library says.
    """
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
