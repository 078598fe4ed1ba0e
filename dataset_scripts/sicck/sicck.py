"""SICCK: pairs with inserted quantifiers, negations and adjectives, labelled by natural logic."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from rich.console import RenderableType
from rich.table import Table

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, Role
from unbag.challenge_sets.pairs import OfficialOptions, OfficialPairs, Pairs
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.perturbations import sicck
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data.columns import read_column
from unbag.data.corpora import OFFICIAL
from unbag.data.labels import CONTRADICTION, FORWARD_ENTAILMENT, NEUTRAL, REVERSE_ENTAILMENT
from unbag.data.predictions import Columns, SetPredictions
from unbag.data.sources import PairSource
from unbag.data.text.tagging import Tagger
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.natural_logic import MEASURES, build_four_way_labels, match_reversed_rows, score_sicck
from unbag.scoring.skill import RowScores

_PAPER = "Akoju et al. 2023"
_TYPES = {
    "universal": "universal quantifiers",
    "existential": "existential quantifiers",
    "negation": "negation",
    "adjective/adverb": "adjectives, adverbs",
}
_PARTS = {
    "subject": "subject modified",
    "verb": "verb modified",
    "object": "object modified",
    "subject+object": "subject, object modified",
    "verb+object": "verb, object modified",
}
_NEUTRAL = {
    ("modifier_type", "negation"): "negation",
    ("modifier_type+part", "negation+subject"): "  subject",
    ("modifier_type+part", "negation+verb"): "  verb",
    ("modifier_type+part", "negation+object"): "  object",
    ("modifier_type+part", "universal+verb"): "universal, verb",
}
"""Groups whose neutral pairs are analysed in Table 10 and section 5."""
_MIN_PAIRS = 100  # from 100 pairs the standard error of a share is below .05
_GROUPS = {"modifier_type": "type of modifier", "part": "modified part", "modifier": "modifier"}
_NONE = "none"
_PER_MODIFIER = 2


def _define(name: str, label: str, theirs: str, meaning: str, *more_roles: Role) -> MetricDefinition:
    """Define one of the four measures of the paper's Table 8: macro averages over the four labels, and accuracy."""
    return MetricDefinition(
        name,
        label,
        roles=("quoted", "harness", *more_roles),
        published_columns=(PublishedColumn(_PAPER, "8", theirs, OFFICIAL, same_rows=True),),
        meaning=meaning,
    )


@dataclass
class SicckOptions(OfficialOptions):
    """Options for selecting pairs and the label space.

    Attributes:
        space: Label space of the column `target`: `four_way`, `seven_way` or `three_way`. Pairs without a label in the
            space are excluded (four-way: equivalence).
        folds: Official configs only. Number of cross-validation folds in the column `fold`.
        folding: Assignment of pairs to folds: `contiguous` (blocks of the file, as the authors' folds), `spread` (the
            pairs of each seed over all folds) or `whole_seeds` (all pairs of a seed in one fold).
        seed: Random seed of the folds with `spread` and `whole_seeds`.
        combinations: Generated configs only. Whether to also modify subject and object, or verb and object, together.
        pipeline: Generated configs only. spaCy pipeline (a Hub repository, a package or a folder) that tags
            sentences without an auxiliary verb. Without a pipeline, these sentences are not used as seeds.
    """

    space: sicck.Space = sicck.FOUR_WAY
    folds: Annotated[int, Ge(2)] = 5
    folding: sicck.Folding = sicck.CONTIGUOUS
    seed: int = DEFAULT_SEED
    combinations: bool = False
    pipeline: str | None = None

    def validate(self) -> None:
        """Validate the options."""
        # More folds than units would leave folds empty. The unit is the seed pair if whole seeds stay together.
        most = sicck.SEED_PAIRS if self.folding == sicck.WHOLE_SEEDS else sicck.PAIRS
        if self.is_official and self.folds > most:
            raise ValueError(f"folds: expected at most {most:,} for the authors' pairs, got {self.folds:,}")
        if self.is_official and (self.combinations or self.pipeline):
            raise ValueError(
                f"combinations, pipeline: expected a corpus, got the config {self.name!r}, which modifies no "
                "sentences; omit them, or choose a corpus"
            )


