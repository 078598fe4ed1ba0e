"""Names on the Hub, by the Hub's own rules, checked before anything is built, written or asked."""

import re
from typing import Final

_CONFIG: Final = re.compile(r"\w(?:[\w+-]|\.(?!\.)){0,95}")
_PATH: Final = re.compile(r"[^\x00-\x1f\x7f\\]+")


def validate_repo(name: str) -> str:
    """Return the name of a repository, `organisation/name`.

    Raises:
        ValueError: if the Hub takes no such name.
    """
    if name.count("/") != 1 or not _is_repo(name):
        raise ValueError(
            "expected a repository of the Hub as organisation/name, each of letters, digits, - _ and . (not at the "
            f"ends, nor -- or ..), found {name!r}"
        )
    return name


def validate_push_repo(name: str) -> str:
    """Return the name of an organisation, or of a repository in it.

    Raises:
        ValueError: if the Hub takes no such name.
    """
    if "/" in name:
        return validate_repo(name)
    if not _is_repo(name):
        raise ValueError(
            f"expected an organisation of the Hub (letters, digits, - _ and .), or organisation/name, found {name!r}"
        )
    return name


def validate_config_name(name: str) -> str:
    """Return the name of a data set's config, which is a folder's in the repository too.

    Raises:
        ValueError: if it is more than letters, digits, - _ + and single dots.

    >>> validate_config_name("snli-test")
    'snli-test'
    """
    if not _CONFIG.fullmatch(name):
        raise ValueError(
            "expected a config's name of letters, digits, - _ + and ., 96 at most and the first a letter, digit or _, "
            f"found {name!r}; say what to call it with --config"
        )
    return name


def validate_repo_path(path: str) -> str:
    """Return the path of a file in a repository.

    Raises:
        ValueError: if it leads out of it, or no file can have it.
    """
    if not _PATH.fullmatch(path) or any(part in ("", ".", "..", ".git") for part in path.split("/")):
        raise ValueError(f"expected the path of a file in a repository, found {path!r}")
    return path


def is_model_name(name: str) -> bool:
    """Tell whether a model on the Hub may be called so: `organisation/name`, or a name of the Hub's first ones.

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
