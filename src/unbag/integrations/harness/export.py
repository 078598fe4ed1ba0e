"""Export of challenge sets as tasks of lm-evaluation-harness, lighteval or inspect-ai.

The files need the harness alone, not unbag:

    <folder>/data/<set>/test.parquet   the rows, unless they are read from the Hub
    <folder>/…                         files for the harness; see `unbag.integrations.harness.lm_eval`, `.lighteval`,
    `.inspect_ai`

The prompt is that of `unbag.inference.llm.prompts`. The metrics are those of `unbag.scoring`, copied into the files,
since a metric such as Permutation Acceptance is not a mean over rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from unbag.challenge_sets.request import Request, export, validated_builder
from unbag.data.corpora import CORPORA
from unbag.data.labels import NOT_ENTAILMENT, TWO_WAY
from unbag.inference.llm.prompts import Prompt
from unbag.integrations.harness import inspect_ai, lighteval, lm_eval
from unbag.integrations.harness.tasks import Task
from unbag.utils.files import atomic_write
from unbag.utils.hub_names import validate_push_repo

HARNESSES: Final = {"lm-eval": lm_eval.files, "lighteval": lighteval.files, "inspect-ai": inspect_ai.files}
"""Functions that build the files of tasks, as text by path, by name of the harness's package."""

_SPLIT: Final = "test"


@dataclass(frozen=True)
class ExportedTasks:
    """Files of an export.

    Attributes:
        files: Paths below the folder, data included.
        command: Shell command that runs the tasks.
    """

    files: Sequence[str]
    command: str


def export_tasks(
    harness: str, requests: Sequence[Request], folder: Path, *, hub: str | None = None, num_fewshot: int = 0
) -> ExportedTasks:
    """Write challenge sets as tasks of a harness.

    Args:
        harness: One of `HARNESSES`.
        requests: Challenge sets, each once.
        folder: Output folder. Files that read rows from it contain its path, so a moved folder must be exported again.
        hub: Organisation that published the sets on the Hub under their own names, or `organisation/name` for one set.
            The tasks then read the rows from there; by default the rows are built.
        num_fewshot: Number of worked examples before each pair: 0, 3 or 6.

    Raises:
        ValueError: If there is no such harness, a set is given twice, or own data are to be read from the Hub.
    """
    if harness not in HARNESSES:
        raise ValueError(f"harness: expected one of {', '.join(HARNESSES)}, got {harness!r}")
    for corpus in ((request.config or "").partition("-")[0] for request in requests):
        if corpus in CORPORA and CORPORA[corpus].is_two_way:
            raise ValueError(f"--corpus: expected a corpus with three labels, got {corpus}, which has two")
    names = [request.name for request in requests]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"--sets: expected each set once, got {', '.join(twice)} twice")
    if hub is not None:
        validate_push_repo(hub)
    Prompt(num_fewshot)  # validates the number before anything is built
    tasks = [_on_hub(request, hub, names) if hub else _built(request, folder) for request in requests]
    texts: Mapping[str, str] = HARNESSES[harness](tasks, Prompt(num_fewshot))
    for path, text in texts.items():
        with atomic_write(folder / path) as tmp:
            tmp.write_text(text, encoding="utf-8")
    data = [] if hub else [f"data/{name}/{_SPLIT}.parquet" for name in names]
    return ExportedTasks([*data, *texts], _COMMANDS[harness].format(folder=folder, tasks=",".join(t.id for t in tasks)))


_COMMANDS: Final = {
    "lm-eval": "lm_eval --model hf --model_args pretrained=ORG/MODEL --include_path {folder} --tasks {tasks}",
    "lighteval": "lighteval accelerate model_name=ORG/MODEL {tasks} --custom-tasks {folder}/unbag_tasks.py",
    "inspect-ai": "cd {folder} && inspect eval unbag_tasks.py --model PROVIDER/MODEL",  # rejects absolute paths
}


def _built(request: Request, folder: Path) -> Task:
    file = folder / "data" / request.name / f"{_SPLIT}.parquet"
    if "data" in request.options and any(
        NOT_ENTAILMENT in source.labels for source in validated_builder(request).sources()
    ):
        raise ValueError(
            f"{request.options['data']}: expected pairs of three labels, got two ({', '.join(TWO_WAY)}); the tasks ask "
            "for three"
        )
    export(request, file)
    return Task(request.name, str(file.parent.resolve()), None, _SPLIT)


def _on_hub(request: Request, hub: str, names: Sequence[str]) -> Task:
    from unbag.challenge_sets import loading

    if "/" in hub and len(names) > 1:
        raise ValueError(f"--hub: expected an organisation for {len(names)} sets, got the repository {hub}")
    if request.own_names or request.config is None or request.max_examples is not None:
        raise ValueError(
            "--hub: expected a complete config of a published set, got own data or a part of the examples; leave out "
            "--hub to write the rows beside the tasks"
        )
    builder = loading.builder(request.name, request.config, **request.options)
    split = builder.EVALUATED or builder.split_name(next(iter(builder.sources())))
    return Task(request.name, hub if "/" in hub else f"{hub}/{request.name}", request.config, split)
