"""`--push-results`: what a run leaves goes to the Hub at its end, in one commit, as `unbag publish` brings it there."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from unbag.cli.publish import repo_of, report

if TYPE_CHECKING:
    from unbag.challenge_sets.results import Result
    from unbag.hub.push import Publication

OPTION: Final = "--push-results"


def require(to: str, *, offline: bool, option: str = OPTION) -> None:
    """Refuse what would fail only when all is computed: a name that the Hub does not take, or no account there.

    Args:
        to: an organisation, or a repository in it.
        offline: whether the Hub is not to be asked.
        option: the option that named it.

    Raises:
        typer.BadParameter: if it is not, or there is no such name.
        ValueError: if the Hub does not know who asks, or the token may not write there.
    """
    from huggingface_hub import HfApi, get_token

    from unbag.hub.push import explain_hub_errors
    from unbag.inference.distributed import process_group
    from unbag.utils.hub import hub_read
    from unbag.utils.hub_names import validate_push_repo

    if offline:
        raise typer.BadParameter(f"{option} needs the Hub; leave out --offline")
    try:
        validate_push_repo(to)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from None
    if process_group().rank:  # the first process asks, and pushes
        return
    if get_token() is None:
        raise ValueError(f"{option} {to}: expected a token, found none; log in with `hf auth login`, or set HF_TOKEN")
    with explain_hub_errors(to, option):
        account = hub_read("your account", HfApi().whoami)
    _require_may_write(account, to, option)


def _require_may_write(account: Mapping[str, Any], to: str, option: str) -> None:
    """Refuse a token that only reads, and an organisation that its account does not belong to.

    What a fine-grained token may do, the Hub decides when something is written.
    """
    namespace = to.partition("/")[0]
    role = account.get("auth", {}).get("accessToken", {}).get("role")
    if role == "read":
        raise ValueError(
            f"{option} {to}: expected a token that may write, got one of {account['name']} that may read only; set "
            "HF_TOKEN to one of role write"
        )
    own = [str(account["name"]), *(str(each["name"]) for each in account.get("orgs", ()))]
    if namespace not in own:
        raise ValueError(
            f"{option} {to}: expected a namespace of {account['name']} ({', '.join(own)}), got {namespace}; name one "
            "of these, or use another token"
        )


def validate_push_target(to: str | None, models: Sequence[str], data: str | None, *, offline: bool) -> None:
    """Refuse, before anything is computed, what no data set of results takes, and what `require` refuses.

    Args:
        to: as `require` takes it; None where nothing is to be pushed.
        models: that are evaluated, as they are named.
        data: a user's own pairs, if the sets are made from some.
        offline: as `require` takes it.

    Raises:
        typer.BadParameter: if the results would be of a folder or of a user's own pairs; and as `require`.
        ValueError: as `require`.
    """
    if to is None:
        return
    if data:
        raise typer.BadParameter(f"{OPTION}: a data set of results takes those on corpora, not those on {data}")
    if folders := [model for model in models if Path(model).is_dir()]:
        raise typer.BadParameter(
            f"{OPTION}: {folders[0]} is a folder; publish it (unbag publish model) and evaluate it by its name"
        )
    require(to, offline=offline)


def push_results(results: "Sequence[Result]", place: str, to: str, *, as_json: bool) -> None:
    """Add results to a data set of results, as `unbag publish results-dataset` does.

    Args:
        results: of models of the Hub, on pairs of corpora.
        place: where they are, for whoever has to push them by hand.
        to: the organisation, or the repository.
        as_json: whether standard output is for a script, so that what was done is said on standard error.

    Raises:
        ValueError: if they cannot be published.
    """
    from unbag.hub.results_dataset import NAME, results_publication

    by_hand = f"unbag publish results-dataset {place} --to {to} --yes"
    _push(lambda: results_publication(repo_of(to, NAME), results), by_hand, as_json=as_json)


def push_model(folder: Path, to: str, *, as_json: bool) -> None:
    """Publish a trained model with a card and its evaluation, as `unbag publish model` does.

    Args:
        folder: as the run left it.
        to: the organisation, or the repository.
        as_json: as `push_results` takes it.

    Raises:
        ValueError: if it cannot be published.
    """
    from unbag.cli.publish import trained

    by_hand = f"unbag publish model {folder} --to {to} --yes"
    _push(lambda: trained(folder, repo_of(to, folder.resolve().name)), by_hand, as_json=as_json)


def _push(made: "Callable[[], Publication]", by_hand: str, *, as_json: bool) -> None:
    from unbag.hub.push import fetch_remote, publish_files

    try:
        publication = made()
        # New, it is private as checkpoints are: nobody was shown what it would hold.
        outcome = publish_files(publication, private=fetch_remote(publication.repo, publication.kind) is None)
    except (ValueError, OSError) as error:
        raise ValueError(f"{error}; nothing else is lost, and `{by_hand}` tries again") from error
    report(outcome, err=as_json)
