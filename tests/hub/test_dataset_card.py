"""Tests of the card of a dataset repository, without a Hub."""

import re
from dataclasses import replace

import pytest
import yaml

from unbag.hub.cards import find_card_blocks, join_card, set_card_block, split_card
from unbag.hub.dataset_card import ConfigCard, merge_card


def _config(name, license="cc-by-sa-4.0", rows=10):
    split = {"rows": rows, "examples": rows, "labels": {"entailment": rows}}
    return ConfigCard(
        name=name,
        data_files={"test": f"data/{name}/test-*.parquet"},
        dataset_info={"features": [], "splits": [{"name": "test", "num_bytes": 1, "num_examples": rows}]},
        record={"licences": [license], "languages": ["en"], "sources": ["org/corpus"], "splits": {"test": split}},
        citation="@misc{corpus}",
    )


def _two_label_config():
    features = [{"name": "label", "dtype": {"class_label": {"names": {"0": "entailment", "1": "not_entailment"}}}}]
    split = {"rows": 5, "examples": 5, "labels": {"entailment": 3, "not_entailment": 2}}
    one = _config("a")
    return replace(
        one,
        dataset_info=one.dataset_info | {"features": features},
        record=one.record | {"splits": {"test": split}},
        sample=[{"label": 1}],
    )


def _merge(there, *configs):
    return merge_card(there, "org/set", "swapped", configs, "@misc{paper}")


def _metadata(card):
    return split_card(card)[0]


def test_merge_card_in_steps_equals_single_merge():
    a, b = _config("a"), _config("b", rows=5)
    assert _merge(_merge(None, a), b) == _merge(None, a, b)


def test_card_of_two_label_config_names_its_labels():
    card = _merge(None, _two_label_config()).decode()
    assert "| split | rows | unique pairs | source examples | entailment | not_entailment |" in card
    assert "| test | 5 | – | 5 | 3 | 2 |" in card
    assert "First rows (`label`: 0 = entailment, 1 = not_entailment)" in card
    assert "ids (0 entailment, 1 not_entailment) or names" in card
    assert 'names=rows.features["label"].names,' in card
    assert "neutral" not in card.partition("## Configs")[2]


def test_card_names_metric_where_it_was_published():
    def publish(there, metrics_org):
        card = merge_card(there, "me/set", "swapped", [_config("a")], "@misc{paper}", metrics_org)
        [owner] = set(re.findall(r'(?:evaluate\.load\("|spaces/)(\w+)/swap_consistency', card.decode()))
        return card, owner

    assert publish(None, None)[1] == "me"
    card, owner = publish(None, "org")
    assert owner == "org"
    assert publish(card, None)[1] == "org", "a later publication keeps the organization"
    assert publish(card, "other")[1] == "other"


def test_merge_card_again_changes_nothing():
    card = _merge(None, _config("a"), _config("b"))
    assert _merge(card, _config("a")) == card
    assert _merge(card, _config("b")) == card


def test_merge_card_keeps_existing_text():
    card = _merge(None, _config("a")).replace(b"license:", b"extra: [1]\nlicense:", 1)
    card += "\n## Thanks\n\nto all – of you\n".encode()
    merged = _merge(card, _config("b"))
    assert "to all – of you" in merged.decode()
    assert _metadata(merged)["extra"] == [1]
    assert _metadata(merged)["tags"] == ["unbag", "nli", "challenge-set"]


def test_merge_card_keeps_chosen_default_config():
    metadata, text = split_card(_merge(None, _config("a"), _config("b")))
    for entry in metadata["configs"]:
        entry.pop("default", None)
    metadata["configs"][1]["default"] = True
    merged = _merge(join_card(metadata, text), _config("a", rows=3))
    assert [entry.get("default") for entry in _metadata(merged)["configs"]] == [None, True]
    assert 'load_dataset("org/set", "b")' in merged.decode()


def test_merge_card_lists_licenses_of_published_configs():
    both = _merge(None, _config("a"), _config("b", "cc-by-nc-4.0"))
    assert _metadata(both)["license"] == ["cc-by-sa-4.0", "cc-by-nc-4.0"]
    assert "The configs have different licenses" in both.decode()
    assert _metadata(_merge(both, _config("b")))["license"] == "cc-by-sa-4.0"


def test_merge_card_with_less_restrictive_license_raises():
    with pytest.raises(ValueError, match=r"as restrictive as cc-by-sa-4.0, the license of the config a, got mit"):
        _merge(b"---\nlicense: mit\n---\n# mine\n", _config("a"))


@pytest.mark.parametrize(("rows", "category"), [(999, "n<1K"), (1000, "1K<n<10K"), (2_000_000, "1M<n<10M")])
def test_merge_card_size_category_covers_all_configs(rows, category):
    assert _metadata(_merge(None, _config("a", rows=rows)))["size_categories"] == [category]


@pytest.mark.parametrize("card", [b"---\na: [\n---\n", b"---\n- a\n---\n"])
def test_merge_card_with_malformed_front_matter_raises(card):
    with pytest.raises(ValueError, match="correct it first"):
        split_card(card)


def test_split_card_reads_crlf_and_missing_front_matter():
    assert split_card(b"---\r\na: 1\r\n---\r\ntext\r\n") == ({"a": 1}, "text\r\n")
    assert split_card(b"# only text\n") == ({}, "# only text\n")
    assert split_card(None) == ({}, "")


def test_set_block_keeps_place_of_existing_block():
    text = set_card_block("mine", "a", "1")
    text = set_card_block(text, "b", "2", before="a")
    text = set_card_block(text + "\nyours\n", "a", "3\n\n4")
    assert find_card_blocks(text) == {"b": "2", "a": "3\n\n4"}
    assert text.startswith("mine")
    assert text.endswith("yours\n")


def test_front_matter_is_valid_yaml():
    metadata = yaml.safe_load(_merge(None, _config("a")).decode().split("---\n")[1])
    assert metadata["configs"][0]["data_files"] == [{"split": "test", "path": "data/a/test-*.parquet"}]