class Sicck(ChallengeSet):
    """Modified pairs, each in both orders of premise and hypothesis.

    Configs: `official`, the authors' 1,304 pairs from 15 seeds with four-way labels as target, `official-seven_way`,
    `official-three_way`. `<corpus>-<split>` generates pairs from a corpus, `data=…` from your own data.
    """

    name = "sicck"
    title = "SICCK"
    question = "Does the model interpret words such as every, not and at most?"
    paper = "Akoju et al. 2023, https://aclanthology.org/2023.nlrse-1.12"
    citation = """@inproceedings{akoju-etal-2023-synthetic,
  title = {Synthetic Dataset for Evaluating Complex Compositional Knowledge for Natural Language Inference},
  author = {Akoju, Sushma Anand and Vacareanu, Robert and Blanco, Eduardo and Riaz, Haris and Surdeanu, Mihai},
  booktitle = {Proceedings of the 1st Workshop on Natural Language Reasoning and Structured Explanations (NLRSE)},
  year = {2023}, url = {https://aclanthology.org/2023.nlrse-1.12}, eprint = {2307.05034},
  archivePrefix = {arXiv}}"""
    shuffled = (
        "The four-way label of the pair in the original order. Shuffling keeps modifiers such as not and every, "
        "but hides what they modify. The control measures how much their presence reveals."
    )
    Options = SicckOptions
    own_columns = {
        "pair": "string",  # id of the row in the original order, in both rows of a pair
        "reverse": "bool",  # whether premise and hypothesis are exchanged
        "modifier": "string",
        "modifier_type": "string",
        "position": "string",  # modified sentences, by their names in the original order
        "part": "string",
        "relation": "string",  # of this row's premise to its hypothesis; two if the annotators disagreed
        "four_way": "string",  # null if the four-way space has no label for the relation
        "target": "string",  # label in the requested space
        "fold": "int32",  # null in generated sets
    }
    language = "en"
    has_two_label_corpora = False
    machine_made = frozenset({"sentences", "labels"})
    official = OfficialPairs(
        sicck.FILE,
        license="cc-by-nc-sa-4.0",
        creators={"sentences": ("crowdsourced", "machine-generated"), "labels": ("expert-generated",)},
        variants=("space", sicck.SPACES),
    )
    exclusion_reason = "without the form subject, verb, object"
    metrics = ("natural_logic",)
    score_function = staticmethod(score_sicck)
    columns = ("pair", "reverse", "four_way")
    optional_columns = ("source_id", "modifier_type", "part", "modifier", "position", "relation")
    metric_definitions = (
        _define("f1", "macro F1", "F1", "mean over the labels", "compared", "beside_papers"),
        _define("precision", "macro precision", "precision", "mean over the labels"),
        _define("recall", "macro recall", "recall", "mean over the labels"),
        _define("accuracy", "accuracy", "accuracy", "share of correct pairs", "compared"),
    )
    sample = 100  # seeds; the authors' pairs have fifteen, so that all of them are used
    evaluation_order = 4
    report_order = 8
    example_rule = (
        f"Up to {examples.PER_KIND} pairs of each kind, at most {_PER_MODIFIER} per modifier, sorted by the "
        "probability of the three-way prediction that determines the four-way one. The modifier is marked."
    )
    mark_meanings = {"modifier": "the modifier"}

    def open_sources(self, builder: Any) -> list[PairSource]:
        """Open the seeds."""
        if not builder.config.is_official:
            return super().open_sources(builder)
        # The authors' file contains the seeds as ordinary rows without a modifier and with the authors' labels.
        lines = [
            json.dumps(
                {"id": seed.source_id, "premise": seed.premise, "hypothesis": seed.hypothesis, "label": seed.label}
            )
            for seed in sicck.read_sicck(self.official.find_file(builder.config))
            if seed.modifier_type == _NONE
        ]
        return [self.official.open_source("seeds.jsonl", "".join(f"{line}\n" for line in lines).encode())]

    def rows(self, pairs: Pairs) -> Iterator[Mapping[str, Any]]:
        """Build both rows of each pair that is built from the seeds."""
        options = pairs.options
        built: Iterator[sicck.SicckPair]
        if options.is_official:
            official = sicck.read_sicck(self.official.find_file(options))
            folds = sicck.assign_folds(official, options.folds, method=options.folding, seed=options.seed)
            source_ids = {example.source_id for example in pairs}
            both = zip(official, folds, strict=True)
            built = (pair._replace(fold=fold) for pair, fold in both if pair.source_id in source_ids)
        else:
            # Only sentences without an auxiliary verb need tags, since "the dog runs" could be a noun phrase.
            tagger = Tagger(options.pipeline) if options.pipeline else None
            built = sicck.generate_sicck_pairs(pairs, combinations=options.combinations, tagger=tagger)
        return sicck.iter_sicck_rows(built, options.space)

    def score_examples(self, columns: Columns, predictions: SetPredictions) -> RowScores:
        """Compute the row scores: 1 if the four-way label is correct, else 0.

        Pairs from one seed are resampled together.
        """
        scored, predicted, gold = build_four_way_labels(columns, predictions)
        # Gold ids are those of the four-way labels. The label column of the rows has the three-way ones.
        names, numbers = np.unique(gold, return_inverse=True)
        source = [columns["source_id"][row] for row in scored]
        return RowScores(predicted == gold, numbers, source, names=names.tolist())

    def build_table(self, result: Result) -> RenderableType:
        """Build the table of metrics by modifier type and modified part, and that of predictions for neutral pairs."""
        scores = result.scores
        grid = tables.create_result_table(self.title, result, "", "F1", "precision", "recall", "accuracy", "pairs")
        overall = [scores[name] for name in MEASURES]
        grid.add_row("all", *map(tables.format_value, overall), f"{scores['n_examples']:,}")
        for column, names in (("modifier_type", _TYPES), ("part", _PARTS)):
            grid.add_section()
            groups = scores["by"][column]
            for name, words in names.items():
                if name in groups:
                    values = (tables.format_value(groups[name][measure]) for measure in MEASURES)
                    grid.add_row(words, *values, f"{groups[name]['accuracy'].n:,}")
        intervals = f"F1 {tables.format_interval(scores['f1'])}, accuracy {tables.format_interval(scores['accuracy'])}"
        about = f"{intervals}, with 95 % intervals over the seeds. Seeds: {tables.summarize_exclusions(result.data)}"
        return tables.add_notes(grid, *_iter_neutral_tables(scores["by"]), about)

    def summarize_result(self, result: Result) -> str:
        """Summarize macro F1, that of the best constant prediction, and the best and worst type of modifier."""
        scores = result.scores
        constant = _compute_constant_f1(scores["by_label"])
        pairs = f"{scores['n_examples']:,} pairs (the best constant prediction: {constant:.2f})"
        f1 = f"macro F1 {tables.format_interval(scores['f1'])} on {pairs}"
        groups = {name: scores["by"]["modifier_type"].get(name) for name in _TYPES}
        large = {
            name: group["f1"] for name, group in groups.items() if group is not None and group["f1"].n >= _MIN_PAIRS
        }
        if len(large) < 2:
            return f"{f1}."
        best, worst = (pick(large, key=lambda name: large[name].value) for pick in (max, min))
        kinds = (
            f"{word} for {_TYPES[name]} ({large[name].value:.2f} on {large[name].n:,})"
            for word, name in (("highest", best), ("lowest", worst))
        )
        return f"{f1}; {', '.join(kinds)}."

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        """Build figures of macro F1 by type of modifier and by modified part, and of accuracy by modifier."""
        for column, name in _GROUPS.items():
            # The pairs of one modifier have one or two of the labels, and the macro F1 over few labels is unstable.
            metric, title = ("accuracy", "accuracy") if column == "modifier" else ("f1", "macro F1")
            yield figures.build_group_figure(
                group,
                partial(_iter_groups, column, metric),
                title=f"{title[0].upper()}{title[1:]} by {name}",
                about="Four-way labels are derived by the reverse rule. Lines are 95 % intervals over the seeds.",
                x=name,
                y=title,
            )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select the most confident wrong and correct four-way predictions, which combine both orders of a pair."""
        both_ways = _BothWays(pairs.rows, pairs.predictions)
        return self.iter_wrong_and_right(
            both_ways,
            "most confident",
            pairs.confidence,
            among=both_ways.has_four_way_label,
            per_group=_PER_MODIFIER,
            groups=read_column(pairs.rows, "modifier").to_pylist(),
        )

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select the shortest pairs that have a four-way label."""
        both_ways = _BothWays(pairs.rows, pairs.predictions)
        return self.iter_shortest(both_ways, "modified", both_ways.has_four_way_label)

    def build_example(self, pairs: examples.PredictedPairs, kind: str, index: int) -> examples.ReportExample:
        """Build an example with the four-way prediction and the two three-way predictions from which it is derived."""
        assert isinstance(pairs, _BothWays)
        row, (gold, predicted, back) = pairs.get_row(index), pairs.four_way[index]
        phrase = None if row["modifier"] == _NONE else row["modifier"]

        def mark(side: str) -> tuple[examples.TextMark, ...]:
            return examples.mark_phrases(row[side], [phrase] if row["position"] in (side, "both") else [], "modifier")

        answers = f"predicted {pairs.names[index]}, reversed {pairs.names[back]}"
        note = ", ".join(filter(None, (row["modifier"], row["part"], f"annotated {row['relation']}", answers)))
        return pairs.build_example(kind, index, examples.build_pair_lines(row, mark), note, (gold, predicted))


