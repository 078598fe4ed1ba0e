"""Tests of the corpus of the demonstration: words, sentences and shipped files."""

import gzip
import os
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations, islice, product
from pathlib import Path

import numpy as np
import pytest

from tools.demo_corpus import edits
from tools.demo_corpus.__main__ import iter_files, main
from tools.demo_corpus.corpus import SPLITS, DemoPair, generate_pairs, generate_scene_pairs
from tools.demo_corpus.lexicon import (
    ADJECTIVE,
    ADJECTIVES,
    INDEPENDENT,
    NOUN,
    NOUNS,
    PLACE,
    PLACES,
    TIME,
    TIMES,
    VERB,
    VERBS,
    get_implied_adjectives,
)
from tools.demo_corpus.scenes import Caption, Entity, Gear, Scene, is_sound
from tools.demo_corpus.semantics import are_captions_clear, are_unrelated, entails, label_captions
from tools.demo_corpus.sentences import FORMS, list_forms, write_sentence, write_text
from tools.demo_corpus.taxonomy import Taxonomy
from unbag.baselines.lexical import embeddings
from unbag.data import demo, labels

pytestmark = pytest.mark.nightly  # the shipped corpus changes only if somebody generates it again


@pytest.mark.parametrize(
    "words",
    [
        [singular for noun in NOUN.values() for singular, _ in noun.words],
        [plural for noun in NOUN.values() for _, plural in noun.words if not noun.mass],
        [word for adjective in ADJECTIVE.values() for word in adjective.words],
        [word for phrase in (*PLACE.values(), *TIME.values()) for word in phrase.words],
        [word for verb in VERB.values() if verb.patients for word, _ in verb.words],
        [word for verb in VERB.values() if not verb.patients for word, _ in verb.words],
    ],
)
def test_words_belong_to_one_concept_per_kind(words: list[str]):
    assert words
    assert [word for word, times in Counter(words).items() if times > 1] == []


@pytest.mark.parametrize(
    ("taxonomy", "names"), [(NOUNS, NOUN), (ADJECTIVES, ADJECTIVE), (PLACES, PLACE), (TIMES, TIME), (VERBS, VERB)]
)
def test_related_concepts_do_not_exclude_each_other(taxonomy: Taxonomy, names: dict[str, object]):
    assert names
    for one in names:
        for other in names:
            assert not (taxonomy.are_related(one, other) and taxonomy.excludes(one, other)), (one, other)
            assert taxonomy.excludes(one, other) == taxonomy.excludes(other, one)


def test_names_used_by_entries_exist():
    for noun in NOUN.values():
        assert set(noun.adjectives) | set(noun.implies) <= set(ADJECTIVE), noun
    for verb in VERB.values():
        assert set(verb.agents) | set(verb.patients) <= set(NOUN), verb
        assert set(verb.where) <= set(PLACE), verb


def test_adjectives_do_not_contradict_their_nouns():
    for noun in NOUN.values():
        for trait in get_implied_adjectives(noun.concept):
            assert not any(ADJECTIVES.excludes(trait, adjective) for adjective in noun.adjectives), noun


def test_independent_verbs_are_unrelated():
    assert INDEPENDENT
    for one, other in map(sorted, INDEPENDENT):
        assert not VERBS.excludes(one, other), (one, other)
        assert not VERBS.are_related(one, other), (one, other)


def test_exclusion_extends_to_all_hyponyms():
    animals = Taxonomy({"dog": (), "cat": (), "puppy": ("dog",), "kitten": ("cat",), "young": ()}, [("dog", "cat")])
    assert animals.excludes("puppy", "kitten")
    assert animals.excludes("kitten", "dog")
    assert not animals.excludes("puppy", "dog")
    assert not animals.excludes("puppy", "young")


def test_concept_under_exclusive_parents_is_rejected():
    with pytest.raises(ValueError, match=re.escape("expected disjoint concepts, got ['chimera'] below two of (")):
        Taxonomy({"lion": (), "goat": (), "chimera": ("lion", "goat")}, [("lion", "goat")])


