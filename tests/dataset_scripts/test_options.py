"""Tests of options and configs of all sets."""

import re

import pytest

from unbag.challenge_sets import loading
from unbag.challenge_sets.perturbations.permutation import MODES
from unbag.challenge_sets.perturbations.soswap_addamod import KINDS
from unbag.challenge_sets.selection import PairSelection
from unbag.data.corpora import CORPORA
from unbag.utils.options import OptionError

OWN = {"data": "pairs.jsonl"}


@pytest.mark.parametrize(
    ("name", "config", "options", "words"),
    [
        ("breaking_nli", "official", {"wordnet": True}, "wordnet: expected a corpus, got the config 'official'"),
        ("breaking_nli", "official", {"words": "held_out"}, "words: expected a corpus, got the config 'official'"),
        ("breaking_nli", "snli-test", {"words": "new"}, "words: expected one of all, training, held_out, got 'new'"),
        ("breaking_nli", "official", {"neutral": True, "bigrams": ("snli",)}, "neutral, bigrams: expected a corpus"),
        ("breaking_nli", None, OWN | {"min_similarity": 0.5}, "got 0.5 with wordnet=False and embeddings=None"),
        ("breaking_nli", None, OWN | {"file": "a.zip"}, "file: expected the config 'official'"),
        ("breaking_nli", "ocnli-validation", {}, "the breaking_nli set does not support Chinese"),
        ("cs_lambda", None, OWN | {"min_lms": 1.5}, "min_lms: expected a number from 0 to 1, got 1.5"),
        ("cs_lambda", None, OWN | {"folds": 1}, "folds: expected a whole number of at least 2, got 1"),
        ("cs_lambda", None, OWN | {"lexical": "a", "pipeline": "all"}, "either a fitted model (lexical) or options"),
        ("permuted", "ocnli-validation", {"minitrees": ["snli"]}, "minitrees: expected English pairs, got"),
        ("permuted", "snli-validation", {"characters": True}, "characters: expected Chinese pairs, got"),
        ("permuted", None, OWN | {"characters": True}, "the language 'en'"),
        ("permuted", None, OWN | {"q": 10_000_000}, "q: expected a whole number from 1 to 10,000, got"),
        ("permuted", None, OWN | {"mode": "backwards"}, "'backwards'"),
        ("permuted", None, OWN | {"min_words": 1}, "min_words: expected a whole number of at least 2, got 1"),
        ("permuted", None, OWN | {"minitree_by": "both"}, "minitree_by: expected one of code, text, got 'both'"),
        ("permuted", None, OWN | {"quantity": 3}, "no option 'quantity'"),
        ("permuted", "snli-dev", {}, "no config 'snli-dev'"),
        (
            "recombined",
            None,
            OWN | {"k": "many"},
            "k: expected whole numbers from 1 to 1,000, comma-separated, one of ",
        ),
        ("recombined", None, OWN | {"k": "1"}, "one of them above 1, got '1'"),
        ("recombined", None, OWN | {"k": "4,5000"}, "got '4,5000'"),
        ("recombined", None, OWN | {"language": "zh"}, "expected English pairs, got the language 'zh'"),
        ("resnli", None, OWN | {"test_size": 0}, "test_size: expected a whole number of at least 1, got 0"),
        ("resnli", None, OWN | {"embeddings": "./absent.txt"}, "got './absent.txt'"),
        ("resnli", None, OWN | {"language": "zh"}, "embeddings: expected embeddings for the language 'zh'"),
        ("resnli", "snli", {"source_split": "test"}, "all splits of snli are merged, got 'test'"),
        ("resnli", "ocnli", {}, "default is for English"),
        ("sicck", "official", {"space": "two_way"}, "space: expected one of four_way, seven_way, three_way"),
        ("sicck", "official", {"folding": "random"}, "folding: expected one of contiguous, spread, whole_seeds, got"),
        ("sicck", "official", {"folds": 1}, "folds: expected a whole number of at least 2, got 1"),
        ("sicck", "official", {"folds": 1305}, "folds: expected at most 1,304 for the authors' pairs, got 1,305"),
        ("sicck", "official", {"folding": "whole_seeds", "folds": 16}, "folds: expected at most 15"),
        ("sicck", "official", {"combinations": True}, "'official', which modifies no sentences"),
        ("sicck", None, {}, "expected one of corpus, data and text"),
        ("soswap_addamod", None, OWN | {"kind": "swap"}, "kind: expected one of both, soswap, addamod, got 'swap'"),
        ("soswap_addamod", None, OWN | {"min_count": 0}, "min_count: expected a whole number of at least 1, got 0"),
        ("soswap_addamod", None, OWN | {"attested_split": "train"}, "attested_split: expected a corpus"),
        ("shuffled", "snli", {}, "expected one of the challenge sets"),
    ],
)
def test_invalid_options_are_rejected_before_building(name, config, options, words, write_pairs, tmp_path, monkeypatch):
    write_pairs([("A man sleeps.", "A man runs.", "contradiction")])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=re.escape(words)):
        loading.create_builder(name, config, **options).validate_resources()


