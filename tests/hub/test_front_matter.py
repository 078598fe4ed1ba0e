"""Tests of changing single front matter entries without changing other bytes."""

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from unbag.hub import cards
from unbag.hub.cards import split_card

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


def test_set_entry_appends_new_entry():
    changed = cards.set_metadata_entry(CARD, "metrics", ["accuracy"])
    assert changed == CARD.replace("    - 'on'\n---", "    - 'on'\nmetrics:\n- accuracy\n---")


@pytest.mark.parametrize("text", ["", "# A card without a head\n"])
def test_set_entry_without_front_matter_adds_it(text):
    assert cards.set_metadata_entry(text, "a", 1) == f"---\na: 1\n---\n{text}"


def test_set_entry_keeps_line_ends():
    assert cards.set_metadata_entry("---\r\na: 1\r\n---\r\nText", "b", [2]) == "---\r\na: 1\r\nb:\r\n- 2\r\n---\r\nText"


@pytest.mark.parametrize("head", ["{a: 1, b: 2}", "a: &x [1]\nb: *x"])
def test_set_entry_that_would_change_other_entries_raises(head):
    with pytest.raises(ValueError, match=r"expected YAML, got an error|without changing other entries"):
        cards.set_metadata_entry(f"---\n{head}\n---\n", "a", 2)


def test_set_entry_without_mapping_raises():
    with pytest.raises(ValueError, match="expected a mapping, got"):
        cards.set_metadata_entry("---\n- a\n---\n", "a", 1)


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
