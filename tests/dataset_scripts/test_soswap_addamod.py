import json

import pytest

from unbag import evaluate
from unbag.challenge_sets import loading
from unbag.challenge_sets.perturbations.soswap_addamod import KINDS
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.corpora import CORPORA
from unbag.data.sources import open_data

PAIRS = [
    ("A man is pushing an old car.", "An old man has a car.", "neutral"),
    ("A man is pushing an old car.", "A man sleeps.", "contradiction"),
    ("The dog sleeps.", "The old man sleeps near an old car.", "neutral"),
    ("Two boys are chasing a cat near a bus.", "An old cat and an old bus.", "-"),  # unlabelled
    ("A woman is painting a man in a car.", "Somebody paints.", "entailment"),
]


@pytest.fixture
def options(shared, tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps({"premise": p, "hypothesis": h, "label": g}) + "\n" for p, h, g in PAIRS))
    return {"data": str(path), "pipeline": str(shared / "hub" / "models" / "spacy" / "en_core_web_sm")}


def test_both_kinds_are_built_from_distinct_labelled_premises(options):
    rows = loading.load("soswap_addamod", **options)
    made = [(row["id"], row["hypothesis"], row["label"]) for row in rows if row["kind"] == "soswap"]
    assert made == [
        ("pairs-0#soswap", "An old car is pushing a man.", 2),
        ("pairs-4#soswap", "A man is painting a woman in a car.", 2),
    ]
    [added] = [row for row in rows if row["kind"] == "addamod"]
    assert (added["id"], added["adjective"], added["source_premise"]) == ("pairs-4#addamod", "old", PAIRS[4][0])
    assert {added["premise"], added["hypothesis"]} == {
        "A woman is painting an old man in a car.",
        "A woman is painting a man in an old car.",
    }
    assert rows.features["label"].int2str(rows["label"][:]) == ["contradiction", "contradiction", "neutral"]


def test_kind_option_selects_rows(options):
    assert loading.load("soswap_addamod", kind="soswap", **options)["kind"][:] == ["soswap", "soswap"]


def test_attested_split_counts_adjectives_of_other_split(options, tmp_path, monkeypatch):
    test = tmp_path / "test.jsonl"
    test.write_text(json.dumps(dict(zip(("premise", "hypothesis", "label"), PAIRS[4], strict=True))) + "\n")
    files = {"test": test, "train": options["data"]}
    monkeypatch.setattr(
        "unbag.challenge_sets.config.open_corpus", lambda corpus, split, **settings: open_data(files[split])
    )
    request = {"corpus": "sick", "source_split": "test", "pipeline": options["pipeline"]}
    assert loading.load("soswap_addamod", **request)["kind"][:] == ["soswap"]
    attested = loading.load("soswap_addamod", **request, attested_split="train")
    assert [(row["kind"], row["adjective"]) for row in attested] == [("soswap", None), ("addamod", "old")]


def test_exclusions_are_counted_and_parser_is_recorded(options):
    built = build_requested_set(SetRequest("soswap_addamod", options=options))
    assert built.data["excluded"] == {"unlabelled": 1, "with a repeated premise or one that makes no pair": 2}
    assert built.config["parser"].startswith("en_core_web_sm")
    assert built.config["counts"] == {
        "premises": 3,
        "soswap": 2,
        "soswap: a verb without an object": 1,
        "addamod": 1,
        "addamod: fewer than two nouns that take an adjective": 1,
        "addamod: no adjective that is attested with two of its nouns": 1,
    }
    assert build_requested_set(SetRequest("soswap_addamod", options=options)).config == built.config, (
        "also from the cache"
    )


def test_bag_of_words_scores_equal_manual_example(options, tmp_path):
    """For a bag of words, both sentences are equal."""
    [result] = evaluate(
        lambda premises, _: ["entailment"] * len(premises),
        [SetRequest("soswap_addamod", options=options)],
        output_dir=tmp_path,
    )
    for part, n in (("soswap", 2), ("addamod", 1)):
        scores = result.scores["by_subset"][part]
        assert scores["n_examples"] == n
        assert {name: share.value for name, share in scores["shares"].items()} == {
            "entailment": 1.0,
            "neutral": 0.0,
            "contradiction": 0.0,
        }
        assert scores["accuracy"].value == 0


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"kind": "swap"}, "kind: expected one of both, soswap, addamod, got 'swap'"),
        ({"min_count": 0}, "min_count: expected at least 1, got 0"),
        ({"language": "zh"}, "English pairs"),
        ({"attested_split": "train"}, "attested_split: expected a corpus"),
    ],
)
def test_invalid_options_raise(options, option, words):
    with pytest.raises(ValueError, match=words):
        loading.load("soswap_addamod", **options, **option)


def test_config_exists_for_every_english_split_and_kind():
    configs = loading.create_builder("soswap_addamod", "snli").builder_configs
    english = [corpus for corpus in CORPORA.values() if corpus.language == "en" and not corpus.is_two_way]
    assert 0 < len(english) < len(CORPORA)
    for corpus in english:
        for split in corpus.splits:
            for kind in KINDS:
                config = configs[f"{corpus.name}-{split}" + ("" if kind == "both" else f"-{kind}")]
                assert (config.corpus, config.source_split, config.kind) == (corpus.name, split, kind)
    assert len(configs) == sum(len(corpus.splits) for corpus in english) * len(KINDS)