@pytest.mark.parametrize(
    ("name", "options", "parsed"),
    [
        ("permuted", {"min_words": "3", "characters": "yes"}, {"min_words": 3, "characters": True}),
        ("permuted", {"mode": "hypothesis", "minitrees": "snli, mnli"}, {"minitrees": ("snli", "mnli")}),
        ("cs_lambda", {"min_lms": ".5", "train_data": "snli"}, {"min_lms": 0.5, "train_data": ("snli",)}),
        ("permuted", {"min_words": "1"}, "min_words: expected a whole number of at least 2, got 1"),
        ("permuted", {"min_words": "many"}, "min_words: expected a whole number of at least 2, got 'many'"),
        ("permuted", {"min_words": True}, "min_words: expected a whole number of at least 2, got True"),
        ("permuted", {"characters": "si"}, "characters: expected true or false, got 'si'"),
        ("permuted", {"characters": 1}, "characters: expected true or false, got 1"),
        ("soswap_addamod", {"kind": "kind"}, "kind: expected one of both, soswap, addamod, got 'kind'"),
        ("permuted", {"minitrees": ","}, "minitrees: expected comma-separated names, got ','"),
        ("permuted", {"minitrees": [3]}, "minitrees: expected comma-separated names, got [3]"),
        ("cs_lambda", {"min_lms": "nan"}, "min_lms: expected a number from 0 to 1, got nan"),
    ],
)
def test_set_options_may_be_text(name, options, parsed):
    if isinstance(parsed, str):
        with pytest.raises(OptionError) as error:
            PairSelection(data="pairs.csv", options=options).build_requests([name])
        assert str(error.value) == parsed
    else:
        [request] = PairSelection(data="pairs.csv", options=options).build_requests([name])
        assert {option: request.options[option] for option in parsed} == parsed


def _list_splits(variants=("",), *, suits=lambda corpus: corpus.language == "en"):
    return {
        f"{corpus.name}-{split}{variant}"
        for corpus in CORPORA.values()
        if suits(corpus)
        for split in corpus.splits
        for variant in variants
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("permuted", _list_splits(["", *(f"-{each}" for each in MODES if each != "both")], suits=lambda corpus: True)),
        (
            "soswap_addamod",
            _list_splits(
                ["", *(f"-{each}" for each in KINDS if each != "both")],
                suits=lambda corpus: corpus.language == "en" and not corpus.is_two_way,
            ),
        ),
        ("recombined", _list_splits()),
        ("resnli", {each.name for each in CORPORA.values() if each.language in ("en", "zh") and not each.is_two_way}),
    ],
)
def test_configs_exist_for_every_corpus_split_and_variant(name, expected):
    configs = loading.create_builder(name, "snli").builder_configs
    assert set(configs) == expected
    for config in configs.values():
        for place in (config.corpus, config.source_split, getattr(config, "mode", ""), getattr(config, "kind", "")):
            assert place in (None, "", "both") or place in config.name


def test_two_and_three_label_corpora_give_same_labels():
    for config in ("rte-validation", "snli-validation"):
        labels = loading.create_builder("recombined", config).info.features["label"].names
        assert labels == ["entailment", "not_entailment"]
