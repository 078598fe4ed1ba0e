"""Validation of Hub names by the Hub's rules, before anything is built, written or downloaded."""

import re
from typing import Final

_CONFIG: Final = re.compile(r"\w(?:[\w+-]|\.(?!\.)){0,95}")
_PATH: Final = re.compile(r"[^\x00-\x1f\x7f\\]+")


def validate_repo(name: str) -> str:
    """Validate the name of a Hub repository, `organization/name`, and return it.

    Raises:
        ValueError: If the Hub does not allow the name.
    """
    if name.count("/") != 1 or not _is_repo(name):
        raise ValueError(
            "expected a Hub repository as organization/name, with letters, digits, - _ and . (none of these marks at "
            f"the ends, no -- or ..), got {name!r}"
        )
    return name


def validate_push_repo(name: str) -> str:
    """Validate the name of a Hub organization or repository, and return it.

    Raises:
        ValueError: If the Hub does not allow the name.
    """
    if "/" in name:
        return validate_repo(name)
    if not _is_repo(name):
        raise ValueError(f"expected a Hub organization (letters, digits, - _ and .) or organization/name, got {name!r}")
    return name


def validate_config_name(name: str) -> str:
    """Validate the name of a dataset config, and return it. It is also a folder name in the repository.

    Raises:
        ValueError: If it contains characters other than letters, digits, - _ + and single dots.

    >>> validate_config_name("snli-test")
    'snli-test'
    """
    if not _CONFIG.fullmatch(name):
        raise ValueError(
            "expected a config name with at most 96 letters, digits, - _ + and ., starting with a letter, digit or _, "
            f"got {name!r}; choose a name with --config"
        )
    return name


def validate_repo_path(path: str) -> str:
    """Validate a file path in a repository, and return it.

    Raises:
        ValueError: If the path is outside the repository, or is not a valid file path.
    """
    if not _PATH.fullmatch(path) or any(part in ("", ".", "..", ".git") for part in path.split("/")):
        raise ValueError(f"expected a file path in the repository, got {path!r}")
    return path


def is_model_name(name: str) -> bool:
    """Check whether a text is a valid model id on the Hub: `organization/name` or a single word.

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
