"""`--push-results` and `--push-checkpoints`: publish a completed run in one commit, like `unbag publish`."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from unbag.cli import publish

if TYPE_CHECKING:
    from unbag.challenge_sets.results import Result
    from unbag.hub.push import HubUpload

PUSH_OPTION: Final = "--push-results"


def validate_push(repo_id: str, *, offline: bool, option: str = PUSH_OPTION) -> None:
    """Validate the target of a push before the run: repository name, account and token.

    Raises:
        typer.BadParameter: If `offline` is set, or the name is invalid on the Hub.
        ValueError: If the token is missing or cannot write to the namespace.
    """
    from huggingface_hub import HfApi, get_token

    from unbag.hub.push import explain_hub_errors
    from unbag.inference.distributed import connect_process_group
    from unbag.utils.hub import LOG_IN, read_from_hub, validate_push_repo

    if offline:
        raise typer.BadParameter(f"{option}: expected network access, got --offline; remove one of them")
    try:
        validate_push_repo(repo_id)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from None
    if connect_process_group().rank:  # only the first process pushes
        return
    if get_token() is None:
        raise ValueError(f"{option} {repo_id}: expected a token, got none; {LOG_IN}")
    with explain_hub_errors(repo_id, option):
        account = read_from_hub("your account", HfApi().whoami)
    # The Hub checks the permissions of fine-grained tokens at the first write.
    if account.get("auth", {}).get("accessToken", {}).get("role") == "read":
        raise ValueError(
            f"{option} {repo_id}: expected a token with write access, got a read-only token of {account['name']}; set "
            "HF_TOKEN to a token with write access"
        )
    namespace = repo_id.partition("/")[0]
    namespaces = [str(account["name"]), *(str(each["name"]) for each in account.get("orgs", ()))]
    if namespace not in namespaces:
        raise ValueError(
            f"{option} {repo_id}: expected a namespace of {account['name']} ({', '.join(namespaces)}), got "
            f"{namespace}; use one of these, or another token"
        )


def validate_push_target(repo_id: str | None, models: Sequence[str], data: str | None, *, offline: bool) -> None:
    """Validate before the run that its results can be pushed to the target of `--push-results`, if there is one.

    Raises:
        typer.BadParameter: If a model is a local folder, or `--data` is given; see also `validate_push`.
    """
    if repo_id is None:
        return
    from unbag.evaluation.model_loading import BUILT_IN, find_model_type

    if data:
        raise typer.BadParameter(f"{PUSH_OPTION}: expected results on a corpus, got --data {data}; remove one of them")
    if folders := [model for model in models if Path(model).is_dir() and find_model_type(model) is not BUILT_IN]:
        raise typer.BadParameter(
            f"{PUSH_OPTION}: expected a Hub model, got the folder {folders[0]}; run `unbag publish model` first"
        )
    validate_push(repo_id, offline=offline)


def push_results(results: "Sequence[Result]", output_location: str, repo_id: str, *, as_json: bool) -> None:
    """Add results to a results dataset, like `unbag publish results-dataset` with the output of the run."""
    from unbag.hub.results_dataset import NAME, build_results_dataset_upload

    command = f"unbag publish results-dataset {output_location} --repo-id {repo_id} --yes"
    repo = publish.resolve_repo_id(repo_id, NAME)
    _push(lambda: build_results_dataset_upload(repo, results), command, as_json=as_json)


def push_model(folder: Path, repo_id: str, *, as_json: bool) -> None:
    """Publish a trained model with a card and its evaluation, like `unbag publish model`."""
    command = f"unbag publish model {folder} --repo-id {repo_id} --yes"
    repo = publish.resolve_repo_id(repo_id, Path(os.path.abspath(folder)).name)
    _push(lambda: publish.build_model_upload(folder, repo), command, as_json=as_json)


def _push(build: "Callable[[], HubUpload]", command: str, *, as_json: bool) -> None:
    from unbag.hub.push import fetch_remote_repository, publish_files

    try:
        upload = build()
        # A new repository is private, like checkpoints, because the user has not seen a preview of the content.
        outcome = publish_files(upload, private=fetch_remote_repository(upload.repo, upload.kind) is None)
    except (ValueError, OSError) as error:
        raise ValueError(f"{error}; the run is complete, so retry only the push with `{command}`") from error
    publish.print_upload_result(outcome, err=as_json)  # with --json, standard output holds JSON
