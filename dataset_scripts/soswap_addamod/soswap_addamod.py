"""SOSwap and AddAmod set: premise and hypothesis with the same words but different meanings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from rich.console import RenderableType

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition
from unbag.challenge_sets.pairs import Pairs, SetOptions
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.perturbations import soswap_addamod, vocabulary_split
from unbag.challenge_sets.perturbations.addamod import ADJECTIVE, DEFAULT_MIN_COUNT, DEFAULT_SEED
from unbag.challenge_sets.requirements import Requirement, iter_corpus_requirements
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data.columns import read_column
from unbag.data.labels import ENTAILMENT
from unbag.data.sources import PairSource
from unbag.data.text.parses import Parser
from unbag.data.text.tagging import PIPELINE, precompute_annotations
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.label_distribution import score_soswap_addamod
from unbag.scoring.skill import MIN_LABEL_ROWS
from unbag.utils.options import PositiveInt

_TITLES = {"soswap": "SOSwap", "addamod": "AddAmod"}


@dataclass
class SoswapAddamodOptions(SetOptions):
    """Options of the generated pairs.

    Attributes:
        kind: Type of pairs: `soswap`, `addamod` or `both`.
        seed: Random seed for the adjectives of AddAmod and their positions.
        min_count: Minimum number of occurrences of an adjective with a noun.
        attested_split: Additional split of the corpus for counting adjectives, such as `train`.
        pipeline: spaCy pipeline of the parser: a package, a folder or a Hub repository.
        words: Vocabulary of the pairs: `all`; `held_out` (verb, adjective and nouns are in the half of the
            vocabulary that `unbag train … --augment` does not use); or `training` (all are in the other half).
    """

    kind: soswap_addamod.Kind = soswap_addamod.BOTH
    seed: int = DEFAULT_SEED
    min_count: PositiveInt = DEFAULT_MIN_COUNT
    attested_split: str | None = None
    pipeline: str = PIPELINE
    words: vocabulary_split.Words = vocabulary_split.ALL

    def validate(self) -> None:
        """Validate the split."""
        if self.attested_split and not self.corpus:
            raise ValueError(f"attested_split: expected a corpus, got data={self.data!r}; omit attested_split")


class SoswapAddamod(ChallengeSet):
    """Pairs built from each distinct premise of a corpus split.

    Configs: `<corpus>-<split>-soswap`, `<corpus>-<split>-addamod`, and `<corpus>-<split>` with both, for every English
    corpus. `data=…` uses your own data.
    """

    name = "soswap_addamod"
    title = "SOSwap/AddAmod"
    question = "Does the model notice exchanged subjects and objects, or a moved adjective?"
    paper = "Nie et al. 2019, https://doi.org/10.1609/aaai.v33i01.33016867"
    citation = """@article{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867},
  eprint = {1811.07033}, archivePrefix = {arXiv}}"""
    shuffled = (
        "The gold label of the pair in the original order. Shuffling destroys all evidence for this label, since "
        "both sentences have the same words. The control can at most guess the kind of the pair."
    )
    Options = SoswapAddamodOptions
    unrecorded_defaults = frozenset({"words"})
    config_variants = ("kind", soswap_addamod.KINDS)
    own_columns = {
        "kind": "string",
        "source_premise": "string",
        # SOSwap: the exchanged phrases, as written in the premise; null for AddAmod.
        "subject": "string",
        "object": "string",
        # AddAmod: the added adjective, and the noun that it modifies in each sentence; null for SOSwap.
        "adjective": "string",
        "premise_noun": "string",
        "hypothesis_noun": "string",
    }
    rows_per_table = 1_000  # small, because parsing is slow and progress is shown per table
    language = "en"
    has_two_label_corpora = False
    from_text = True
    parses = True
    is_sequential = True  # each distinct premise is used once
    machine_made = frozenset({"sentences", "labels"})
    exclusion_reason = "with a repeated premise or one that makes no pair"
    metrics = ("label_distribution",)
    score_function = staticmethod(score_soswap_addamod)
    columns = ("source_id", "kind")
    metric_definitions = (
        MetricDefinition("accuracy", "accuracy", roles=("quoted", "harness")),
        *(
            MetricDefinition(
                f"accuracy_{kind}",
                f"accuracy, {title}",
                f"by_subset.{kind}.accuracy",
                roles=("quoted", "compared", "beside_papers", "harness"),
                published_columns=(PublishedColumn("Nie et al. 2019", "2", f"{title} {label}", "snli"),),
            )
            for (kind, title), label in zip(_TITLES.items(), "CN", strict=True)
        ),
    )
    is_accuracy = True
    evaluation_order = 5
    report_order = 6
    example_rule = (
        f"Up to {examples.PER_KIND} pairs of each kind, sorted by the probability of the prediction. Marks show the "
        "phrases that changed places, or the adjective and its noun."
    )
    mark_meanings = {"moved": "moved words"}

    def rows(self, pairs: Pairs) -> Iterator[Mapping[str, Any]]:
        """Build the pairs, and count the rejected premises. AddAmod first reads adjectives from all sources."""
        options = pairs.options
        parser = Parser(options.pipeline)
        adjectives = None
        if options.kind != soswap_addamod.SOSWAP:
            for source in _list_attesting_sources(pairs.source, options):
                adjectives = soswap_addamod.count_adjectives(source.iter_examples(), parser, adjectives)
        operators = soswap_addamod.build_soswap_addamod_operators(
            options.kind,
            adjectives=adjectives,
            seed=options.seed,
            min_count=options.min_count,
            words=options.words,
            is_written_text=bool(options.text),
        )
        yield from soswap_addamod.iter_soswap_addamod_rows(pairs, parser, operators, pairs.counts)

    def warm_caches(self, source: PairSource, options: Any) -> None:
        """Parse the sentences with several processes. `rows` then reads the cached parses in one process."""
        super().warm_caches(source, options)
        if options.kind != soswap_addamod.SOSWAP:
            sentences = (
                text
                for attesting in _list_attesting_sources(source, options)
                for example in attesting.iter_examples()
                for text in (example.premise, example.hypothesis)
            )
            parse = partial(Parser.parse, tag=ADJECTIVE)
            precompute_annotations(partial(Parser, options.pipeline), parse, sentences)

    def iter_requirements(self, options: Any) -> Iterator[Requirement]:
        """Iterate over the split for counting adjectives and the parser's pipeline."""
        if options.attested_split:
            yield from iter_corpus_requirements(options.corpus, [options.attested_split], options.revision)
        yield from super().iter_requirements(options)

    def build_table(self, result: Result) -> RenderableType:
        """Build the table of accuracy and predicted label fractions, for SOSwap and for AddAmod pairs."""
        parts = _select_parts(result.scores)
        grid = tables.create_result_table(self.title, result, "predicted [95 %]", *(_TITLES[kind] for kind in parts))
        for label in result.scores["shares"]:
            grid.add_row(label, *(tables.format_interval(part["shares"][label]) for part in parts.values()))
        grid.add_row("right", *(tables.format_interval(part["accuracy"]) for part in parts.values()))
        pairs = ", ".join(f"{part['n_examples']:,} {_TITLES[kind]}" for kind, part in parts.items())
        notes = [f"{pairs} pairs, of {tables.summarize_exclusions(result.data)}"]
        for kind, title in _TITLES.items():  # a text may yield too few pairs of a kind for a skill score
            n = parts[kind]["n_examples"] if kind in parts else 0
            reasons = tables.summarize_rejections(result, f"{kind}: ")
            if n < MIN_LABEL_ROWS and reasons:
                notes.append(f"Few {title} pairs ({n:,}). Most frequent reasons: {reasons}")
        return tables.add_notes(grid, *notes)

    def summarize_result(self, result: Result) -> str:
        """Summarize the accuracy and the fraction of entailment predictions on SOSwap and on AddAmod pairs."""
        parts = _select_parts(result.scores)
        right = " and ".join(
            f"{tables.format_percentage(part['accuracy'])} of {part['n_examples']:,} {_TITLES[kind]} pairs"
            for kind, part in parts.items()
        )
        # A single kind has a single gold label, so a constant prediction is perfect on it.
        alone = "" if len(parts) > 1 else " (a constant prediction can reach 100 % on one kind)"
        entailed = result.scores["shares"].get(ENTAILMENT)
        wrong = ""
        if entailed is not None:
            wrong = f"; entailment, never the gold label, is predicted for {tables.format_percentage(entailed)}"
        return f"correct on {right}{alone}{wrong}."

    def iter_set_metrics(self, scores: Any) -> Iterator[tuple[str, str, Estimate]]:
        """Iterate over the accuracy and the fraction of each predicted label, for SOSwap and for AddAmod pairs."""
        for kind, part in _select_parts(scores).items():
            yield _TITLES[kind], f"share of correct pairs among {part['n_examples']:,}", part["accuracy"]
            for label, share in part["shares"].items():
                yield f"{_TITLES[kind]}: {label}", "share of predictions", share

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        """Build two figures of the distribution of predicted labels: one for SOSwap, one for AddAmod."""
        for kind, label in soswap_addamod.LABEL_BY_KIND.items():
            yield figures.build_group_figure(
                group,
                partial(_iter_shares, kind),
                title=f"Predictions for {_TITLES[kind]}",
                about=f"Share of the pairs by predicted label. The correct label is {label}. For a bag of words, "
                "premise and hypothesis are identical.",
                x="predicted label",
                y="share of pairs",
            )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select the most confident wrong and correct predictions for SOSwap and for AddAmod pairs."""
        kinds = np.array(read_column(pairs.rows, "kind").to_pylist(), dtype=np.str_)
        for kind, title in _TITLES.items():
            yield from self.iter_wrong_and_right(
                pairs, f"{title}, most confident", pairs.confidence, among=kinds == kind
            )

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select the shortest pairs."""
        return self.iter_shortest(pairs, lambda row: _TITLES[row["kind"]])

    def build_example(self, pairs: examples.PredictedPairs, kind: str, index: int) -> examples.ReportExample:
        """Build an example with marked phrases."""
        row = pairs.get_row(index)
        # A row has the phrases of one kind only, and None for the other kind.
        moved = [row["subject"], row["object"], row["adjective"]]
        lines = examples.build_pair_lines(
            row, lambda side: examples.mark_phrases(row[side], [*moved, row[f"{side}_noun"]], "moved")
        )
        return pairs.build_example(kind, index, lines)


def _list_attesting_sources(source: PairSource, options: Any) -> list[PairSource]:
    """List the sources in which combinations of adjectives and nouns are counted."""
    split = options.attested_split
    # AddAmod adds only attested combinations of adjective and noun. A larger split attests more of them.
    return [source, *([replace(options, source_split=split).open_pairs()] if split else [])]


def _iter_shares(kind: str, scores: Mapping[str, Any]) -> Iterable[tuple[str, Estimate]]:
    shares: Mapping[str, Estimate] = scores["by_subset"].get(kind, {}).get("shares", {})
    return shares.items()


def _select_parts(scores: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Select the scores of each kind of pair, in the order of tables."""
    return {kind: scores["by_subset"][kind] for kind in _TITLES if kind in scores["by_subset"]}
