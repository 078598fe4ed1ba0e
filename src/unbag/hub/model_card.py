"""Card of a model trained with `unbag train`: use, training, results, limits, license and reproduction."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from unbag import challenge_sets
from unbag.challenge_sets.base import MeasuredMetric
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import format_interval
from unbag.data.corpora import CORPORA, LANGUAGES, Corpus
from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from unbag.evaluation import verdict
from unbag.hub import eval_results
from unbag.hub.cards import collect_arxiv_tags, describe_package
from unbag.hub.licenses import OTHER, derive_license
from unbag.hub.model_results import FOLDER
from unbag.reports.training import build_interpolation_section
from unbag.scoring.bootstrap import Estimate
from unbag.training.config import UNSPLIT_KINDS
from unbag.training.recipes import find_recipe
from unbag.training.reproduce import build_train_command

if TYPE_CHECKING:
    from huggingface_hub import ModelCardData

RESIDUAL: Final = "residual head"
_CURVE_ROWS: Final = 12
_EXAMPLES: Final = {
    "Antonyms": ("A man is asleep on a bench.", "A man is awake."),
    "Semantic roles": ("A dog chases a cat.", "A cat chases a dog."),
    "Hypernyms": ("Two women play tennis.", "Two people play a sport."),
}
_EXAMPLE: Final = _EXAMPLES["Antonyms"]
_MEANINGS: Final = {
    ENTAILMENT: "the hypothesis is true if the premise is true",
    NEUTRAL: "the hypothesis may be true or false",
    CONTRADICTION: "the hypothesis is false if the premise is true",
}
_ORDERS: Final = {
    "shuffled": "The words of the training pairs were shuffled in each epoch "
    "([Nie et al. 2019](https://doi.org/10.1609/aaai.v33i01.33016867), section 3.2).",
    "permuted": "Each training pair was replaced by one permutation of its words, the same in all epochs "
    "([Sinha et al. 2021](https://aclanthology.org/2021.acl-long.569), Appendix F).",
}
_SETTINGS: Final = ("batch_size", "learning_rate", "warmup_ratio", "weight_decay", "max_grad_norm", "seed")
_REST: Final = "terms-of-its-sources"


@dataclass(frozen=True)
class ModelCardContent:
    """Data from which a model card is built.

    Attributes:
        repo: Model repository, `organization/name`.
        record: Record of the training run, `training.json`.
        own: Results of the model's own head.
        residual: Results of a HEX model's residual head.
        compare_with: Results of other models, by display name.
        organization: Organization that publishes the challenge sets.
        base_license: License of the base model; None if unknown.
        separator: Separator between two sentences in the tokenizer's input, for the widget of the model page.
        training_cost: `hardware`, `processes` and `seconds` of the training run; None if unknown.
        needs_unbag: Whether the architecture is one of `unbag.models`, which transformers cannot load without unbag.
        with_code: Whether the repository contains the code of the architecture.
    """

    repo: str
    record: Mapping[str, Any]
    own: Sequence[Result]
    residual: Sequence[Result]
    compare_with: Mapping[str, Sequence[Result]]
    organization: str
    base_license: str | None
    separator: str = " "
    training_cost: Mapping[str, Any] | None = None
    needs_unbag: bool = False
    with_code: bool = False

    @property
    def base(self) -> str | None:
        """Hub id of the base model; None for a local folder."""
        name: str = self.record["model"]["name"]
        return None if name == FOLDER else name

    @property
    def corpora(self) -> list[Corpus]:
        """Published corpora in the training data."""
        return [CORPORA[name] for name, origin in self._trained_on.items() if _is_corpus(name, origin)]

    @property
    def license(self) -> str:
        """License that the model inherits from its sources, such as the base model and the training data."""
        return derive_license(list(self.sources.values()))

    @property
    def sources(self) -> dict[str, str | None]:
        """Licenses of the model's sources by source name. Unknown licenses, such as those of local files, are None."""
        of_corpora = {corpus.name: (corpus.hub_id, corpus.license) for corpus in self.corpora}
        parts = [of_corpora.get(name, (name, None)) for name in self._trained_on]
        vectors = self.record["config"].get("embeddings")  # published with the model, under terms unknown to unbag
        sources = {self.base or self.record["config"]["model"]: self.base_license, **dict(parts)}
        return sources | ({vectors: None} if vectors else {})

    @property
    def _trained_on(self) -> dict[str, str]:
        """Origin of each corpus and file in the training data, by name."""
        return {part["name"]: part["origin"] for part in self.record["data"]["training"]}


