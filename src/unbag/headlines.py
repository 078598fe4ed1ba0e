"""The few numbers of each challenge set that go into cards, leaderboards and tables: name, direction, value, interval.

A result holds far more (`measures/<set>.py`). Here it is said, in one place, which of that is quoted elsewhere, under
which name, whether more is better, and which single number stands for the set where there is room for one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from unbag.results import Result
from unbag.scoring.bootstrap import Estimate


class Headline(NamedTuple):
    """One quoted number.

    Attributes:
        metric: its name for machines; the same in every result of the set.
        name: its name for people, in the terms of the set's paper.
        higher_is_better: the direction.
        estimate: value, 95 % interval and number of examples; the interval is None where the value is worked out of
            others, whose examples are not at hand.
    """

    metric: str
    name: str
    higher_is_better: bool
    estimate: Estimate


Scores = Mapping[str, Any]

SCORE: Final[Mapping[str, str]] = {
    # Ω_max and P^c, the paper's own, are lower the better, and their complements reward who is wrong everywhere. This
    # is 0 for every model to which order is nothing: for a bag of words, a constant answer and a guess alike.
    "permuted": "permutation_drop",
    # Accuracy on CS_λ for the λ that the paper settles on (Table 5). The drop from CS_0 would reward a low CS_0.
    "cs_lambda": "accuracy_cs_0.7",
    "resnli": "accuracy",  # the paper's Table 3
    # The drop is 0, and the agreement 1, for a constant answer; this needs the right answer in either order.
    "swapped": "accuracy_after",
    "soswap_addamod": "accuracy",  # of both kinds together: they have different labels, so one answer does not do
    # Table 3 of the paper, which all who report on the set quote; .874 of the pairs are contradictions.
    "breaking_nli": "accuracy",
    "sicck": "f1",  # macro; what the paper's tables are sorted by
    "plain": "accuracy",
}
"""Which headline stands for a set where one scalar is asked for that is higher the better."""


def headlines(result: Result) -> list[Headline]:
    """Return a result's headlines in the order in which they are shown; those without any example are left out.

    Raises:
        ValueError: if no headlines are chosen for the set.
    """
    return [found for found in _chosen(result.set)(result.scores) if found.estimate.value is not None]


def score(result: Result) -> Headline | None:
    """Return the headline that stands for a result alone (`SCORE`); None if it has no example.

    Raises:
        ValueError: if no headlines are chosen for the set.
    """
    return next((found for found in headlines(result) if found.metric == SCORE[result.set]), None)


def _chosen(name: str) -> Callable[[Scores], Iterator[Headline]]:
    if name not in _OF_SET:
        raise ValueError(f"expected a set with headlines ({', '.join(_OF_SET)}), found {name!r}; choose some for it")
    return _OF_SET[name]


def _permuted(scores: Scores) -> Iterator[Headline]:
    """Sinha et al. 2021, section 4. The drop is ours: A less the share of all permuted pairs that are predicted right.

    That share is (|D^c| P^c + |D^f| P^f) / |D|: what is neither in D^c nor in D^f is accepted in no order.
    """
    yield Headline("accuracy", "accuracy in order, A", True, scores["accuracy"])
    yield Headline("omega_max", "Ω_max", False, scores["omega_max"])
    yield Headline("omega_rand", "Ω_rand", False, scores["omega_rand"])
    yield Headline("omega_all", "Ω_1.0", False, scores["omega_all"])
    yield Headline("p_c", "P^c", False, scores["p_c"])
    yield Headline("p_f", "P^f", False, scores["p_f"])
    accepted = sum(scores[n] * (scores[share].value or 0.0) for n, share in (("n_c", "p_c"), ("n_f", "p_f")))
    n = scores["n_examples"]
    drop = scores["accuracy"].value - accepted / n
    yield Headline("permutation_drop", "accuracy in order less out of order", True, Estimate(drop, None, None, n))


def _cs_lambda(scores: Scores) -> Iterator[Headline]:
    """Nie et al. 2019, Table 5; the human estimate and the majority vote are not the model's."""
    for subset in scores["subsets"]:
        threshold = subset["lambda"]
        if threshold:
            yield Headline(f"accuracy_cs_{threshold:g}", f"accuracy, CS_{threshold:g}", True, subset["accuracy"])
        else:
            yield Headline("accuracy", "accuracy, all", True, subset["accuracy"])
    if subset["lambda"]:
        yield Headline(f"drop_cs_{subset['lambda']:g}", f"drop, all to CS_{subset['lambda']:g}", False, subset["drop"])


def _resnli(scores: Scores) -> Iterator[Headline]:
    """Of the ReSNLI paper, Table 3 and Figure 2; for `unseen` see `measures.resnli`."""
    yield Headline("accuracy", "accuracy", True, scores["accuracy"])
    if "unseen" in scores:
        yield Headline("accuracy_unseen", "accuracy, pairs not from train", True, scores["unseen"])
    yield Headline("accuracy_easiest", "accuracy, easiest partition", True, scores["easiest"])
    yield Headline("accuracy_hardest", "accuracy, hardest partition", True, scores["hardest"])
    yield Headline("drop", "drop, easiest to hardest", False, scores["drop"])


def _swapped(scores: Scores) -> Iterator[Headline]:
    """Wang, Sun & Xing 2019: over neutral pairs and contradictions."""
    yield Headline("accuracy_before", "accuracy as given", True, scores["accuracy_before"])
    yield Headline("accuracy_after", "accuracy when exchanged", True, scores["accuracy_after"])
    yield Headline("drop", "drop", False, scores["drop"])
    yield Headline("agreement", "same answer both ways", True, scores["agreement"])


def _soswap_addamod(scores: Scores) -> Iterator[Headline]:
    """Nie et al. 2019, Table 2, whose shares of the right label these are."""
    yield Headline("accuracy", "accuracy", True, scores["accuracy"])
    for kind, name in (("soswap", "SOSwap"), ("addamod", "AddAmod")):
        if kind in scores["by_subset"]:
            yield Headline(f"accuracy_{kind}", f"accuracy, {name}", True, scores["by_subset"][kind]["accuracy"])


def _breaking_nli(scores: Scores) -> Iterator[Headline]:
    """Glockner et al. 2018, Table 3; by label too, for most pairs are contradictions."""
    yield Headline("accuracy", "accuracy", True, scores["accuracy"])
    for row in scores["by_label"]:
        label = scores["labels"][row["label"]]
        yield Headline(f"accuracy_{label}", f"accuracy, {label}", True, row["accuracy"])


def _sicck(scores: Scores) -> Iterator[Headline]:
    """Akoju et al. 2023, Table 8: macro averages over the four labels."""
    yield Headline("f1", "macro F1", True, scores["f1"])
    yield Headline("precision", "macro precision", True, scores["precision"])
    yield Headline("recall", "macro recall", True, scores["recall"])
    yield Headline("accuracy", "accuracy", True, scores["accuracy"])


def _plain(scores: Scores) -> Iterator[Headline]:
    yield Headline("accuracy", "accuracy", True, scores["accuracy"])


_OF_SET: Final[Mapping[str, Callable[[Scores], Iterator[Headline]]]] = {
    "permuted": _permuted,
    "cs_lambda": _cs_lambda,
    "resnli": _resnli,
    "swapped": _swapped,
    "soswap_addamod": _soswap_addamod,
    "breaking_nli": _breaking_nli,
    "sicck": _sicck,
    "plain": _plain,
}
