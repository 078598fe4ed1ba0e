"""lighteval tasks: one Python file with a `TASKS_TABLE`, for `--custom-tasks`.

The label words are choices whose log-likelihoods are compared, as in `unbag.integrations.harness.lm_eval`. The result
of a sample is its record, and one corpus-level metric computes all scores from all records. With one metric per score,
lighteval would bootstrap each score over rows, which would separate the rows of one example.
"""

from collections.abc import Sequence

from unbag.inference.llm.prompts import DefaultPrompt
from unbag.integrations.harness.tasks import HarnessTask, build_scoring_source

_SHELL = '''

# Interface to lighteval.

import functools  # noqa: E402

from lighteval.metrics.metrics_corpus import CorpusLevelComputation  # noqa: E402
from lighteval.metrics.metrics_sample import SampleLevelComputation  # noqa: E402
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric  # noqa: E402
from lighteval.tasks.lighteval_task import LightevalTaskConfig  # noqa: E402
from lighteval.tasks.requests import Doc, SamplingMethod  # noqa: E402

_WORKED_EXAMPLES = {num_fewshot}


def _doc(name: str, line: Record, task_name: str) -> Doc:
    """Build the prompt of a row, with the label words as choices and the columns of its metric."""
    return Doc(
        task_name=task_name,
        query=DefaultPrompt(_WORKED_EXAMPLES).build_text(line["premise"], line["hypothesis"]),
        choices=[" " + WORDS[label] for label in LABELS],
        gold_index=line["label"],
        specific={{column: line[column] for column in (*COLUMNS[name], "label")}},
    )


class _Record(SampleLevelComputation):
    """Record of a row."""

    def compute(self, doc: Doc, model_response: Any, **_: Any) -> Record:
        logs = list(model_response.logprobs[: len(LABELS)])
        return {{**doc.specific, "predicted": logs.index(max(logs))}}


class _Scores(CorpusLevelComputation):
    """Scores of all rows."""

    def __init__(self, name: str) -> None:
        self.name = name

    def compute_corpus(self, items: Sequence[Record]) -> Scores:
        return SCORES_OF[self.name](items)


def _task(name: str, path: str, config: str, split: str) -> LightevalTaskConfig:
    metric = CorpusLevelMetric(
        metric_name="unbag",
        higher_is_better=next(iter(HIGHER_IS_BETTER[name].values())),
        category=SamplingMethod.LOGPROBS,
        sample_level_fn=_Record(),
        corpus_level_fn=_Scores(name),
    )
    return LightevalTaskConfig(
        name="unbag_" + name,
        prompt_function=functools.partial(_doc, name),
        hf_repo=path,
        hf_subset=config,
        hf_avail_splits=[split],
        evaluation_splits=[split],
        metrics=[metric],
    )


TASKS_TABLE = [
{tasks}]
'''


def build_lighteval_files(tasks: Sequence[HarnessTask], prompt: DefaultPrompt) -> dict[str, str]:
    """Build the task file for lighteval, as a mapping from path to content."""
    table = "".join(
        f"    _task({task.name!r}, {task.path!r}, {task.config or 'default'!r}, {task.split!r}),\n" for task in tasks
    )
    return {"unbag_tasks.py": build_scoring_source(tasks) + _SHELL.format(num_fewshot=prompt.num_fewshot, tasks=table)}