def build_model_card(content: ModelCardContent) -> str:
    """Build the model card of a trained model as Markdown with front matter."""
    from huggingface_hub import ModelCard

    parts = [
        f"# {content.repo.partition('/')[2]}",
        _summary(content),
        _use(content),
        _training(content),
        build_results_section(content.repo, content.own, content.residual, content.compare_with),
        _limits(content),
        _license(content),
        _reproduce(content),
        _citations(content),
    ]
    text = "\n\n".join(part for part in parts if part)
    return str(ModelCard(f"---\n{_metadata(content).to_yaml()}\n---\n\n{text}\n"))


def _metadata(content: ModelCardContent) -> "ModelCardData":
    from huggingface_hub import ModelCardData

    index = eval_results.build_model_index(content.own, content.organization)
    hub_metrics = ("accuracy", "f1", "precision", "recall")
    metrics = [name for name in hub_metrics if any(result.metric_type == name for result in index)]
    return ModelCardData(
        library_name="transformers",
        pipeline_tag=eval_results.TASK,
        base_model=content.base,
        base_model_relation="finetune" if content.base else None,
        datasets=[corpus.hub_id for corpus in content.corpora] or None,
        language=sorted({corpus.language for corpus in content.corpora} or {content.record["config"]["language"]}),
        license=content.license,
        license_name=_REST if content.license == OTHER else None,
        license_link=f"https://huggingface.co/{content.repo}#license" if content.license == OTHER else None,
        tags=[
            *("natural-language-inference", "unbag", content.record["recipe"].replace("_", "-")),
            *collect_arxiv_tags([find_recipe(content.record["recipe"]).about, *_cited_works(content)]),
        ],
        widget=[
            {"text": f"{premise}{content.separator}{hypothesis}", "example_title": title}
            for title, (premise, hypothesis) in _EXAMPLES.items()
        ],
        metrics=metrics or None,
        model_name=content.repo.partition("/")[2] if index else None,
        eval_results=index or None,
    )


def _summary(content: ModelCardContent) -> str:
    record = content.record
    labels = "; ".join(f"*{label}*: {_MEANINGS[label]}" for label in LABELS)
    base = (
        f"[{content.base}](https://huggingface.co/{content.base})" if content.base else f"`{record['config']['model']}`"
    )
    return (
        f"This model classifies pairs of premise and hypothesis (natural language inference). Labels: {labels}.\n\n"
        f"The base model is {base} (revision `{record['model']['revision']}`), trained with the recipe "
        f"`{record['recipe'].replace('_', '-')}` of unbag.\n\n{describe_package()}"
    )


def _use(content: ModelCardContent) -> str:
    premise, hypothesis = _EXAMPLE
    imported = (
        "import unbag.models  # pip install 'unbag[models]': registers the architecture\n"
        if content.needs_unbag
        else ""
    )
    text = f"""## Use

```python
{imported}from transformers import pipeline

classify = pipeline("text-classification", model="{content.repo}")
classify({{"text": "{premise}", "text_pair": "{hypothesis}"}})
```

```python
import torch
{imported}from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{content.repo}")
model = AutoModelForSequenceClassification.from_pretrained("{content.repo}")
pair = tokenizer("{premise}", "{hypothesis}", return_tensors="pt")
with torch.no_grad():
    probabilities = model(**pair).logits.softmax(dim=-1)[0]
print({{model.config.id2label[i]: float(p) for i, p in enumerate(probabilities)}})
```

Order of the outputs: {", ".join(content.record["label_order"])}.{_use_without_unbag(content)}"""
    if content.record["recipe"] == "hex":
        text += f"""

### Residual head

```
unbag evaluate {content.repo} --head residual
```

The model above predicts with f([h, 0]), as the authors' released code does. In the paper's text, the model predicts
with F_L, the part of the prediction that the words alone do not explain. With the files in this repository, the
following code changes the model to predict with F_L for single pairs:

```python
from huggingface_hub import snapshot_download
from pathlib import Path
from unbag.models.hex import ResidualHead

ResidualHead.load(Path(snapshot_download("{content.repo}"))).attach(model)
```"""
    return text


