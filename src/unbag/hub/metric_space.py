"""A Space of a metric: `evaluate.load("org/name")` without unbag, and a page to try it on."""

from typing import Final

from unbag import challenge_sets, scripts
from unbag.hub.cards import describe_package, strip_relative_links
from unbag.hub.push import Publication
from unbag.hub.spaces import add_space_settings, build_requirements, read_page_source
from unbag.hub.vendoring import bundle_modules, rewrite_imports, source_notice

_ROOM: Final = "metrics"
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
    """Return the Space of a metric of `metrics/`.

    Its module is ours, the arithmetic that it imports copied beside it (`hub.vendoring`), so that it needs numpy alone.
    Its page is `hub/metric_page.py`, which starts with the metric's `example.csv` and explains scores by its card.

    Args:
        name: of the metric.
        repo: of the Space, `organisation/name`; `evaluate` looks there for a module of that name.

    Raises:
        ValueError: if there is no such metric, or the Space's name cannot be a module's.
    """
    folder = scripts.folder(_ROOM, name)
    module = repo.rpartition("/")[2]
    if not module.isidentifier() or module in ("app", _SCORING, _PAGE):
        raise ValueError(f"expected a Space named like a Python module, e.g. org/{name}, found {repo!r}")
    source, needed = rewrite_imports((folder / f"{name}.py").read_text(encoding="utf-8"), _SCORING)
    readme = strip_relative_links((folder / "README.md").read_text(encoding="utf-8")).rstrip()
    made = f"{describe_package()} It made this Space, which runs without it."
    card = add_space_settings(f"{readme}\n\n## Challenge sets\n\n{_related_sets(name, repo)}\n\n## unbag\n\n{made}\n")
    files = {
        "README.md": card.replace(f'evaluate.load("{_ROOM}/{name}")', f'evaluate.load("{repo}")'),
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
    found = [each for each in challenge_sets.in_evaluation_order() if name in each.metrics]
    links = ", ".join(f"[{each.title}](https://huggingface.co/datasets/{owner}/{each.name})" for each in found)
    return f"It reads the columns of {links}, whose card has a complete example."
