"""Commands about natural logic: `unbag natlog label`, `unbag natlog modify` and `unbag natlog prove`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unbag.cli.output import AsJson, console, print_json

if TYPE_CHECKING:
    from unbag.challenge_sets.perturbations.modifiers import ModifiedPair, Seed

app = typer.Typer(
    no_args_is_help=True,
    help="What follows from what: label two sentences with a proof, or modify a pair and prove what that does.",
)
# As in `unbag.challenge_sets.perturbations.modifiers`; a test holds them together.
Part = Literal["subject", "verb", "object"]
Position = Literal["premise", "hypothesis", "both"]
Premise = Annotated[str, typer.Option(help="The first sentence, unmodified: subject, verb, object.")]
Hypothesis = Annotated[str, typer.Option(help="The second sentence, unmodified.")]
Label = Annotated[str, typer.Option(help="Their label: entailment, neutral or contradiction.")]


@app.command()
def label(
    premise: Annotated[str, typer.Option(help="The first sentence.")],
    hypothesis: Annotated[str, typer.Option(help="The second sentence.")],
    pipeline: Annotated[str | None, typer.Option(help="A spaCy pipeline: a package, a folder or a Hub id.")] = None,
    as_json: AsJson = False,
) -> None:
    """Label two sentences, with the proof, or say what of them cannot be read.

    unbag natlog label --premise "No dog is chasing a cat." --hypothesis "No poodle is chasing a black cat."
    """
    from unbag.baselines.natlog.sentences import Labeller, explanation
    from unbag.data.text.tagging import PIPELINE

    verdict = Labeller.load(pipeline or PIPELINE).label(premise, hypothesis)
    lines = explanation(verdict)
    if as_json:
        relation = verdict.relation and verdict.relation.value
        print_json({"label": verdict.label, "relation": relation, "unread": verdict.unread, "proof": lines})
        return
    if verdict.label is not None and verdict.relation is not None:
        console().print(f"{verdict.label} ({verdict.relation.value.replace('_', ' ')})", markup=False)
    for line in lines:
        console().print(line, markup=False)


@app.command()
def modify(
    premise: Premise,
    hypothesis: Hypothesis,
    label: Label,
    combinations: Annotated[bool, typer.Option("--combinations", help="Also modify two parts at a time.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put every modifier to a pair of sentences, and show how they are related then.

    unbag natlog modify --premise "a poodle is chasing a cat" --hypothesis "a dog is chasing a cat" --label entailment
    """
    from unbag.challenge_sets.perturbations.modifiers import modify as modified

    pairs = modified(_seed(premise, hypothesis, label), combinations=combinations)
    if as_json:
        print_json([_plain(pair) for pair in pairs])
        return
    from rich.table import Table

    table = Table("premise", "hypothesis", "relation", box=None, pad_edge=False, header_style="bold")
    for pair in pairs:
        table.add_row(pair.premise, pair.hypothesis, pair.relation.value)
    console().print(table)


@app.command()
def prove(
    premise: Premise,
    hypothesis: Hypothesis,
    label: Label,
    modifier: Annotated[str, typer.Option(help="What to put to them, such as every, 'not every', never.")] = "none",
    part: Annotated[Part, typer.Option(help="To which part.")] = "subject",
    position: Annotated[Position, typer.Option(help="In which of the sentences.")] = "premise",
    as_json: AsJson = False,
) -> None:
    """Show the relation of two sentences, and the models that prove it.

    unbag natlog prove --premise "a poodle is chasing a cat" --hypothesis "a dog is chasing a cat" --label entailment
    --modifier every --part subject --position both
    """
    from unbag.challenge_sets.perturbations.modifiers import NONE, proof
    from unbag.challenge_sets.perturbations.modifiers import modify as modified

    seed = _seed(premise, hypothesis, label)
    pairs = {(pair.modifier, pair.part, pair.position): pair for pair in modified(seed)}
    wanted = (NONE,) * 3 if modifier == NONE else (modifier, part, position)
    if (pair := pairs.get(wanted)) is None:
        taken = dict.fromkeys(name for name, *where in pairs if where == [part, position])
        raise ValueError(
            f"the {part} of the {position} takes no modifier {modifier!r}; expected one of {', '.join(taken)}"
            if taken
            else f"the {part} of the {position} takes no modifier: there is none"
        )
    text = proof(seed, pair)
    if as_json:
        print_json({**_plain(pair), "proof": text.splitlines()[1:]})
        return
    for line in (pair.premise, pair.hypothesis, "", *text.splitlines()):
        console().print(line)


def _seed(premise: str, hypothesis: str, label: str) -> "Seed":
    from unbag.challenge_sets.perturbations.modifiers import Seed
    from unbag.data.labels import canonical

    seed = Seed.of(premise, hypothesis, canonical(label))
    if seed is None:
        raise ValueError(
            f"expected two sentences like 'a dog is chasing a cat' that {label} can be said of, found {premise!r} and "
            f"{hypothesis!r}: subject, auxiliary, verb and object of one clause, without quantifier"
        )
    return seed


def _plain(pair: "ModifiedPair") -> dict[str, str]:
    return {**pair._asdict(), "relation": pair.relation.value}
