"""Build hook that adds project URLs to a release, and makes the links in the README absolute.

The URLs are not in pyproject.toml, because forks have other URLs. The environment variable `UNBAG_REPOSITORY_URL`
contains the URL of the repository. The release workflow sets it. Without it, a release has no URLs.
"""

import os
import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE: Final = "UNBAG_REPOSITORY_URL"
_LINK = re.compile(r"(!?\[[^\]]*\])\((?!https?://|#|mailto:)([^)\s]+)\)")


class Home(MetadataHookInterface):
    """Metadata hook for the README and the URLs of a release."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README and the URLs to the metadata of a distribution."""
        home = os.environ.get(VARIABLE, "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": make_links_absolute(text, home, metadata["version"]),
        }
        if home:
            metadata["urls"] = {
                "Homepage": home,
                "Changelog": f"{home}/blob/main/CHANGELOG.md",
                "Documentation": f"{home}/tree/main/docs",
                "Issues": f"{home}/issues",
            }


def make_links_absolute(text: str, home: str, version: str) -> str:
    """Replace relative links in Markdown with absolute URLs at the tag of a version.

    >>> make_links_absolute("[speed](docs/speed.md) ![it](docs/a.png) [x](https://x.org)", "https://host/o/u", "1.2")
    '[speed](https://host/o/u/blob/v1.2/docs/speed.md) ![it](https://host/o/u/raw/v1.2/docs/a.png) [x](https://x.org)'
    >>> make_links_absolute("[speed](docs/studies/speed.md)", "", "1.2")
    '[speed](docs/studies/speed.md)'
    """
    if not home:
        return text
    return _LINK.sub(
        # Images need `raw`, since `blob` is an HTML page.
        lambda link: f"{link[1]}({home}/{'raw' if link[1].startswith('!') else 'blob'}/v{version}/{link[2]})",
        text,
    )
