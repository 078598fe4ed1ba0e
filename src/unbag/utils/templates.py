"""Jinja templates in the packages: report pages, cards of repositories, and task files of harnesses."""

import json
from functools import partial
from typing import Any


def render_template(package: str, path: str, *, autoescape: bool = False, **values: Any) -> str:
    """Render a template in the folder of a package. The filters `json` and `repr` format values for code."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package, "."),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"json": partial(json.dumps, ensure_ascii=False), "repr": repr}
    return environment.get_template(f"{path}.jinja").render(**values)
