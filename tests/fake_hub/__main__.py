"""Run the test Hub from the command line: `python -m tests.fake_hub --mount <folder> --port 8400`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tests.fake_hub.accounts import SAMPLE_TOKENS
from tests.fake_hub.running import running_hub
from tests.fake_hub.storage import PINS, REFS


def main() -> None:
    """Serve requests until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.fake_hub", description=__doc__)
    add = parser.add_argument
    add("--port", type=int, default=8400, help="0 for any free port (default: %(default)s)")
    add("--mount", type=Path, help="folder of read-only repositories: datasets/<org>/<name>/…, models/<org>/<name>/…")
    add("--corpora", action="store_true", help="mounted corpora answer at the revisions that unbag reads")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that the temporary folder is removed
    pins, refs = (PINS, REFS) if options.corpora else ({}, {})
    with running_hub(mount=options.mount, pins=pins, refs=refs, port=options.port) as hub:
        lines = [
            f"export HF_ENDPOINT={hub.endpoint}",
            "export HF_HOME=$(mktemp -d)  # away from what you have of the real Hub",
            "export HF_HUB_DISABLE_TELEMETRY=1 HF_UPDATE_DOWNLOAD_COUNTS=0 HF_HUB_DISABLE_XET=1",
        ]
        for token, account in SAMPLE_TOKENS.items():
            member = f", member of {', '.join(account.orgs)}" if account.orgs else ""
            lines.append(f"# HF_TOKEN={token}  # {account.name}{member}: may {account.role}")
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        signal.pause()


if __name__ == "__main__":
    main()
