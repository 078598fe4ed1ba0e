"""Card of a model trained with `unbag train`: use, training, results, limits, license and reproduction.

The text is in `templates/model_card.md.jinja`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from unbag import challenge_sets
from unbag.challenge_sets.base import MeasuredMetric
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import add_direction_arrow, format_interval
from unbag.data.corpora import CORPORA, LANGUAGES, Corpus
from unbag.evaluation import verdict
from unbag.hub import eval_results
from unbag.hub.cards import collect_arxiv_tags, describe_package, render_card
from unbag.hub.licenses import OTHER, derive_license
from unbag.reports.training import build_interpolation_section
from unbag.training.config import UNSPLIT_KINDS
from unbag.training.recipes import find_recipe
from unbag.training.record import build_train_command

if TYPE_CHECKING:
    from huggingface_hub import ModelCardData

RESIDUAL: Final = "residual head"
_CURVE_ROWS: Final = 12
_EXAMPLES: Final = {
    "Antonyms": ("A man is asleep on a bench.", "A man is awake."),
    "Semantic roles": ("A dog chases a cat.", "A cat chases a dog."),
    "Hypernyms": ("Two women play tennis.", "Two people play a sport."),
}
_SETTINGS: Final = ("batch_size", "learning_rate", "warmup_ratio", "weight_decay", "max_grad_norm", "seed")
_PRECISIONS: Final = {"no": "float32", "bf16": "bfloat16 (mixed)", "fp16": "float16 (mixed)"}
_KINDS: Final = {"soswap": "SOSwap", "addamod": "AddAmod"}  # kinds whose display name differs from their id
_PACKAGES: Final = ("python", "torch", "transformers", "accelerate", "tokenizers", "datasets")


@dataclass(frozen=True)
class ModelCardContent:
    """Data from which a model card is built."""

    repo: str
    record: Mapping[str, Any]  # record of the training run, `training.json`
    own: Sequence[Result]  # results of the model's own head
    residual: Sequence[Result]  # results of a HEX model's residual head
    compare_with: Mapping[str, Sequence[Result]]  # results of other models, by display name
    organization: str  # organization that publishes the challenge sets
    base_license: str | None  # license of the base model; None if unknown
    separator: str = " "  # separator between two sentences in the tokenizer's input, for the widget of the model page
    training_cost: Mapping[str, Any] | None = None
    """`hardware`, `processes` and `seconds` of the training run; None if unknown."""
    needs_unbag: bool = False
    """Whether the architecture is one of `unbag.models`, which transformers cannot load without unbag."""
    with_code: bool = False  # whether the repository contains the code of the architecture

    @property
    def base(self) -> str | None:
        """Hub id of the base model; None for a local folder."""
        name: str = self.record["model"]["name"]
        return None if name == eval_results.FOLDER_NAME else name

    @property
    def corpora(self) -> list[Corpus]:
        """Published corpora in the training data."""
        return [corpus for part in self.record["data"]["training"] if (corpus := _find_corpus(part))]

    @property
    def license(self) -> str:
        """License that the model inherits from its sources, such as the base model and the training data."""
        return derive_license(list(self.sources.values()))

    @property
    def sources(self) -> dict[str, str | None]:
        """Licenses of the model's sources by source name. Unknown licenses, such as those of local files, are None."""
        sources = {self.base or self.record["config"]["model"]: self.base_license}
        for part in self.record["data"]["training"]:
            corpus = _find_corpus(part)
            sources |= {corpus.hub_id: corpus.license} if corpus else {part["name"]: None}
        vectors = self.record["config"].get("embeddings")  # published with the model, under terms unknown to unbag
        return sources | ({vectors: None} if vectors else {})

    @property
    def languages(self) -> list[str]:
        """Codes of the languages of the training data."""
        return sorted({corpus.language for corpus in self.corpora} or {self.record["config"]["language"]})

    @property
    def cited_works(self) -> list[str]:
        """BibTeX of the training corpora and of the evaluated sets."""
        evaluated = dict.fromkeys(result.set for result in (*self.own, *self.residual))
        sets = [challenge_sets.get_challenge_set(name).citation for name in evaluated]
        return list(dict.fromkeys([*(corpus.citation for corpus in self.corpora), *sets]))


def _find_corpus(part: Mapping[str, Any]) -> Corpus | None:
    """Find the published corpus of a part of the training data; None for a file."""
    corpus = CORPORA.get(part["name"])
    return corpus if corpus and part["origin"].startswith(corpus.hub_id) else None


