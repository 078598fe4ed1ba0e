"""Breaking NLI: pairs that differ in one word, from the authors or generated from a corpus."""

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import RenderableType

from unbag.baselines.lexical import embeddings
from unbag.challenge_sets import requirements
from unbag.challenge_sets.base import ACCURACY, ChallengeSet, MetricDefinition, Scores
from unbag.challenge_sets.pairs import OfficialOptions, OfficialPairs, Pairs
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.perturbations import corpus_counts, names, substitution, vocabulary_split
from unbag.challenge_sets.perturbations.corpus_counts import BigramCounts, CorpusCounts, is_bigram_file
from unbag.challenge_sets.perturbations.substitution import SubstitutedSentence, Substituter
from unbag.challenge_sets.perturbations.word_lists import NEUTRAL_LISTS, TEXT_LISTS, WORD_LISTS
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data import labels
from unbag.data.columns import read_column, round_to_field
from unbag.data.corpora import OFFICIAL
from unbag.data.downloads import PinnedFile
from unbag.data.predictions import Columns, SetPredictions
from unbag.data.sources import PairSource, open_training_sources
from unbag.data.text.entities import EntityRecognizer
from unbag.data.text.parses import Parser
from unbag.data.text.tagging import precompute_annotations
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.category_accuracy import find_tied_rows, score_breaking_nli
from unbag.scoring.skill import RowScores
from unbag.utils.hashing import hash_file
from unbag.utils.options import PositiveInt

_PAPER = "Glockner et al. 2018"
_PLURAL = {
    labels.ENTAILMENT: "entailments",
    labels.NEUTRAL: "neutral pairs",
    labels.CONTRADICTION: "contradictions",
    labels.NOT_ENTAILMENT: "pairs labelled not entailment",
    labels.NOT_CONTRADICTION: "pairs labelled not contradiction",
}
_MIN_PAIRS = 50  # from 50 pairs the standard error of an accuracy is below 0.1
_PER_CATEGORY = 2
_LISTED = frozenset(word.lower() for words in WORD_LISTS for word in (*words.old, *words.new))

# The commit comes from an index of public repositories. The hash was computed from a copy of another origin, so that it
# verifies the download independently of the URL.
PINNED = PinnedFile(
    url="https://raw.githubusercontent.com/BIU-NLP/Breaking_NLI/efbf39cbd7bfc1f6d4c5324f0530934b2926a736/"
    "breaking_nli_dataset.zip",
    sha256="b209e8d4ab15bcd8a5fc76be1c70452e4e253a92eaccb1c66c0b1b973e445371",
    name="breaking_nli_dataset.zip",
)
PAPERS_LEAST_BIGRAMS = 10
"""Minimum Wikipedia count of each bigram created by a replacement (Glockner et al. 2018, section 3.1)."""

