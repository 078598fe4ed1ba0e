"""Helpers for Spaces: settings, requirements, and the source of pages that run without unbag."""

import re
from importlib.metadata import requires
from pathlib import Path
from typing import Any, Final

from unbag.hub.cards import collect_arxiv_tags

GRADIO: Final = "6.31.0"
"""gradio version of the Spaces, with which the pages are tested."""


def read_page_source(name: str) -> str:
    """Read the source code of a page module in this folder."""
    return Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")


def build_requirements(*names: str) -> str:
    r"""Build a requirements.txt with the given packages and unbag's version constraints.

    >>> build_requirements("numpy")
    'numpy>=2.0\n'
    """
    ours = {re.split(r"[^\w-]", line)[0].lower(): line.partition(";")[0].strip() for line in requires("unbag") or []}
    return "".join(f"{ours[name]}\n" for name in names)


def add_space_settings(card: str, **more: Any) -> str:
    """Add the settings of a gradio Space and the settings in `more` to a card's front matter."""
    from huggingface_hub import SpaceCard

    space = SpaceCard(card)
    if papers := collect_arxiv_tags([card]):
        space.data["tags"] = [*(space.data.get("tags") or []), *papers]
    settings = {
        "emoji": "🛍️",
        "colorFrom": "yellow",
        "colorTo": "red",
        "sdk": "gradio",
        "sdk_version": GRADIO,
        "python_version": "3.11",
        "app_file": "app.py",
        "pinned": False,
        "license": "apache-2.0",
        **more,
    }
    for key, value in settings.items():
        space.data[key] = value
    return str(space)
