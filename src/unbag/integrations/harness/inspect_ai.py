"""inspect-ai tasks: a Python file with one task per set, and `eval.yaml`, which defines a task for a Hub dataset.

Models generate a word, which `unbag.inference.llm.reading` parses, as in `unbag evaluate endpoint:…` without
probabilities. An answer without a label is wrong.

`eval.yaml` is for the root of a dataset repository (`inspect eval hf/org/name`). It has a prompt and a comparison but
no metric, so its score is plain accuracy. It is therefore written only for sets whose score is accuracy.
"""

import json
from collections.abc import Sequence

from unbag.data.labels import LABELS, get_label_id
from unbag.inference.llm.prompts import INSTRUCTION, WORDS, DefaultPrompt
from unbag.integrations.harness.tasks import HarnessTask, build_scoring_source

_SHELL = '''

# Interface to inspect-ai.

from inspect_ai import Task, task  # noqa: E402
from inspect_ai.dataset import Dataset, hf_dataset  # noqa: E402
from inspect_ai.dataset import Sample as InspectSample  # noqa: E402
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, GenerateConfig  # noqa: E402
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer  # noqa: E402
from inspect_ai.solver import TaskState, generate  # noqa: E402

_WORKED_EXAMPLES = {num_fewshot}
NO_ANSWER = -1


def _sample(name: str, row: Record) -> InspectSample:
    """Build the prompt of a row, with the columns of its metric."""
    turns = DefaultPrompt(_WORKED_EXAMPLES).build_messages(row["premise"], row["hypothesis"])
    kinds = {{"user": ChatMessageUser, "assistant": ChatMessageAssistant}}
    return InspectSample(
        id=row["id"],
        input=[kinds[turn["role"]](content=turn["content"]) for turn in turns],
        target=WORDS[LABELS[row["label"]]],
        metadata={{column: row[column] for column in (*COLUMNS[name], "label")}},
    )


@metric
def unbag(name: str) -> Metric:
    """Score all rows of a set jointly."""

    def values(scores: list[SampleScore]) -> Scores:
        answers = [(s.sample_metadata or {{}}, int(s.score.as_float())) for s in scores]
        return SCORES_OF[name]([{{**row, "predicted": predicted}} for row, predicted in answers])

    return values


def _answer_scorer() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        label = parse_label(state.output.completion)
        predicted = NO_ANSWER if label is None else LABELS.index(label)
        return Score(value=predicted, answer=label, explanation=state.output.completion)

    return score


def _task(name: str, answers: Scorer, path: str, config: str | None, split: str) -> Task:
    data: Dataset = hf_dataset(path, split=split, name=config, sample_fields=lambda row: _sample(name, row))
    return Task(dataset=data, solver=generate(), scorer=answers, config=GenerateConfig(temperature=0), name=name)
'''

_PER_TASK = """

@scorer(metrics=[unbag({name!r})])
def {task}_answer() -> Scorer:
    return _answer_scorer()


@task
def {task}() -> Task:
    return _task({name!r}, {task}_answer(), {path!r}, {config!r}, {split!r})
"""


def build_inspect_files(tasks: Sequence[HarnessTask], prompt: DefaultPrompt) -> dict[str, str]:
    """Build the task files for Inspect AI, as a mapping from path to content.

    These are `unbag_tasks.py`, and `<set>/eval.yaml` for each set on the Hub whose score is accuracy.
    """
    code = build_scoring_source(tasks) + _SHELL.format(num_fewshot=prompt.num_fewshot)
    contents = {}
    for task in tasks:
        code += _PER_TASK.format(task=task.id, **task._asdict())
        if task.config and task.challenge_set.is_accuracy:
            contents[f"{task.name}/eval.yaml"] = _eval_yaml(task)
    return {**contents, "unbag_tasks.py": code}


def _eval_yaml(task: HarnessTask) -> str:
    """Build the `eval.yaml` of a dataset, with one task that asks for the label id in the rows."""
    numbered = ", ".join(f"{get_label_id(label)} for {WORDS[label]}" for label in LABELS)
    template = f"{INSTRUCTION} Give it as a number: {numbered}.\n\nPremise: {{premise}}\nHypothesis: {{prompt}}"
    numbers = "".join(str(get_label_id(label)) for label in LABELS)
    document = {
        "name": task.id,
        "evaluation_framework": "inspect-ai",
        "tasks": [
            {
                "id": task.name,
                "config": task.config,
                "split": task.split,
                "field_spec": {"input": "hypothesis", "target": "label", "metadata": ["premise"]},
                "solvers": [
                    {"name": "prompt_template", "args": {"template": template}},
                    {"name": "generate"},
                ],
                "scorers": [{"name": "pattern", "args": {"pattern": f"([{numbers}])"}}],
            }
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"  # JSON is valid YAML