def build_model_card(content: ModelCardContent) -> str:
    """Build the model card of a trained model as Markdown with front matter."""
    from huggingface_hub import ModelCard

    record = content.record
    data, environment = record["data"], record["environment"]
    commit = f" (commit `{environment['unbag_commit']}`)" if "unbag_commit" in environment else ""
    files = [part for part in (*data["training"], *data["held_out"]) if _find_corpus(part) is None]
    text = render_card(
        "model_card.md",
        card=content,
        name=content.repo.partition("/")[2],
        record=record,
        config=record["config"],
        about_unbag=describe_package(),
        example=_EXAMPLES["Antonyms"],
        recipe=find_recipe(record["recipe"]).about,
        augmentation=_augmentation(record) if record["config"]["augment"] else "",
        data=_data_rows(data),
        # An unescaped bar would end the cell of the Markdown table.
        settings=[[name, value.replace("|", "\\|")] for name, value in _settings(content).items()],
        curve=_curve_rows(record),
        interpolation=build_interpolation_section(record),
        results=build_results_section(content.repo, content.own, content.residual, content.compare_with),
        languages=[LANGUAGES.get(language, language) for language in content.languages],
        is_sampled=any("max_examples" in result.config for result in (*content.own, *content.residual)),
        sources=[[name, license or "unknown"] for name, license in content.sources.items()],
        command=build_train_command(record),
        versions=[
            f"unbag {environment.get('unbag', 'unknown')}{commit}",
            *(f"{name} {environment[name]}" for name in _PACKAGES if name in environment),
        ],
        missing=sorted({f"`{part['name']}` (sha256 `{''.join(part['revisions'][:1])}`)" for part in files}),
        citations=content.cited_works,
    )
    return str(ModelCard(f"---\n{_metadata(content).to_yaml()}\n---\n\n{text}"))


def _metadata(content: ModelCardContent) -> "ModelCardData":
    from huggingface_hub import ModelCardData

    index = eval_results.build_model_index(content.own, content.organization)
    metrics = [name for name in eval_results.HUB_METRICS if any(result.metric_type == name for result in index)]
    is_other = content.license == OTHER
    return ModelCardData(
        library_name="transformers",
        pipeline_tag=eval_results.TASK,
        base_model=content.base,
        base_model_relation="finetune" if content.base else None,
        datasets=[corpus.hub_id for corpus in content.corpora] or None,
        language=content.languages,
        license=content.license,
        license_name="terms-of-its-sources" if is_other else None,
        license_link=f"https://huggingface.co/{content.repo}#license" if is_other else None,
        tags=[
            *("natural-language-inference", "unbag", content.record["recipe"].replace("_", "-")),
            *collect_arxiv_tags([find_recipe(content.record["recipe"]).about, *content.cited_works]),
        ],
        widget=[
            {"text": f"{premise}{content.separator}{hypothesis}", "example_title": title}
            for title, (premise, hypothesis) in _EXAMPLES.items()
        ],
        metrics=metrics or None,
        model_name=content.repo.partition("/")[2] if index else None,
        eval_results=index or None,
    )


def _settings(content: ModelCardContent) -> dict[str, str]:
    """Build the table of settings, including the options that are specific to the recipe."""
    from unbag.training.config import TrainConfig

    record = content.record
    config = record["config"]
    recipe = find_recipe(record["recipe"])
    own = set(recipe.__dataclass_fields__) - set(TrainConfig.__dataclass_fields__)
    chosen = {name: config[name] for name in _SETTINGS} | {name: config[name] for name in config if name in own}
    rows = {
        "steps": f"{record['steps']:,}; {record['steps_per_epoch']:,} per epoch of {record['pairs_per_epoch']:,} pairs",
        "device": record["device"] + _format_processes(record),
        "precision": _PRECISIONS[record["precision"]],
        "optimizer": "AdamW",
        "schedule": "linear warm-up over a share of the steps, then linear decay to 0",
        **{name.replace("_", " "): _number(value) for name, value in chosen.items()},
    }
    if record["truncated_pairs"]:
        rows["truncated pairs"] = f"{record['truncated_pairs']:,}"
    if (accuracy := record.get("bias_accuracy")) is not None:
        rows["accuracy of the biased model (training pairs with a prediction)"] = f"{100 * accuracy:.1f} %"
    if cost := content.training_cost:
        minutes, seconds = divmod(round(cost["seconds"]), 60)
        time = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {seconds} s"
        rows |= {
            "hardware": cost["hardware"] + _format_processes(cost),
            "time since the last start or resumption": time,
        }
    return rows


def _format_processes(record: Mapping[str, Any]) -> str:
    return f", {record['processes']} processes" if record["processes"] > 1 else ""


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "the default" if value is None else str(value)


def _augmentation(record: Mapping[str, Any]) -> str:
    """Build the sentence on augmentation."""
    added = record["augmentation"]
    names = {kind: _KINDS.get(kind, kind) for kind in added["first_epoch"]}
    listed = _listed([f"{each['pairs']:,} {names[kind]}" for kind, each in added["first_epoch"].items()])
    split = [name for kind, name in names.items() if kind not in UNSPLIT_KINDS]
    sentence = f"In each epoch, {listed} pairs generated from the training pairs were added"
    if added["words"] == "training" and split:
        which = "" if len(split) == len(names) else f"{_listed(split)} "
        sentence += f", {which}with words and templates from the training half of the vocabulary only"
    return f"{sentence}."


