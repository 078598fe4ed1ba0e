"""Export of challenge sets as tasks of lm-evaluation-harness, lighteval or inspect-ai.

The files need only the harness, not unbag:

    <folder>/data/<set>/test.parquet   rows, unless they are read from the Hub
    <folder>/…                         files for the harness; see `unbag.integrations.harness.tasks`

The prompt is that of `unbag.inference.llm.prompts`. The metrics of `unbag.scoring` are copied into the files, since
metrics such as permutation acceptance are not means over rows.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from unbag.challenge_sets.request import SetRequest, create_validated_builder, export_challenge_set
from unbag.data.corpora import CORPORA
from unbag.data.labels import NOT_ENTAILMENT, TWO_WAY
from unbag.inference.llm.prompts import DefaultPrompt
from unbag.integrations.harness.tasks import (
    HarnessTask,
    build_inspect_files,
    build_lighteval_files,
    build_lm_eval_files,
)
from unbag.utils.files import atomic_write
from unbag.utils.hub import validate_push_repo

HARNESSES: Final = {
    "lm-eval": build_lm_eval_files,
    "lighteval": build_lighteval_files,
    "inspect-ai": build_inspect_files,
}
"""Functions that build task files (text by path), by the name of the harness package."""

_SPLIT: Final = "test"


class ExportedTasks(NamedTuple):
    """Exported task files, and the command that runs them."""

    files: Sequence[str]  # relative to the folder, including data
    command: str


def export_tasks(
    harness: str, requests: Sequence[SetRequest], folder: Path, *, hub: str | None = None, num_fewshot: int = 0
) -> ExportedTasks:
    """Export challenge sets as tasks for an evaluation harness.

    Task files contain the path of the folder to read rows, so a moved folder must be exported again. With `hub`, they
    read the rows from the Hub: an organization that published the sets under their own names, or `organization/name`
    for one set.
    """
    for corpus in ((request.config or "").partition("-")[0] for request in requests):
        if corpus in CORPORA and CORPORA[corpus].is_two_way:
            raise ValueError(
                f"--corpus: expected a corpus with three labels, got {corpus}, which has two labels; use another corpus"
            )
    names = [request.name for request in requests]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"--sets: expected each set once, got {', '.join(twice)} twice; remove the repeated names")
    if hub is not None:
        validate_push_repo(hub)
    DefaultPrompt(num_fewshot)  # validates the number before anything is built
    tasks = [_on_hub(request, hub, names) if hub else _built(request, folder) for request in requests]
    texts: Mapping[str, str] = HARNESSES[harness](tasks, DefaultPrompt(num_fewshot))
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


def _built(request: SetRequest, folder: Path) -> HarnessTask:
    file = folder / "data" / request.name / f"{_SPLIT}.parquet"
    if "data" in request.options and any(
        NOT_ENTAILMENT in source.labels for source in create_validated_builder(request).open_sources()
    ):
        raise ValueError(
            f"{request.options['data']}: expected pairs with three labels, like the exported tasks, got pairs with two "
            f"labels ({', '.join(TWO_WAY)})"
        )
    export_challenge_set(request, file)
    return HarnessTask(request.name, str(file.parent.resolve()), None, _SPLIT)


def _on_hub(request: SetRequest, hub: str, names: Sequence[str]) -> HarnessTask:
    from unbag.challenge_sets import loading

    if "/" in hub and len(names) > 1:
        raise ValueError(
            f"--hub: expected an organization for {len(names)} sets, got the repository {hub}; pass only the "
            "organization"
        )
    if request.user_data_names or request.config is None or request.max_examples is not None:
        raise ValueError(
            "--hub: expected a complete config of a published set, got your own data or a sample; omit --hub to "
            "include the rows in the folder"
        )
    builder = loading.create_builder(request.name, request.config, **request.options)
    split = builder.challenge_set.evaluation_split or builder.get_split_name(next(iter(builder.open_sources())))
    return HarnessTask(request.name, hub if "/" in hub else f"{hub}/{request.name}", request.config, split)
