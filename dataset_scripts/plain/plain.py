"""Plain set: the unchanged pairs of a corpus, as a reference for the challenge sets."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pyarrow as pa

from unbag.challenge_sets.base import ACCURACY, ChallengeSet
from unbag.challenge_sets.pairs import Pairs
from unbag.challenge_sets.papers import PublishedColumn
from unbag.data.columns import PAIR, ROWS_PER_TABLE
from unbag.data.labels import get_gold_id
from unbag.data.sources import compute_source_id


class Plain(ChallengeSet):
    """All labelled pairs of a corpus split, unmodified.

    Configs: `<corpus>-<split>`. `data=…` uses your own data.
    """

    name = "plain"
    title = "Corpus"
    question = "How accurate is the model on ordinary pairs?"
    paper = "Talman & Chatzikyriakidis 2019, https://aclanthology.org/W19-4810"
    citation = """@inproceedings{talman-chatzikyriakidis-2019-testing,
  title = {Testing the Generalization Power of Neural Network Models across {NLI} Benchmarks},
  author = {Talman, Aarne and Chatzikyriakidis, Stergios},
  booktitle = {Proceedings of BlackboxNLP}, year = {2019}, url = {https://aclanthology.org/W19-4810},
  eprint = {1810.09774}, archivePrefix = {arXiv}}"""
    shuffled = (
        "The gold label of the pair in the original order. The control measures how much of the corpus can be "
        "solved without word order."
    )
    example_id = "id"  # pairs of one document share a source
    tokenizes = False
    accepts_contradiction_labels = True
    metrics = ("category_accuracy", "verification")
    metric_definitions = (
        replace(
            ACCURACY,
            published_columns=(
                PublishedColumn("Nie et al. 2019", "3", "original", same_rows=True),
                PublishedColumn("ReSNLI 2019", "2", "accuracy", same_rows=True),
            ),
        ),
    )
    corpus_pairs = {}
    is_control = True
    is_accuracy = True
    has_verification = True
    evaluation_order = 1
    report_order = 1

    def rows(self, pairs: Pairs) -> Iterator[pa.Table]:
        """Convert the pairs to rows.

        Pairs of your own with the same document have one `source_id`: their predictions are not independent, so that
        intervals must be over documents. In a corpus, every example is a source, as in published results.
        """
        while some := list(islice(pairs, ROWS_PER_TABLE)):
            names, premises, hypotheses, labels, _, _ = zip(*some, strict=True)
            sources = list(map(compute_source_id, some))
            ids = [get_gold_id(label, pairs.source.labels) for label in labels]
            yield pa.table([names, sources, premises, hypotheses, ids], schema=pa.schema(PAIR))
