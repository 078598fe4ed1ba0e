"""The challenge sets by name. Each set is one class in `dataset_scripts/<set>/<set>.py` (`base.ChallengeSet`).

Other packages add sets by an entry point of the group `unbag.challenge_sets`. The name of the entry point is the name
of the set, and its object is the class.

    [project.entry-points."unbag.challenge_sets"]
    my_set = "my_package.my_set:MySet"
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from unbag import scripts
from unbag.challenge_sets.base import ChallengeSet
from unbag.utils.options import OptionError, suggest_name

GROUP: Final = "unbag.challenge_sets"
_FOLDER: Final = "dataset_scripts"


def list_set_names() -> list[str]:
    """List the names of all challenge sets: the built-in sets and the sets that other installed packages provide."""
    return sorted({*_builtin_names(), *_entry_points()})


@cache
def get_challenge_set(name: str) -> ChallengeSet:
    """Load the description of a challenge set."""
    set_class: type[ChallengeSet]
    if name in _builtin_names():
        set_class = _find_set_class(scripts.import_script_module(_FOLDER, name))
    elif name in _entry_points():
        set_class = _entry_points()[name].load()
    else:
        # Suggest the set with a similar name or title, such as "breaking" or "Breaking NLI".
        key = "_".join(name.strip().lower().replace("-", " ").split())
        parts = [each for each in list_set_names() if key and key in each]
        suggestion = suggest_name(parts[0] if parts else key, list_set_names())
        raise OptionError(
            f"expected one of the challenge sets {', '.join(list_set_names())}, got {name!r}{suggestion}; "
            "for a set from another package, install that package"
        )
    challenge_set = set_class()
    if challenge_set.name != name:
        raise ValueError(
            f"{set_class.__module__}: expected a ChallengeSet with the name {name}, got the name "
            f"{challenge_set.name}; correct the entry point"
        )
    return challenge_set


def _find_set_class(module: Any) -> type[ChallengeSet]:
    """Find the challenge set that a module defines."""
    [found] = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ChallengeSet) and value.__module__ == module.__name__
    )
    return found


def find_challenge_set(name: str) -> ChallengeSet | None:
    """Look up a challenge set by name; None if it is not installed, as for results from another machine."""
    return get_challenge_set(name) if name in list_set_names() else None


def get_display_name(name: str) -> str:
    """Look up the title of a challenge set. Return `name` if the set is not installed.

    >>> get_display_name("soswap_addamod")
    'SOSwap/AddAmod'
    """
    challenge_set = find_challenge_set(name)
    return name if challenge_set is None else challenge_set.title


def list_challenge_sets() -> list[ChallengeSet]:
    """List all challenge sets in evaluation order. Sets that are cheap to build and to evaluate come first."""
    return sorted(map(get_challenge_set, list_set_names()), key=lambda each: (each.evaluation_order, each.name))


@cache
def _builtin_names() -> frozenset[str]:
    return frozenset(scripts.list_script_folders(_FOLDER))


@cache
def _entry_points() -> dict[str, EntryPoint]:
    # Cached: `entry_points` reads the metadata of every installed package from disk, and these do not change while a
    # process runs.
    return {point.name: point for point in entry_points(group=GROUP)}
