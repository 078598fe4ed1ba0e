"""Tests of the cards of sets, their front matter and statistics."""

import re
from dataclasses import replace

import pyarrow as pa
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from unbag.data.labels import LABELS
from unbag.hub import cards
from unbag.hub.cards import find_card_blocks, join_card, set_card_block, split_card
from unbag.hub.dataset_card import ConfigCard, merge_card, summarize_tables


def _config(name, license="cc-by-sa-4.0", rows=10, labels=None):
    lengths = {"unit": "words", "premise": [1, 2.0, 3], "hypothesis": [4, 5.5, 6]}
    split = {"rows": rows, "examples": rows, "labels": labels or {"entailment": rows}, "lengths": lengths}
    split["unique_pairs"] = rows - 1
    return ConfigCard(
        name=name,
        data_files={"test": f"data/{name}/test-*.parquet"},
        dataset_info={"features": [], "splits": [{"name": "test", "num_bytes": 1, "num_examples": rows}]},
        record={"licences": [license], "languages": ["en"], "sources": ["org/corpus"], "splits": {"test": split}},
        citation="@misc{corpus}",
    )


def _merge(there, *configs):
    return merge_card(there, "org/set", "swapped", configs, "@misc{paper}")


def _metadata(card):
    return split_card(card)[0]


def test_merge_card_in_steps_equals_single_merge():
    a, b = _config("a"), _config("b", rows=5)
    assert _merge(_merge(None, a), b) == _merge(None, a, b)


def test_card_of_two_label_config_names_its_labels():
    features = [{"name": "label", "dtype": {"class_label": {"names": {"0": "entailment", "1": "not_entailment"}}}}]
    config = _config("a", rows=5, labels={"entailment": 3, "not_entailment": 2})
    config = replace(config, dataset_info=config.dataset_info | {"features": features}, sample=[{"label": 1}])
    card = _merge(None, config).decode()
    assert "| split | rows | unique pairs | source examples | entailment | not_entailment |" in card
    assert "| test | 5 | 4 | 5 | 3 | 2 | 2.0 (1 to 3) | 5.5 (4 to 6) |" in card
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
    with pytest.raises(ValueError, match=r"as restrictive as cc-by-sa-4.0, the license of the config a, got mit"):
        _merge(b"---\nlicense: mit\n---\n# mine\n", _config("a"))


@pytest.mark.parametrize(("rows", "category"), [(999, "n<1K"), (1000, "1K<n<10K"), (2_000_000, "1M<n<10M")])
def test_merge_card_size_category_covers_all_configs(rows, category):
    assert _metadata(_merge(None, _config("a", rows=rows)))["size_categories"] == [category]


def test_split_card_reads_crlf_and_missing_front_matter():
    assert split_card(b"---\r\na: 1\r\n---\r\ntext\r\n") == ({"a": 1}, "text\r\n")
    assert split_card(b"# only text\n") == ({}, "# only text\n")
    assert split_card(None) == ({}, "")
    for malformed in (b"---\na: [\n---\n", b"---\n- a\n---\n"):
        with pytest.raises(ValueError, match="correct it first"):
            split_card(malformed)


def test_set_block_keeps_place_of_existing_block():
    text = set_card_block("mine", "a", "1")
    text = set_card_block(text, "b", "2", before="a")
    text = set_card_block(text + "\nyours\n", "a", "3\n\n4")
    assert find_card_blocks(text) == {"b": "2", "a": "3\n\n4"}
    assert text.startswith("mine")
    assert text.endswith("yours\n")


CARD = """---
# whose card it is
language: [en]   # one language
license: 'mit'
model-index:
- name: theirs
  results:
  - task: {type: text-classification}

# what they wrote about tags
tags:
    - "nli"
    - 'on'
---

# Title

---
model-index: this is text
"""


def test_set_entry_keeps_other_bytes():
    changed = cards.set_metadata_entry(CARD, "model-index", [{"name": "ours"}])
    start, end = CARD.index("model-index:"), CARD.index("\n# what they wrote")
    assert changed == CARD[:start] + "model-index:\n- name: ours\n" + CARD[end:]
    assert cards.set_metadata_entry(changed, "model-index", [{"name": "ours"}]) == changed


@pytest.mark.parametrize(
    ("card", "value", "expected"),
    [
        ("", 1, "---\nb: 1\n---\n"),
        ("# A card without a head\n", 1, "---\nb: 1\n---\n# A card without a head\n"),
        ("---\r\na: 1\r\n---\r\nText", [2], "---\r\na: 1\r\nb:\r\n- 2\r\n---\r\nText"),
    ],
)
def test_set_entry_adds_front_matter_and_keeps_line_ends(card, value, expected):
    assert cards.set_metadata_entry(card, "b", value) == expected


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_set_entry_replaces_empty_entry_only(line_break):
    blank = "# comment\n\n" * 40  # belongs to the next entry, and must not cost exponential time
    card = f"---\na:\n{blank}b: 1\n---\n".replace("\n", line_break)
    assert cards.set_metadata_entry(card, "a", 2) == card.replace("a:", "a: 2", 1)


@pytest.mark.parametrize("head", ["{a: 1, b: 2}", "a: &x [1]\nb: *x"])
def test_set_entry_that_would_change_other_entries_raises(head):
    with pytest.raises(ValueError, match=r"expected YAML, got an error|without changing other entries"):
        cards.set_metadata_entry(f"---\n{head}\n---\n", "a", 2)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", min_size=1), inner, max_size=3),
    max_leaves=6,
)

_HEADS = st.dictionaries(st.text("abc-_", min_size=1).filter(lambda name: name[0].isalpha()), _VALUES, max_size=4)


@example({"a": None}, "a", "one\x85line", False)
@given(_HEADS, st.sampled_from(["a", "b", "model-index"]), _VALUES, st.booleans())
def test_set_entry_keeps_other_entries(head, name, value, flow):
    text = f"---\n{yaml.safe_dump(head, sort_keys=False, default_flow_style=flow) if head else ''}---\nText\n"
    try:
        changed = cards.set_metadata_entry(text, name, value)
    except ValueError:
        assert flow or not head, "written an entry a line, it can be changed"
        return
    assert split_card(changed.encode())[0] == head | {name: value}
    assert changed.endswith("---\nText\n")


def test_statistics_do_not_depend_on_row_batches():
    table = pa.table(
        {
            "source_id": ["a", "a", "b", "b"],
            "premise": ["A man  sleeps. ", "ab", "ab", "a"],  # ab|c and a|bc have the same letters
            "hypothesis": ["He rests now.", "c", "c", "bc"],
            "label": [0, 2, 2, 2],
        }
    )
    whole, cut = (summarize_tables(tables, LABELS, "en") for tables in ([table], [table[:2], table[2:]]))
    assert whole == cut
    assert whole == {
        "rows": 4,
        "examples": 2,
        "labels": {"entailment": 1, "neutral": 0, "contradiction": 3},
        "unique_pairs": 3,
        "lengths": {"unit": "words", "premise": [1, 1.5, 3], "hypothesis": [1, 1.5, 3]},
    }


def test_chinese_length_is_in_characters():
    table = pa.table({"source_id": ["a"], "premise": ["他在睡觉"], "hypothesis": ["他"], "label": [1]})
    lengths = {"unit": "characters", "premise": [4, 4.0, 4], "hypothesis": [1, 1.0, 1]}
    assert summarize_tables([table], LABELS, "zh")["lengths"] == lengths
    assert summarize_tables([], LABELS, "en")["unique_pairs"] == 0
