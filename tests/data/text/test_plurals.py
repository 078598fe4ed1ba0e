import pytest

from unbag.data.text.grammar import pluralize_noun


@pytest.mark.parametrize(
    ("one", "many"),
    [
        *[("cat", "cats"), ("box", "boxes"), ("woman", "women"), ("child", "children"), ("deer", "deer")],
        *[("lady", "ladies"), ("toy", "toys"), ("snowman", "snowmen"), ("goldfish", "goldfish"), ("human", "humans")],
        *[("church", "churches"), ("tooth", "teeth"), ("little old lady", "little old ladies")],
        *[("day", "days"), ("pony", "ponies"), ("dish", "dishes"), ("piano", "pianos"), ("school bus", "school buses")],
    ],
)
def test_nouns_are_pluralized(one, many):
    assert pluralize_noun(one) == many
