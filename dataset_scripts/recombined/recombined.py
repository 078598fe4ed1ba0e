"""Recombined set: documents that contain all words of a claim, with or without a sentence that supports it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import RenderableType

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition
from unbag.challenge_sets.pairs import Pairs, SetOptions
from unbag.challenge_sets.perturbations import recombined
from unbag.challenge_sets.perturbations.recombined import EXCHANGES, REMOVED
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data.columns import read_column
from unbag.data.labels import TWO_WAY
from unbag.data.predictions import Columns
from unbag.data.sources import PairSource
from unbag.data.text.parses import Parser
from unbag.data.text.tagging import PIPELINE, precompute_annotations
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.document_consistency import score_recombined

_MOST_SENTENCES = 1_000  # per document; longer rows exceed the maximum length of all models
_ENOUGH = 20  # claims of an operation, below which its rate says little
_OPERATIONS = (*EXCHANGES, REMOVED)  # in the order of tables


@dataclass
class RecombinedOptions(SetOptions):
    """Options of the generated documents.

    Attributes:
        k: Document sizes in sentences, comma-separated.
        seed: Random seed for selecting the sentences, their order and the arguments to exchange.
        pipeline: spaCy pipeline of the parser: a package, a folder or a Hub repository.
    """

    k: str = ",".join(map(str, recombined.DEFAULT_SIZES))
    seed: int = recombined.DEFAULT_SEED
    pipeline: str = PIPELINE

    def validate(self) -> None:
        """Validate the sizes."""
        self.parse_sizes()

    def parse_sizes(self) -> tuple[int, ...]:
        """Parse the document sizes in sentences, in ascending order."""
        try:
            sizes = sorted({int(part) for part in self.k.split(",")})
        except ValueError:
            sizes = []
        if not sizes or sizes[0] < 1 or not 1 < sizes[-1] <= _MOST_SENTENCES:
            raise ValueError(
                f"k: expected whole numbers from 1 to {_MOST_SENTENCES:,}, comma-separated, one of them above 1, got "
                f"{self.k!r}; pass k=1,4,16"
            )
        return tuple(sizes)


class Recombined(ChallengeSet):
    """Documents built from the premises of a corpus split, with supported and unsupported claims.

    Configs: `<corpus>-<split>` for every English corpus; `data=…` uses your own data.
    """

    name = "recombined"
    title = "Recombined"
    question = "Does the model reject unsupported claims whose words are all in the document?"
    paper = "unbag, after Nie et al. 2019, https://doi.org/10.1609/aaai.v33i01.33016867"
    citation = """@article{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867},
  eprint = {1811.07033}, archivePrefix = {arXiv}}"""
    shuffled = (
        "The gold label of the row in the original order. The document contains all words of every claim, "
        "supported or exchanged. Without word order, only the plausibility of the claim remains."
    )
    Options = RecombinedOptions
    own_columns = {
        "group": "string",  # rows of one claim and one document
        "k": "int64",
        "position": "int64",  # of the evidence among the sentences, from 0; of `removed`, of what is in its place
        "operation": "string",
        # Exchanged claims: the sentence that the words came from, and the words; null for the other rows.
        "donor_position": "int64",
        "donor_id": "string",
        "replaced": "string",
        "replacement": "string",
    }
    rows_per_table = 1_000  # of up to 64 sentences: some MB
    language = "en"
    from_text = True
    parses = True
    label_names = TWO_WAY
    machine_made = frozenset({"sentences", "labels"})
    exclusion_reason = "whose claim has no argument to exchange"
    metrics = ("document_consistency",)
    score_function = staticmethod(score_recombined)
    columns = ("source_id", "group", "k", "position", "operation")
    metric_definitions = (
        MetricDefinition(
            "balanced_accuracy",
            "balanced accuracy",
            roles=("quoted", "compared", "beside_papers", "harness"),
            meaning="mean of the shares of supported and of unsupported claims right",
        ),
        MetricDefinition(
            "false_entailment_rate",
            "false-entailment rate",
            higher_is_better=False,
            meaning="share of unsupported claims called entailed",
        ),
        MetricDefinition(
            "paired_accuracy",
            "paired accuracy",
            meaning="share of documents with every claim right",
        ),
    )
    has_verification = True
    sample = 100  # claims, of some dozen rows each, a third of which have 64 sentences
    evaluation_order = 7
    report_order = 9
    example_rule = (
        f"Up to {examples.PER_KIND} wrong answers for each operation, one per claim, by the probability of the answer. "
        "The inserted words are marked."
    )
    mark_meanings = {"moved": "words of another sentence"}

    def rows(self, pairs: Pairs) -> Iterator[Mapping[str, Any]]:
        """Build the rows. The entire source is read first to collect sentences for the documents."""
        options = pairs.options
        parser = Parser(options.pipeline)
        # The pool depends on all sentences, so that each process builds the same one.
        fillers = recombined.draw_filler_sentences(pairs.source.iter_examples(), options.seed)
        pool = recombined.build_sentence_pool(fillers, parser)
        yield from recombined.iter_recombined_rows(
            pairs, pool, parser, sizes=options.parse_sizes(), seed=options.seed, counts=pairs.counts
        )

    def warm_caches(self, source: PairSource, options: Any) -> None:
        """Parse the claims and the pool of sentences with several processes, if enabled."""
        claims = (
            example.hypothesis
            for example in source.iter_examples()
            if recombined.find_example_exclusion_reason(example) is None
        )
        texts = (text for _, text in recombined.draw_filler_sentences(source.iter_examples(), options.seed))
        precompute_annotations(partial(Parser, options.pipeline), Parser.parse, chain(texts, claims))

    def count_exclusions(self, counts: Mapping[str, int], options: Any) -> dict[str, int]:
        """Select the numbers of examples that are not used as claims, by reason."""
        reasons = (recombined.NOT_ENTAILED, recombined.LONG_EVIDENCE, recombined.OTHER_WORDS)
        return {reason: counts.get(f"excluded: {reason}", 0) for reason in reasons}

    def counts_for_skill(self, columns: Columns) -> NDArray[np.bool_]:
        """Compute a mask of the rows whose document contains the evidence and other sentences, shape (n,).

        In these rows, the document has all content words of the claim. The labels of the other rows follow from words
        alone: a document without the evidence has none of these words, and the claim of a single-sentence document is
        never changed.
        """
        has_exchange = np.asarray(columns["k"]) > 1
        decisive: NDArray[np.bool_] = has_exchange & (np.asarray(columns["operation"], dtype=object) != REMOVED)
        return decisive

    def build_table(self, result: Result) -> RenderableType:
        """Build the table of the metrics: overall, by document size, by evidence position and by operation."""
        scores, columns = result.scores, ("balanced acc. [95 %]", "false ent.", "paired acc.")
        grid = tables.create_result_table(self.title, result, "rows", *columns)
        views: Sequence[list[tuple[str, Mapping[str, Any]]]] = (
            [("all", scores)],
            [(f"k = {row['k']}", row) for row in scores["by_k"]],
            [(f"evidence at the {row['third']}", row) for row in scores["by_position"]],
            [(row["operation"], row) for row in _sort_operations(scores)],
        )
        for view in views:
            for number, (name, part) in enumerate(view, start=1):
                single = (tables.format_value(part[key]) for key in ("false_entailment_rate", "paired_accuracy"))
                grid.add_row(
                    name, tables.format_interval(part["balanced_accuracy"]), *single, end_section=number == len(view)
                )
        rows = f"{scores['n_examples']:,} rows, {scores['n_groups']:,} documents"
        reasons = tables.summarize_rejections(result, "excluded: ")
        notes = [f"{rows}, of {tables.summarize_exclusions(result.data)}"]
        notes += [f"Most frequent reasons for sentences without a claim: {reasons}"] if reasons else []
        return tables.add_notes(grid, *notes)

    def summarize_result(self, result: Result) -> str:
        """Summarize the false-entailment rate on unsupported claims, and the fraction of documents without errors."""
        scores = result.scores
        most = ""
        exchanges = [row for row in scores["by_operation"] if row["operation"] in EXCHANGES]
        if worst := tables.find_extreme_row(exchanges, "false_entailment_rate", max, _ENOUGH):
            rate = tables.format_percentage(worst["false_entailment_rate"])
            most = f", most often those with another {worst['operation']} ({rate})"
        return (
            f"predicts entailment for {tables.format_percentage(scores['false_entailment_rate'])} of the unsupported "
            f"claims{most}; all rows are correct for {tables.format_percentage(scores['paired_accuracy'])} of the "
            "documents (a constant prediction, or a model that uses only the claim: 0 %)."
        )

    def iter_set_metrics(self, scores: Any) -> Iterator[tuple[str, str, Estimate]]:
        """Iterate over the metrics of the set and the paired accuracy for each operation."""
        yield from super().iter_set_metrics(scores)
        for row in scores["by_operation"]:
            meaning = "share of documents with the supported claim and this one right"
            yield f"paired accuracy, {row['operation']}", meaning, row["paired_accuracy"]

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        """Build figures by document size, evidence position and operation."""
        yield figures.build_group_figure(
            group,
            lambda scores: ((str(row["k"]), row["paired_accuracy"]) for row in scores["by_k"]),
            title="Paired accuracy by size of the document",
            about="Share of the documents with k sentences for which every claim is correct. With k = 1, nothing is "
            "exchanged.",
            x="sentences, k",
            y="paired accuracy",
        )
        yield figures.build_group_figure(
            group,
            lambda scores: ((row["third"], row["balanced_accuracy"]) for row in scores["by_position"]),
            title="Balanced accuracy by position of the evidence",
            about="Third of the document that contains the evidence, in documents with three or more sentences.",
            x="position",
            y="balanced accuracy",
        )
        yield figures.build_group_figure(
            group,
            lambda scores: ((row["operation"], row["false_entailment_rate"]) for row in scores["by_operation"]),
            title="False entailments by operation",
            about="Share predicted as entailment among claims with an exchanged subject, object or number, or without "
            "evidence. Lower is better.",
            x="operation",
            y="false-entailment rate",
        )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select the most confident wrong predictions for each operation, one per claim."""
        return self.iter_errors_by(pairs, "operation", (*_OPERATIONS, recombined.SUPPORTED))

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select the shortest documents whose claim has a replaced phrase."""
        operations = np.array(read_column(pairs.rows, "operation").to_pylist(), dtype=np.str_)
        return self.iter_shortest(pairs, lambda row: f"another {row['operation']}", np.isin(operations, EXCHANGES))

    def build_example(self, pairs: examples.PredictedPairs, kind: str, index: int) -> examples.ReportExample:
        """Build an example with marked words and the position of the evidence."""
        row = pairs.get_row(index)
        lines = examples.build_pair_lines(
            row, lambda side: examples.mark_phrases(row[side], [row["replacement"]], "moved")
        )
        place = f"{row['k']} sentences" if row["k"] > 1 else "one sentence"
        is_removed = row["operation"] == REMOVED
        evidence = "without the evidence" if is_removed else f"evidence in number {row['position'] + 1}"
        return pairs.build_example(kind, index, lines, f"{place}, {evidence}")


def _sort_operations(scores: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Sort the scores by operation: the exchanges, then the documents without evidence."""
    return sorted(scores["by_operation"], key=lambda row: _OPERATIONS.index(row["operation"]))
