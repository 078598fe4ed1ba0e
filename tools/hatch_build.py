"""What a release says of its home: addresses of the project, and links of the README that work on a package index.

Neither is in pyproject.toml, since a fork's releases have another home: the variable `UNBAG_REPOSITORY_URL` says which
(the release workflow sets it), and without it there are no addresses.
"""

import os
import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE: Final = "UNBAG_REPOSITORY_URL"
_LINK = re.compile(r"(!?\[[^\]]*\])\((?!https?://|#|mailto:)([^)\s]+)\)")


class Home(MetadataHookInterface):
    """Readme and addresses of a release."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them to a distribution's metadata."""
        home = os.environ.get(VARIABLE, "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_links(text, home, metadata["version"])}
        if home:
            metadata["urls"] = {
                "Homepage": home,
                "Changelog": f"{home}/blob/main/CHANGELOG.md",
                "Documentation": f"{home}/tree/main/docs",
                "Issues": f"{home}/issues",
            }


def with_links(text: str, home: str, version: str) -> str:
    """Return Markdown whose links into the repository are whole addresses, at the tag of a version.

    >>> with_links("[speed](docs/studies/speed.md) ![it](docs/a.png) [x](https://x.org)", "https://host/o/unbag", "1.2")
    '[speed](https://host/o/unbag/blob/v1.2/docs/studies/speed.md) ![it](https://host/o/unbag/raw/v1.2/docs/a.png) [x](https://x.org)'
    >>> with_links("[speed](docs/studies/speed.md)", "", "1.2")
    '[speed](docs/studies/speed.md)'
    """
    if not home:
        return text
    return _LINK.sub(
        lambda link: f"{link[1]}({home}/{'raw' if link[1].startswith('!') else 'blob'}/v{version}/{link[2]})", text
    )