def _use_without_unbag(content: ModelCardContent) -> str:
    """Build the section on loading an unbag architecture without unbag; empty without bundled code."""
    if not content.with_code:
        return ""
    return f"""

### Use without unbag

```python
model = AutoModelForSequenceClassification.from_pretrained(
    "{content.repo}", revision="COMMIT", trust_remote_code=True  # the commit whose code you have read
)
```

The file `modeling_unbag.py` in this repository defines the architecture. Read this file before you run it, at your own
risk. The file requires PyTorch and transformers, and also spaCy if the model parses sentences. The tokenizer requires
no custom code."""


def _training(content: ModelCardContent) -> str:
    record = content.record
    config = record["config"]
    recipe = find_recipe(record["recipe"])
    sentences = [recipe.about]
    sentences += [_ORDERS[config["word_order"]]] if config["word_order"] in _ORDERS else []
    sentences += ["The model was trained on hypotheses only."] if config["hypothesis_only"] else []
    sentences += [_augmentation(record)] if config["augment"] else []
    own = {option: config[option] for option in config if option in _own_options(recipe)}
    settings = {name: config[name] for name in _SETTINGS} | own
    several = f", {record['processes']} processes" if record["processes"] > 1 else ""
    steps = f"{record['steps']:,}; {record['steps_per_epoch']:,} per epoch of {record['pairs_per_epoch']:,} pairs"
    rows = {
        "steps": steps,
        "device": f"{record['device']}{several}",
        "precision": _PRECISIONS[record["precision"]],
        "optimizer": "AdamW",
        "schedule": "linear warm-up over a share of the steps, then linear decay to 0",
        **{name.replace("_", " "): _number(value) for name, value in settings.items()},
        **({"truncated pairs": f"{record['truncated_pairs']:,}"} if record["truncated_pairs"] else {}),
        **_bias_rows(record.get("bias_accuracy")),
        **(_training_cost(content.training_cost) if content.training_cost else {}),
    }
    return "\n\n".join(
        [
            "## Training",
            " ".join(sentences),
            _data(record["data"]),
            _table(["setting", "value"], [[name, value.replace("|", "\\|")] for name, value in rows.items()]),
            "Evaluation on the held-out pairs:",
            _curve(record),
            *filter(None, [build_interpolation_section(record)]),
        ]
    )


def _bias_rows(accuracy: float | None) -> dict[str, str]:
    """Build the table row for the biased model: the accuracy on training pairs with a prediction."""
    return (
        {}
        if accuracy is None
        else {"accuracy of the biased model (training pairs with a prediction)": f"{100 * accuracy:.1f} %"}
    )


def _training_cost(cost: Mapping[str, Any]) -> dict[str, str]:
    """Build the table rows for the hardware and the duration of the training run."""
    minutes, seconds = divmod(round(cost["seconds"]), 60)
    time = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {seconds} s"
    several = f", {cost['processes']} processes" if cost["processes"] > 1 else ""
    return {"hardware": f"{cost['hardware']}{several}", "time since the last start or resumption": time}


_KINDS: Final = {"soswap": "SOSwap", "addamod": "AddAmod"}  # kinds whose display name differs from their id


def _augmentation(record: Mapping[str, Any]) -> str:
    """Build the sentence on augmentation. Earlier records lack counts and vocabulary halves."""
    config = record["config"]
    if "augmentation" not in record:
        kinds = " and ".join(_KINDS.get(kind, kind) for kind in config["augment"])
        return (
            f"In each epoch, {config['augment_pairs']:,} pairs of each kind ({kinds}), generated from the training "
            "premises, were added."
        )
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


_PRECISIONS: Final = {"no": "float32", "bf16": "bfloat16 (mixed)", "fp16": "float16 (mixed)"}


def _own_options(recipe: Any) -> frozenset[str]:
    """Collect the options that are specific to a recipe."""
    from unbag.training.config import TrainConfig

    return frozenset(recipe.config.__dataclass_fields__) - frozenset(TrainConfig.__dataclass_fields__)


def _data(data: Mapping[str, Any]) -> str:
    rows = [
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
        for corpus in [CORPORA[part["name"]] if _is_corpus(part["name"], part["origin"]) else None]
    ]
    return _table(["use", "data", "source", "pairs", "excluded", "revision", "license"], rows)


