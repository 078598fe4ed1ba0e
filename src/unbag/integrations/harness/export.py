"""Write our sets as tasks of lm-evaluation-harness, lighteval or inspect-ai: files that need the harness alone.

    <folder>/data/<set>/test.parquet   the rows, unless they are read from the Hub
    <folder>/…                         what the harness reads; see `unbag.integrations.harness.lm_eval`, `.lighteval`,
    `.inspect_ai`

Prompt, words and metric are ours: the question of `unbag.inference.llm.prompts`, and the arithmetic of
`unbag.scoring`, copied into the files, since a metric such as Permutation Acceptance is no mean over rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from unbag.challenge_sets.request import Request, check, export
from unbag.data.corpora import CORPORA
from unbag.data.labels import NOT_ENTAILMENT, TWO_WAY
from unbag.inference.llm.prompts import Prompt
from unbag.integrations.harness import inspect_ai, lighteval, lm_eval
from unbag.integrations.harness.tasks import Task
from unbag.utils.files import atomic_write
from unbag.utils.hub_names import validate_push_repo

HARNESSES: Final = {"lm-eval": lm_eval.files, "lighteval": lighteval.files, "inspect-ai": inspect_ai.files}
"""What returns the files of tasks, as text by path, for each harness by the name of its package."""

_SPLIT: Final = "test"


@dataclass(frozen=True)
class ExportedTasks:
    """What was written.

    Attributes:
        files: by path below the folder, data included.
        command: how to run the tasks, in words for a shell.
    """

    files: Sequence[str]
    command: str


def export_tasks(
    harness: str, requests: Sequence[Request], folder: Path, *, hub: str | None = None, shots: int = 0
) -> ExportedTasks:
    """Write sets as tasks of a harness.

    Args:
        harness: one of `HARNESSES`.
        requests: the sets, each once.
        folder: where to write. The files name it where they read their rows from it: to move it, write anew.
        hub: read the rows from the Hub instead of building them: the organisation that the sets were published in, each
            under its own name, or `organisation/name` for one set. A set's config is a config there.
        shots: worked examples before each pair: 0, 3 or 6.

    Raises:
        ValueError: if there is no such harness, a set is given twice, or data of one's own is asked of the Hub.
    """
    if harness not in HARNESSES:
        raise ValueError(f"expected a harness of {', '.join(HARNESSES)}, found {harness!r}")
    for corpus in ((request.config or "").partition("-")[0] for request in requests):
        if corpus in CORPORA and CORPORA[corpus].is_two_way:
            raise ValueError(f"tasks ask for three labels, and {corpus} tells entailment from the rest alone")
    names = [request.name for request in requests]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"expected each set once, found {', '.join(twice)} again")
    if hub is not None:
        validate_push_repo(hub)
    Prompt(shots)  # refuses other numbers, before anything is built
    tasks = [_on_hub(request, hub, names) if hub else _built(request, folder) for request in requests]
    texts: Mapping[str, str] = HARNESSES[harness](tasks, Prompt(shots))
    for path, text in texts.items():
        with atomic_write(folder / path) as tmp:
            tmp.write_text(text, encoding="utf-8")
    data = [] if hub else [f"data/{name}/{_SPLIT}.parquet" for name in names]
    return ExportedTasks([*data, *texts], _COMMANDS[harness].format(folder=folder, tasks=",".join(t.id for t in tasks)))


_COMMANDS: Final = {
    "lm-eval": "lm_eval --model hf --model_args pretrained=ORG/MODEL --include_path {folder} --tasks {tasks}",
    "lighteval": "lighteval accelerate model_name=ORG/MODEL {tasks} --custom-tasks {folder}/unbag_tasks.py",
    "inspect-ai": "cd {folder} && inspect eval unbag_tasks.py --model PROVIDER/MODEL",  # it takes no absolute path
}


def _built(request: Request, folder: Path) -> Task:
    file = folder / "data" / request.name / f"{_SPLIT}.parquet"
    if "data" in request.options and any(NOT_ENTAILMENT in source.labels for source in check(request).sources()):
        raise ValueError(
            f"{request.options['data']}: expected pairs of three labels, got two ({', '.join(TWO_WAY)}); the tasks ask "
            "for three"
        )
    export(request, file)
    return Task(request.name, str(file.parent.resolve()), None, _SPLIT)


def _on_hub(request: Request, hub: str, names: Sequence[str]) -> Task:
    from unbag.challenge_sets import loading

    if "/" in hub and len(names) > 1:
        raise ValueError(f"expected an organisation for {len(names)} sets, found the repository {hub}")
    if "data" in request.options or request.config is None or request.examples is not None:
        raise ValueError(
            "expected a config of the set as it is on the Hub, found data of your own or a part of the examples; leave "
            "out --hub to have the rows beside the tasks"
        )
    builder = loading.builder(request.name, request.config, **request.options)
    split = builder.EVALUATED or builder.split_name(next(iter(builder.sources())))
    return Task(request.name, hub if "/" in hub else f"{hub}/{request.name}", request.config, split)
