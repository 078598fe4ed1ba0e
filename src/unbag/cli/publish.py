"""`unbag publish`: data sets, models, results, metric Spaces, the leaderboard, and all of them at once.

Each command takes `options: PublishingOptions` (`options.with_shared_options`), builds its publications, each named by
`options.repo("name if --to names none")`, and ends in `carry_out(publications, options)`. `unbag.cli` adds it to `app`.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from unbag.cli import typer_utils
from unbag.cli.options import NumProc, PairOptions, corpora_of, of_each_corpus, with_shared_options
from unbag.cli.output import AsJson, console, echo, print_json
from unbag.cli.typer_utils import comma_separated, comma_separated_paths

if TYPE_CHECKING:
    from unbag.hub.push import Outcome, Plan, Publication

if TYPE_CHECKING:
    from unbag.challenge_sets.results import Result

if TYPE_CHECKING:
    from unbag.hub.push import Publication

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.request import Request
    from unbag.hub.push import Publication


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
    from unbag.utils.hub_names import validate_push_repo

    return validate_push_repo(to) if "/" in to else f"{validate_push_repo(to)}/{name}"


def carry_out(publications: "Sequence[Publication]", options: PublishingOptions) -> None:
    """Publish, one repository after another, or show what would be published.

    Raises:
        HubError: at the first that cannot be published; those before it are, and are not published again.
        ValueError: if several would go to one repository of one kind.
    """
    from unbag.hub.push import plan_publication, publish_files

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
            outcome = publish_files(publication, **how)
            records.append(_as_json(outcome.plan, outcome))
            if not options.as_json:
                report(outcome)
        else:
            planned = plan_publication(publication, **how)
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


@with_shared_options
def dataset(
    options: PublishingOptions,
    pairs: PairOptions,
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=typer_utils.sets, help="The challenge set, e.g. permuted; `unbag sets` lists them."
        ),
    ],
    config: Annotated[
        list[str] | None,
        typer.Option(
            callback=comma_separated,
            help="Configs by name, comma-separated or repeated, instead of --corpus and --split: snli-test. With "
            "--data, what to call it (default: the name of the file or data set).",
        ),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            "--license",
            help="The licence of your own data (--data), by its id on the Hub. A set made from a corpus inherits the "
            "corpus's, and is published under no other.",
        ),
    ] = None,
    benchmark: Annotated[
        bool,
        typer.Option(
            help="Put an eval.yaml beside the rows, by which the Hub can make a benchmark of it, with a leaderboard."
        ),
    ] = True,
    num_proc: NumProc = 1,
) -> None:
    """Publish a challenge set as a data set that plain `load_dataset` reads.

    unbag publish dataset permuted --to my-org --corpus snli
    unbag publish dataset permuted --to my-org --config snli-test,anli-dev_r1 --yes
    unbag publish dataset swapped --to my-org/my-pairs --data pairs.csv --license cc-by-4.0

    The repository gets Parquet files and a card with the features, the sizes,
    the label counts, the licence and how the rows were built. A repository
    may hold many configs: others that are there stay, and the first one that
    was published is the default one. The set is built first, also without
    --yes; it is kept in the cache.
    """
    from unbag.challenge_sets.loading import config_name
    from unbag.hub.dataset import dataset_publication
    from unbag.utils import parallel

    [request] = pairs.requests([name])
    requests = [request]
    if config and "data" in request.options:
        if len(config) > 1:
            raise typer.BadParameter("expected one --config with --data: what to call it")
        requests = [replace(request, config=config[0])]
    elif config:
        if request.config != config_name(name, None, None, {})[0]:
            raise typer.BadParameter("name the configs either with --config or with --corpus, --split and -o")
        requests = [replace(request, config=each) for each in config]
    with TemporaryDirectory(prefix="unbag-") as folder:
        repo = options.repo(name)
        with parallel.worker_count(num_proc):
            made = dataset_publication(requests, repo, Path(folder), licence=licence, benchmark=benchmark)
        carry_out([made], options)


Files = Annotated[
    list[Path], typer.Argument(metavar="RESULTS...", help="A results.json, or the folder that `unbag evaluate` left.")
]


@with_shared_options
def results(
    options: PublishingOptions,
    files: Files,
    sets: Annotated[str, typer.Option(help="Organisation that publishes the challenge sets.")],
) -> None:
    """Add results to a model that is on the Hub: .eval_results and the card's model-index.

    Nothing else in the card changes. With --pull-request it is proposed, for
    a model that is not yours.

    unbag publish results runs/results.json --to ORG/MODEL --sets ORG --pull-request --yes
    """
    from unbag.hub.eval_results import fetch_result_context
    from unbag.hub.model_results import model_results_publication

    if "/" not in options.to:
        raise typer.BadParameter(f"expected --to ORG/MODEL, the model that the results are of; found {options.to!r}")
    from unbag.challenge_sets.results import explain_damaged_records

    with explain_damaged_records(*files):
        found = read_results(files)
        publication = model_results_publication(
            options.to, found, sets, fetch_result_context(found, sets, map(results_file, files))
        )
    carry_out([publication], options)


@with_shared_options
def results_dataset(
    options: PublishingOptions,
    files: Files,
    model: Annotated[
        str | None, typer.Option(help="Of results evaluated from a folder: the Hub id it is published under.")
    ] = None,
) -> None:
    """Add results to a data set of results, one row a model, set, config and metric.

    What others add at the same time is kept. load_dataset("ORG/unbag-results") reads it.

    unbag publish results-dataset runs/results.json --to ORG --yes
    """
    from unbag.challenge_sets.results import explain_damaged_records
    from unbag.hub.results_dataset import NAME, results_publication

    with explain_damaged_records(*files):
        made = results_publication(options.repo(NAME), read_results(files), model=model)
    carry_out([made], options)


def read_results(paths: Iterable[Path]) -> "list[Result]":
    """Return the results in files, or in folders that an evaluation left."""
    from unbag.challenge_sets.results import read

    return [result for path in paths for result in read(results_file(path))]


def results_file(path: Path) -> Path:
    """Return the file of results: the path, or the one in it."""
    from unbag.challenge_sets.results import FILE

    return path / FILE if path.is_dir() else path


_EVALUATION: Final = Path("evaluation")  # where `unbag train … --evaluate` leaves results, in the model's folder


@with_shared_options
def model(
    options: PublishingOptions,
    folder: Annotated[Path, typer.Argument(help="A folder that `unbag train` left.")],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            callback=comma_separated_paths,
            help="Results of the model, evaluated from the folder (default: FOLDER/evaluation, if there), "
            "comma-separated or repeated.",
        ),
    ] = None,
    compare_with: Annotated[
        list[Path] | None,
        typer.Option(
            callback=comma_separated_paths,
            help="Results of other models to show next to them, such as the one it was trained from, comma-separated "
            "or repeated.",
        ),
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option(help="Organisation that publishes the challenge sets (default: the one of --to)."),
    ] = None,
    with_code: Annotated[
        bool,
        typer.Option(
            "--with-code",
            help="Of a model of `unbag models`: put its code into the repository, in one file, so that transformers "
            "loads it without unbag where remote code is trusted.",
        ),
    ] = False,
) -> None:
    """Publish a trained model: its files, a model card, and its results.

    unbag publish model runs/hex --to ORG/NAME --results runs/hex-results --yes
    """
    repo = options.repo(folder.resolve().name)
    made = trained(folder, repo, results, compare_with=compare_with or (), sets=sets, with_code=with_code)
    carry_out([made], options)


def trained(
    folder: Path,
    repo: str,
    results: Sequence[Path] | None = None,
    *,
    compare_with: Sequence[Path] = (),
    sets: str | None = None,
    with_code: bool = False,
) -> "Publication":
    """Return the repository of a trained model; what is what, the command's options say."""
    from unbag.challenge_sets.results import explain_damaged_records
    from unbag.hub.eval_results import fetch_result_context
    from unbag.hub.licences import fetch_model_licence
    from unbag.hub.model import checkpoint_publication, find_base_model

    base = find_base_model(folder)
    if results is None:
        results = [folder / _EVALUATION] if (folder / _EVALUATION).is_dir() else []
    with explain_damaged_records(folder, *results, *compare_with):
        found = read_results(results)
        return checkpoint_publication(
            folder,
            repo,
            results=found,
            compare_with=read_results(compare_with),
            organisation=sets,
            base_licence=fetch_model_licence(*base) if base else None,
            with_code=with_code,
            about_results=fetch_result_context(found, sets or repo.partition("/")[0], map(results_file, results)),
        )