def _listed(names: Sequence[str]) -> str:
    """Join names in prose: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _data_rows(data: Mapping[str, Any]) -> list[list[str]]:
    return [
        [
            use,
            f"{part['name']} {'+'.join(part['splits'])}".strip(),
            f"[{corpus.hub_id}](https://huggingface.co/datasets/{corpus.hub_id})" if corpus else "a file",
            f"{part['pairs']:,}" + (f" × {part['weight']:g}" if part.get("weight", 1) != 1 else ""),
            ", ".join(f"{n:,} {reason}" for reason, n in part["excluded"].items()) or "–",
            " ".join(f"`{revision[:12]}`" for revision in part["revisions"]),
            corpus.license if corpus else "–",
        ]
        for use, parts in (("training", data["training"]), ("held out", data["held_out"]))
        for part in parts
        for corpus in [_find_corpus(part)]
    ]


def _curve_rows(record: Mapping[str, Any]) -> list[list[str]]:
    """Build the table of evaluations on held-out pairs, with about 12 rows including the last evaluation."""
    evaluations = record["evaluations"]
    every = -(-len(evaluations) // _CURVE_ROWS)  # rounded up
    chosen = [each for i, each in enumerate(evaluations, start=1) if i % every == 0 or i == len(evaluations)]
    if record["best_evaluation"] not in chosen:
        chosen = sorted([*chosen, record["best_evaluation"]], key=lambda each: int(each["step"]))
    label = " (published, interpolated)" if "interpolation" in record else " (published)"
    return [
        [
            f"{each['step']:,}" + (label if each == record["best_evaluation"] else ""),
            f"{each['all']['accuracy']:.4f}",
            f"{each['all']['loss']:.4f}",
        ]
        for each in chosen
    ]


def build_results_section(
    repo: str,
    own_results: Sequence[Result],
    residual_results: Sequence[Result] = (),
    compare_with: Mapping[str, Sequence[Result]] = {},
) -> str:
    """Build the results section of a model card as Markdown.

    `own_results` are those of the model's own head, and `residual_results` those of a HEX model's residual head.
    `compare_with` has the results of other models by display name.
    """
    heads = {"this model": own_results} | ({RESIDUAL: residual_results} if residual_results else {})
    by_rows: dict[tuple[str, ...], Result] = {}
    for result in (*own_results, *residual_results):
        by_rows.setdefault(_rows_key(result), result)
    compared = {name: [r for r in results if _rows_key(r) in by_rows] for name, results in compare_with.items()}
    columns = heads | {name: results for name, results in compared.items() if results}
    rows, readings = [], []
    for key, first in by_rows.items():
        by_column = {name: next((r for r in results if _rows_key(r) == key), None) for name, results in columns.items()}
        numbers = {
            name: {} if result is None else {metric.name: estimate for metric, estimate in _list_quoted(result)}
            for name, result in by_column.items()
        }
        for i, (metric, estimate) in enumerate(_list_quoted(first)):
            found = (numbers[name].get(metric.name) for name in columns)
            cells = ("–" if each is None else format_interval(each) for each in found)
            label = add_direction_arrow(metric.label, metric.higher_is_better)
            rows.append([_set_name(first) if i == 0 else "", label, *cells, f"{estimate.n:,}"])
        for name in heads:
            if (evaluated := by_column[name]) is not None:
                reading = challenge_sets.get_challenge_set(evaluated.set).summarize_result(evaluated)
                readings.append(f"{_set_name(evaluated)}, {name}: {reading}")
    verdicts = {name: verdict.compute_model_verdict(results) for name, results in heads.items() if results}
    section = render_card(
        "results_section.md",
        repo=repo,
        heads=["set", "metric", *columns, "n"],
        rows=rows,
        versions=sorted({result.unbag_version for result in by_rows.values()}),
        verdicts={name: verdict.format_verdict(each) for name, each in verdicts.items()},
        scale=verdict.describe_skill_scale([one for each in verdicts.values() for one in each]),
        readings=readings,
    )
    return section.rstrip()


def _rows_key(result: Result) -> tuple[str, ...]:
    """Build the key of comparable results: set, rows and config."""
    return result.set, result.data["sha256"], json.dumps(result.config, sort_keys=True)


def _set_name(result: Result) -> str:
    sample = f", sample of {result.config['max_examples']:,} examples" if "max_examples" in result.config else ""
    title = challenge_sets.get_display_name(result.set)
    return f"{title}, {result.data['name']} {result.data['split']}".strip() + sample


def _list_quoted(result: Result) -> list[MeasuredMetric]:
    return challenge_sets.get_challenge_set(result.set).list_metric_values(result.scores, "quoted")
