"""The commands `unbag publish …`: datasets, models, results, metric Spaces, the leaderboard, or all of them."""

import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.filesize import decimal

from unbag import scripts
from unbag.cli import typer_utils
from unbag.cli.options import App, NumProc, PairOptions, build_requests_per_corpus, list_requested_corpora
from unbag.cli.output import AsJson, create_cli_console, echo, print_json
from unbag.cli.typer_utils import list_option, paths_option, set_argument

if TYPE_CHECKING:
    from unbag.challenge_sets.request import SetRequest
    from unbag.challenge_sets.results import Result
    from unbag.hub.push import HubUpload, HubUploadPlan

logger = logging.getLogger(__name__)

_option = partial(typer.Option, rich_help_panel="Publication")
_CARD: Final = "README.md"
_CARD_LINES: Final = 30

app = App(
    no_args_is_help=True,
    help="Publish to the Hub, with one commit per repository.\n\n"
    "Without --yes, nothing is written: a preview lists the files, their sizes and the head of the card. Unchanged "
    "content creates no commit. If a command is interrupted, rerun it to resume. The token comes from `hf auth "
    "login` or HF_TOKEN.",
)


@dataclass(frozen=True)
class PublishingOptions:
    """Options shared by all publishing commands: the target repository, and whether to publish or only preview."""

    repo_id: Annotated[
        str,
        _option(
            metavar="ORG[/NAME]",
            parser=lambda text: text.strip("/"),
            help="Hub organization or user, optionally with a repository name.",
        ),
    ]
    private: Annotated[bool, _option("--private", help="Create missing repositories as private.")] = False
    pull_request: Annotated[
        bool, _option("--pull-request", help="Open a pull request, or update your open one, instead of committing.")
    ] = False
    yes: Annotated[bool, _option("--yes", help="Write to the Hub (default: show a preview).")] = False
    as_json: AsJson = False

    def validate_organization(self) -> None:
        """Validate that the target is an organization, because there are several repositories."""
        if "/" in self.repo_id:
            raise typer.BadParameter(
                f"--repo-id: expected an organization for several repositories, got {self.repo_id!r}; remove the "
                "repository name"
            )


def resolve_repo_id(repo_id: str, name: str) -> str:
    """Append a repository name to an organization. A complete repository id is returned unchanged."""
    from unbag.utils.hub import validate_push_repo

    return validate_push_repo(repo_id) if "/" in repo_id else f"{validate_push_repo(repo_id)}/{name}"


def publish_all(uploads: "Sequence[HubUpload]", options: PublishingOptions, collection: str | None = None) -> None:
    """Publish repositories one after another. Without `--yes`, only print a preview of each.

    If a publication fails, earlier ones are complete, and a rerun does not repeat them. The collection of the
    organization `collection` lists the repositories afterwards.
    """
    from unbag.hub.push import publish_files

    records: list[dict[str, Any]] = []
    for upload in uploads:
        plan = publish_files(
            upload, private=options.private, pull_request=options.pull_request, dry_run=not options.yes
        )
        records.append(
            {
                **{name: getattr(upload, name) for name in ("repo", "kind", "message")},
                **{name: getattr(plan, name) for name in ("private", "base", "added", "changed", "deleted")},
                "done": options.yes,
                **({"commit": plan.commit, "url": plan.url} if options.yes else {}),
            }
        )
        if not options.as_json:
            (print_upload_result if options.yes else _print_preview)(plan)
    if collection is not None:
        records.append(_publish_collection(collection, uploads, options))
    if options.as_json:
        print_json(records)
    elif not options.yes:
        echo("\nNothing was written (preview). Add --yes to publish.")


