"""Validation of names on the Hub by the Hub's own rules, before anything is built, written or downloaded."""

import re
from typing import Final

_CONFIG: Final = re.compile(r"\w(?:[\w+-]|\.(?!\.)){0,95}")
_PATH: Final = re.compile(r"[^\x00-\x1f\x7f\\]+")


def validate_repo(name: str) -> str:
    """Validate the name of a repository, `organisation/name`, and return it.

    Raises:
        ValueError: If the Hub does not allow the name.
    """
    if name.count("/") != 1 or not _is_repo(name):
        raise ValueError(
            "expected a repository of the Hub as organisation/name, each of letters, digits, - _ and . (not at the "
            f"ends, nor -- or ..), got {name!r}"
        )
    return name


def validate_push_repo(name: str) -> str:
    """Validate the name of an organisation, or of a repository in it, and return it.

    Raises:
        ValueError: If the Hub does not allow the name.
    """
    if "/" in name:
        return validate_repo(name)
    if not _is_repo(name):
        raise ValueError(
            f"expected an organisation of the Hub (letters, digits, - _ and .), or organisation/name, got {name!r}"
        )
    return name


def validate_config_name(name: str) -> str:
    """Validate the name of a data set's config, which also names a folder of the repository, and return it.

    Raises:
        ValueError: If it has anything but letters, digits, - _ + and single dots.

    >>> validate_config_name("snli-test")
    'snli-test'
    """
    if not _CONFIG.fullmatch(name):
        raise ValueError(
            "expected a config's name of letters, digits, - _ + and ., 96 at most and the first a letter, digit or _, "
            f"got {name!r}; name the config with --config"
        )
    return name


def validate_repo_path(path: str) -> str:
    """Validate the path of a file in a repository, and return it.

    Raises:
        ValueError: If the path leads out of the repository, or no file can have it.
    """
    if not _PATH.fullmatch(path) or any(part in ("", ".", "..", ".git") for part in path.split("/")):
        raise ValueError(f"expected the path of a file in a repository, got {path!r}")
    return path


def is_model_name(name: str) -> bool:
    """Check whether a text is a valid model id: `organisation/name`, or one word, as for the Hub's oldest models.

    >>> is_model_name("org/name"), is_model_name("gpt2"), is_model_name("../x"), is_model_name("a b")
    (True, True, False, False)
    """
    return name.count("/") <= 1 and _is_repo(name)


def _is_repo(name: str) -> bool:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return name.isascii() and name.isprintable()
