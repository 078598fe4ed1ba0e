"""Space with a leaderboard of a results dataset."""

from typing import Final

from unbag.hub.cards import describe_package
from unbag.hub.push import Publication
from unbag.hub.spaces import add_space_settings, build_requirements, read_page_source
from unbag.hub.vendoring import build_source_notice

NAME: Final = "unbag-leaderboard"
_PAGE: Final = "leaderboard_page"
_APP: Final = """from {page} import build_page

demo = build_page("{results}")

if __name__ == "__main__":
    demo.launch()
"""
_CARD: Final = """---
title: unbag leaderboard
tags:
- leaderboard
- natural-language-inference
short_description: Do NLI models read sentences, or count words?
---

# unbag leaderboard

Results of natural language inference models on challenge sets that test whether models use sentence structure. The
page loads [{results}](https://huggingface.co/datasets/{results}) each time it is opened. Each value is one row of the
dataset.

## Load

```python
from datasets import load_dataset

load_dataset("{results}", split="train")
```

## Add a model

```
unbag evaluate ORG/MODEL --sets permuted --output-dir runs/model
unbag publish results-dataset runs/model/results.json --repo-id ORG
```

You can also open a pull request to the dataset.

## unbag

{about}
"""


def build_leaderboard_space(repo: str, results: str) -> Publication:
    """Build the Space with the leaderboard of a results dataset.

    Args:
        repo: Space repository, `organization/name`.
        results: Results dataset shown on the page, `organization/name` (`hub.results_dataset`).
    """
    files = {
        "README.md": add_space_settings(
            _CARD.format(results=results, about=describe_package()), datasets=[results], pinned=True
        ),
        f"{_PAGE}.py": build_source_notice() + read_page_source(_PAGE),
        "app.py": build_source_notice() + _APP.format(page=_PAGE, results=results),
        "requirements.txt": build_requirements("datasets"),
    }
    contents = {path: text.encode() for path, text in files.items()}
    return Publication(repo, "space", contents, "Publish the leaderboard", owned_patterns=("*.py",))