def _curve(record: Mapping[str, Any]) -> str:
    """Build the table of evaluations on held-out pairs, with about 12 rows including the last evaluation."""
    evaluations = record["evaluations"]
    every = -(-len(evaluations) // _CURVE_ROWS)
    chosen = [each for i, each in enumerate(evaluations, start=1) if i % every == 0 or i == len(evaluations)]
    if record["best_evaluation"] not in chosen:
        chosen = sorted([*chosen, record["best_evaluation"]], key=lambda each: int(each["step"]))
    label = " (published, interpolated)" if "interpolation" in record else " (published)"
    rows = [
        [
            f"{each['step']:,}" + (label if each == record["best_evaluation"] else ""),
            f"{each['all']['accuracy']:.4f}",
            f"{each['all']['loss']:.4f}",
        ]
        for each in chosen
    ]
    return _table(["step", "accuracy", "loss"], rows)


def build_results_section(
    repo: str,
    own_results: Sequence[Result],
    residual_results: Sequence[Result] = (),
    compare_with: Mapping[str, Sequence[Result]] = {},
) -> str:
    """Build the results section of a model card as Markdown.

    Args:
        repo: Model repository, `organization/name`.
        own_results: Results of the model's own head.
        residual_results: Results of a HEX model's residual head.
        compare_with: Results of other models, by display name.
    """
    if not (own_results or residual_results):
        return f"## Challenge sets\n\n```\nunbag evaluate {repo}\n```\n\nThe model has not been evaluated yet."
    columns: dict[str, Sequence[Result]] = {"this model": own_results}
    columns |= {RESIDUAL: residual_results} if residual_results else {}
    by_rows: dict[tuple[str, ...], Result] = {}
    for result in (*own_results, *residual_results):
        by_rows.setdefault(_rows_key(result), result)
    compared = {name: [r for r in results if _rows_key(r) in by_rows] for name, results in compare_with.items()}
    columns |= {name: results for name, results in compared.items() if results}
    table, readings = [], []
    for key, first in by_rows.items():
        by_column = {name: next((r for r in results if _rows_key(r) == key), None) for name, results in columns.items()}
        numbers = {name: _by_metric(result) for name, result in by_column.items()}
        for i, (metric, estimate) in enumerate(_quoted_measurements(first)):
            cells = [_cell(numbers[name].get(metric.name)) for name in columns]
            where = _set_name(first) if i == 0 else ""
            arrow = "↑" if metric.higher_is_better else "↓"
            table.append([where, f"{metric.label} {arrow}", *cells, f"{estimate.n:,}"])
        for name in ("this model", RESIDUAL):
            if (evaluated := by_column.get(name)) is not None:
                reading = challenge_sets.get_challenge_set(evaluated.set).summarize_result(evaluated)
                readings.append(f"- {_set_name(evaluated)}, {name}: {reading}")
    versions = sorted({result.unbag_version for result in by_rows.values()})
    return "\n\n".join(
        [
            "## Challenge sets",
            _table(["set", "metric", *columns, "n"], table, numbers=2),
            f"Brackets: 95 % intervals. ↑: higher is better. ↓: lower is better. All models in a row were evaluated on "
            f"the same pairs with unbag {', '.join(versions)}. n: number of examples of the first value in the row.",
            "Summary:\n\n"
            + "\n".join([*_verdict_lines({"this model": own_results, RESIDUAL: residual_results}), *readings]),
        ]
    )


def _verdict_lines(heads: Mapping[str, Sequence[Result]]) -> list[str]:
    """Build the list items with the verdict per head and the scale of the skill score."""
    verdicts = {name: verdict.compute_model_verdict(results) for name, results in heads.items() if results}
    items = [f"- {name}: {verdict.format_verdict(each)}" for name, each in verdicts.items()]
    return [
        *items,
        f"- skill score: {verdict.describe_skill_scale([one for each in verdicts.values() for one in each])}",
    ]


def _rows_key(result: Result) -> tuple[str, ...]:
    """Build the key of comparable results: set, rows and config."""
    return result.set, result.data["sha256"], json.dumps(result.config, sort_keys=True)


def _set_name(result: Result) -> str:
    sample = f", sample of {result.config['max_examples']:,} examples" if "max_examples" in result.config else ""
    title = challenge_sets.get_display_name(result.set)
    return f"{title}, {result.data['name']} {result.data['split']}".strip() + sample


def _by_metric(result: Result | None) -> dict[str, Estimate]:
    return {} if result is None else {metric.name: estimate for metric, estimate in _quoted_measurements(result)}


def _quoted_measurements(result: Result) -> list[MeasuredMetric]:
    return challenge_sets.get_challenge_set(result.set).list_metric_values(result.scores, "quoted")


def _cell(estimate: Estimate | None) -> str:
    return "–" if estimate is None else format_interval(estimate)


def _limits(content: ModelCardContent) -> str:
    languages = sorted({corpus.language for corpus in content.corpora} or {content.record["config"]["language"]})
    names = " and ".join(LANGUAGES.get(language, language) for language in languages)
    is_sampled = any("max_examples" in result.config for result in (*content.own, *content.residual))
    points = [
        f"The model was trained on {names} sentences. It is not reliable on other kinds of text.",
        f"The results are from one training run, with the seed {content.record['config']['seed']}. The intervals are "
        "computed over examples and do not cover other seeds or corpora.",
        "Crowd workers wrote the NLI corpora, and the labels reflect their stereotypes about people. Use the model for "
        "research, not for decisions about people.",
        _held_out_use(content.record),
        "Some sets were evaluated on a sample of their examples. The table marks these sets." if is_sampled else "",
    ]
    return "## Limits\n\n" + "\n".join(f"- {point}" for point in points if point)


def _held_out_use(record: Mapping[str, Any]) -> str:
    """Describe the selections that used the held-out pairs; empty if there were none."""
    use = "the held-out pairs. They were not used for anything else."
    stopped, interpolated = bool(record["config"]["early_stopping_patience"]), "interpolation" in record
    if stopped and interpolated:
        return f"Early stopping chose a step, and then the interpolation chose α, on {use}"
    if interpolated:
        return f"The interpolation chose α on {use}"
    return f"Early stopping chose the published step on {use}" if stopped else ""


def _license(content: ModelCardContent) -> str:
    sources = _table(["source", "license"], [[name, license or "unknown"] for name, license in content.sources.items()])
    if content.license != OTHER:
        rule = f"The license is `{content.license}`, which meets the terms of all sources."
    elif None in content.sources.values():
        rule = "The terms of some sources are unknown. Clarify them before you share the model. All other terms apply."
    else:
        rule = "No single license meets the terms of all sources. The terms of every source apply."
    return f"## License\n\n{rule}\n\n{sources}"


def _reproduce(content: ModelCardContent) -> str:
    environment = content.record["environment"]
    commit = f" (commit `{environment['unbag_commit']}`)" if "unbag_commit" in environment else ""
    own = f"unbag {environment.get('unbag', 'unknown')}{commit}"
    names = ("python", "torch", "transformers", "accelerate", "tokenizers", "datasets")
    versions = ", ".join([own, *(f"{name} {environment[name]}" for name in names if name in environment)])
    data = content.record["data"]
    files = [p for p in (*data["training"], *data["held_out"]) if not _is_corpus(p["name"], p["origin"])]
    missing = ", ".join(sorted({f"`{part['name']}` (sha256 `{''.join(part['revisions'][:1])}`)" for part in files}))
    needs = f" The command needs files that are not on the Hub: {missing}." if files else ""
    return f"""## Reproduction

```
{build_train_command(content.record)}
```

Versions: {versions}. The complete record is in `training.json`.{needs}"""


def _citations(content: ModelCardContent) -> str:
    citations = _cited_works(content)
    text = "## Citation\n\nRecipe: " + find_recipe(content.record["recipe"]).about
    if citations:
        text += "\n\nTraining corpora and challenge sets:\n\n```bibtex\n" + "\n\n".join(citations) + "\n```"
    return text


def _cited_works(content: ModelCardContent) -> list[str]:
    """Collect the BibTeX of the training corpora and of the evaluated sets."""
    evaluated = dict.fromkeys(result.set for result in (*content.own, *content.residual))
    sets_cited = [str(challenge_sets.get_challenge_set(name).get_builder_class().CITATION) for name in evaluated]
    return list(dict.fromkeys([*(corpus.citation for corpus in content.corpora), *sets_cited]))


def _is_corpus(name: str, origin: str) -> bool:
    return name in CORPORA and origin.startswith(CORPORA[name].hub_id)


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "the default" if value is None else str(value)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """Build a Markdown table. If `numbers` > 0, columns from this index are right-aligned."""
    rule = ["---:" if numbers and i >= numbers else "---" for i in range(len(heads))]
    lines = [heads, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
