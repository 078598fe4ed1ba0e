"""Training on a rearranged corpus as a table: Table 3 of the ReSNLI paper, and both ends of its Figure 2."""

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from unbag.challenge_sets.views.tables import interval, titled
from unbag.scoring.bootstrap import Estimate

_NAMES: Final = {
    "finetune": "fine-tuned",
    "hex": "HEX, f([h, 0])",  # as text, or some consoles take the brackets for a style
    "hex, residual head": "HEX, F_L",
}


def table(done: Mapping[str, Any]) -> Table:
    """Return the accuracy on the corpus as it is and rearranged, and what HEX changes on the same pairs."""
    (corpus, plain), (_, rearranged) = done["arrangements"].items()
    seeds, several = len(done["seeds"]), len(done["seeds"]) > 1
    grid = titled(
        f"{done['config']['model']} · trained and tested on {corpus} as it is, and rearranged",
        *("", f"{corpus} [95 %]", "rearranged [95 %]", "easiest", "hardest"),
        caption=f"{_pairs(plain)} and {_pairs(rearranged)}; "
        + (f"means over {seeds} training seeds, ± their standard deviation. " if several else "one training seed. ")
        + "Easiest and hardest: the first and the last of the rearranged test pairs' partitions."
        + (" The paper's models were trained on all of SNLI." if done["published"] else ""),
    )
    for name in plain["answers"]:
        own = [arrangement["answers"][name] for arrangement in (plain, rearranged)]
        ends = [own[1]["by_partition"][end]["accuracy"] for end in (0, -1)]
        grid.add_row(Text(_NAMES[name]), *map(_cell, own), *(f"{value:.3f}" for value in ends))
    grid.add_section()
    for name in plain["answers"]:
        less = [arrangement["answers"][name]["less_finetune"] for arrangement in (plain, rearranged)]
        if None not in less:
            name_of_gap = Text(f"{_NAMES[name]}, less fine-tuned")
            grid.add_row(name_of_gap, *(interval(Estimate(**each)) for each in less), "", "")
    if done["published"]:
        grid.add_section()
    for row in done["published"]:
        grid.add_row(f"{row['model']} (paper)", f"{row['SNLI']:.3f}", f"{row['ReSNLI']:.3f}", "", "", style="dim")
    return grid


def _cell(answers: Mapping[str, Any]) -> str:
    deviation = answers["over_seeds"]["standard_deviation"]
    return interval(Estimate(**answers["accuracy"])) + ("" if deviation is None else f" ±{deviation:.3f}")


def _pairs(arrangement: Mapping[str, Any]) -> str:
    trained = sum(part["pairs"] for part in arrangement["data"]["training"])
    return f"{trained:,} pairs to train on and {arrangement['n']:,} to test"
