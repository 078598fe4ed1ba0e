"""Relation between two sentences, computed from finite logical models, with example situations as a proof."""

from dataclasses import replace
from functools import cache
from typing import Final

from unbag.baselines.natlog.models import FiniteModel, LogicalModelEntity, find_truth_value_models
from unbag.baselines.natlog.parsing import ClauseLogicalForm, NounPhrase, PairLogicalForm
from unbag.baselines.natlog.relations import REGIONS, Relation, classify_relation


def compute_relation(logical_form: PairLogicalForm) -> Relation:
    """Compute the relation of a premise to a hypothesis by enumerating finite logical models.

    Each sentence denotes the set of models in which it is true; Table 3 of Akoju et al. (2023) defines the relation of
    two sets. If a sentence is true in all models or in none, more than one relation holds. The result is then
    independence, as for words without a known relation (section 3.3, 4).

    Pairs with the same logical form have the same relation, regardless of their words, so the result is cached by form.
    """
    return _relate(_nameless(logical_form))


@cache
def _relate(shape: PairLogicalForm) -> Relation:
    return classify_relation(find_truth_value_models(shape)) or Relation.INDEPENDENCE


def _nameless(shape: PairLogicalForm) -> PairLogicalForm:
    """Replace the adjectives and adverbs of a shape with numbers, in order of occurrence."""
    adjectives: dict[str, str] = {}
    adverbs: dict[str, str] = {}

    def numbered(names: dict[str, str], name: str | None) -> str | None:
        return None if name is None else names.setdefault(name, str(len(names)))

    def phrase(original: NounPhrase) -> NounPhrase:
        return replace(original, adjective=numbered(adjectives, original.adjective)) if original.adjective else original

    def clause(original: ClauseLogicalForm) -> ClauseLogicalForm:
        return replace(
            original,
            subject=phrase(original.subject),
            object=original.object and phrase(original.object),
            adverb=numbered(adverbs, original.adverb),
        )

    return PairLogicalForm(clause(shape.premise), clause(shape.hypothesis), shape.word_relations)


_TRUTH_NAMES: Final = {True: "true", False: "false"}


def format_proof(
    logical_form: PairLogicalForm, subjects: tuple[str, str], verbs: tuple[str, str], objects: tuple[str, str]
) -> str:
    """Format the proof of a relation, with one situation (logical model) as an example of each pair of truth values.

    The first line is the relation. One line follows for each pair of truth values. It describes a model in which
    premise and hypothesis have these values, or states that there is none, and lists the relations that this excludes.

    Words are those of premise and hypothesis; object nouns are empty for a verb without an object. In an exchanged
    pair, `subjects` are the nouns of the premise's subject and the hypothesis's object, which are equal, and `objects`
    are the nouns of the premise's object and the hypothesis's subject.
    """
    models = find_truth_value_models(logical_form)
    relation = classify_relation(models)
    lines = [
        f"{compute_relation(logical_form).value}"
        + ("" if relation else ": one sentence is true in every model or in none")
    ]
    for part in REGIONS:
        description = (
            _description(logical_form, models[part], subjects, verbs, objects) if part in models else "no model."
        )
        line = f"premise {_TRUTH_NAMES[part[0]]}, hypothesis {_TRUTH_NAMES[part[1]]}: {description}"
        if relation and (
            others := [other.value for other in Relation if (part in other.empty_regions) is (part in models)]
        ):
            line += f" Not {' or '.join(others)}."
        lines.append(line)
    return "\n".join(lines)


def _description(
    shape: PairLogicalForm,
    model: FiniteModel,
    subjects: tuple[str, str],
    verbs: tuple[str, str],
    objects: tuple[str, str],
) -> str:
    agents = [f"s{number}" for number in range(1, len(model.subjects) + 1)]
    patients = [f"o{number}" for number in range(1, len(model.objects) + 1)]
    entities = [_is(name, entity, subjects) for name, entity in zip(agents, model.subjects, strict=True)]
    entities += [_is(name, entity, objects) for name, entity in zip(patients, model.objects, strict=True)]
    times = []
    for time, rows in enumerate(model.times):
        events = []
        for subject, row in zip(agents, rows, strict=True):
            for i, event in enumerate(row):
                entity = model.objects[i]
                other = patients[i] if _names(entity, objects) else ""
                does = [(subject, verbs[0], other), (subject, verbs[1], other)]
                if shape.word_relations.exchanged:
                    does[1] = (other, verbs[1], subject)
                texts = dict.fromkeys(
                    " ".join(filter(None, words))
                    for side, words in enumerate(does)
                    # A verb without an object has a separate artificial object.
                    if event.verbs[side] and (all(objects) or entity.nouns[side])
                )
                events += [", ".join([text, *sorted(event.adverbs)]) for text in texts]
        times.append(("now " if time == 0 else "at another time ") + ("; ".join(events) or "nothing happens"))
    return f"{', '.join(filter(None, entities))}; {'; '.join(dict.fromkeys(times))}."


def _names(entity: LogicalModelEntity, nouns: tuple[str, str]) -> list[str]:
    """List the nouns that describe an entity; the artificial object of a verb without an object has none."""
    return list(dict.fromkeys(noun for noun, fits in zip(nouns, entity.nouns, strict=True) if fits and noun))


def _is(name: str, entity: LogicalModelEntity, nouns: tuple[str, str]) -> str:
    names = _names(entity, nouns)
    return f"{name} is {' and '.join([*sorted(entity.adjectives), *names])}" if names else ""