def test_unknown_parent_is_rejected():
    with pytest.raises(ValueError, match="expected an entry for 'animal', the parent of 'dog', got none"):
        Taxonomy({"dog": ("animal",)}, [])


def test_unknown_group_member_is_rejected():
    with pytest.raises(ValueError, match=re.escape("expected concepts with an entry, got ['cat']")):
        Taxonomy({"dog": ()}, [("dog", "cat")])


def test_cycle_is_rejected():
    with pytest.raises(ValueError, match="expected no cycle, got a < b < a"):
        Taxonomy({"a": ("b",), "b": ("a",)}, [])


WOMEN = Entity("woman", "two", ("young",), Gear("coat", "red"))

DOG = Entity("dog", "one", ("small",))

FEEDING = Scene((WOMEN,), "feed", DOG, "park", "night")


class First(random.Random):
    """A random generator that always takes the first choice, for predictable sentences."""

    def choice(self, seq):
        return seq[0]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("active", "Two young women in red coats are feeding a small dog in the park at night."),
        ("passive", "A small dog is being fed by two young women in red coats in the park at night."),
        ("there", "There are two young women in red coats feeding a small dog in the park at night."),
        ("relative", "Two young women who are feeding a small dog in the park at night are wearing red coats."),
    ],
)
def test_meaning_has_expected_sentence_in_each_form(form: str, sentence: str):
    assert write_sentence(FEEDING, First(0), form, definite=False) == sentence


def test_negated_caption_has_expected_forms():
    scene = Scene((Entity("girl"),), "chase", DOG)
    said = {write_text([Caption(scene, True)], random.Random(seed), False, framed=0.3) for seed in range(200)}
    assert {
        "A girl is not chasing a small dog.",
        "No girl is chasing a small dog.",
        "There is no girl chasing a small dog.",
        "A small dog is not being chased by a girl.",
        "It is not true that a girl is chasing a small dog.",
    } <= said
    assert all(len({"not", "no", "false"} & set(sentence.lower().split())) == 1 for sentence in said), said


def test_no_does_not_replace_article_of_two_agents():
    scene = Scene((Entity("man"), Entity("woman")), "dance")
    said = {write_text([Caption(scene, True)], random.Random(seed), False) for seed in range(50)}
    assert {"A man and a woman are not dancing.", "A man is not dancing with a woman."} <= said
    assert not any("No " in sentence or " no " in sentence for sentence in said)


def test_two_captions_may_be_one_sentence():
    captions = [Caption(Scene((Entity("man"),), "sing"), True), Caption(Scene((DOG,), "run"))]
    said = {write_text(captions, random.Random(seed), False) for seed in range(100)}
    assert {"A man is not singing. A small dog is running.", "No man is singing, and a small dog is running."} <= said
    assert "Although a man is not singing, a small dog is running." in said


def test_place_or_time_can_come_first():
    said = {write_sentence(FEEDING, random.Random(seed), "fronted", definite=False) for seed in range(20)}
    assert any(sentence.startswith("In the park, two young women") for sentence in said)
    assert any(sentence.startswith("At night, two young women") for sentence in said)


def test_definite_article_is_only_used_for_beings():
    scene = Scene((Entity("man"),), "read", Entity("newspaper", "one", ("old",)))
    assert write_sentence(scene, First(0), "active", definite=True) == "The man is reading an old newspaper."


def test_two_agents_share_action():
    scene = Scene((Entity("boy"), Entity("animal", "one", ("old",))), "run", place="beach")
    assert (
        write_sentence(scene, First(0), "active", definite=False) == "A boy and an old animal are running on the beach."
    )
    assert (
        write_sentence(scene, First(0), "with", definite=False) == "A boy is running with an old animal on the beach."
    )


def test_sleeping_with_another_is_not_expressed():
    assert "with" not in list_forms(Scene((Entity("man"), Entity("woman")), "nap"))


def test_agentless_passive_and_presence_forms():
    assert write_sentence(Scene((), "chase", DOG), First(0), definite=False) == "A small dog is being chased."
    assert write_sentence(Scene((DOG,), place="park"), First(0), "there") == "There is a small dog in the park."
    assert (
        write_sentence(Scene((DOG,), place="park"), First(0), "located", definite=True)
        == "The small dog is in the park."
    )