@with_shared_options
def metric(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            autocompletion=typer_utils.metrics,
            help="Metrics; without one, all of them.",
            show_default=False,
        ),
    ] = None,
    *,
    options: PublishingOptions,
) -> None:
    """Publish metrics as Spaces: `evaluate.load("ORG/NAME")` needs no unbag, and each has a page to try it on."""
    from unbag import scripts
    from unbag.hub.metric_space import metric_space

    carry_out([metric_space(name, options.repo(name)) for name in names or scripts.names("metrics")], options)


@with_shared_options
def leaderboard(
    results: Annotated[
        str | None,
        typer.Option(
            metavar="ORG/NAME", help="The data set of results.", show_default="the organisation's unbag-results"
        ),
    ] = None,
    *,
    options: PublishingOptions,
) -> None:
    """Publish a Space that shows a data set of results (`unbag publish results-dataset`) as tables."""
    from unbag.hub import results_dataset
    from unbag.hub.leaderboard import NAME, leaderboard_space

    organisation = options.to.partition("/")[0]
    carry_out([leaderboard_space(options.repo(NAME), results or f"{organisation}/{results_dataset.NAME}")], options)


@with_shared_options
def pair(
    model: Annotated[
        str, typer.Option(metavar="ORG/NAME", help="The model of the Hub that is named at first; visitors name others.")
    ],
    lexical: Annotated[
        Path | None,
        typer.Option(
            help="A folder that `unbag lexical fit` left, in English (default: fitted to 20,000 pairs of SNLI, once)."
        ),
    ] = None,
    *,
    options: PublishingOptions,
) -> None:
    """Publish a Space to try one pair on: a model's answer and a bag of words', in order and in others."""
    from unbag.hub.pair_space import NAME, pair_space

    carry_out([pair_space(options.repo(NAME), model, lexical or fitted_by_default())], options)