def _publish_collection(namespace: str, uploads: "Sequence[HubUpload]", options: PublishingOptions) -> dict[str, Any]:
    from unbag.hub.push import COLLECTION_TITLE, update_collection

    url, added = update_collection(namespace, uploads, write=options.yes, private=options.private)
    if options.yes and not options.as_json:
        echo(f"{url}: {f'{len(added)} added to the collection' if added else 'no changes'}")
    elif not options.as_json:
        state = "a new collection" if url is None else f"{len(uploads) - len(added)} items are already listed"
        _print_heading(f"collection {namespace}", f"({state}): {COLLECTION_TITLE}")
        for upload in added:
            echo(f"  + {upload.kind} {upload.repo}")
    return {
        "repo": namespace,
        "kind": "collection",
        "message": COLLECTION_TITLE,
        "url": url,
        "added": [upload.repo for upload in added],
        "done": options.yes,
    }


def _print_heading(name: str, text: str) -> None:
    create_cli_console().print(f"\n{name}", style="bold", soft_wrap=True, end="")
    create_cli_console().print(f" {text}", soft_wrap=True)


def _print_preview(plan: "HubUploadPlan") -> None:
    upload = plan.upload
    if plan.base is None:
        state = f"a new {'private' if plan.private else 'public'} repository"
    elif plan.pull_request:
        state = f"your open pull request {plan.pull_request}, at {plan.base[:8]}"
    else:
        state = f"on commit {plan.base[:8]}{', private' if plan.private else ''}"
    _print_heading(f"{upload.kind} {upload.repo}", f"({state}): {upload.message}")
    for sign, sizes in (("+", plan.added), ("~", plan.changed)):
        for path, size in sizes.items():
            echo(f"  {sign} {path}  {decimal(size)}")
    for path in plan.deleted:
        echo(f"  - {path}")
    if unchanged := len(plan.contents) - len(plan.added) - len(plan.changed):
        echo(f"  {unchanged} of {len(plan.contents)} files are unchanged")
    if _CARD in plan.added or _CARD in plan.changed:
        card = plan.contents[_CARD]
        lines = (card if isinstance(card, bytes) else card.read_bytes()).decode(errors="replace").splitlines()
        more = [f"… {len(lines) - _CARD_LINES} more lines"] if len(lines) > _CARD_LINES else []
        echo(f"  {_CARD}:")
        for line in lines[:_CARD_LINES] + more:
            echo(f"  │ {line}")


def print_upload_result(plan: "HubUploadPlan", *, err: bool = False) -> None:
    """Print the changes and the commit of a published repository. If `err` is true, print to standard error."""
    if plan.commit is None:
        echo(f"{plan.url}: no changes", err=err)
        return
    size = sum(plan.added.values()) + sum(plan.changed.values())
    parts = {"added": plan.added, "changed": plan.changed, "deleted": plan.deleted}
    changes = ", ".join(f"{len(paths)} {kind}" for kind, paths in parts.items() if paths)
    echo(f"{plan.url}: {changes} ({decimal(size)}), commit {plan.commit[:8]}", err=err)
    for path in plan.deleted:
        echo(f"  - {path}", err=err)


Benchmark = Annotated[bool, typer.Option(help="Add an eval.yaml, which the Hub requires for benchmark leaderboards.")]


@app.command()
def dataset(
    options: PublishingOptions,
    pairs: PairOptions,
    name: Annotated[str, set_argument(help="Challenge set, such as permuted.")],
    config: Annotated[
        list[str] | None,
        list_option(help="Names of configs to publish, such as snli-test; replaces --corpus and --split."),
    ] = None,
    license: Annotated[
        str | None,
        typer.Option(
            "--license",
            help="Hub license id for --data (sets from a corpus have the license of the corpus).",
        ),
    ] = None,
    metrics_org: Annotated[
        str | None,
        typer.Option(metavar="ORG", help="Organization of the published metrics (default: that of --repo-id)."),
    ] = None,
    benchmark: Benchmark = True,
    num_proc: NumProc = 1,
) -> None:
    """Publish a challenge set as a Hub dataset.

    The repository contains Parquet files and a card with features, sizes,
    label counts, license and provenance. It can contain many configs. Earlier
    configs are kept, and the first published config is the default.

    The set is built and cached first, also for a preview. With --data or
    --text, --config names the config (default: the name of the data).

      unbag publish dataset permuted --repo-id ORG --corpus snli
      unbag publish dataset permuted --repo-id ORG --config snli-test --yes
      unbag publish dataset swapped --repo-id ORG/NAME --data pairs.csv
    """
    from unbag.challenge_sets.loading import resolve_config
    from unbag.hub.dataset import build_dataset_upload
    from unbag.utils import parallel

    requests = [request] = pairs.build_requests([name])
    if config:
        if request.user_data_names and len(config) > 1:
            raise typer.BadParameter(
                f"--config: expected one name for --data or --text, got {', '.join(config)}; use a single name"
            )
        if not request.user_data_names and request.config != resolve_config(name, None, None, {})[0]:
            raise typer.BadParameter("--config: cannot be combined with --corpus, --split or -o; remove one of them")
        requests = [replace(request, config=each) for each in dict.fromkeys(config)]
    with TemporaryDirectory(prefix="unbag-") as folder:
        repo = resolve_repo_id(options.repo_id, name)
        with parallel.set_num_proc(num_proc):
            built = build_dataset_upload(
                requests, repo, Path(folder), license=license, benchmark=benchmark, metrics_org=metrics_org
            )
        publish_all([built], options)