def test_uncounted_nouns_and_bare_plurals_have_no_article():
    assert (
        write_sentence(Scene((Entity("man"),), "drink", Entity("tea")), First(0), definite=False)
        == "A man is drinking tea."
    )
    some = Entity("book", "some", ("old",))
    assert (
        write_sentence(Scene((Entity("man"),), "read", some), First(0), "active", False)
        == "A man is reading old books."
    )
    assert write_sentence(Scene((), "read", some), First(0), "passive", False) == "Some old books are being read."


def test_unsuitable_form_is_rejected():
    with pytest.raises(ValueError, match=r"form: expected one of .* got 'passive'"):
        write_sentence(Scene((Entity("man"),), "drink", Entity("tea")), First(0), "passive")


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    """Return every form of many generated and edited scenes."""
    rng = random.Random(11)
    said = []
    for _ in range(1_500):
        scene = edits.draw_scene(rng)
        edited = edits.apply_random_edit(edits.LESS, scene, rng) or scene
        said += [write_sentence(one, rng, form) for one in (scene, edited) for form in list_forms(one)]
    assert len(said) > 6_000
    return said


def test_scenes_use_every_form():
    rng = random.Random(5)
    scenes = [edits.draw_scene(rng) for _ in range(300)]
    scenes += [less for scene in scenes if (less := edits.apply_random_edit(edits.LESS, scene, rng))]
    assert {form for scene in scenes for form in list_forms(scene)} == set(FORMS)
    assert all(map(is_sound, scenes))


def test_sentences_have_capital_and_full_stop(sentences: list[str]):
    shape = re.compile(r"[A-Z][a-z]*,?( [a-z]+,?)+\.")
    assert [sentence for sentence in sentences if not shape.fullmatch(sentence)] == []


def test_articles_agree_with_next_word(sentences: list[str]):
    wrong = re.compile(r"\ba [aeiou]|\ban [^aeiou]", re.IGNORECASE)
    assert [sentence for sentence in sentences if wrong.search(sentence)] == []
    assert any(" an " in sentence for sentence in sentences)


def test_verbs_agree_with_subjects(sentences: list[str]):
    many = [one for one in sentences if re.match(r"(Two|Three|Four|Several|Some|There are) ", one)]
    single = [one for one in sentences if re.match(r"(An?|There is) ", one) and " and " not in one]
    assert len(many) > 500
    assert len(single) > 500
    assert [one for one in many if " is " in one or "There are a" in one] == []
    assert [one for one in single if " are " in one or "There is some" in one] == []


def test_nouns_agree_with_numbers(sentences: list[str]):
    adjectives = {word for adjective in ADJECTIVE.values() for word in adjective.words}
    singulars = {word for noun in NOUN.values() for word, _ in noun.words}
    plurals = {word for noun in NOUN.values() if not noun.mass for _, word in noun.words}
    seen: Counter[str] = Counter()
    articles = {"a", "an"}
    numbers = {"two", "three", "four", "several", "some"}
    for sentence in sentences:
        words = re.findall(r"\w+", re.sub(r"on a sunny day|a picture of|a nap", "", sentence.lower()))
        for i, word in enumerate(words):
            if word in articles | numbers:
                seen[word] += 1
                noun = next(other for other in words[i + 1 :] if other not in adjectives)
                assert noun in (singulars if word in articles else plurals), sentence
    assert set(seen) == articles | numbers


def test_articles_are_not_doubled_or_dangling(sentences: list[str]):
    article = r"(a|an|the|some|several)"
    wrong = re.compile(rf"\b{article} {article}\b|\b{article} (is|are|in|with|by|and)\b", re.IGNORECASE)
    assert [sentence for sentence in sentences if wrong.search(sentence)] == []


ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[DemoPair]]:
    """Load the shipped splits, which `test_shipped` compares with the grammar, and generate the third split."""
    shipped = {
        split: [
            DemoPair(pair.source_id, pair.premise, pair.hypothesis, pair.label) for pair in demo.iter_demo_pairs(split)
        ]
        for split in demo.SPLITS
    }
    return {split: shipped.get(split) or list(generate_pairs(split)) for split in SPLITS}


