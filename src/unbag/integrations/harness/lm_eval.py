"""lm-evaluation-harness tasks: one YAML file per set, `unbag.yaml` for all sets, and the scoring code.

The label words are choices whose log-likelihoods are compared (`output_type: multiple_choice`), so `--model hf`
predicts like `unbag evaluate causal:… --no-apply-chat-template`. A metric of the harness is a function of one row and a
mean over rows, while unbag's metrics are functions of all rows. The result of a row is therefore its record, and the
aggregation scores the records.
"""

import json
from collections.abc import Sequence

from unbag.data.labels import LABELS
from unbag.inference.llm.prompts import WORDS, DefaultPrompt
from unbag.integrations.harness.tasks import HarnessTask, build_scoring_source

_CODE = "unbag_scores"

_SHELL = '''

# Interface to lm-evaluation-harness.


def _results(name: str, doc: Record, results: Sequence[tuple[float, bool]]) -> dict[str, Record]:
    """Build the record of a row for each score of its set."""
    logs = [log for log, _ in results]
    record = {column: doc[column] for column in (*COLUMNS[name], "label")}
    record["predicted"] = logs.index(max(logs))
    return dict.fromkeys(HIGHER_IS_BETTER[name], record)


def _aggregate(name: str, score: str, records: Sequence[Record]) -> float:
    return SCORES_OF[name](records)[score]
'''

_PER_SET = """

def {name}_results(doc: Record, results: Sequence[tuple[float, bool]]) -> dict[str, Record]:
    return _results("{name}", doc, results)
"""

_PER_SCORE = """

def {function}(records: Sequence[Record]) -> float:
    return _aggregate("{name}", "{score}", records)
"""


def build_lm_eval_files(tasks: Sequence[HarnessTask], prompt: DefaultPrompt) -> dict[str, str]:
    """Build the task files for lm-evaluation-harness, as a mapping from path to content.

    These are `unbag_<set>.yaml` for each set, `unbag.yaml` for the group, and `unbag_scores.py`.
    """
    code = build_scoring_source(tasks) + _SHELL
    contents = {}
    for task in tasks:
        code += _PER_SET.format(name=task.name)
        for score in task.scores:
            code += _PER_SCORE.format(name=task.name, score=score, function=_function(task, score))
        contents[f"{task.id}.yaml"] = _yaml(task, prompt)
    members = "".join(f"  - {task.id}\n" for task in tasks)
    return {**contents, "unbag.yaml": f"group: unbag\ntask:\n{members}", f"{_CODE}.py": code}


def _function(task: HarnessTask, score: str) -> str:
    return f"{task.name}_{score.replace('.', '_')}"


def _yaml(task: HarnessTask, prompt: DefaultPrompt) -> str:
    """Build the YAML of a task. Strings are JSON, which is valid YAML. Tags, which JSON does not have, are appended."""
    question = prompt.build_text("{{premise}}", "{{hypothesis}}")
    lines = {
        "task": task.id,
        "dataset_path": task.path,
        **({"dataset_name": task.config} if task.config else {}),
        "test_split": task.split,
        "output_type": "multiple_choice",
        "num_fewshot": 0,
        "doc_to_text": question,
        "doc_to_choice": [WORDS[label] for label in LABELS],
        "doc_to_target": "label",
        "target_delimiter": " ",
    }
    text = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in lines.items())
    text += f"process_results: !function {_CODE}.{task.name}_results\nmetric_list:\n"
    for score, higher in task.scores.items():
        text += f"  - metric: {json.dumps(score)}\n    aggregation: !function {_CODE}.{_function(task, score)}\n"
        text += f"    higher_is_better: {json.dumps(higher)}\n"
    return text + 'metadata:\n  version: "1.0"\n'
