"""What a shell completes: names of sets, corpora, splits and metrics. The last name of a comma-separated list too."""

from collections.abc import Iterable, Sequence

import typer


def sets(incomplete: str) -> list[str]:
    """Complete the name of a challenge set."""
    from unbag import challenge_sets

    return _completed(incomplete, challenge_sets.names())


def corpora(incomplete: str) -> list[str]:
    """Complete the name of a base corpus."""
    from unbag.data.corpora import CORPORA

    return _completed(incomplete, CORPORA)


def splits(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a split of the corpora that are named before, or of all corpora."""
    from unbag.data.corpora import CORPORA

    named = [name for name in ctx.params.get("corpus") or () if name in CORPORA] or list(CORPORA)
    return _completed(incomplete, dict.fromkeys(split for name in named for split in CORPORA[name].splits))


def metrics(incomplete: str) -> list[str]:
    """Complete the name of a metric."""
    from unbag import scripts

    return _completed(incomplete, scripts.names("metrics"))


def bounds(incomplete: str) -> list[str]:
    """Complete SET:NUMBER= of a gate."""
    from unbag import challenge_sets
    from unbag.evaluation.quantities import quantities

    return _completed(incomplete, [f"{name}:{each}=" for name in challenge_sets.names() for each in quantities(name)])


def _completed(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return what a list becomes with each name in place of the part behind its last comma."""
    before, comma, last = incomplete.rpartition(",")
    given: Sequence[str] = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in given]
