"""Spaces of metrics: `evaluate.load("org/name")` without unbag, and a page to try the metric."""

from typing import Final

from unbag import challenge_sets, scripts
from unbag.hub.cards import describe_package, strip_relative_links
from unbag.hub.push import Publication
from unbag.hub.spaces import add_space_settings, build_requirements, read_page_source
from unbag.hub.vendoring import bundle_modules, rewrite_imports, source_notice

_FOLDER: Final = "metrics"
_SCORING: Final = "unbag_scoring"
_PAGE: Final = "metric_page"
_APP: Final = """from pathlib import Path

from {page} import page
from {scoring} import {function}

demo = page({function}, Path(__file__).parent)

if __name__ == "__main__":
    demo.launch()
"""


def metric_space(name: str, repo: str) -> Publication:
    """Build the Space of a metric in `metrics/`.

    The Space holds the metric's module and a copy of the unbag functions that it imports (`hub.vendoring`), so that
    numpy is its only requirement. The page is `hub/metric_page.py`. It starts with the metric's `example.csv` and takes
    the descriptions of scores from the card.

    Args:
        name: Name of the metric.
        repo: Space repository, `organisation/name`. `evaluate` loads the module with the name of the Space.

    Raises:
        ValueError: If there is no such metric, or the name of the Space is not a valid module name.
    """
    folder = scripts.folder(_FOLDER, name)
    module = repo.rpartition("/")[2]
    if not module.isidentifier() or module in ("app", _SCORING, _PAGE):
        raise ValueError(f"expected a Space whose name is a Python module name, e.g. org/{name}, got {repo!r}")
    source, needed = rewrite_imports((folder / f"{name}.py").read_text(encoding="utf-8"), _SCORING)
    readme = strip_relative_links((folder / "README.md").read_text(encoding="utf-8")).rstrip()
    origin = f"{describe_package()} This Space was made with unbag and runs without unbag."
    card = add_space_settings(f"{readme}\n\n## Challenge sets\n\n{_related_sets(name, repo)}\n\n## unbag\n\n{origin}\n")
    files = {
        "README.md": card.replace(f'evaluate.load("{_FOLDER}/{name}")', f'evaluate.load("{repo}")'),
        f"{module}.py": source_notice() + source,
        f"{_SCORING}.py": source_notice() + bundle_modules(needed),
        f"{_PAGE}.py": source_notice() + read_page_source(_PAGE),
        "app.py": source_notice() + _APP.format(page=_PAGE, scoring=_SCORING, function=name),
        "example.csv": (folder / "example.csv").read_text(encoding="utf-8"),
        "requirements.txt": build_requirements("numpy"),
    }
    contents = {path: text.encode() for path, text in files.items()}
    return Publication(repo, "space", contents, f"Publish the metric {name}", owns=("*.py",))


def _related_sets(name: str, repo: str) -> str:
    """Build the sentence that links the challenge sets whose columns a metric reads."""
    owner = repo.rpartition("/")[0]
    related = [each for each in challenge_sets.in_evaluation_order() if name in each.metrics]
    links = ", ".join(f"[{each.title}](https://huggingface.co/datasets/{owner}/{each.name})" for each in related)
    return f"The metric reads the columns of {links}. The card of the set has a complete example."
