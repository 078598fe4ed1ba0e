"""`unbag publish`: what its commands share. Each is a file of its own, `publishing_<what>.py`.

Such a command takes `options: PublishingOptions` (`shared_options.with_shared_options`), makes its publications, each
named by `options.repo("name if --to does not say one")`, and ends in `carry_out(publications, options)`. It is put into
`app` where all commands are, in `unbag.cli`. One that publishes things of many kinds hands them all to one `carry_out`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from unbag.cli.output import AsJson, console, echo, print_json

if TYPE_CHECKING:
    from unbag.hub.push import Outcome, Plan, Publication

_WHERE: Final = "Where to"
_CARD: Final = "README.md"
_CARD_LINES: Final = 30
_FILES: Final = 40  # listed by name; a repository with more is summed up

app = typer.Typer(
    no_args_is_help=True,
    help="Publish to the Hub, one commit a repository.\n\n"
    "Without --yes nothing is written: the files, their sizes and the head of the card are shown. Publishing the same "
    "again makes no commit, and a publication that was stopped is finished by giving the command again. The token is "
    "the one of `hf auth login` or HF_TOKEN.",
)


@dataclass(frozen=True)
class PublishingOptions:
    """Where to publish, and whether to do it."""

    to: Annotated[
        str,
        typer.Option(
            rich_help_panel=_WHERE,
            metavar="ORG[/NAME]",
            parser=lambda text: text.strip("/"),
            help="The organisation or user, and the repository there where it shall have another name than ours.",
        ),
    ]
    private: Annotated[
        bool, typer.Option("--private", rich_help_panel=_WHERE, help="Make a new repository private.")
    ] = False
    pull_request: Annotated[
        bool,
        typer.Option(
            "--pull-request",
            rich_help_panel=_WHERE,
            help="Propose the change, for a repository that is not yours; given again, your open request is updated.",
        ),
    ] = False
    yes: Annotated[
        bool, typer.Option("--yes", rich_help_panel=_WHERE, help="Do it. Without, what would be done is shown.")
    ] = False
    as_json: AsJson = False

    def repo(self, name: str) -> str:
        """Return the repository: the one that `--to` names, or this name in the organisation that it names."""
        return repo_of(self.to, name)


def repo_of(to: str, name: str) -> str:
    """Return the repository that `to` names, or this name in the organisation that it names."""
    from unbag.utils.hub_names import require_target

    return require_target(to) if "/" in to else f"{require_target(to)}/{name}"


def carry_out(publications: "Sequence[Publication]", options: PublishingOptions) -> None:
    """Publish, one repository after another, or show what would be published.

    Raises:
        HubError: at the first that cannot be published; those before it are, and are not published again.
        ValueError: if several would go to one repository of one kind.
    """
    from unbag.hub.push import plan, publish

    targets = [(publication.kind, publication.repo) for publication in publications]
    if len(set(targets)) < len(targets):
        raise ValueError(
            f"expected a repository for each publication, found {options.to!r} for all; name no more "
            "than the organisation with --to"
        )
    records: list[dict[str, Any]] = []
    how = {"private": options.private, "pull_request": options.pull_request}
    for publication in publications:
        if options.yes:
            outcome = publish(publication, **how)
            records.append(_as_json(outcome.plan, outcome))
            if not options.as_json:
                report(outcome)
        else:
            planned = plan(publication, **how)
            records.append(_as_json(planned))
            if not options.as_json:
                _preview(planned)
    if options.as_json:
        print_json(records)
    elif not options.yes:
        echo("\nNothing was written. To do it, give the same command with --yes.")


def _preview(planned: "Plan") -> None:
    publication = planned.publication
    out = console()
    if planned.base is None:
        state = "a new " + ("private" if planned.private else "public") + " repository"
    elif planned.pull_request:
        state = f"your open pull request {planned.pull_request}, at {planned.base[:8]}"
    else:
        state = f"on commit {planned.base[:8]}" + (", private" if planned.private else "")
    out.print(f"\n{publication.kind} {publication.repo}", style="bold", soft_wrap=True, end="")
    out.print(f" ({state}): {publication.message}", soft_wrap=True)
    lines = [("+", path, size) for path, size in planned.added.items()]
    lines += [("~", path, size) for path, size in planned.changed.items()]
    for sign, path, size in lines[:_FILES]:
        echo(f"  {sign} {path}  {_size(size)}")
    if len(lines) > _FILES:
        echo(f"  … and {len(lines) - _FILES} more, {_size(sum(size for *_, size in lines[_FILES:]))}")
    for path in planned.deleted:
        echo(f"  - {path}")
    unchanged = len(planned.contents) - len(lines)
    if unchanged:
        echo(f"  {unchanged} of {len(planned.contents)} files are there already, unchanged")
    card = planned.contents.get(_CARD)
    if card is not None and (_CARD in planned.added or _CARD in planned.changed):
        text = (card if isinstance(card, bytes) else card.read_bytes()).decode("utf-8", errors="replace").splitlines()
        echo(f"  {_CARD}:")
        for line in text[:_CARD_LINES]:
            echo(f"  │ {line}")
        if len(text) > _CARD_LINES:
            echo(f"  │ … {len(text) - _CARD_LINES} more lines")


def report(outcome: "Outcome", *, err: bool = False) -> None:
    """Say what was published, on standard error if asked."""
    planned = outcome.plan
    if outcome.commit is None:
        echo(f"{outcome.url}: nothing to change", err=err)
        return
    size = sum(planned.added.values()) + sum(planned.changed.values())
    parts = [(len(planned.added), "added"), (len(planned.changed), "changed"), (len(planned.deleted), "deleted")]
    done = ", ".join(f"{n} {what}" for n, what in parts if n)
    echo(f"{outcome.url}: {done} ({_size(size)}), commit {outcome.commit[:8]}", err=err)
    for path in planned.deleted:
        echo(f"  - {path}", err=err)


def _as_json(planned: "Plan", outcome: "Outcome | None" = None) -> dict[str, Any]:
    record: dict[str, Any] = {
        "repo": planned.publication.repo,
        "kind": planned.publication.kind,
        "message": planned.publication.message,
        "private": planned.private,
        "base": planned.base,
        "added": dict(planned.added),
        "changed": dict(planned.changed),
        "deleted": list(planned.deleted),
        "done": outcome is not None,
    }
    if outcome is not None:
        record |= {"commit": outcome.commit, "url": outcome.url}
    return record


def _size(n: int) -> str:
    size, unit = float(n), "B"
    for larger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{n} B" if unit == "B" else f"{size:.1f} {unit}"
