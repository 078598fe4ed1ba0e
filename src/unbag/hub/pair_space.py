"""Space for single pairs: predictions of a Hub model and a lexical model for several word orders."""

import json
from pathlib import Path
from typing import Final

from unbag.baselines.lexical.model import CONFIG_FILE, WEIGHTS_FILE
from unbag.baselines.lexical.words import ALL, BY_TYPE
from unbag.hub.cards import describe_package
from unbag.hub.local_paths import strip_folders
from unbag.hub.push import Publication
from unbag.hub.spaces import GRADIO, add_space_settings, build_requirements, read_page_source
from unbag.hub.vendoring import build_source_notice, bundle_modules
from unbag.utils.files import read_json_object
from unbag.utils.hub_names import validate_repo

NAME: Final = "try-a-pair"
_PAGE: Final = "pair_page"
_OURS: Final = "unbag_words"
_MODULES: Final = tuple(
    f"unbag.{name}"
    for name in (
        *("data.labels", "data.text.tokens", "challenge_sets.perturbations.permutation"),
        *("baselines.lexical.bag", "baselines.lexical.contributions"),
    )
)
_ALLOWED: Final = frozenset({"numpy", "scipy", "spacy", "rjieba"})
_APP: Final = """from pathlib import Path

import {ours}
from {page} import build_page

demo = build_page({ours}, Path(__file__).parent, "{model}")

if __name__ == "__main__":
    demo.launch(mcp_server=True)
"""
_CARD: Final = """---
title: Try a pair
tags:
- natural-language-inference
- mcp-server
short_description: Does an NLI model read sentences, or count words?
---

# Try a pair

Enter a premise, a hypothesis and a model of natural language inference. The page shows:

- the predictions of the model and of a lexical model
- the words that mislead the lexical model
- both predictions with the words in other orders, and with premise and hypothesis exchanged

## Method

The lexical model is a softmax regression on words and pairs of words ([Nie et al.
2019](https://arxiv.org/abs/1811.07033), section 5), fitted to {fitted}. The word orders are those of
[Sinha et al. 2021](https://arxiv.org/abs/2101.00010), section 4.

## Use by agents

The page is a server of the [Model Context Protocol](https://modelcontextprotocol.io) with the tool `predict`. Its
address is that of the running page with `/gradio_api/mcp/` at the end.

## Limits

A single pair says nothing about a model. The challenge sets have thousands of pairs.

## unbag

{about}
"""


def build_pair_space(repo: str, model: str, lexical: Path) -> Publication:
    """Build the Space for single pairs.

    Args:
        repo: Space repository, `organization/name`.
        model: Hub id of the model that is selected when the page opens.
        lexical: Folder of an English lexical model whose words are selected by type or not selected.

    Raises:
        ValueError: If `model` is not a valid Hub id, or the lexical model is not supported.
    """
    validate_repo(model)
    config = read_json_object(lexical / CONFIG_FILE)
    record = config["record"]
    if record["language"] != "en" or (record["tags"] != BY_TYPE and record["pipeline"] != ALL):
        raise ValueError(
            f"{lexical}: expected an English lexical model with words selected by type, got the language "
            f"{record['language']!r} and words selected by {record['tags']}"
        )
    origins = " and ".join(dict.fromkeys(strip_folders(part["origin"]) for part in record["training"]))
    fitted = f"{record['pairs']:,} pairs of {origins}"  # only file names, since their folders are private
    files: dict[str, bytes | Path] = {
        "README.md": add_space_settings(_CARD.format(about=describe_package(), fitted=fitted), models=[model]).encode(),
        f"{_PAGE}.py": (build_source_notice() + read_page_source(_PAGE)).encode(),
        f"{_OURS}.py": (
            build_source_notice() + bundle_modules(_MODULES, title="Words and their orders.", allowed=_ALLOWED)
        ).encode(),
        "app.py": (build_source_notice() + _APP.format(page=_PAGE, ours=_OURS, model=model)).encode(),
        "lexical.json": json.dumps({"words": config["words"]}, ensure_ascii=False).encode(),
        "lexical.safetensors": lexical / WEIGHTS_FILE,
        "requirements.txt": (
            f"gradio[mcp]=={GRADIO}\n"
            + build_requirements("numpy", "safetensors", "scipy", "spacy", "torch", "transformers")
        ).encode(),
    }
    return Publication(repo, "space", files, "Publish the page to try a pair", owned_patterns=("*.py",))
