"""What is to be said of a model beside its scores on a set: how its output was read, and what code it ran."""

from unbag.challenge_sets.results import Result
from unbag.data.labels import positive_of
from unbag.evaluation.verdict import percentage
from unbag.inference.single_output import sentence


def remarks(result: Result) -> list[str]:
    """Return a sentence or two for each thing that a reader of a result must know of its model; most have none."""
    model = result.model
    said = []
    if ranking := model.get("ranking"):
        label = positive_of(str(model.get("outputs", "")).split(","))
        said.append(sentence(str(model["name"]), ranking, str(model.get("threshold")), label))
    if result.truncated_share:
        longest = f" {model['max_length']} tokens" if "max_length" in model else " input"
        said.append(
            f"{percentage(result.truncated_share)} of the pairs ({model['truncated_pairs']:,}) are longer than "
            f"{model['name']}'s longest{longest}; it did not read their ends."
        )
    if "trusted_code" in model:
        said.append(f"{model['name']} ran Python code of its own repository, as asked (--trust-remote-code).")
    return said
