"""The commands `unbag natlog label`, `unbag natlog modify` and `unbag natlog prove`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unbag.cli.options import App
from unbag.cli.output import AsJson, create_cli_console, print_json

if TYPE_CHECKING:
    from unbag.challenge_sets.perturbations.modifiers import ModifiedPair, SeedPair

app = App(
    no_args_is_help=True,
    help="Label pairs with natural logic, or modify a pair and prove its relation.",
)
# Copies of constants in `unbag.challenge_sets.perturbations.modifiers`. A test compares both.
Part = Literal["subject", "verb", "object"]
Position = Literal["premise", "hypothesis", "both"]
Premise = Annotated[str, typer.Option(help="Premise of the form subject, verb, object, without modifiers.")]
Hypothesis = Annotated[str, typer.Option(help="Hypothesis of the form subject, verb, object, without modifiers.")]
Label = Annotated[str, typer.Option(help="Gold label: entailment, neutral or contradiction.")]


@app.command()
def label(
    premise: Annotated[str, typer.Option(help="Premise.")],
    hypothesis: Annotated[str, typer.Option(help="Hypothesis.")],
    pipeline: Annotated[
        str | None, typer.Option(help="spaCy pipeline: package, folder or Hub id (default: spacy/en_core_web_sm).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Label a sentence pair and print the proof, or the reason why the pair is not supported.

    unbag natlog label --premise "No dog runs." --hypothesis "No poodle runs."
    """
    from unbag.baselines.natlog.labeler import NatlogLabeler, format_explanation
    from unbag.data.text.tagging import PIPELINE

    verdict = NatlogLabeler.load(pipeline or PIPELINE).label(premise, hypothesis)
    lines = format_explanation(verdict)
    if as_json:
        relation = verdict.relation and verdict.relation.value
        print_json({"label": verdict.label, "relation": relation, "unsupported": verdict.unsupported, "proof": lines})
        return
    if verdict.label is not None and verdict.relation is not None:
        create_cli_console().print(f"{verdict.label} ({verdict.relation.value.replace('_', ' ')})", markup=False)
    for line in lines:
        create_cli_console().print(line, markup=False)


@app.command()
def modify(
    premise: Premise,
    hypothesis: Hypothesis,
    label: Label,
    combinations: Annotated[
        bool, typer.Option("--combinations", help="Also modify two constituents of a sentence at the same time.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Apply each modifier to a pair, and print the resulting relations.

    unbag natlog modify --premise "a poodle is chasing a cat"
    --hypothesis "a dog is chasing a cat" --label entailment
    """
    from unbag.challenge_sets.perturbations.modifiers import modify_seed_pair

    pairs = modify_seed_pair(_seed(premise, hypothesis, label), combinations=combinations)
    if as_json:
        print_json([_pair_record(pair) for pair in pairs])
        return
    from rich.table import Table

    table = Table("premise", "hypothesis", "relation", box=None, pad_edge=False, header_style="bold")
    for pair in pairs:
        table.add_row(pair.premise, pair.hypothesis, pair.relation.value)
    create_cli_console().print(table)


@app.command()
def prove(
    premise: Premise,
    hypothesis: Hypothesis,
    label: Label,
    modifier: Annotated[str, typer.Option(help="Modifier, such as every, 'not every' or never.")] = "none",
    part: Annotated[
        Part, typer.Option(metavar="PART", help="Constituent to modify: subject, verb or object (default: subject).")
    ] = "subject",
    position: Annotated[
        Position,
        typer.Option(metavar="SENTENCE", help="Sentence to modify: premise, hypothesis or both (default: premise)."),
    ] = "premise",
    as_json: AsJson = False,
) -> None:
    """Prove the relation of two modified sentences by enumerating possible situations.

    unbag natlog prove --premise "a poodle is chasing a cat"
    --hypothesis "a dog is chasing a cat" --label entailment
    --modifier every --part subject --position both
    """
    from unbag.challenge_sets.perturbations.modifiers import NONE, format_pair_proof, modify_seed_pair

    seed = _seed(premise, hypothesis, label)
    pairs = {(pair.modifier, pair.part, pair.position): pair for pair in modify_seed_pair(seed)}
    key = (NONE,) * 3 if modifier == NONE else (modifier, part, position)
    if (pair := pairs.get(key)) is None:
        modifiers = dict.fromkeys(name for name, *slot in pairs if slot == [part, position])
        raise ValueError(
            f"--modifier: expected one of {', '.join(modifiers)} for the {part} of the {position}, got {modifier!r}"
            if modifiers
            else f"--part, --position: no modifier fits the {part} of the {position}; choose another constituent"
        )
    text = format_pair_proof(seed, pair)
    if as_json:
        print_json({**_pair_record(pair), "proof": text.splitlines()[1:]})
        return
    for line in (pair.premise, pair.hypothesis, "", *text.splitlines()):
        create_cli_console().print(line)


def _seed(premise: str, hypothesis: str, label: str) -> "SeedPair":
    from unbag.challenge_sets.perturbations.modifiers import SeedPair
    from unbag.data.labels import resolve_label

    seed = SeedPair.from_pair(premise, hypothesis, resolve_label(label))
    if seed is None:
        raise ValueError(
            "--premise, --hypothesis: expected two clauses of the form subject, auxiliary, verb, object, without a "
            f"quantifier (such as 'a dog is chasing a cat'), got {premise!r} and {hypothesis!r}; rewrite the "
            f"sentences in this form, or choose a label other than {label}"
        )
    return seed


def _pair_record(pair: "ModifiedPair") -> dict[str, str]:
    return {**pair._asdict(), "relation": pair.relation.value}