def n_words(sentence: str) -> int:
    return len(re.findall(r"\w+", sentence))


def test_pairs_depend_only_on_seed(corpus: dict[str, list[DemoPair]]):
    assert list(generate_pairs("validation")) == corpus["validation"]
    assert list(generate_pairs("validation", 200)) == corpus["validation"][:200]


def test_hash_seed_has_no_effect(corpus: dict[str, list[DemoPair]]):
    code = (
        "from tools.demo_corpus.corpus import generate_pairs\n"
        "for pair in generate_pairs('test', 60): print(*pair, sep='\\t')"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [DemoPair(*line.split("\t")) for line in done.stdout.splitlines()] == corpus["test"][:60]


def test_other_seed_gives_other_pairs(corpus: dict[str, list[DemoPair]]):
    other = list(generate_pairs("validation", 300, seed=1))
    assert len(other) == 300
    ours = {(pair.premise, pair.hypothesis) for pair in corpus["validation"]}
    assert not ours & {(pair.premise, pair.hypothesis) for pair in other}


def test_splits_have_known_sizes_and_unique_ids(corpus: dict[str, list[DemoPair]]):
    assert {split: len(pairs) for split, pairs in corpus.items()} == {"train": 6000, "validation": 2400, "test": 1500}
    assert corpus["validation"][123].id == "demo-validation-000123"
    assert len({pair.id for pairs in corpus.values() for pair in pairs}) == sum(SPLITS.values())


def test_pairs_and_premises_are_unique_across_splits(corpus: dict[str, list[DemoPair]]):
    for pairs in corpus.values():
        assert len({(pair.premise, pair.hypothesis) for pair in pairs}) == len(pairs)
        assert all(pair.premise != pair.hypothesis for pair in pairs)
    other_seed = {pair.premise for pair in generate_pairs("train", 1_500, seed=1)}
    train, validation, test = ({pair.premise for pair in corpus[split]} for split in SPLITS)
    assert not train & validation
    assert not train & test
    assert not validation & test
    assert not other_seed & (validation | test)


def test_labels_are_exactly_balanced(corpus: dict[str, list[DemoPair]]):
    for pairs in corpus.values():
        assert Counter(pair.label for pair in pairs) == dict.fromkeys(labels.LABELS, len(pairs) // 3)


def test_label_does_not_depend_on_position(corpus: dict[str, list[DemoPair]]):
    for place in range(3):
        shares = Counter(pair.label for pair in corpus["train"][place::3])
        assert all(0.28 < count / 2_000 < 0.39 for count in shares.values()), shares


def test_most_pairs_are_long_enough_for_permutation(corpus: dict[str, list[DemoPair]]):
    pairs = corpus["validation"]
    long = [pair for pair in pairs if n_words(pair.premise) >= 8 and n_words(pair.hypothesis) >= 8]
    assert len(long) / len(pairs) >= 0.6


def test_length_does_not_reveal_label(corpus: dict[str, list[DemoPair]]):
    mean = {
        name: sum(n_words(p.hypothesis) for p in corpus["train"] if p.label == name) / 2_000 for name in labels.LABELS
    }
    assert max(mean.values()) - min(mean.values()) < 2.5, mean


def test_premises_and_words_are_varied(corpus: dict[str, list[DemoPair]]):
    train = corpus["train"]
    assert len({pair.premise for pair in train}) > 0.98 * len(train)
    assert len({word for pair in train for word in re.findall(r"\w+", pair.premise.lower())}) > 250


def test_label_equals_label_of_meanings():
    for meant in generate_scene_pairs("test", 600, seed=4):
        assert all(is_sound(each.scene) for each in (*meant.premise, meant.hypothesis))
        evidence = meant.premise[meant.evidence]
        assert are_captions_clear(evidence, meant.hypothesis)
        assert label_captions(evidence, meant.hypothesis) == meant.pair.label


def test_captions_of_one_premise_are_unrelated():
    texts = [meant.premise for meant in generate_scene_pairs("test", 300) if len(meant.premise) > 1]
    assert {len(captions) for captions in texts} == {2, 3}
    for captions in texts:
        assert all(are_unrelated(one.scene, other.scene) for one, other in combinations(captions, 2))


def test_negation_occurs_in_premise_and_hypothesis_with_every_label():
    """So a negation does not reveal the label."""
    seen = {
        (meant.pair.label, meant.premise[meant.evidence].is_negated, meant.hypothesis.is_negated)
        for meant in generate_scene_pairs("test", 900)
    }
    assert {("entailment", True, True), ("contradiction", True, False), ("contradiction", False, True)} <= seen
    assert {("neutral", *negated) for negated in product((False, True), repeat=2)} <= seen
    assert not {("entailment", True, False), ("entailment", False, True), ("contradiction", True, True)} & seen


def test_all_forms_of_premise_entail_each_other():
    """The label depends on meaning: an active sentence entails its passive, although the nouns are swapped."""
    rng = random.Random(0)
    passives = 0
    for meant in generate_scene_pairs("train", 150):
        scene = meant.premise[meant.evidence].scene
        said = {form: write_sentence(scene, rng, form, definite=False) for form in list_forms(scene)}
        passives += {"active", "passive"} <= set(said)
        assert len(set(said.values())) == len(said), said
        assert entails(scene, scene)
    assert passives > 50


def test_same_words_occur_with_every_label(corpus: dict[str, list[DemoPair]]):
    grammar = set("a an the is are being by who there with and in wearing".split())

    def bag(sentence: str) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", sentence.lower())) - grammar

    same = Counter(pair.label for pair in corpus["train"] if bag(pair.premise) == bag(pair.hypothesis))
    assert min(same[name] for name in labels.LABELS) >= 15, same


@pytest.mark.parametrize("split", ["dev", "Train", ""])
def test_unknown_split_is_rejected(split: str):
    with pytest.raises(
        ValueError, match=re.escape(f"split: expected one of ['train', 'validation', 'test'], got {split!r}")
    ):
        generate_pairs(split)


def test_negative_number_is_rejected_and_zero_gives_none():
    with pytest.raises(ValueError, match="n: expected at least 0 pairs, got -1"):
        generate_pairs("train", -1)
    assert list(generate_pairs("train", 0)) == []


def test_shipped_files_equal_tool_output():
    made = dict(iter_files())
    assert set(made) == {*map(demo.get_demo_file, demo.SPLITS), demo.VECTORS}
    for path, text in made.items():
        assert gzip.decompress(path.read_bytes()).decode() == text, f"{path.name}: run `python -m tools.demo_corpus`"


def test_same_content_gives_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.demo_corpus.__main__.iter_files", lambda: [(tmp_path / "a.gz", "one\ntwo\n")])
    written = []
    for now in (1e9, 2e9):
        monkeypatch.setattr("time.time", lambda now=now: now)
        main()
        written.append((tmp_path / "a.gz").read_bytes())
    assert written[0] == written[1]
    assert gzip.decompress(written[0]) == b"one\ntwo\n"


@pytest.mark.parametrize("split", demo.SPLITS)
@pytest.mark.parametrize("n", [100, pytest.param(None, marks=pytest.mark.nightly)])
def test_shipped_pairs_equal_grammar_output(split, n):
    read = [
        (pair.source_id, pair.premise, pair.hypothesis, pair.label) for pair in islice(demo.iter_demo_pairs(split), n)
    ]
    assert read == list(map(tuple, islice(generate_pairs(split), n)))


def test_words_in_same_contexts_have_similar_vectors():
    table = embeddings.load_embeddings(str(demo.VECTORS))
    dog, puppy, red = (
        vector / np.linalg.norm(vector) for vector in table.compute_means([("dog",), ("puppy",), ("red",)])
    )
    assert dog @ puppy > dog @ red
    pairs = [(pair.premise, pair.hypothesis) for pair in demo.iter_demo_pairs("train")]
    assert not table.count_tokens(pairs).unknown.any()
