"""Tasks of lighteval: one Python file with a `TASKS_TABLE`, for `--custom-tasks`.

The label words are choices whose log-likelihoods are compared, as in `unbag.integrations.harness.lm_eval`. A sample's
result is its record; one corpus-level metric reads the records of all and gives all scores. (Had each score a metric
of its own, lighteval would bootstrap it over rows, which tears apart what belongs to one example.)
"""

from collections.abc import Sequence

from unbag.inference.llm.prompts import Prompt
from unbag.integrations.harness.tasks import Task, scoring_source

_SHELL = '''

# What lighteval reads.

import functools  # noqa: E402

from lighteval.metrics.metrics_corpus import CorpusLevelComputation  # noqa: E402
from lighteval.metrics.metrics_sample import SampleLevelComputation  # noqa: E402
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric  # noqa: E402
from lighteval.tasks.lighteval_task import LightevalTaskConfig  # noqa: E402
from lighteval.tasks.requests import Doc, SamplingMethod  # noqa: E402

_WORKED_EXAMPLES = {num_fewshot}


def _doc(name: str, line: Record, task_name: str) -> Doc:
    """Return a row as a question with the label words as choices, and what its metric reads of it."""
    return Doc(
        task_name=task_name,
        query=Prompt(_WORKED_EXAMPLES).text(line["premise"], line["hypothesis"]),
        choices=[" " + WORDS[label] for label in LABELS],
        gold_index=line["label"],
        specific={{column: line[column] for column in (*COLUMNS[name], "label")}},
    )


class _Record(SampleLevelComputation):
    """What is scored of a row."""

    def compute(self, doc: Doc, model_response: Any, **_: Any) -> Record:
        logs = list(model_response.logprobs[: len(LABELS)])
        return {{**doc.specific, "predicted": logs.index(max(logs))}}


class _Scores(CorpusLevelComputation):
    """The scores of all rows."""

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


def files(tasks: Sequence[Task], prompt: Prompt) -> dict[str, str]:
    """Return the one file of all tasks, `unbag_tasks.py`."""
    table = "".join(
        f"    _task({task.name!r}, {task.path!r}, {task.config or 'default'!r}, {task.split!r}),\n" for task in tasks
    )
    return {"unbag_tasks.py": scoring_source(tasks) + _SHELL.format(num_fewshot=prompt.num_fewshot, tasks=table)}
