"""The card of a model that `unbag train` made: what it is, on what it was trained and how, and what it can do."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from unbag import challenge_sets
from unbag.challenge_sets.base import Measurement
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import interval
from unbag.data.corpora import CORPORA, LANGUAGES, Corpus
from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from unbag.evaluation import verdict
from unbag.hub import eval_results
from unbag.hub.cards import arxiv_tags, describe_package
from unbag.hub.licences import OTHER, inherited_licence
from unbag.hub.ownership import FOLDER
from unbag.scoring.bootstrap import Estimate
from unbag.training.recipes import find_recipe
from unbag.training.reproduce import command

if TYPE_CHECKING:
    from huggingface_hub import ModelCardData

RESIDUAL: Final = "its residual head"
_CURVE_ROWS: Final = 12
_EXAMPLES: Final = {
    "Opposites": ("A man is asleep on a bench.", "A man is awake."),
    "Who does what": ("A dog chases a cat.", "A cat chases a dog."),
    "A wider word": ("Two women play tennis.", "Two people play a sport."),
}
_EXAMPLE: Final = _EXAMPLES["Opposites"]
_MEANINGS: Final = {
    ENTAILMENT: "the hypothesis is true if the premise is",
    NEUTRAL: "it may be true or not",
    CONTRADICTION: "it is false if the premise is true",
}
_ORDERS: Final = {
    "shuffled": "The words of training pairs stood in random order, another in each epoch "
    "([Nie et al. 2019](https://doi.org/10.1609/aaai.v33i01.33016867), section 3.2).",
    "permuted": "Each training pair was replaced by one permutation of its words, always the same "
    "([Sinha et al. 2021](https://aclanthology.org/2021.acl-long.569), Appendix F).",
}
_SETTINGS: Final = ("batch_size", "learning_rate", "warmup_ratio", "weight_decay", "max_grad_norm", "seed")
_REST: Final = "terms-of-its-sources"


@dataclass(frozen=True)
class ModelCardContent:
    """What a card says.

    Attributes:
        repo: `organisation/name`.
        record: the run's `training.json`.
        own: results of the model's own head.
        residual: those of a HEX model's residual head.
        compare_with: results of other models, by what to call them.
        organisation: where the challenge sets are published.
        base_licence: of the model that was trained; None if it is not known.
        separator: what stands between two sentences in its tokenizer's input, for the example on the model's page.
        took: `hardware`, `processes` and `seconds` of its training; None where they are not known.
        needs_unbag: whether it takes unbag to load the model: its architecture is one of `unbag.models`.
        with_code: whether the repository has its code too.
    """

    repo: str
    record: Mapping[str, Any]
    own: Sequence[Result]
    residual: Sequence[Result]
    compare_with: Mapping[str, Sequence[Result]]
    organisation: str
    base_licence: str | None
    separator: str = " "
    took: Mapping[str, Any] | None = None
    needs_unbag: bool = False
    with_code: bool = False

    @property
    def base(self) -> str | None:
        """The Hub id of the model that was trained; None if it was a folder."""
        name: str = self.record["model"]["name"]
        return None if name == FOLDER else name

    @property
    def corpora(self) -> list[Corpus]:
        """The published corpora among what it was trained on."""
        return [CORPORA[name] for name, origin in self._trained_on.items() if _is_corpus(name, origin)]

    @property
    def licence(self) -> str:
        """The licence that the model inherits."""
        return inherited_licence(list(self.sources.values()))

    @property
    def sources(self) -> dict[str, str | None]:
        """What it is made of, with the licence of each; None where that is not known, as of files."""
        of_corpora = {corpus.name: (corpus.hub_id, corpus.licence) for corpus in self.corpora}
        parts = [of_corpora.get(name, (name, None)) for name in self._trained_on]
        words = self.record["config"].get("embeddings")  # published beside the model, and nobody knows their terms here
        named = {self.base or self.record["config"]["model"]: self.base_licence, **dict(parts)}
        return named | ({words: None} if words else {})

    @property
    def _trained_on(self) -> dict[str, str]:
        """The origin of each corpus and file that it was trained on, by name."""
        return {part["name"]: part["origin"] for part in self.record["data"]["training"]}


def build_model_card(content: ModelCardContent) -> str:
    """Return the README of a checkpoint's repository."""
    from huggingface_hub import ModelCard

    parts = [
        f"# {content.repo.partition('/')[2]}",
        _summary(content),
        _use(content),
        _training(content),
        _results(content),
        _limits(content),
        _licence(content),
        _reproduce(content),
        _citations(content),
    ]
    text = "\n\n".join(part for part in parts if part)
    return str(ModelCard(f"---\n{_metadata(content).to_yaml()}\n---\n\n{text}\n"))


