"""Tests of options and configs of all sets."""

import re

import pytest

from unbag.challenge_sets import loading
from unbag.challenge_sets.perturbations.permutation import MODES
from unbag.challenge_sets.perturbations.soswap_addamod import KINDS
from unbag.data.corpora import CORPORA

OWN = {"data": "pairs.jsonl"}


@pytest.mark.parametrize(
    ("name", "config", "options", "words"),
    [
        ("breaking_nli", "official", {"neutral": True, "bigrams": ("snli",)}, "neutral, bigrams: expected a corpus"),
        ("breaking_nli", None, OWN | {"min_similarity": 0.5}, "got 0.5 with wordnet=False and embeddings=None"),
        ("breaking_nli", None, OWN | {"file": "a.zip"}, "file: expected the config 'official'"),
        ("breaking_nli", "ocnli-validation", {}, "the breaking_nli set does not support Chinese"),
        ("cs_lambda", None, OWN | {"min_lms": 1.5}, "min_lms: expected a number from 0 to 1, got 1.5"),
        ("cs_lambda", None, OWN | {"lexical": "a", "pipeline": "all"}, "either a fitted model (lexical) or options"),
        ("permuted", "ocnli-validation", {"minitrees": ["snli"]}, "minitrees: expected English pairs, got"),
        ("permuted", "snli-validation", {"characters": True}, "characters: expected Chinese pairs, got"),
        ("permuted", None, OWN | {"quantity": 3}, "no option 'quantity'"),
        ("permuted", "snli-dev", {}, "no config 'snli-dev'"),
        ("recombined", None, OWN | {"k": "many"}, "k: expected whole numbers from 1 to 1,000, comma-separated, one of"),
        ("recombined", None, OWN | {"k": "1"}, "one of them above 1, got '1'"),
        ("recombined", None, OWN | {"k": "4,5000"}, "got '4,5000'"),
        ("resnli", None, OWN | {"embeddings": "./absent.txt"}, "got './absent.txt'"),
        ("resnli", None, OWN | {"language": "zh"}, "embeddings: expected embeddings for the language 'zh'"),
        ("resnli", "snli", {"source_split": "test"}, "all splits of snli are merged, got 'test'"),
        ("sicck", "official", {"space": "two_way"}, "space: expected one of four_way, seven_way, three_way"),
        ("sicck", "official", {"folds": 1305}, "folds: expected at most 1,304 for the authors' pairs, got 1,305"),
        ("sicck", "official", {"folding": "whole_seeds", "folds": 16}, "folds: expected at most 15"),
        ("sicck", "official", {"combinations": True}, "'official', which modifies no sentences"),
        ("sicck", None, {}, "expected one of corpus, data and text"),
        ("soswap_addamod", None, OWN | {"attested_split": "train"}, "attested_split: expected a corpus"),
    ],
)
def test_invalid_options_are_rejected_before_building(name, config, options, words, write_pairs, tmp_path, monkeypatch):
    write_pairs([("A man sleeps.", "A man runs.", "contradiction")])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=re.escape(words)):
        loading.create_builder(name, config, **options).validate_resources()


def _list_splits(suits, variants=()):
    return {
        "-".join([corpus.name, split, *variant])
        for corpus in CORPORA.values()
        if suits(corpus)
        for split in corpus.splits
        for variant in ([], *([each] for each in variants if each != "both"))
    }


def _is_english(corpus):
    return corpus.language == "en"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("permuted", _list_splits(lambda corpus: True, MODES)),
        ("soswap_addamod", _list_splits(lambda corpus: _is_english(corpus) and not corpus.is_two_way, KINDS)),
        ("recombined", _list_splits(_is_english)),
        ("resnli", {each.name for each in CORPORA.values() if each.language in ("en", "zh") and not each.is_two_way}),
    ],
)
def test_configs_exist_for_every_corpus_split_and_variant(name, expected):
    configs = loading.create_builder(name, "snli").builder_configs
    assert set(configs) == expected
    for config in configs.values():
        for place in (config.corpus, config.source_split, getattr(config, "mode", ""), getattr(config, "kind", "")):
            assert place in (None, "", "both") or place in config.name
