"""Tests of the additional SOSwap exclusion criteria for written text."""

import pytest

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.challenge_sets.perturbations.soswap import SoswapExclusionReason, SwappedSentence, swap_subject_and_object

CHASE = """
    A      a     DET  DT  2 det
    dog    dog   NOUN NN  3 nsubj
    chases chase VERB VBZ 3 ROOT
    a      a     DET  DT  5 det
    cat    cat   NOUN NN  3 dobj
"""


def build_clause(*tail, verb="chases chase", before=()):
    """Build the parse of "A dog chases a cat" with tokens before and after. Heads of the tail are relative to the
    clause.
    """
    shift = len(before)
    lines = [line.split() for line in CHASE.strip().splitlines() + list(tail)]
    lines[2][:2] = verb.split()
    for line in lines:
        line[4] = str(int(line[4]) + shift)
    if before:
        lines[0][0] = lines[0][0].lower()
    return build_parse("\n".join([*before, *(" ".join(line) for line in lines)]))


STOP = "+. . PUNCT . 3 punct"


@pytest.mark.parametrize(
    ("parse", "reason"),
    [
        (build_clause('+" " PUNCT \'\' 3 punct', STOP), SoswapExclusionReason.QUOTED),
        (build_clause("more more ADV RBR 3 advmod", "than than ADP IN 6 prep", "birds bird NOUN NNS 7 pobj", STOP),
         SoswapExclusionReason.COMPARISON),
        (build_clause(STOP, verb="has have"), SoswapExclusionReason.HAPPENING),
        (build_clause(STOP, verb="promises promise"), SoswapExclusionReason.TWO_OBJECTS),
        (build_clause("+, , PUNCT , 3 punct", "the the DET DT 8 det", "pet pet NOUN NN 3 npadvmod", STOP),
         SoswapExclusionReason.BROKEN),
        (build_clause("+-significantly significantly ADV RB 3 advmod", STOP), SoswapExclusionReason.BROKEN),
        (build_clause(STOP, before=["Printed print VERB VBN 4 advcl"]), SoswapExclusionReason.BROKEN),
        (build_clause(STOP, before=["Gate gate PROPN NNP 4 npadvmod"]), SoswapExclusionReason.BROKEN),
    ],
)  # fmt: skip
def test_written_text_excludes_sentences_that_captions_keep(parse, reason):
    assert isinstance(swap_subject_and_object(parse), SwappedSentence)
    assert swap_subject_and_object(parse, is_written_text=True) is reason


def test_written_text_excludes_list_split_by_parser():
    """Because of the verb, the parser misses that the last noun is part of the object: "… a cat, and ultimately a
    bird".
    """
    tail = ("+, , PUNCT , 3 punct", "and and CCONJ CC 3 cc", "ultimately ultimately ADV RB 3 advmod",
            "a a DET DT 10 det", "bird bird NOUN NN 3 conj", STOP)  # fmt: skip
    assert isinstance(swap_subject_and_object(build_clause(*tail)), SwappedSentence)
    assert swap_subject_and_object(build_clause(*tail), is_written_text=True) is SoswapExclusionReason.BROKEN


@pytest.mark.parametrize(
    "tail",
    [
        (STOP,),
        ("in in ADP IN 3 prep", "May May PROPN NNP 6 pobj", STOP),
        ("+, , PUNCT , 3 punct", "and and CCONJ CC 3 cc", "runs run VERB VBZ 3 conj", STOP),
    ],
)
@pytest.mark.parametrize("before", [(), ("Then then ADV RB 4 advmod",)])
def test_written_text_swaps_plain_clauses_like_captions(tail, before):
    parse = build_clause(*tail, before=before)
    assert swap_subject_and_object(parse, is_written_text=True) == swap_subject_and_object(parse)
    assert isinstance(swap_subject_and_object(parse), SwappedSentence)