def _metadata(content: ModelCardContent) -> "ModelCardData":
    from huggingface_hub import ModelCardData

    index = eval_results.build_model_index(content.own, content.organisation)
    known = ("accuracy", "f1", "precision", "recall")
    metrics = [name for name in known if any(result.metric_type == name for result in index)]
    return ModelCardData(
        library_name="transformers",
        pipeline_tag=eval_results.TASK,
        base_model=content.base,
        base_model_relation="finetune" if content.base else None,
        datasets=[corpus.hub_id for corpus in content.corpora] or None,
        language=sorted({corpus.language for corpus in content.corpora} or {content.record["config"]["language"]}),
        license=content.licence,
        license_name=_REST if content.licence == OTHER else None,
        license_link=f"https://huggingface.co/{content.repo}#licence" if content.licence == OTHER else None,
        tags=[
            *("natural-language-inference", "unbag", content.record["recipe"].replace("_", "-")),
            *arxiv_tags([find_recipe(content.record["recipe"]).about, *_cited_works(content)]),
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
        f"A classifier of sentence pairs for natural language inference: given a premise and a hypothesis, {labels}. "
        f"It is {base} (revision `{record['model']['revision']}`) trained further by the recipe "
        f"`{record['recipe'].replace('_', '-')}` of unbag.\n\n{describe_package()}"
    )


def _use(content: ModelCardContent) -> str:
    premise, hypothesis = _EXAMPLE
    known = (
        "import unbag.models  # pip install 'unbag[models]': makes the architecture known\n"
        if content.needs_unbag
        else ""
    )
    text = f"""## Use

```python
{known}from transformers import pipeline

classify = pipeline("text-classification", model="{content.repo}")
classify({{"text": "{premise}", "text_pair": "{hypothesis}"}})
```

```python
import torch
{known}from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{content.repo}")
model = AutoModelForSequenceClassification.from_pretrained("{content.repo}")
pair = tokenizer("{premise}", "{hypothesis}", return_tensors="pt")
with torch.no_grad():
    probabilities = model(**pair).logits.softmax(dim=-1)[0]
print({{model.config.id2label[i]: float(p) for i, p in enumerate(probabilities)}})
```

The outputs are, in order: {", ".join(content.record["label_order"])}.{_use_without_unbag(content)}"""
    if content.record["recipe"] == "hex":
        text += f"""

The model above answers with f([h, 0]), as the authors' released code does. The paper's text predicts by F_L, what the
words alone do not explain of the answer; for a single pair it is had with the files beside the model:
`unbag evaluate {content.repo} --head residual`, or

```python
from huggingface_hub import snapshot_download
from pathlib import Path
from unbag.models.hex.residual import ResidualHead

ResidualHead.load(Path(snapshot_download("{content.repo}"))).attach(model)
```"""
    return text


def _use_without_unbag(content: ModelCardContent) -> str:
    """Say how a model of ours is loaded without unbag, where its repository has the code."""
    if not content.with_code:
        return ""
    return f"""

Without unbag, `modeling_unbag.py` in this repository is the architecture, for those who have read it and run it at
their own risk. It needs PyTorch and transformers, and spaCy where sentences are parsed; the tokenizer needs no code.

```python
model = AutoModelForSequenceClassification.from_pretrained(
    "{content.repo}", revision="COMMIT", trust_remote_code=True  # the commit that you have read
)
```"""


def _training(content: ModelCardContent) -> str:
    record = content.record
    config = record["config"]
    recipe = find_recipe(record["recipe"])
    sentences = [recipe.about]
    sentences += [_ORDERS[config["word_order"]]] if config["word_order"] in _ORDERS else []
    sentences += ["The premises were left out."] if config["hypothesis_only"] else []
    sentences += [_augmentation(record)] if config["augment"] else []
    own = {option: config[option] for option in config if option in _own_options(recipe)}
    settings = {name: config[name] for name in _SETTINGS} | own
    listed = ", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in settings.items())
    right = record.get("bias_accuracy")
    told = "The biased model is right on {:.1f} % of the training pairs that it answers."
    biased = f" {told.format(100 * right)}" if right is not None else ""
    where = f"on {record['device']}" + (f", {record['processes']} processes" if record["processes"] > 1 else "")
    steps = f"{record['steps']:,} steps, {record['steps_per_epoch']:,} an epoch of {record['pairs_per_epoch']:,} pairs"
    longer = record["truncated_pairs"]
    cut = f" {longer:,} pairs were longer than the model reads, and were cut." if longer else ""
    return "\n\n".join(
        [
            "## Training",
            " ".join(sentences),
            _data(record["data"]),
            f"{steps}, {where}, precision {_PRECISIONS[record['precision']]}; {listed}.{cut}{biased} AdamW; the "
            "learning rate rises during the warm-up, a share of the steps, and then falls to 0 linearly.",
            _curve(record),
            *([_training_cost(content.took)] if content.took else []),
        ]
    )


def _training_cost(took: Mapping[str, Any]) -> str:
    """Return on what it was trained and how long that took, in words."""
    minutes, seconds = divmod(round(took["seconds"]), 60)
    time = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {seconds} s"
    several = f", {took['processes']} processes" if took["processes"] > 1 else ""
    return f"Hardware: {took['hardware']}{several}. Time: {time}, from when it was last started."


_KINDS: Final = {"soswap": "SOSwap", "addamod": "AddAmod"}  # the others are called as they are


def _augmentation(record: Mapping[str, Any]) -> str:
    """Return what was added to each epoch; records of earlier versions have no counts, nor halves."""
    config = record["config"]
    if "augmentation" not in record:
        kinds = " and ".join(_KINDS[kind] for kind in config["augment"])
        return (
            f"{config['augment_pairs']:,} {kinds} pairs each, made of the training premises, were added in each epoch."
        )
    added = record["augmentation"]
    counts = [f"{each['pairs']:,} {_KINDS.get(kind, kind)}" for kind, each in added["first_epoch"].items()]
    listed = " and ".join(filter(None, [", ".join(counts[:-1]), counts[-1]]))
    half = (
        ", with words and templates of the training half of the vocabulary alone"
        if added["words"] == "training"
        else ""
    )
    return f"In each epoch {listed} pairs were added that are made of the training pairs{half}."


_PRECISIONS: Final = {"no": "float32", "bf16": "bfloat16 (mixed)", "fp16": "float16 (mixed)"}


def _own_options(recipe: Any) -> frozenset[str]:
    """Return the options that a recipe has beside those of all."""
    from unbag.training.config import TrainConfig

    return frozenset(recipe.config.__dataclass_fields__) - frozenset(TrainConfig.__dataclass_fields__)


def _data(data: Mapping[str, Any]) -> str:
    rows = [
        [
            use,
            f"{part['name']} {'+'.join(part['splits'])}".strip(),
            f"[{corpus.hub_id}](https://huggingface.co/datasets/{corpus.hub_id})" if corpus else "a file of its own",
            f"{part['pairs']:,}" + (f" × {part['weight']:g}" if part.get("weight", 1) != 1 else ""),
            ", ".join(f"{n:,} {reason}" for reason, n in part["excluded"].items()) or "–",
            " ".join(f"`{revision[:12]}`" for revision in part["revisions"]),
            corpus.licence if corpus else "–",
        ]
        for use, parts in (("trained on", data["training"]), ("held out", data["held_out"]))
        for part in parts
        for corpus in [CORPORA[part["name"]] if _is_corpus(part["name"], part["origin"]) else None]
    ]
    return _table(["", "pairs of", "from", "pairs", "left out", "revision", "licence"], rows)


def _curve(record: Mapping[str, Any]) -> str:
    """Return how it went on the held-out pairs: all evaluations, or some of many with the last."""
    evaluations = record["evaluations"]
    every = -(-len(evaluations) // _CURVE_ROWS)
    chosen = [each for i, each in enumerate(evaluations, start=1) if i % every == 0 or i == len(evaluations)]
    if record["best_evaluation"] not in chosen:
        chosen = sorted([*chosen, record["best_evaluation"]], key=lambda each: int(each["step"]))
    rows = [
        [
            f"{each['step']:,}" + (" (published)" if each == record["best_evaluation"] else ""),
            f"{each['all']['accuracy']:.4f}",
            f"{each['all']['loss']:.4f}",
        ]
        for each in chosen
    ]
    return _table(["step", "accuracy, held out", "loss"], rows)


def _results(content: ModelCardContent) -> str:
    if not (content.own or content.residual):
        return f"## Challenge sets\n\nNone was asked yet: `unbag evaluate {content.repo}`."
    columns: dict[str, Sequence[Result]] = {"this model": content.own}
    columns |= {RESIDUAL: content.residual} if content.residual else {}
    by_rows: dict[tuple[str, ...], Result] = {}
    for result in (*content.own, *content.residual):
        by_rows.setdefault(_rows_key(result), result)
    compared = {name: [r for r in results if _rows_key(r) in by_rows] for name, results in content.compare_with.items()}
    columns |= {name: results for name, results in compared.items() if results}
    table, readings = [], []
    for key, first in by_rows.items():
        by_column = {name: next((r for r in results if _rows_key(r) == key), None) for name, results in columns.items()}
        numbers = {name: _by_metric(result) for name, result in by_column.items()}
        for i, (quantity, estimate) in enumerate(_quoted_measurements(first)):
            cells = [_cell(numbers[name].get(quantity.name)) for name in columns]
            where = _set_name(first) if i == 0 else ""
            arrow = "↑" if quantity.higher_is_better else "↓"
            table.append([where, f"{quantity.label} {arrow}", *cells, f"{estimate.n:,}"])
        for name in ("this model", RESIDUAL):
            if (its := by_column.get(name)) is not None:
                reading = challenge_sets.get(its.set).module("table").reading(its)
                readings.append(f"- {_set_name(its)}, {name}: {reading}")
    versions = sorted({result.environment["unbag"] for result in by_rows.values()})
    return "\n\n".join(
        [
            "## Challenge sets",
            _table(["set", "metric", *columns, "n"], table, numbers=2),
            f"95 % intervals in brackets. ↑ higher is better, ↓ lower is better. Measured by unbag "
            f"{', '.join(versions)}; all models of a row answered the same pairs. n is how many examples "
            "the first number of the row rests on.",
            "In words:\n\n" + "\n".join([*_verdict_lines(content), *readings]),
        ]
    )


def _verdict_lines(content: ModelCardContent) -> list[str]:
    """Return what is said first of either head, and what the scale is."""
    heads = {"this model": content.own, RESIDUAL: content.residual}
    stand = {name: verdict.of_model(results) for name, results in heads.items() if results}
    said = [f"- {name}: {verdict.sentence(each)}" for name, each in stand.items()]
    return [*said, f"- skill score: {verdict.scale([one for each in stand.values() for one in each])}"]


def _rows_key(result: Result) -> tuple[str, ...]:
    """Return what results have in common that can be compared: the pairs, and all that the set says of them."""
    return result.set, result.data["sha256"], json.dumps(result.config, sort_keys=True)


def _set_name(result: Result) -> str:
    drawn = f", {result.config['max_examples']:,} examples drawn" if "max_examples" in result.config else ""
    title = challenge_sets.display_name(result.set)
    return f"{title}, {result.data['name']} {result.data['split']}".strip() + drawn


def _by_metric(result: Result | None) -> dict[str, Estimate]:
    return {} if result is None else {quantity.name: estimate for quantity, estimate in _quoted_measurements(result)}


def _quoted_measurements(result: Result) -> list[Measurement]:
    return challenge_sets.get(result.set).measurements(result.scores, "quoted")


def _cell(estimate: Estimate | None) -> str:
    return "–" if estimate is None else interval(estimate)


def _limits(content: ModelCardContent) -> str:
    languages = sorted({corpus.language for corpus in content.corpora} or {content.record["config"]["language"]})
    spoken = " and ".join(LANGUAGES[language] for language in languages)
    drawn = any("max_examples" in result.config for result in (*content.own, *content.residual))
    points = [
        f"It knows {spoken} sentences like those it was trained on; other text is at your own risk.",
        f"One run, with the seed {content.record['config']['seed']}: the intervals are over examples and say nothing of "
        "other seeds or corpora.",
        "NLI corpora were written by crowd workers; what they took for granted of people is in the labels. It is for "
        "research, and not for decisions about people.",
        "The held-out pairs chose nothing but, with early stopping, the step that is published."
        if content.record["config"]["early_stopping_patience"]
        else "",
        "Where the table says so, a set was asked on examples drawn, not whole." if drawn else "",
    ]
    return "## Limits\n\n" + "\n".join(f"- {point}" for point in points if point)


def _licence(content: ModelCardContent) -> str:
    listed = ", ".join(f"{name} ({licence or 'not known'})" for name, licence in content.sources.items())
    if content.licence != OTHER:
        rule = f"`{content.licence}` meets the terms of all of them."
    elif None in content.sources.values():
        rule = "Where the terms are not known, ask before you pass it on; the others hold in any case."
    else:
        rule = "No one licence meets the terms of all of them: they all hold, each for its part."
    return f"## Licence\n\nInherited from what it was made of: {listed}. {rule}"


def _reproduce(content: ModelCardContent) -> str:
    environment = content.record["environment"]
    commit = f" (commit `{environment['unbag_commit']}`)" if "unbag_commit" in environment else ""
    names = ("python", "torch", "transformers", "accelerate", "tokenizers", "datasets")
    versions = ", ".join(f"{name} {environment[name]}" for name in names if name in environment)
    files = [p for parts in content.record["data"].values() for p in parts if not _is_corpus(p["name"], p["origin"])]
    named = ", ".join(sorted({f"`{part['name']}` (sha256 `{part['revisions'][0]}`)" for part in files}))
    needs = f"\n\nIt needs {named}, which {'is' if len(files) == 1 else 'are'} not on the Hub." if files else ""
    return f"""## Make it again

```
{command(content.record)}
```

with unbag {environment["unbag"]}{commit}, {versions}. The whole record is in `training.json`.{needs}"""


def _citations(content: ModelCardContent) -> str:
    citations = _cited_works(content)
    text = "## Citation\n\nThe recipe: " + find_recipe(content.record["recipe"]).about
    if citations:
        text += "\n\nWhat it was trained on and asked:\n\n```bibtex\n" + "\n\n".join(citations) + "\n```"
    return text


def _cited_works(content: ModelCardContent) -> list[str]:
    """Return the BibTeX of the corpora that it was trained on, and of the sets that it was asked."""
    asked = dict.fromkeys(result.set for result in (*content.own, *content.residual))
    sets_cited = [str(challenge_sets.get(name).builder_class().CITATION) for name in asked]
    return list(dict.fromkeys([*(corpus.citation for corpus in content.corpora), *sets_cited]))


def _is_corpus(name: str, origin: str) -> bool:
    return name in CORPORA and origin.startswith(CORPORA[name].hub_id)


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "the default" if value is None else str(value)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """Return a table in Markdown, from column `numbers` on aligned to the right where that is above 0."""
    rule = ["---:" if numbers and i >= numbers else "---" for i in range(len(heads))]
    lines = [heads, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