@app.command()
def metric(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METRIC",
            autocompletion=typer_utils.complete_metrics,
            help="Metrics to publish (default: all).",
            show_default=False,
        ),
    ] = None,
    *,
    options: PublishingOptions,
) -> None:
    """Publish metrics as Spaces for `evaluate.load`, each with a demo page.

    unbag publish metric swap_consistency --repo-id ORG --yes
    """
    names = names or scripts.list_script_folders("metrics")
    if len(names) > 1:
        options.validate_organization()
    publish_all(_build_metric_spaces(names, options.repo_id), options)


def _build_metric_spaces(names: Sequence[str], repo_id: str) -> "list[HubUpload]":
    from unbag.hub.spaces import build_metric_space

    return [build_metric_space(name, resolve_repo_id(repo_id, name)) for name in names]


@app.command()
def model(
    options: PublishingOptions,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder written by `unbag train` or `unbag models interpolate`.")
    ],
    results: Annotated[
        list[Path] | None, paths_option(help="Results of the model (default: FOLDER/evaluation if present).")
    ] = None,
    compare_with: Annotated[
        list[Path] | None,
        paths_option(help="Results of other models for the card (default: FOLDER/before if present)."),
    ] = None,
    sets_org: Annotated[
        str | None,
        typer.Option(metavar="ORG", help="Hub organization of the published sets (default: as in --repo-id)."),
    ] = None,
    with_code: Annotated[
        bool,
        typer.Option(
            "--with-code",
            help="Add the architecture code, so that the model loads without unbag.",
        ),
    ] = False,
) -> None:
    """Publish a trained model with a model card and its results.

    With --with-code, transformers can load the model without unbag, if
    trust_remote_code is set.

      unbag publish model runs/hex --repo-id ORG/NAME --yes
      unbag publish model runs/hex --repo-id ORG/NAME --results runs/eval --yes
    """
    repo = resolve_repo_id(options.repo_id, Path(os.path.abspath(folder)).name)
    publish_all([build_model_upload(folder, repo, results, compare_with or (), sets_org, with_code)], options)


def build_model_upload(
    folder: Path,
    repo: str,
    results: Sequence[Path] | None = None,
    compare_with: Sequence[Path] = (),
    sets_org: str | None = None,
    with_code: bool = False,
) -> "HubUpload":
    """Build the files to publish for a trained model from the options of `unbag publish model`."""
    from unbag.hub import model
    from unbag.hub.eval_results import fetch_result_context
    from unbag.hub.licenses import fetch_model_license

    if with_code and model.is_averaged_model(folder):
        raise typer.BadParameter(
            "--with-code: expected an architecture from `unbag models`, got an averaged model; remove the option"
        )
    base = model.find_base_model(folder)
    if results is None:
        # Results of `unbag train … --evaluate`, and those of the original model of `unbag train mend`.
        evaluation, before = folder / "evaluation", folder / "before"
        results = [evaluation] if evaluation.is_dir() else []
        if results and not compare_with and before.is_dir():
            compare_with = [before]
    own = read_results(results)
    return model.build_model_upload(
        folder,
        repo,
        own,
        read_results(compare_with),
        organization=sets_org,
        context=fetch_result_context(own, sets_org or repo.partition("/")[0], map(locate_results_file, results)),
        base_license=fetch_model_license(*base) if base else None,
        with_code=with_code,
    )


