"""The challenge sets by name: a package each, with its description in `SET` (`base.ChallengeSet`).

Other packages add theirs by an entry point of the group `unbag.challenge_sets`: its name is the set's, and what it
names is the description.

    [project.entry-points."unbag.challenge_sets"]
    my_set = "my_package.my_set:SET"
"""

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final

from unbag.challenge_sets.base import ChallengeSet
from unbag.utils.options import did_you_mean

GROUP: Final = "unbag.challenge_sets"


def names() -> list[str]:
    """Return the names of all challenge sets, ours and those of other packages."""
    return sorted({*_ours(), *_of_others()})


@cache
def get(name: str) -> ChallengeSet:
    """Return a challenge set.

    Raises:
        ValueError: if there is none of that name, or what other packages call it describes another.
    """
    described: ChallengeSet
    if name in _ours():
        described = import_module(f"{__name__}.{name}").SET
    elif name in _of_others():
        described = _of_others()[name].load()
    else:
        raise ValueError(
            f"expected a challenge set of {', '.join(names())}, found {name!r}{_meant(name)}; one of another package "
            "is there when that is installed"
        )
    if described.name != name:
        raise ValueError(f"expected {described.package} to describe the set {name}, found {described.name}")
    return described


def _meant(name: str) -> str:
    """Return a question after the set that a wrong name may mean, as of its title; nothing where none is like it."""
    key = "_".join(name.strip().lower().replace("-", " ").split())
    parts = [each for each in names() if key and key in each]
    return did_you_mean(parts[0] if parts else key, names())


def find(name: str) -> ChallengeSet | None:
    """Return a challenge set; None where it is not installed here, as with somebody else's results."""
    return get(name) if name in names() else None


def display_name(name: str) -> str:
    """Return the name of a challenge set for people; the name itself where the set is not installed.

    >>> display_name("soswap_addamod")
    'SOSwap/AddAmod'
    """
    described = find(name)
    return name if described is None else described.title


def in_evaluation_order() -> list[ChallengeSet]:
    """Return all challenge sets, those first that are cheap to make and to ask."""
    return sorted(map(get, names()), key=lambda each: (each.evaluation_order, each.name))


@cache
def _ours() -> frozenset[str]:
    return frozenset(path.parent.name for path in Path(__file__).parent.glob("*/scores.py"))


@cache
def _of_others() -> dict[str, EntryPoint]:
    # What is installed is read from the disk, package by package, and does not change while a process runs.
    return {point.name: point for point in entry_points(group=GROUP)}
