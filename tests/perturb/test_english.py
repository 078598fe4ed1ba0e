import pytest

from unbag.perturb.english import article, base_form, plural, third_person


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("apple", "an"),
        ("pear", "a"),
        ("uniform", "a"),
        ("unicorn", "a"),
        ("umbrella", "an"),
        ("hour", "an"),
        ("one-eyed cat", "a"),
        ("old cat", "an"),
        ("euro", "a"),
        ("unimportant man", "an"),
        ("house", "a"),
        ("user", "a"),
    ],
)
def test_articles(word, expected):
    assert article(word) == expected


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("cat", "cats"),
        ("box", "boxes"),
        ("woman", "women"),
        ("child", "children"),
        ("deer", "deer"),
        ("lady", "ladies"),
        ("boy", "boys"),
        ("snowman", "snowmen"),
    ],
)
def test_plurals(one, many):
    assert plural(one) == many


@pytest.mark.parametrize("verb", ["play", "watch", "carry", "ride", "fix", "kiss", "push", "see", "move", "buzz"])
def test_the_base_form_undoes_the_third_person(verb):
    assert third_person(verb) != verb
    assert base_form(third_person(verb)) == verb
