"""A Space that shows a data set of results."""

from typing import Final

from unbag.hub.cards import describe_package
from unbag.hub.push import Publication
from unbag.hub.spaces import add_space_settings, build_requirements, read_page_source
from unbag.hub.vendoring import source_notice

NAME: Final = "unbag-leaderboard"
_PAGE: Final = "leaderboard_page"
_APP: Final = """from {page} import page

demo = page("{results}")

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

Natural language inference models on challenge sets that are held against bags of words. Each number is a row of
[{results}](https://huggingface.co/datasets/{results}), which is read anew whenever the page is opened:

```python
from datasets import load_dataset

load_dataset("{results}", split="train")
```

To add a model: `unbag evaluate ORG/MODEL --sets permuted --output-dir runs/model`, and then
`unbag publish results-dataset runs/model/results.json --to ORG`, or a pull request to the data set.

{about}
"""


def leaderboard_space(repo: str, results: str) -> Publication:
    """Return the Space of a leaderboard.

    Args:
        repo: of the Space, `organisation/name`.
        results: the data set that it reads, `organisation/name` (`hub.results_dataset`).
    """
    files = {
        "README.md": add_space_settings(
            _CARD.format(results=results, about=describe_package()), datasets=[results], pinned=True
        ),
        f"{_PAGE}.py": source_notice() + read_page_source(_PAGE),
        "app.py": source_notice() + _APP.format(page=_PAGE, results=results),
        "requirements.txt": build_requirements("datasets"),
    }
    contents = {path: text.encode() for path, text in files.items()}
    return Publication(repo, "space", contents, "Publish the leaderboard", owns=("*.py",))
