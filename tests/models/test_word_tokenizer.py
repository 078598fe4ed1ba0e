"""Tests of the word tokenizer: words, independence of order, and loading with transformers alone."""

import json
from collections import Counter

import pytest

from tests.fork_server import PYTHON
from tests.models.tiny_models import tiny_tokenizer
from unbag.data.text.tokens import tokenize
from unbag.models.word_tokenizer import SPECIAL, build_vocabulary, build_word_tokenizer, split_words

SENTENCES = [
    "A man isn't here; he can't be.",
    "The dog's owners' T-shirts cost $5.50 (or 10km at 5pm).",
    "I cannot, dont, gonna or wont; it's Mr. O'Neil's \"thing\"...",
    "They're we've I'm you'd she'll 'em.",
    "Im gotta ask whats that, youre late and hes not.",
    "Ça va, naïve café — “quoted” words/slashes and under_scores?!",
]


def test_both_sentences_begin_with_bos():
    encoded = tiny_tokenizer()("The dog runs", "A unicorn runs.")
    assert tiny_tokenizer().convert_ids_to_tokens(encoded["input_ids"]) == [
        *("[BOS]", "the", "dog", "runs"),
        *("[BOS]", "a", "[UNK]", "runs", "."),
    ]
    assert set(encoded) == {"input_ids", "attention_mask"}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_words_do_not_cross_token_boundaries(sentence):
    """Therefore the words of a sentence are the words of its tokens in any order."""
    tokens = tokenize(sentence).texts
    assert Counter(split_words(sentence)) == Counter(word for token in tokens for word in split_words(token))
    assert Counter(split_words(" ".join(tokens[::-1]))) == Counter(split_words(sentence))


def test_vocabulary_is_sorted_by_frequency_then_alphabet():
    assert build_vocabulary(["b a a", "A c b"]) == ["a", "b", "c"]
    assert build_vocabulary(["b a a", "A c b"], min_count=2) == ["a", "b"]


def test_tokenizer_loads_without_unbag(tmp_path):
    build_word_tokenizer(["dog", "isn't", "runs"]).save_pretrained(tmp_path)
    script = """
import json, sys
sys.modules["unbag"] = None  # whoever imports it fails
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
encoded = tokenizer(["Dog runs"], ["cat"])
print(json.dumps([encoded["input_ids"], tokenizer.pad_token_id, tokenizer.all_special_ids]))
"""
    done = PYTHON.run("-c", script, tmp_path, check=True)
    ids, pad, special = json.loads(done.stdout)
    assert ids == [[2, 3, 5, 2, 1]]
    assert pad == 0
    assert sorted(special) == list(range(len(SPECIAL)))
