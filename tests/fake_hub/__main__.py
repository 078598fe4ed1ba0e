"""Run the test Hub from the command line: `python -m tests.fake_hub --mount <folder> --port 8400`."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from tests.fake_hub.accounts import SAMPLE_TOKENS, Accounts, read_tokens
from tests.fake_hub.app import HubApp
from tests.fake_hub.content import RepoKey, parse_key
from tests.fake_hub.hub import Hub, Settings
from tests.fake_hub.mounts import Mounts, list_mirrored_corpora
from tests.fake_hub.serving import listen, serve

_HOST = "127.0.0.1"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fake_hub", description=__doc__)
    add = parser.add_argument
    add("--port", type=int, default=8400, help="0 for any free port (default: %(default)s)")
    add("--data", type=Path, help="folder for what is written (default: a temporary one, removed at the end)")
    add("--tokens", type=Path, help="JSON file of tokens (default: the sample tokens that are printed)")
    add("--mount", type=Path, help="folder of read-only repositories: datasets/<org>/<name>/…, models/<org>/<name>/…")
    add("--pin", action="append", default=[], metavar="KIND/ORG/NAME=SHA", help="the sha of a mounted repo's commit")
    add("--ref", action="append", default=[], metavar="KIND/ORG/NAME=REF", help="one more ref of a mounted repo")
    add("--corpora", action="store_true", help="mounted corpora answer at the revisions that unbag reads")
    add("--until-stdin-closes", action="store_true", help="stop when stdin is closed, for a parent that may die")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Serve requests until interrupted."""
    options = _parser().parse_args(argv)
    logging.basicConfig(level=logging.WARNING)
    for stop_signal in (signal.SIGINT, signal.SIGTERM):
        # Exit through the `with` block below, so that the temporary folder is removed.
        signal.signal(stop_signal, lambda *_: sys.exit())
    with nullcontext(options.data) if options.data else tempfile.TemporaryDirectory(prefix="hub-") as folder:
        data = Path(folder)
        listener = listen(_HOST, options.port)
        endpoint = f"http://{_HOST}:{listener.getsockname()[1]}"
        settings = Settings(data=data, endpoint=endpoint)
        accounts = Accounts(read_tokens(options.tokens) if options.tokens else SAMPLE_TOKENS)
        pins = dict(_parse_repo_option(option) for option in options.pin)
        refs: dict[RepoKey, list[str]] = defaultdict(list)
        for key, ref in map(_parse_repo_option, options.ref):
            refs[key].append(ref)
        if options.corpora and options.mount:
            of_corpora, further = list_mirrored_corpora(options.mount)
            pins |= {RepoKey(*pair): sha for pair, sha in of_corpora.items()}
            refs |= {RepoKey(*pair): found for pair, found in further.items()}
        mounts = Mounts(options.mount, pins, refs)
        sys.stdout.write(_format_settings(endpoint, accounts))
        sys.stdout.flush()
        serve(
            HubApp(Hub(settings, accounts, mounts)),
            listener,
            until_closed=sys.stdin if options.until_stdin_closes else None,
        )


def _parse_repo_option(option: str) -> tuple[RepoKey, str]:
    """Parse `datasets/org/name=value`."""
    name, _, value = option.partition("=")
    return parse_key(name), value


def _format_settings(endpoint: str, accounts: Accounts) -> str:
    """Return the settings that a shell needs, as export commands."""
    lines = [
        f"export HF_ENDPOINT={endpoint}",
        "export HF_HOME=$(mktemp -d)  # away from what you have of the real Hub",
        "export HF_HUB_DISABLE_TELEMETRY=1 HF_UPDATE_DOWNLOAD_COUNTS=0 HF_HUB_DISABLE_XET=1",
    ]
    for token, account in accounts.by_token.items():
        member = f", member of {', '.join(account.orgs)}" if account.orgs else ""
        lines.append(f"# HF_TOKEN={token}  # {account.name}{member}: may {account.role}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
