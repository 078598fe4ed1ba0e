"""Description of a task for all harnesses, and the files that define it, rendered from the folder `templates`."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import ChallengeSet, MetricDefinition
from unbag.data.labels import LABELS, get_label_id
from unbag.hub.vendoring import build_source_notice, bundle_modules
from unbag.inference.llm.prompts import INSTRUCTION, WORDS, DefaultPrompt
from unbag.utils.templates import render_template

_BUNDLED = ("unbag.integrations.harness.collected", "unbag.inference.llm.reading")


class HarnessTask(NamedTuple):
    """Challenge set as a task for an evaluation harness."""

    name: str
    path: str  # argument of `datasets.load_dataset`: a folder of Parquet files or a Hub dataset
    config: str | None  # config of a Hub dataset; None for a folder
    split: str

    @property
    def id(self) -> str:
        """Unique name of the task: `unbag_` and the name of the set."""
        return f"unbag_{self.name}"

    @property
    def challenge_set(self) -> ChallengeSet:
        """Description of the challenge set."""
        return challenge_sets.get_challenge_set(self.name)

    @property
    def metrics(self) -> list[MetricDefinition]:
        """Metrics of the exported task, without computed ones, which need unbag."""
        return [each for each in self.challenge_set.list_metrics_with_role("harness") if each.compute is None]

    @property
    def scores(self) -> dict[str, bool]:
        """Mapping from the name of each score to whether higher values are better."""
        return {metric.name: metric.higher_is_better for metric in self.metrics}


def _render(template: str, **values: Any) -> str:
    return render_template(__package__, f"templates/{template}", **values)


def build_scoring_source(tasks: Sequence[HarnessTask]) -> str:
    """Build the source code of a module that parses answers and computes metrics. The module needs only NumPy."""
    described = {task.name: task.challenge_set for task in tasks}
    functions = {name: each.score_function for name, each in described.items()}
    modules = [function.__module__ for function in functions.values()]
    return _render(
        "scores.py",
        notice=build_source_notice(),
        code=bundle_modules([*_BUNDLED, *modules], title="Metric computations, which require only numpy."),
        columns={name: each.columns for name, each in described.items()},
        higher_is_better={task.name: task.scores for task in tasks},
        paths={task.name: {metric.name: metric.path for metric in task.metrics} for task in tasks},
        functions=functions,
    )


def build_lm_eval_files(tasks: Sequence[HarnessTask], prompt: DefaultPrompt) -> dict[str, str]:
    """Build the task files for lm-evaluation-harness, as a mapping from path to content.

    There is one YAML file per set, `unbag.yaml` for all sets, and the scoring code. The label words are choices whose
    log-likelihoods are compared, so `--model hf` predicts like `unbag evaluate causal:… --no-apply-chat-template`. A
    metric of the harness is a function of one row and a mean over rows, while unbag's metrics are functions of all
    rows. The result of a row is therefore its record, and the aggregation scores the records.
    """
    words = [WORDS[label] for label in LABELS]
    members = "".join(f"  - {task.id}\n" for task in tasks)
    return {
        **{f"{task.id}.yaml": _render("lm_eval.yaml", task=task, prompt=prompt, words=words) for task in tasks},
        "unbag.yaml": f"group: unbag\ntask:\n{members}",
        "unbag_scores.py": _render("lm_eval.py", scores=build_scoring_source(tasks), tasks=tasks),
    }


def build_lighteval_files(tasks: Sequence[HarnessTask], prompt: DefaultPrompt) -> dict[str, str]:
    """Build the task file for lighteval, with a `TASKS_TABLE` for `--custom-tasks`.

    The label words are choices whose log-likelihoods are compared. The result of a sample is its record, and one
    corpus-level metric computes all scores from all records. With one metric per score, lighteval would bootstrap each
    score over rows, which would separate the rows of one example.
    """
    code = _render("lighteval.py", scores=build_scoring_source(tasks), tasks=tasks, prompt=prompt)
    return {"unbag_tasks.py": code}


def build_inspect_files(tasks: Sequence[HarnessTask], prompt: DefaultPrompt) -> dict[str, str]:
    """Build the task files for Inspect AI: `unbag_tasks.py`, and an `eval.yaml` for some of the sets on the Hub.

    Models generate a word, which `unbag.inference.llm.reading` parses, as in `unbag evaluate endpoint:…` without
    probabilities. An answer without a label is wrong.

    `eval.yaml` is for the root of a dataset repository (`inspect eval hf/org/name`). It has a prompt and a comparison
    but no metric, so its score is plain accuracy. It is therefore written only for sets whose score is accuracy.
    """
    files = {}
    numbered = ", ".join(f"{get_label_id(label)} for {WORDS[label]}" for label in LABELS)
    question = f"{INSTRUCTION} Give it as a number: {numbered}.\n\nPremise: {{premise}}\nHypothesis: {{prompt}}"
    numbers = "".join(str(get_label_id(label)) for label in LABELS)
    for task in tasks:
        if task.config and task.challenge_set.is_accuracy:
            entry = {
                "id": task.name,
                "config": task.config,
                "split": task.split,
                "field_spec": {"input": "hypothesis", "target": "label", "metadata": ["premise"]},
                "solvers": [{"name": "prompt_template", "args": {"template": question}}, {"name": "generate"}],
                "scorers": [{"name": "pattern", "args": {"pattern": f"([{numbers}])"}}],
            }
            document = {"name": task.id, "evaluation_framework": "inspect-ai", "tasks": [entry]}
            # JSON is valid YAML.
            files[f"{task.name}/eval.yaml"] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    code = _render("inspect_ai.py", scores=build_scoring_source(tasks), tasks=tasks, prompt=prompt)
    return {**files, "unbag_tasks.py": code}