_MEMBER = "data/dataset.jsonl"
_COLUMNS = {"id": "pairID", "premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}


@dataclass
class BreakingNliOptions(OfficialOptions):
    """Options of the generated pairs and of their word statistics.

    Attributes:
        train_data: Corpora (train splits) and files of pairs that must contain the words and bigrams of a generated
            pair, also used to count `pair_frequency` (default: the corpus of the premises, or your own data). By
            default, the official config uses none and has no counts.
        embeddings: Word embeddings for the column `similarity`: a Hub model or a folder, a spaCy pipeline, or a text
            file of word vectors (`unbag.baselines.lexical.embeddings.find_embeddings`). Default: none.
        wordnet: Whether to use WordNet's antonyms, synonyms and hypernyms in addition to the word lists.
        min_similarity: Minimum cosine similarity, by `embeddings`, between a word and its WordNet antonym. Words
            without an embedding get no antonyms. The paper uses a threshold with GloVe, but does not report the value.
        neutral: Whether to also replace nouns with hyponyms (animal with dog), with the label neutral.
        prepositions: Whether to adapt prepositions of place (in the kitchen, on the balcony), as in the paper. If
            false, replacements that require another preposition are excluded.
        bigrams: Corpora (train splits), files of pairs, and texts that must contain each bigram created by a
            replacement (default: `train_data`; the paper uses Wikipedia). A text (`.txt`, `.txt.gz`) has one
            sentence per line, or two words and their count per line.
        min_bigrams: Minimum count of each created bigram (default: 10 with `bigrams`, as in the paper; 1 with a
            training corpus, which is far smaller than Wikipedia).
        q: Maximum number of replacements per premise.
        seed: Random seed for sampling replacements.
        words: Vocabulary of the replacements: `all`; `held_out` (the old and the new word are in the half of the
            vocabulary that `unbag train … --augment` does not use); or `training` (both words are in the other
            half).
    """

    FILES: ClassVar[tuple[str, ...]] = (*OfficialOptions.FILES, "train_data", "embeddings", "bigrams")

    train_data: Sequence[str] | None = None
    embeddings: str | None = None
    wordnet: bool = False
    min_similarity: float | None = None
    neutral: bool = False
    prepositions: bool = True
    bigrams: Sequence[str] | None = None
    min_bigrams: PositiveInt | None = None
    q: PositiveInt = substitution.DEFAULT_Q
    seed: int = substitution.DEFAULT_SEED
    words: vocabulary_split.Words = vocabulary_split.ALL

    def validate(self) -> None:
        given = [name for name in ("wordnet", "neutral", "bigrams") if getattr(self, name)]
        given += ["words"] if self.words != vocabulary_split.ALL else []
        if self.is_official and given:
            raise ValueError(
                f"{', '.join(given)}: expected a corpus, got the config {OFFICIAL!r}, which replaces no words; omit "
                f"{'it' if len(given) == 1 else 'them'}, or choose a corpus"
            )
        least = self.min_similarity
        if least is not None and not (self.wordnet and self.embeddings and -1 <= least <= 1):
            raise ValueError(
                "min_similarity: expected a number from -1 to 1 together with wordnet=true and embeddings, got "
                f"{least:g} with wordnet={self.wordnet} and embeddings={self.embeddings}"
            )

    @property
    def min_bigram_count(self) -> int:
        """Minimum count of each new bigram."""
        if self.min_bigrams is None:
            return PAPERS_LEAST_BIGRAMS if self.bigrams else 1
        return self.min_bigrams


def _define_accuracy(label: str) -> MetricDefinition:
    """Define the accuracy on the pairs of one label. Most pairs are contradictions, so the accuracy says little."""

    def compute(scores: Scores) -> Estimate | None:
        # Computed, since the scores name labels by their position, which depends on the labels of the model.
        rows = {scores["labels"][row["label"]]: row["accuracy"] for row in scores["by_label"]}
        return rows.get(label)

    return MetricDefinition(f"accuracy_{label}", f"accuracy, {label}", roles=("quoted",), compute=compute)


class BreakingNli(ChallengeSet):
    """Pairs of a premise and a hypothesis that differ in one word or phrase.

    Configs: `official`, the authors' 8,193 pairs; `<corpus>-<split>`, pairs generated from the premises of a corpus.
    `data=…` uses your own data.
    """

    name = "breaking_nli"
    title = "Breaking NLI"
    question = "Does the model notice one replaced word: sofa for couch, seven for five?"
    paper = "Glockner et al. 2018, https://aclanthology.org/P18-2103"
    citation = """@inproceedings{glockner-etal-2018-breaking,
  title = {Breaking {NLI} Systems with Sentences that Require Simple Lexical Inferences},
  author = {Glockner, Max and Shwartz, Vered and Goldberg, Yoav},
  booktitle = {Proceedings of ACL}, year = {2018}, url = {https://aclanthology.org/P18-2103}, eprint = {1805.02266},
  archivePrefix = {arXiv}}"""
    shuffled = (
        "The gold label of the pair in the original order. Shuffling keeps the word that differs between the "
        "sentences, so the control measures knowledge of word pairs."
    )
    Options = BreakingNliOptions
    unrecorded_defaults = frozenset({"words"})
    schema = substitution.SCHEMA
    language = "en"
    has_two_label_corpora = False
    from_text = True
    is_sequential = True  # each distinct premise is used once
    machine_made = frozenset({"sentences", "labels"})
    official = OfficialPairs(
        PINNED,
        license="cc-by-sa-4.0",
        # The authors' labels are the majority of three annotators.
        creators={"sentences": ("crowdsourced", "machine-generated"), "labels": ("crowdsourced",)},
    )
    exclusion_reason = "with a repeated premise or no word to replace"
    metrics = ("category_accuracy",)
    score_function = staticmethod(score_breaking_nli)
    columns = ("category",)
    optional_columns = ("similarity", "pair_frequency", "annotator_labels", "premise")
    metric_definitions = (
        replace(ACCURACY, published_columns=(PublishedColumn(_PAPER, "3", "Breaking NLI", OFFICIAL, same_rows=True),)),
        *(_define_accuracy(label) for label in (*labels.LABELS, labels.NOT_ENTAILMENT)),
    )
    is_accuracy = True
    has_verification = True
    sample = 2000
    evaluation_order = 3
    report_order = 7
    example_rule = (
        f"Up to {examples.PER_KIND} pairs of each kind, at most {_PER_CATEGORY} per category, sorted by the "
        "probability of the prediction. The replaced words are marked."
    )
    mark_meanings = {"replaced": "replaced words"}

    def open_sources(self, builder: Any) -> list[PairSource]:
        if not builder.config.is_official:
            return super().open_sources(builder)
        with zipfile.ZipFile(self.official.find_file(builder.config)) as archive:
            return [self.official.open_source(Path(_MEMBER).name, archive.read(_MEMBER), _COLUMNS)]

    def rows(self, pairs: Pairs) -> Iterator[dict[str, Any]]:
        options = pairs.options
        if options.is_official:
            # The data reader keeps the columns of a pair only, so that the category is looked up in the file.
            with zipfile.ZipFile(self.official.find_file(options)) as archive, archive.open(_MEMBER) as lines:
                categories = {str(row["pairID"]): row["category"] for row in map(json.loads, lines)}
            official = [substitution.build_substitution_row(pair, categories[pair.source_id]) for pair in pairs]
            vocabulary = frozenset(row[side].lower() for row in official for side in ("replaced", "replacement"))
            data, rows = _WordData(options, (), vocabulary), iter(official)
        else:
            data = _WordData(options, [pairs.source])
            more = data.build_text_pairs(pairs.source, pairs.counts) if options.text else lambda premise: ()
            rows = substitution.generate_substitution_rows(pairs, data.substituter, pairs.counts, more)
        for row in rows:
            yield row | data.measure(row["replaced"].lower(), row["replacement"].lower())

    def validate_resources(self, options: Any) -> None:
        if options.wordnet:
            from unbag.baselines.wordnet.database import validate_wordnet

            validate_wordnet()

    def describe_provenance(self, builder: Any) -> dict[str, Any]:
        # Everything outside the pairs that determines the rows, so that a stored result can be traced to its inputs.
        options = builder.config
        data = _WordData(options, () if options.is_official else builder.open_sources())
        record: dict[str, Any] = {"attested_in": [source.record for source in data.training]}
        if options.bigrams:
            record["bigrams_of"] = [
                *(source.record for source in data.bigram_sources),
                *({"origin": path.name, "split": "", "revision": hash_file(path)} for path in data.bigram_texts),
            ]
        if not options.is_official:
            record["min_bigrams"] = options.min_bigram_count
        if options.embeddings:
            record["embeddings"] = embeddings.compute_embedding_table_identity(options.embeddings)
        if options.wordnet:
            from unbag.baselines.wordnet.database import open_wordnet

            record["wordnet_version"] = open_wordnet().identity
        if rejected := builder.load_build_counts():
            record["rejected"] = rejected
        return record

    def iter_requirements(self, options: Any) -> Iterator[requirements.Requirement]:
        train_data = options.train_data or ([options.corpus] if options.corpus else [])
        yield from requirements.iter_train_split_requirements(train_data)
        yield from requirements.iter_train_split_requirements(options.bigrams or [])
        if options.embeddings:
            yield requirements.build_embeddings_requirement(options.embeddings)
        if options.wordnet:
            yield requirements.build_wordnet_requirement()

    def score_examples(self, columns: Columns, predictions: SetPredictions) -> RowScores:
        """Compute the row scores: 1 if the prediction is correct and no other label has its probability, else 0.

        Pairs that share a premise are resampled together.
        """
        gold = predictions.to_label_positions(columns["label"])
        # A model that gives several labels one probability has not decided. The order of the labels must not decide.
        right = (predictions.predicted == gold) & ~find_tied_rows(predictions)
        return RowScores(right, gold, columns.get("premise", range(len(gold))))

    def build_table(self, result: Result) -> RenderableType:
        scores = result.scores
        human = ["human"] if "human" in scores else []
        grid = tables.create_result_table(self.title, result, "", "n", "accuracy [95 %]", *human)
        grid.add_row("all", *_format_cells(scores["n_examples"], scores), end_section=True)
        names = scores["labels"]
        views: list[tuple[str, Any]] = [
            ("by_label", lambda row: names[row["label"]]),
            ("by_category", lambda row: row["category"]),
            ("by_similarity", lambda row: f"cosine {row['low']:g} to {row['high']:g}"),
            ("by_frequency", lambda row: f"{_format_count_range(row)} training pairs"),
        ]
        for view, name in views:
            for row in scores.get(view, []):
                if row["accuracy"].n:
                    grid.add_row(name(row), *_format_cells(row["accuracy"].n, row))
            grid.add_section()
        note = tables.summarize_exclusions(result.data)
        if n := scores["unanswered"]:
            note += f"; {n:,} {'pair' if n == 1 else 'pairs'} without an answer or with a tie of labels"
        if kappa := scores.get("kappa"):
            by_label = ", ".join(
                f"{names[row['label']]} {tables.format_value(row['kappa'])}" for row in kappa["by_label"]
            )
            overall = tables.format_value(kappa["overall"])
            note += f". Fleiss' κ of {kappa['annotators']} annotators: {overall} ({by_label})"
        return tables.add_notes(grid, note)

    def summarize_result(self, result: Result) -> str:
        names = result.scores["labels"]
        rows = [row for row in result.scores["by_label"] if row["accuracy"].n]
        right = ", ".join(
            f"{tables.format_percentage(row['accuracy'])} of {row['accuracy'].n:,} {_PLURAL[names[row['label']]]}"
            for row in rows
        )
        categories, where = result.scores["by_category"], ""
        if lowest := tables.find_extreme_row(categories, "accuracy", min, _MIN_PAIRS):
            is_all = all(row["accuracy"].n >= _MIN_PAIRS for row in categories if row["accuracy"].n)
            scope = "" if is_all else f" with {_MIN_PAIRS} pairs or more"
            accuracy = tables.format_percentage(lowest["accuracy"])
            where = f"; lowest category{scope}: {lowest['category']}, {accuracy} of {lowest['accuracy'].n:,}"
        return f"correct on {right}{where}."

    def iter_set_metrics(self, scores: Any) -> Iterator[tuple[str, str, Estimate]]:
        yield "accuracy", "share of correct pairs", scores["accuracy"]
        # Without an interval, since the share of the most frequent label depends on no prediction.
        constant = figures.build_point_estimate(scores["majority"], scores["n_examples"])
        yield "majority", "accuracy of the best constant prediction", constant
        for row in scores["by_label"]:
            yield scores["labels"][row["label"]], "share of correct pairs among those of this label", row["accuracy"]
        if "human" in scores:
            yield "human", "share of pairs where one annotator gives the gold label", scores["human"]
        if "kappa" in scores:
            yield "κ", "Fleiss' κ of the annotators: agreement beyond chance", scores["kappa"]["overall"]

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        # One order for all models, so that the dots of a category are in one row.
        first = group.scored_models[0].result.scores["by_category"]
        best = sorted(first, key=lambda row: -(row["accuracy"].value or 0))
        order = {row["category"]: number for number, row in enumerate(best)}
        human = tuple(figures.FigurePoint(row["category"], row["human"]) for row in first if "human" in row)
        yield figures.build_group_figure(
            group,
            lambda scores: (
                (row["category"], row["accuracy"])
                for row in sorted(scores["by_category"], key=lambda row: order[row["category"]])
            ),
            references=[figures.FigureSeries("one annotator", human, is_reference=True)] if human else [],
            title="Accuracy by category of word",
            about="Categories are sorted by the accuracy of the first model. Lines are 95 % intervals.",
            x="category",
        )
        yield figures.build_group_figure(
            group,
            lambda scores: (
                (f"{row['low']:g} to {row['high']:g}", row["accuracy"]) for row in scores.get("by_similarity", ())
            ),
            title="Contradictions by similarity of the words",
            about="Accuracy by the cosine similarity of the two words' embeddings.",
            x="similarity",
        )
        yield figures.build_group_figure(
            group,
            lambda scores: ((_format_count_range(row), row["accuracy"]) for row in scores.get("by_frequency", ())),
            title="Contradictions by frequency in the training data",
            about="Accuracy by the number of contradicting training pairs that contain both words, one in each "
            "sentence.",
            x="training pairs",
        )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        groups = read_column(pairs.rows, "category").to_pylist()
        return self.iter_wrong_and_right(
            pairs, "most confident", pairs.confidence, per_group=_PER_CATEGORY, groups=groups
        )

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        return self.iter_shortest(pairs, "one word replaced")

    def build_example(self, pairs: examples.PredictedPairs, kind: str, index: int) -> examples.ReportExample:
        row = pairs.get_row(index)
        words = {"premise": row["replaced"], "hypothesis": row["replacement"]}
        lines = examples.build_pair_lines(row, lambda side: examples.mark_phrases(row[side], [words[side]], "replaced"))
        return pairs.build_example(kind, index, lines, f"category {row['category']}")


def _format_cells(n: int, row: Mapping[str, Any]) -> list[str]:
    return [
        f"{n:,}",
        tables.format_interval(row["accuracy"]),
        *([tables.format_value(row["human"])] if "human" in row else []),
    ]


def _format_count_range(row: Any) -> str:
    least, most = row["least"], row["most"]
    return f"{least}+" if most is None else f"{least}" if least == most else f"{least}-{most}"


class _WordData:
    """The word counts, the bigram counts and the similarities of words that the options request."""

    def __init__(self, options: Any, premises: Sequence[PairSource], vocabulary: frozenset[str] = _LISTED) -> None:
        """Store the options, the sources of the premises (none for the official pairs) and the words to count."""
        self._options, self._premises, self._vocabulary = options, premises, vocabulary

    @property
    def training(self) -> Sequence[PairSource]:
        """Training corpora; empty for the official pairs without the option `train_data`."""
        options = self._options
        if options.train_data or options.corpus:
            names = tuple(options.train_data or (options.corpus,))
            return open_training_sources(names, language=options.language)
        return self._premises

    @property
    def bigram_texts(self) -> list[Path]:
        """Texts and tables whose bigrams are counted."""
        return [Path(name) for name in self._options.bigrams or () if is_bigram_file(name)]

    @property
    def bigram_sources(self) -> list[PairSource]:
        """Corpora whose bigrams are counted."""
        names = tuple(name for name in self._options.bigrams or () if not is_bigram_file(name))
        return open_training_sources(names, language=self._options.language) if names else []

    @cached_property
    def _corpus_counts(self) -> CorpusCounts:
        single = {word for word in self._vocabulary if word and " " not in word}
        training = chain.from_iterable(source.iter_examples() for source in self.training)
        return corpus_counts.count_words_and_bigrams(training, single)

    @cached_property
    def substituter(self) -> Substituter:
        """Generator of the sentences with one replaced word."""
        config, more, bigrams = self._options, None, None
        if config.bigrams:
            counted = (corpus_counts.count_words_and_bigrams(each.iter_examples()) for each in self.bigram_sources)
            of_sources = (BigramCounts(counts.bigrams) for counts in counted)
            of_texts = map(corpus_counts.read_bigrams, self.bigram_texts)
            bigrams = corpus_counts.merge_bigram_counts(chain(of_sources, of_texts))
        if config.wordnet:
            from unbag.baselines.wordnet.database import open_wordnet
            from unbag.challenge_sets.perturbations.wordnet_candidates import WordNetCandidates

            more = WordNetCandidates(open_wordnet()).get_candidates
        return Substituter(
            self._corpus_counts,
            config.q,
            config.min_bigram_count,
            config.seed,
            lists=(*(TEXT_LISTS if config.text else WORD_LISTS), *(NEUTRAL_LISTS if config.neutral else ())),
            more=more,
            bigrams=bigrams,
            prepositions=config.prepositions,
            similarity=self._similarity,
            min_similarity=config.min_similarity,
            words=config.words,
        )

    def build_text_pairs(
        self, source: PairSource, rejected: Counter[str]
    ) -> Callable[[str], list[SubstitutedSentence]]:
        """Build the function that finds the pairs of a sentence of the user's text that differ in a number or name."""
        config, pipeline = self._options, self._options.parser_name
        from unbag.challenge_sets.perturbations import numbers  # compiles its many patterns

        def annotate() -> Iterator[names.AnnotatedSentence]:
            create = partial(EntityRecognizer, pipeline)
            premises = (example.premise for example in source.iter_examples())
            precompute_annotations(create, EntityRecognizer.recognize, premises)
            # Three passes over the source, since holding the sentences of a large text would need too much memory.
            parses = Parser(pipeline).parse(example.premise for example in source.iter_examples())
            entities = EntityRecognizer(pipeline).recognize(example.premise for example in source.iter_examples())
            return zip(parses, entities, strict=True)

        with_names = names.build_name_pairs(annotate, config.seed, rejected)

        def pairs(premise: str) -> list[SubstitutedSentence]:
            exchanged = [with_names[premise]] if premise in with_names else []
            found = [*numbers.build_number_pairs(premise, config.seed), *exchanged]
            return [
                each for each in found if vocabulary_split.are_in_vocabulary_half(config.words, (each.old, each.new))
            ]

        return pairs

    def measure(self, old: str, new: str) -> dict[str, Any]:
        """Count the training examples with two words, and compute the similarity of the words.

        Phrases of several words are not measured (section 5.2).
        """
        if not all(word and " " not in word for word in (old, new)):
            return {}
        # WordNet has too many words to count all of their pairs.
        is_counted = self._options.train_data if self._options.is_official else {old, new} <= _LISTED
        frequency = self._corpus_counts.pairs.get((old, new), 0) if is_counted else None
        return {"pair_frequency": frequency, "similarity": self._similarity(old, new)}

    @cached_property
    def _similarity(self) -> Callable[[str, str], float | None]:
        if not self._options.embeddings:
            return lambda old, new: None
        table = embeddings.load_embeddings(self._options.embeddings)
        vectors: dict[str, Any] = {}

        def similarity(old: str, new: str) -> float | None:
            for word in (old, new):
                if word not in vectors:
                    # The mean of one word is its vector. The table also handles words of several subword tokens.
                    [vectors[word]] = table.compute_means([(word,)])
            norms = np.linalg.norm([vectors[old], vectors[new]], axis=1)
            if not norms.all():
                return None  # a zero vector means that the table lacks a word
            # Clipped, since rounding errors can push the cosine of parallel vectors slightly beyond 1.
            cosine = np.clip(vectors[old] @ vectors[new] / norms.prod(), -1, 1)
            return float(round_to_field(cosine, substitution.SIMILARITY))

        return similarity