@app.command()
def results(
    options: PublishingOptions,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS", help="Results folders of `unbag evaluate`, or results.json files."),
    ],
    sets_org: Annotated[str, typer.Option(metavar="ORG", help="Hub organization of the published challenge sets.")],
) -> None:
    """Add results to a model repository: .eval_results files and the model-index.

    The rest of the card is unchanged. Use --pull-request for a model of another
    owner.

      unbag publish results runs/results.json --repo-id ORG/MODEL --sets-org ORG
      --pull-request --yes
    """
    from unbag.hub.eval_results import build_model_results_upload, fetch_result_context

    if "/" not in options.repo_id:
        raise typer.BadParameter(
            "--repo-id: expected the repository of the evaluated model, ORG/MODEL, got "
            f"{options.repo_id!r}; add the repository name"
        )
    results = read_results(files)
    upload = build_model_results_upload(
        options.repo_id, results, sets_org, fetch_result_context(results, sets_org, map(locate_results_file, files))
    )
    publish_all([upload], options)


@app.command()
def results_dataset(
    options: PublishingOptions,
    files: Annotated[
        list[str],
        typer.Argument(metavar="RESULTS", help="Results folders of `unbag evaluate`, their URLs, or results.json."),
    ],
    model: Annotated[
        str | None, typer.Option(help="Hub id of the model; required if the results are from a local model folder.")
    ] = None,
) -> None:
    """Add results to a results dataset on the Hub.

    The dataset has one row per model, set, config and metric. Concurrent
    additions by other users are merged. Load the dataset with
    load_dataset("ORG/unbag-results").

      unbag publish results-dataset runs/results.json --repo-id ORG --yes
    """
    from unbag.hub.results_dataset import NAME, build_results_dataset_upload

    rows = build_results_dataset_upload(resolve_repo_id(options.repo_id, NAME), read_results(files), model=model)
    publish_all([rows], options)


def read_results(locations: Iterable[Path | str]) -> "list[Result]":
    """Load results from results.json files, results folders or URLs of results folders."""
    from unbag.challenge_sets.results import FILE, read_results
    from unbag.utils.storage import StorageFolder, is_url

    results: list[Result] = []
    with TemporaryDirectory(prefix="unbag-") as folder:
        for location in locations:
            path = locate_results_file(Path(location))
            if is_url(location):
                path = Path(folder) / FILE
                path.write_bytes(StorageFolder(str(location).removesuffix(f"/{FILE}")).read(FILE))
            results += read_results(path)
    return results


def locate_results_file(path: Path) -> Path:
    """Locate the results file: the given file, or the file in the given folder."""
    from unbag.challenge_sets.results import FILE

    return path / FILE if path.is_dir() else path


@app.command()
def leaderboard(
    results_dataset: Annotated[
        str | None,
        typer.Option("--results-dataset", metavar="ORG/NAME", help="Results dataset (default: ORG/unbag-results)."),
    ] = None,
    *,
    options: PublishingOptions,
) -> None:
    """Publish a leaderboard Space for a results dataset.

    unbag publish leaderboard --repo-id ORG --yes
    """
    from unbag.hub.results_dataset import NAME as DATASET
    from unbag.hub.spaces import LEADERBOARD_SPACE, build_leaderboard_space

    organization = options.repo_id.partition("/")[0]
    repo = resolve_repo_id(options.repo_id, LEADERBOARD_SPACE)
    publish_all([build_leaderboard_space(repo, results_dataset or f"{organization}/{DATASET}")], options)