def fitted_by_default() -> Path:
    """Return the folder of the lexical model that scores are held against, in English; it is fitted once."""
    from unbag.baselines.lexical.fitting import Recipe, fit_cached
    from unbag.evaluation.lexical_baseline import PAIRS

    corpus, pairs, pipeline = PAIRS["en"]
    return fit_cached(Recipe((corpus,), max_train_pairs=pairs, pipeline=pipeline))


logger = logging.getLogger(__name__)


@with_shared_options
def everything(
    options: PublishingOptions,
    pairs: PairOptions,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            callback=comma_separated_paths,
            help="Results for the data set of results and the leaderboard, comma-separated or repeated.",
        ),
    ] = None,
    pair_model: Annotated[
        str | None,
        typer.Option(metavar="ORG/NAME", help="Publish the Space to try a pair on too, which names this model first."),
    ] = None,
) -> None:
    """Publish all challenge sets and metrics to one organisation; with --results, a leaderboard too.

    unbag publish all --to my-org
    unbag publish all --to my-org --corpus mnli --results runs/a,runs/b --yes
    unbag publish all --to my-org --corpus snli,mnli

    With several corpora, or all, each set has a config for every one. Each
    repository gets one commit, or none where it holds all of it already, so
    after a stop the same command goes on. A set that cannot be made is told of
    at the end and does not cost the others. Trained models are published one by
    one: unbag publish model.
    """
    from unbag import challenge_sets, scripts
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.results import explain_damaged_records
    from unbag.hub import leaderboard, metric_space, pair_space, results_dataset

    if "/" in options.to:
        raise typer.BadParameter(f"expected --to ORG, since there are many repositories; found {options.to!r}")
    if results:
        with explain_damaged_records(*results):
            found = read_results(results)  # which costs nothing, before sets are built
    failures: list[Failure] = []
    publications: list[Publication] = []
    with TemporaryDirectory(prefix="unbag-") as folder:
        # A corpus as it is, its authors publish.
        names = [name for name in challenge_sets.names() if not challenge_sets.get(name).is_control]
        for name, requests in _by_set(pairs, names, failures).items():
            publications += _of_set(requests, options.repo(name), Path(folder) / name, failures)
        publications += [metric_space.metric_space(name, options.repo(name)) for name in scripts.names("metrics")]
        if pair_model:
            try:
                repo = options.repo(pair_space.NAME)
                publications.append(pair_space.pair_space(repo, pair_model, fitted_by_default()))
            except Exception as error:
                logger.debug("%s", pair_space.NAME, exc_info=error)
                failures.append(Failure(pair_space.NAME, error))
        if results:
            rows = options.repo(results_dataset.NAME)
            with explain_damaged_records(*results):
                publications.append(results_dataset.results_publication(rows, found))
            publications.append(leaderboard.leaderboard_space(options.repo(leaderboard.NAME), rows))
        carry_out(publications, options)
    for failure in failures:
        echo(f"{failure.set}: not published: {failure.reason}", err=True, fg="yellow")
    if failures:
        raise typer.Exit(1)


def _by_set(pairs: PairOptions, names: Sequence[str], failures: "list[Failure]") -> "dict[str, list[Request]]":
    """Return the requests for each set by its name, one per corpus; one for sets that are the same of every corpus.

    Args:
        pairs: which pairs; of several corpora where `--corpus` names them, or all.
        names: the sets.
        failures: gets the sets that cannot be made from a corpus.
    """

    def unfit(failure: "Failure", corpus: str) -> None:
        failures.append(replace(failure, set=f"{failure.set} of {corpus}"))

    if len(corpora_of(pairs)) > 1:
        requests = of_each_corpus(pairs, names, on_failure=unfit)
    else:
        requests = pairs.requests(names, on_failure=failures.append)
    found: dict[str, list[Request]] = {}
    for request in requests:
        found.setdefault(request.name, []).append(request)
    return found


def _of_set(requests: "Sequence[Request]", repo: str, folder: Path, failures: "list[Failure]") -> "list[Publication]":
    """Return the publication of a set with the configs that can be made; none where none can.

    Args:
        requests: the configs.
        repo: where they go.
        folder: for their files.
        failures: gets the configs that cannot be made.
    """
    from unbag.challenge_sets.failures import Failure
    from unbag.hub.dataset import dataset_publication

    try:
        return [dataset_publication(requests, repo, folder)]
    except Exception as error:
        [name] = {request.name for request in requests}
        logger.debug("%s", name, exc_info=error)
        if len(requests) == 1:
            failures.append(Failure(name, error))
            return []
    usable: list[Request] = []
    for request in requests:  # what is built is in the cache
        try:
            dataset_publication([request], repo, folder)
            usable.append(request)
        except Exception as error:
            failures.append(Failure(f"{name} of {request.config}", error))
    return [dataset_publication(usable, repo, folder)] if usable else []