def _iter_groups(column: str, metric: str, scores: Mapping[str, Any]) -> Iterator[tuple[str, Estimate]]:
    return ((name, values[metric]) for name, values in scores["by"][column].items() if name != _NONE)


def _iter_neutral_tables(by: Mapping[str, Any]) -> Iterator[Table]:
    """Build the table of the predictions for neutral pairs, if there are neutral pairs."""
    grid = tables.create_table(
        "Neutral pairs and their predicted labels (Table 10, section 5)",
        *("", "pairs", "neutral", "wrong", "contradiction", "forward", "reverse"),
    )
    for (column, name), words in _NEUTRAL.items():
        confusion = by.get(column, {}).get(name, {}).get("confusion", {})
        answers = confusion.get(NEUTRAL, {})
        if n := sum(answers.values()):
            pairs = sum(sum(each.values()) for each in confusion.values())
            wrong = n - answers.get(NEUTRAL, 0)
            others = (answers.get(label, 0) for label in (CONTRADICTION, FORWARD_ENTAILMENT, REVERSE_ENTAILMENT))
            grid.add_row(words, *(f"{each:,}" for each in (pairs, n)), f"{wrong / n:.1%}", *map(str, others))
    if grid.row_count:
        yield grid


def _compute_constant_f1(by_label: Mapping[str, Any]) -> float:
    """Compute the macro F1 of the best constant prediction."""
    gold = [each["gold"] for each in by_label.values() if each["gold"]]
    if not gold:
        return 0.0
    # A constant prediction of a label with a share s of the pairs has precision s and recall 1 on that label, hence an
    # F1 of 2s / (1 + s), and 0 on all others.
    share = max(gold) / sum(gold)
    return float(2 * share / (1 + share) / len(gold))


class _BothWays(examples.PredictedPairs):
    """The pairs with a four-way label, and the four-way predictions derived from both orders of each pair."""

    def __init__(self, rows: Any, predictions: SetPredictions) -> None:
        super().__init__(rows, predictions)
        columns = {name: read_column(rows, name).to_pylist() for name in ("pair", "reverse", "four_way")}
        forth, predicted, gold = build_four_way_labels(columns, predictions)
        _, back = match_reversed_rows(*columns.values())
        self.right[forth] = predicted == gold
        self.has_four_way_label = np.isin(np.arange(len(self.right)), forth)
        answers = zip(gold.tolist(), predicted.tolist(), back.tolist(), strict=True)
        self.four_way = dict(zip(forth.tolist(), answers, strict=True))  # gold label, prediction and reversed row