@app.command()
def pair(
    model: Annotated[
        str,
        typer.Option(
            metavar="ORG/NAME", help="Hub model that the Space runs by default; visitors can enter another one."
        ),
    ],
    lexical_model: Annotated[
        Path | None,
        typer.Option(help="Folder of an English lexical model (default: one fitted to 20,000 SNLI pairs)."),
    ] = None,
    *,
    options: PublishingOptions,
) -> None:
    """Publish a demo Space that classifies a pair with a model and a bag of words.

    The Space shows predictions for the original and for shuffled word order.

      unbag publish pair --repo-id ORG --model ORG/NAME --yes
    """
    from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model
    from unbag.evaluation.lexical_baseline import PAIRS
    from unbag.hub.spaces import PAIR_SPACE, build_pair_space

    if lexical_model is None:
        corpus, pairs, pipeline = PAIRS["en"]
        recipe = LexicalTrainingOptions((corpus,), max_train_pairs=pairs, pipeline=pipeline)
        lexical_model = fit_or_load_lexical_model(recipe)
    publish_all([build_pair_space(resolve_repo_id(options.repo_id, PAIR_SPACE), model, lexical_model)], options)


@app.command(name="all")
def everything(
    options: PublishingOptions,
    pairs: PairOptions,
    results: Annotated[
        list[Path] | None, paths_option(help="Results to publish as a results dataset and a leaderboard.")
    ] = None,
    benchmark: Benchmark = True,
) -> None:
    """Publish all challenge sets and metrics to one organization.

    With --results, publishes a results dataset and a leaderboard too. With
    several corpora, or --corpus all, each set has a config per corpus. A
    collection of the organization lists all repositories.

    Each repository gets one commit, or none if it is up to date. If the command
    is interrupted, rerun it to resume. If one set fails, the others are still
    published, and the failure is listed at the end. To publish trained
    models, use `unbag publish model`.

      unbag publish all --repo-id ORG
      unbag publish all --repo-id ORG --corpus snli,mnli
      unbag publish all --repo-id ORG --results runs/a,runs/b --yes
    """
    from unbag import challenge_sets
    from unbag.challenge_sets.failures import EvaluationFailure
    from unbag.hub import results_dataset, spaces
    from unbag.hub.dataset import build_dataset_upload

    options.validate_organization()
    stored = read_results(results or ())  # Validate first, because building sets takes long.
    failures: list[EvaluationFailure] = []
    uploads: list[HubUpload] = []

    def add_failure(name: str, error: Exception) -> None:
        logger.debug("%s", name, exc_info=error)
        failures.append(EvaluationFailure(name, error))

    names = challenge_sets.list_set_names()
    if len(list_requested_corpora(pairs)) > 1:
        requests = build_requests_per_corpus(
            pairs, names, on_failure=lambda corpus, failure: add_failure(f"{failure.set} of {corpus}", failure.error)
        )
    else:
        requests = pairs.build_requests(names, on_failure=failures.append)
    by_set: dict[str, list[SetRequest]] = {}
    for request in requests:
        by_set.setdefault(request.name, []).append(request)

    def add_config_failure(request: "SetRequest", error: Exception) -> None:
        several = len(by_set[request.name]) > 1
        add_failure(f"{request.name} of {request.config}" if several else request.name, error)

    with TemporaryDirectory(prefix="unbag-") as folder:
        for name, of_set in by_set.items():
            repo, own = resolve_repo_id(options.repo_id, name), Path(folder) / name
            upload = build_dataset_upload(of_set, repo, own, benchmark=benchmark, on_failure=add_config_failure)
            uploads += [upload] if upload.files else []
        uploads += _build_metric_spaces(scripts.list_script_folders("metrics"), options.repo_id)
        if results:
            rows = resolve_repo_id(options.repo_id, results_dataset.NAME)
            uploads.append(results_dataset.build_results_dataset_upload(rows, stored))
            uploads.append(
                spaces.build_leaderboard_space(resolve_repo_id(options.repo_id, spaces.LEADERBOARD_SPACE), rows)
            )
        # A pull request adds no content before it is merged, so the collection is unchanged.
        publish_all(uploads, options, None if options.pull_request else options.repo_id)
    for failure in failures:
        echo(f"{failure.set}: not published: {failure.reason}", err=True, fg="yellow")
    if failures:
        raise typer.Exit(1)
