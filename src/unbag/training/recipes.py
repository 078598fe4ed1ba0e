"""The recipes in `trainers/`: a file there has one, `RECIPE`, or several, `RECIPES`."""

from functools import cache
from typing import Final

from unbag import scripts
from unbag.training.recipe import Recipe

ROOM: Final = "trainers"


@cache
def recipes() -> dict[str, Recipe]:
    """Return every recipe by name."""
    found: dict[str, Recipe] = {}
    for file in scripts.files(ROOM):
        module = scripts.file(ROOM, file)
        found |= {recipe.name: recipe for recipe in getattr(module, "RECIPES", None) or (module.RECIPE,)}
    return found


def named(name: str) -> Recipe:
    """Return one recipe.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in recipes():
        raise ValueError(f"expected a recipe of {', '.join(recipes())}, found {name!r}")
    return recipes()[name]
