"""Run the test Hub from the command line: `python -m tests.fake_hub --mount <folder> --port 8400`."""

import argparse
import signal
import sys
from pathlib import Path

from tests.fake_hub.accounts import SAMPLE_TOKENS
from tests.fake_hub.running import running_hub

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.fake_hub", description=__doc__)
    parser.add_argument("--port", type=int, default=8400, help="0 for any free port (default: %(default)s)")
    parser.add_argument("--mount", type=Path, help="read-only repositories: datasets/<org>/<name>/…, models/…")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that the temporary folder is removed
    with running_hub(mount=options.mount, port=options.port) as hub:
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
