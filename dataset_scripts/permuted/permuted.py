"""Permuted set: NLI pairs with permuted words and the gold label of the original pair."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from annotated_types import Ge, Le
from numpy.typing import NDArray
from rich.console import RenderableType

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, Role
from unbag.challenge_sets.pairs import Pairs, SetOptions
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.perturbations import permutation
from unbag.challenge_sets.perturbations.minitrees import MiniTreeRatioCalculator, MiniTrees
from unbag.challenge_sets.perturbations.permuted import SCHEMA, TOO_FEW, iter_permuted_set_tables
from unbag.challenge_sets.requirements import Requirement, iter_train_split_requirements
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions
from unbag.data.sources import PairSource, open_training_sources
from unbag.data.text import tokens
from unbag.data.text.tagging import PIPELINE, Tagger, precompute_annotations
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.permutation_acceptance import ORIGINAL, score_permuted
from unbag.scoring.pos_minitree import Definition
from unbag.scoring.skill import RowScores
from unbag.scoring.validation import encode_names
from unbag.utils import optional_deps

_PAPER = "Sinha et al. 2021"
_SIDES = ("premise", "hypothesis")
_MIN_ORDERS = 50  # from 50 permutations in a bin the standard error of their share is below 0.1
_MIN_EXAMPLES = 10  # per bin, times q permutations: smaller bins depend on one or two examples
_MEANINGS = {
    "accuracy": ("A", "correct in order"),
    "omega_max": ("Ω_max", "accepted in some order"),
    "omega_rand": ("Ω_rand", "… above chance"),
    "omega_all": ("Ω_1.0", "… in every order"),
    "acceptance": ("P", "accepted orders"),
    "p_c": ("P^c", "accepted, pair is correct"),
    "p_c_accepted": ("P^c′", "… if ever accepted"),
    "p_f": ("P^f", "accepted, pair is flipped"),
    "entropy_c": ("H^c", "entropy, pair is correct"),
    "entropy_f": ("H^f", "entropy, pair is flipped"),
}
_BOXES = {"c": "correct in order", "f": "wrong in order, but accepted"}
_CLUMP_BINS = frozenset({"by_bleu_3", "by_bleu_4"})  # close to 0 for all pairs if every word moves alone
_BINS = {
    "by_bleu": ("Acceptance by BLEU-2", "the share of adjacent word pairs that the permutation keeps", "BLEU-2, from"),
    "by_bleu_3": ("Acceptance by BLEU-3", "the share of three-word runs that the permutation keeps", "BLEU-3, from"),
    "by_bleu_4": ("Acceptance by BLEU-4", "the share of four-word runs that the permutation keeps", "BLEU-4, from"),
    "by_length": ("Acceptance by length", "the number of words in premise and hypothesis together", "words, from"),
    "by_minitree": (
        "Acceptance by POS mini-tree",
        "how usual the parts of speech of adjacent words are",
        "ratio, from",
    ),
}


@dataclass
class PermutedOptions(SetOptions):
    """Options of the permutations (`unbag.challenge_sets.perturbations.permutation`).

    Attributes:
        mode: Sentences to permute (`both` or `hypothesis`), or the percentage of words that move as one
            block in both sentences: `clumped_25`, `clumped_50` or `clumped_75`.
        q: Number of permutations per pair.
        min_words: Minimum number of words in each sentence, excluding punctuation.
        characters: Whether to split Chinese sentences into characters (default: words, found by a segmenter).
        minitrees: Corpora (train splits) and files in which the parts of speech of each word's neighbors are
            counted, for the columns `*_minitree` (default: none, and the columns are null).
        minitree_by: Definition of the mini-tree overlap: `code` as in the authors' code, or `text` as in the paper.
        pipeline: spaCy pipeline that tags parts of speech for `minitrees`.
        seed: Random seed of the permutations.
    """

    FILES: ClassVar[tuple[str, ...]] = ("minitrees",)

    mode: permutation.Mode = permutation.BOTH
    # All permutations of a pair are in memory at once: up to 100 MB for a typical pair, 2 GB for the longest sentences.
    q: Annotated[int, Ge(1), Le(10_000)] = permutation.DEFAULT_Q
    min_words: Annotated[int, Ge(2)] = permutation.DEFAULT_MIN_WORDS  # a single word has no other position
    characters: bool = False
    minitrees: Sequence[str] | None = None
    minitree_by: Definition = "code"
    pipeline: str = PIPELINE
    seed: int = permutation.DEFAULT_SEED

    def validate(self) -> None:
        tokens.validate_language(self.sentence_language)
        if self.minitrees and self.sentence_language != "en":
            raise ValueError(f"minitrees: expected English pairs, got the language {self.sentence_language!r}")
        if self.characters and self.sentence_language != "zh":
            raise ValueError(f"characters: expected Chinese pairs, got the language {self.sentence_language!r}")


def _define(name: str, label: str, theirs: str, *more_roles: Role, higher_is_better: bool = False) -> MetricDefinition:
    """Define a metric of section 4 of the paper, with its column in Tables 2 and 3; "" for no column."""
    published_columns = (PublishedColumn(_PAPER, "2", theirs), PublishedColumn(_PAPER, "3", theirs, "ocnli validation"))
    return MetricDefinition(
        name,
        label,
        higher_is_better=higher_is_better,
        roles=("quoted", "harness", *more_roles),
        published_columns=published_columns if theirs else (),
    )


class Permuted(ChallengeSet):
    """Examples of a corpus split, in original order and in q permutations.

    Configs: `<corpus>-<split>` permutes both sentences, `<corpus>-<split>-<mode>` depends on the mode. `data=…` uses
    your own data.
    """

    name = "permuted"
    title = "Permuted"
    question = "Does the prediction change when no word keeps its position?"
    paper = "Sinha et al. 2021, https://aclanthology.org/2021.acl-long.569"
    citation = """@inproceedings{sinha-etal-2021-unnatural,
  title = {{UnNatural} {L}anguage {I}nference},
  author = {Sinha, Koustuv and Parthasarathi, Prasanna and Pineau, Joelle and Williams, Adina},
  booktitle = {Proceedings of ACL-IJCNLP}, year = {2021}, url = {https://aclanthology.org/2021.acl-long.569},
  eprint = {2101.00010}, archivePrefix = {arXiv}}"""
    shuffled = (
        "The set has no shuffled control, since its rows are permuted. The row score of an example is 1 if it is "
        "correct in the original order, minus the share of permutations with the same label. A model that ignores "
        "word order has 0."
    )
    has_shuffled_control = False
    Options = PermutedOptions
    config_variants = ("mode", permutation.MODES)
    schema = SCHEMA
    machine_made = frozenset({"sentences"})
    exclusion_reason = "too short to permute"
    metrics = ("permutation_acceptance", "pos_minitree")
    score_function = staticmethod(score_permuted)
    columns = ("source_id", "permutation")
    optional_columns = (
        *(f"{side}_words" for side in _SIDES),
        *(f"{side}_bleu_{n}" for side in _SIDES for n in (2, 3, 4)),
        *(f"{side}_minitree" for side in _SIDES),
    )
    metric_definitions = (
        _define("accuracy", "accuracy in order, A", "A", "compared", higher_is_better=True),
        _define("omega_max", "Ω_max", "Ω_max", "compared"),
        _define("omega_rand", "Ω_rand", "Ω_rand", "compared"),
        _define("omega_all", "Ω_1.0", ""),
        _define("p_c", "P^c", "", "compared"),
        # The paper's tables come from its code, which excludes examples without any accepted permutation.
        _define("p_c_accepted", "P^c as the paper's code has it", "P^c", "beside_papers"),
        _define("p_f", "P^f", "P^f"),
    )
    sample = 500
    # Precision depends on the number of examples: 500 with 10 permutations have narrower intervals than 240 with the
    # 100 permutations of the paper, from a quarter of the rows (docs/studies/speed.md). A complete set has 100.
    sample_options = {"q": 10}
    corpus_pairs = {"permutation": ORIGINAL}
    evaluation_order = 8
    report_order = 2
    example_rule = (
        f"Up to {examples.PER_KIND} examples of each kind. Most accepted: right in order, sorted by the share of "
        "accepted permutations, then by the mean probability of the gold label. The accepted permutation with the most "
        "confident prediction is shown. Flipped: wrong in order and accepted in some permutation, with the same "
        "sorting. Most refused: right in order, sorted by the share of refused permutations. The permutation refused "
        "with the highest probability is shown. Words that are still adjacent are marked."
    )
    mark_meanings = {"together": "words that are still adjacent"}

    def rows(self, pairs: Pairs) -> Iterator[pa.Table]:
        options = pairs.options
        ratios = None
        if options.minitrees:
            tagger = Tagger(options.pipeline)
            trees = MiniTrees.from_sentences(_iter_training_texts(options), tagger, definition=options.minitree_by)
            ratios = MiniTreeRatioCalculator(trees, tagger)
        yield from iter_permuted_set_tables(
            pairs,
            permutation.Permuter(options.q, options.mode, options.seed),
            min_words=options.min_words,
            language=pairs.source.language,
            characters=options.characters,
            ratios=ratios,
            counts=pairs.counts,
        )

    def warm_caches(self, source: PairSource, options: Any) -> None:
        # Forked workers share the memory of a tokenizer that is loaded before forking.
        tokens.tokenize("", source.language, characters=options.characters)
        if options.minitrees:
            precompute_annotations(partial(Tagger, options.pipeline), Tagger.tag, _iter_training_texts(options))

    def count_exclusions(self, counts: Mapping[str, int], options: Any) -> dict[str, int]:
        return {f"with fewer than {options.q} different permutations": counts.get(TOO_FEW, 0)}

    def validate_resources(self, options: Any) -> None:
        if tokens.is_segmenter_required(options.sentence_language, characters=options.characters):
            optional_deps.validate_dependency(tokens.SEGMENTER)

    def iter_requirements(self, options: Any) -> Iterator[Requirement]:
        if options.minitrees:
            yield from iter_train_split_requirements(options.minitrees)
            yield from super().iter_requirements(options)

    def describe_provenance(self, builder: Any) -> dict[str, Any]:
        language, characters = builder.config.sentence_language, builder.config.characters
        if not tokens.is_segmenter_required(language, characters=characters):
            return {}
        return {"tokenizer": tokens.build_tokenizer_identity(language, characters=characters)}

    def score_examples(self, columns: Columns, predictions: SetPredictions) -> RowScores:
        """Compute the row scores: 1 for a correct prediction in order, minus the share of accepted permutations.

        A permutation without an answer counts as accepted. A bag of words and a constant prediction have 0 on every
        example, and random guessing has 0 on average. A perfect model has 1 in order and guesses on permutations, which
        gives 1 - 1/m with m labels.
        """
        gold = predictions.to_label_positions(columns["label"])
        right = predictions.predicted == gold
        is_accepted = right | (predictions.predicted == NO_ANSWER)
        originals, permuted = _arrange_rows(encode_names(columns["source_id"])[0], columns["permutation"])
        row_scores = right[originals] - is_accepted[permuted].mean(axis=1)
        perfect = 1 - 1 / len(predictions.label_space)
        return RowScores(row_scores, gold[originals], range(len(originals)), chance_score=0.0, perfect_score=perfect)

    def build_table(self, result: Result) -> RenderableType:
        scores = result.scores
        confident: Mapping[str, Any] = scores.get("confident", {})
        columns = ("", "", "value [95 %]", *(f"p ≥ {tau}" for tau in confident))
        grid = tables.create_result_table(self.title, result, *columns, n_text_columns=2)
        for name, (symbol, meaning) in _MEANINGS.items():
            if name in scores:
                cells = [confident[tau].get(name) for tau in confident]
                grid.add_row(symbol, meaning, tables.format_interval(scores[name]), *map(tables.format_value, cells))
        notes = []
        if bins := [row for row in scores.get("by_minitree", ()) if row["n"] >= _MIN_ORDERS]:
            ratios = ", ".join(f"{row['low']:g} {row['acceptance']:.3f}" for row in bins)
            notes.append(f"accepted by POS mini-tree ratio, from: {ratios}")
        orders = f"{scores['n_examples']:,} examples × {scores['q']} orders (mode {result.config['mode']})"
        notes.append(f"{orders}, of {tables.summarize_exclusions(result.data)}")
        return tables.add_notes(grid, *notes)

    def summarize_result(self, result: Result) -> str:
        scores = result.scores
        if scores["p_c"].value is None:
            return "no pair is correct in order, so no acceptance of correct pairs can be computed."
        return (
            f"on the {scores['n_c']:,} pairs that are correct in order, {tables.format_percentage(scores['p_c'])} of "
            f"the {scores['q']} permutations per pair keep their label (a bag of words or a constant prediction: "
            f"100 %; chance: {tables.format_points(1 / scores['n_labels'])} %)."
        )

    def iter_set_metrics(self, scores: Any) -> Iterator[tuple[str, str, Estimate]]:
        for name, (symbol, meaning) in _MEANINGS.items():
            if name in scores:
                yield meaning.replace("…", "accepted"), _name_in_paper(symbol), scores[name]
        for tau, estimates in scores.get("confident", {}).items():
            for name in ("omega_max", "p_c"):
                symbol, meaning = _MEANINGS[name]
                note = f"{_name_in_paper(symbol)}, with this probability or more"
                yield f"{meaning}, p ≥ {tau}", note, estimates[name]

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        yield figures.build_group_figure(
            group,
            lambda scores: (
                (x, figures.build_point_estimate(share, scores["n_examples"])) for x, share in scores.get("curve", ())
            ),
            kind="curve",
            title="The Ω_x curve",
            about="Share of examples for which more than a share x of the permutations get the gold label. For a model "
            "that uses word order, the curve falls early. For a bag of words, the curve is constant at the accuracy.",
            x="x, share of permutations accepted",
            y="Ω_x, share of examples",
        )
        yield figures.build_group_figure(
            group,
            _iter_quartiles,
            title="Entropy of accepted permutations",
            about="Mean entropy of the predictions for an example's accepted permutations, as a share of the maximum. "
            "0 is fully confident, 100 % is uniform. A dot is the median example. The bar spans the first to third "
            "quartile.",
            x="examples",
            y="entropy",
        )
        clumped = group.scored_models[0].result.config.get("mode") in permutation.CLUMPS
        for name, (title, about, x) in _BINS.items():
            if clumped or name not in _CLUMP_BINS:
                yield figures.build_group_figure(
                    group,
                    partial(_iter_bins, name),
                    kind="curve",
                    title=title,
                    about=f"Share of all permutations that get the gold label, by {about}. Bins with fewer "
                    f"permutations than {_MIN_EXAMPLES} examples have are omitted.",
                    x=x,
                    y="share of permutations accepted",
                )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        orders = _Orders(pairs.rows, pairs.predictions)
        share = orders.right[orders.permuted].mean(axis=1)
        gold = pairs.predictions.probabilities[np.arange(len(pairs.gold)), pairs.gold].astype(np.float64)
        confidence = examples.round_probability(gold[orders.permuted].mean(axis=1))
        correct = pairs.right[orders.originals]
        kinds = (
            ("most accepted", correct & (share > 0), (share, confidence), True),
            ("flipped", ~correct & (share > 0), (share, confidence), True),
            ("most refused", correct & (share < 1), (-share, -confidence), False),
        )
        for kind, wanted, keys, accepted in kinds:
            for source in examples.select_top_rows(np.flatnonzero(wanted), *keys):
                candidates = orders.permuted[source]
                candidates = candidates[pairs.right[candidates] == accepted]
                yield self.build_example(orders, kind, int(candidates[pairs.confidence[candidates].argmax()]))

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        orders = _Orders(pairs.rows, pairs.predictions)
        for index in pairs.select_shortest(orders.originals):
            yield self.build_example(orders, "permuted", int(orders.permuted[orders.source[index], 0]))

    def build_example(self, pairs: examples.PredictedPairs, kind: str, index: int) -> examples.ReportExample:
        """Build an example that shows the original pair and one of its permutations."""
        assert isinstance(pairs, _Orders)
        source = pairs.source[index]
        original, accepted = int(pairs.originals[source]), pairs.right[pairs.permuted[source]]
        first, row = pairs.get_row(original), pairs.get_row(index)
        # In some modes, only one of the sentences is permuted.
        lines = examples.build_pair_lines(first)
        for name in _SIDES:
            if row[name] != first[name]:
                marks = examples.mark_unchanged_sequences(first[name], row[name])
                lines.append(examples.ExampleLine(f"{name} permuted", row[name], marks))
        note = f"{accepted.sum()} of {len(accepted)} permutations accepted"
        before = pairs.get_prediction(original, "in order")
        return pairs.build_example(kind, index, lines, note, before=before, where="permuted", has_order=False)


def _iter_training_texts(options: Any) -> Iterator[str]:
    sources = open_training_sources(options.minitrees, language=options.language)
    return (text for source in sources for example in source.iter_examples() for text in example[1:3])


def _name_in_paper(symbol: str) -> str:
    return f"{symbol.replace('^c', 'ᶜ').replace('^f', 'ᶠ')} in the paper"


def _iter_quartiles(scores: Any) -> Iterator[tuple[str, Estimate]]:
    """Iterate over the boxes of the paper's Figure 2, as shares of the maximum entropy for any number of labels."""
    for name, place in _BOXES.items():
        if quartiles := scores.get(f"entropy_quartiles_{name}"):
            # The maximum entropy of m labels is log m, in the natural logarithm of the scores.
            low, median, high = (share / log(scores["n_labels"]) for share in quartiles)
            yield place, Estimate(median, low, high, scores[f"n_{name}"])


def _iter_bins(name: str, scores: Any) -> Iterator[tuple[float | str, Estimate]]:
    for row in scores.get(name, ()):
        if row["n"] >= _MIN_EXAMPLES * scores["q"]:
            yield row["low"], figures.build_point_estimate(row["acceptance"], row["n"])


def _arrange_rows(source: NDArray[Any], permutation: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the row of each original pair, shape (n,), and those of its permutations, shape (n, q), by source number."""
    rows = np.lexsort((permutation, source)).reshape(int(source.max()) + 1, -1)
    return rows[:, 0], rows[:, 1:]  # `ORIGINAL` precedes all permutations


class _Orders(examples.PredictedPairs):
    """The original pairs, numbered by first occurrence, and the permutations of each."""

    def __init__(self, rows: Any, predictions: SetPredictions) -> None:
        super().__init__(rows, predictions)
        self.source: NDArray[Any] = pc.dictionary_encode(read_column(rows, "source_id")).indices.to_numpy()
        self.originals, self.permuted = _arrange_rows(self.source, read_numeric_column(rows, "permutation"))
