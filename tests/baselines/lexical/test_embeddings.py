import gzip
import hashlib
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from unbag.baselines.lexical import embeddings
from unbag.baselines.lexical.embeddings import find_embeddings, load_embeddings
from unbag.baselines.lexical.word_vectors import read_word_vectors
from unbag.data.text.tokens import tokenize

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "dog", "cat", "run", "##s", "."]
VECTORS = np.arange(20, dtype=np.float32).reshape(10, 2)
WORDS = "the dog cat runs sleeps red old . The Rome".split()


def _save_transformer(folder: Path, name="bert.embeddings.word_embeddings.weight", vectors=VECTORS):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    tokenizer = Tokenizer(WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens(PIECES[:4])
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(folder / "tokenizer.json"))
    classifier = {"classifier.weight": np.ones((2, 2), dtype=np.float32)}
    save_file({name: vectors} | classifier, folder / "model.safetensors")
    return folder


def _format_vectors(words=WORDS):
    return "".join(f"{word} {i} {i}.5 -{i}\n" for i, word in enumerate(words))


def test_mean_counts_tokens_of_both_sentences_without_special_and_unknown_ones(tmp_path):
    table = load_embeddings(str(_save_transformer(tmp_path)))
    # The tokens are the dog run ##s . / the cat run ##s . with rows 4 5 7 8 9 and 4 6 7 8 9. Row i is (2i, 2i + 1).
    mean = (2 * (4 + 7 + 8 + 9) + 5 + 6) / 10
    [found] = table.compute_means([("the dog runs .", "the cat runs .")])
    assert found == pytest.approx([2 * mean, 2 * mean + 1])
    counts = table.count_tokens([("the dog runs . the dog runs .",), ("the [SEP] zebra", "zebra dog"), ()])
    expected = [[0, 0, 0, 0, 2, 2, 0, 2, 2, 2], [0, 0, 0, 0, 1, 1, 0, 0, 0, 0], [0] * 10]
    assert counts.toarray().tolist() == expected, "padding and truncation have no influence"
    assert table.compute_means([("zebra",)]).tolist() == [[0, 0]]


def test_input_layer_is_found_by_common_names(tmp_path):
    for name in ("model.embed_tokens", "shared", "transformer.wte", "embeddings.tok_embeddings"):
        assert (load_embeddings(str(_save_transformer(tmp_path, f"{name}.weight"))).vectors == VECTORS).all()


@pytest.mark.parametrize("dtype", ["F16", "BF16"])
def test_half_precision_is_read_exactly(tmp_path, dtype):
    # numbers that both formats represent exactly
    exact = np.array([[1.5, -2.25], [0.0078125, 384.0]], dtype=np.float32)
    vectors = np.repeat(exact, 5, axis=0)
    folder = _save_transformer(tmp_path, vectors=vectors.astype(np.float16))
    if dtype == "BF16":  # not supported by NumPy: the upper halves of float32 numbers
        upper = (vectors.view(np.uint32) >> 16).astype("<u2").tobytes()
        header = {"wte.weight": {"dtype": "BF16", "shape": [10, 2], "data_offsets": [0, len(upper)]}}
        text = json.dumps(header).encode()
        (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + upper)
    assert (load_embeddings(str(folder)).vectors == vectors).all()


def test_model2vec_mapping_and_weights_are_applied(tmp_path):
    _save_transformer(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "model2vec"}))
    mapping = np.array([0] * 5 + [1] * 5)
    weights = np.linspace(0.1, 1, 10, dtype=np.float64)
    save_file({"embeddings": VECTORS[:2], "mapping": mapping, "weights": weights}, tmp_path / "model.safetensors")
    assert find_embeddings(str(tmp_path)).kind == "model2vec"
    assert load_embeddings(str(tmp_path)).compute_means([("dog",)])[0] == pytest.approx(VECTORS[1] * 0.6)


@pytest.fixture
def spacy_pipeline(tmp_path):
    """Return the folder of a spaCy pipeline with word vectors, in a package."""
    import spacy

    nlp = spacy.blank("en")
    for i, word in enumerate(WORDS):
        nlp.vocab.set_vector(word, np.array([i, -i], dtype=np.float32))
    nlp.meta["name"] = "tiny"
    (tmp_path / "en_tiny").mkdir()
    (tmp_path / "en_tiny" / "__init__.py").touch()
    nlp.to_disk(tmp_path / "en_tiny" / "en_tiny-0.0.0")
    return tmp_path / "en_tiny" / "en_tiny-0.0.0"


def test_damaged_spacy_vectors_are_rejected(spacy_pipeline):
    import srsly

    rows = srsly.read_msgpack(spacy_pipeline / "vocab/key2row")
    for damaged in ({key: 10**6 for key in rows}, {key: "x" for key in rows}, list(rows), "x"):
        srsly.write_msgpack(spacy_pipeline / "vocab/key2row", damaged)
        with pytest.raises(ValueError, match=r"expected (the vectors of a spaCy pipeline|a row of the vectors)"):
            load_embeddings(str(spacy_pipeline))
    (spacy_pipeline / "vocab/vectors").write_bytes(b"torn")
    with pytest.raises(ValueError, match="expected the vectors of a spaCy pipeline, got unreadable files"):
        load_embeddings(str(spacy_pipeline))


def test_spacy_pipeline_is_read_from_folder_or_package(spacy_pipeline, tmp_path, monkeypatch):
    import spacy

    monkeypatch.syspath_prepend(tmp_path)
    for name in (str(spacy_pipeline), str(spacy_pipeline.parent), "en_tiny"):
        table = load_embeddings(name)
        assert table.compute_means([("The dog", "DOG")])[0] == pytest.approx([(8 + 1 + 1) / 3, -10 / 3])
    assert find_embeddings(str(spacy_pipeline.parent)).kind == "spacy"
    spacy.blank("en").to_disk(tmp_path / "none")
    with pytest.raises(ValueError, match="expected a spaCy pipeline with word vectors"):
        load_embeddings(str(tmp_path / "none"))


def test_words_are_looked_up_as_written_then_lowercase(tmp_path):
    path = tmp_path / "ten.txt"
    path.write_text(_format_vectors())
    counts = load_embeddings(str(path)).count_tokens([("The Dog runs.", "the ROME")])
    names = sorted(WORDS[column] for column in counts.indices)
    assert names == sorted(["The", "dog", "runs", ".", "the"])  # the table contains Rome, but not ROME or rome


def test_text_formats_give_same_vectors(tmp_path):
    plain = tmp_path / "ten.txt"
    plain.write_text(_format_vectors())
    (tmp_path / "ten.vec").write_text(f"10 3\n{_format_vectors()}")
    (tmp_path / "ten.txt.gz").write_bytes(gzip.compress(_format_vectors().encode()))
    with zipfile.ZipFile(tmp_path / "ten.zip", "w") as archive:
        archive.writestr("ten.txt", _format_vectors())
    rows, vectors = read_word_vectors(plain)
    assert (vectors == [[i, i + 0.5, -i] for i in range(10)]).all()
    assert rows == {word: i for i, word in enumerate(WORDS)}
    for other in ("ten.vec", "ten.txt.gz", "ten.zip"):
        also_rows, also_vectors = read_word_vectors(tmp_path / other)
        assert (also_rows, also_vectors.tolist()) == (rows, vectors.tolist())


def test_words_with_spaces_are_parsed_from_the_right(tmp_path):
    path = tmp_path / "odd.txt"
    path.write_bytes("the 1 2\n. . . 3 4\nat name@example.com 5 6\na\xa0b 7 8\nthe 9 9\n".encode())
    rows, vectors = read_word_vectors(path)
    assert rows == {"the": 0, ". . .": 1, "at name@example.com": 2, "a\xa0b": 3}
    assert vectors[:4].tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"the 1 2\ndog 1 x\n", "line 2: expected a word in UTF-8 and 2 finite numbers"),
        (b"the 1 2\ndog 1 nan\n", "line 2: expected a word in UTF-8 and 2 finite numbers"),
        (b"the 1 2\n\xff 1 2\n", "line 2: expected a word in UTF-8"),
        (b"the dog\n", "line 1: expected a word in UTF-8 and its numbers"),
        (b"", "line 1: expected a word and its numbers"),
        (b"3 2\nthe 1 2\ndog 1 2\n", "expected 3 words according to the first line, got 2"),
        (b"2 2\nthe 1 2\ndog 1\n", "line 3: expected a word in UTF-8 and 2 finite numbers"),
    ],
)
def test_invalid_text_file_error_names_line(tmp_path, content, said):
    path = tmp_path / "broken.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"broken\.txt.*{said}"):
        read_word_vectors(path)


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"embedding": VECTORS}, "expected the tensor 'embeddings', got embedding"),
        ({"embeddings": VECTORS[0]}, "expected numbers with 2 dimensions in 'embeddings', got F32 [2]"),
        ({"embeddings": VECTORS.astype(bool)}, "in 'embeddings', got BOOL"),
        ({"embeddings": VECTORS, "mapping": np.array([0, 10])}, "expected rows of the 10 embeddings in 'mapping'"),
        ({"embeddings": VECTORS, "mapping": np.zeros((2, 2), dtype=np.int64)}, "in 'mapping', got I64"),
        ({"embeddings": VECTORS, "weights": VECTORS[:, 0][:3].copy()}, "expected 10 weights, one per embedding, got 3"),
        ({"embeddings": VECTORS + np.float32(np.inf)}, "expected finite values"),
    ],
)
def test_inconsistent_model2vec_tensors_are_rejected(tmp_path, tensors, said):
    _save_transformer(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "model2vec"}))
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=rf"model\.safetensors: .*{re.escape(said)}"):
        load_embeddings(str(tmp_path))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "lookup"}, r"word_embeddings\.weight.*got classifier\.weight, lookup"),
        ({"vectors": VECTORS[:7]}, "expected at most 7 tokens, one per embedding, got 10"),
        ({"tokenizer.json": b"{}"}, r"tokenizer\.json: expected a tokenizer"),
        ({"model.safetensors": b"torn"}, r"model\.safetensors: expected a safetensors file"),
        ({"tokenizer.json": None, "model.safetensors": None}, r"tokenizer\.json, model\.saf.*got \['config\.json'\]"),
    ],
)
def test_invalid_transformer_error_names_file(tmp_path, changed, said):
    _save_transformer(tmp_path, **{name: value for name, value in changed.items() if "." not in name})
    for name in changed.keys() & {"tokenizer.json", "model.safetensors"}:
        (tmp_path / name).unlink() if changed[name] is None else (tmp_path / name).write_bytes(changed[name])
    with pytest.raises(ValueError, match=said):
        load_embeddings(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("two.zip", r"got \['a\.txt', 'b\.txt'\]; extract"),
        ("no.zip", "expected a readable file of word vectors"),
        ("no.txt.gz", "expected a readable line"),
        ("words.json", r"expected a text file of word vectors \(\.txt"),
        *(
            (name, r"embeddings: expected a Hub id.*, got ")
            for name in ("./absent", "absent", "a/b/c", "/no/such/folder")
        ),
    ],
)
def test_invalid_archives_and_missing_tables_are_rejected(tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    if name == "two.zip":
        with zipfile.ZipFile(name, "w") as archive:
            for member in ("a.txt", "b.txt"):
                archive.writestr(member, _format_vectors())
    elif "absent" not in name and "/" not in name:
        Path(name).write_bytes(b"no archive")
    with pytest.raises(ValueError, match=said):
        load_embeddings(name)


def test_identity_depends_only_on_content(tmp_path):
    one, other = (find_embeddings(str(_save_transformer(tmp_path / name))).identity for name in "ab")
    assert one == other
    assert find_embeddings(str(_save_transformer(tmp_path / "b", vectors=VECTORS + 1))).identity != one
    text = tmp_path / "ten.txt"
    text.write_bytes(b"the 1 2\n")
    assert find_embeddings(str(text)).identity == f"sha256:{hashlib.sha256(text.read_bytes()).hexdigest()}"


@given(st.lists(st.lists(st.sampled_from([*WORDS, "zebra"]), max_size=8).map(" ".join), min_size=1, max_size=5))
def test_mean_does_not_depend_on_order_side_or_batch(sentences):
    lookup = embeddings._words(dict(zip(WORDS, range(10), strict=True)).get, "en")
    table = embeddings.EmbeddingTable("words", "", VECTORS, lookup)
    together = table.compute_means([(sentence, "the dog") for sentence in sentences])
    for sentence, mean in zip(sentences, together, strict=True):
        words = tokenize(sentence).texts
        assert table.compute_means([("the dog", " ".join(reversed(words)))]).tolist() == [mean.tolist()]
        known = [VECTORS[WORDS.index(word)] for word in (*words, "the", "dog") if word in WORDS]
        assert mean == pytest.approx(np.mean(known, axis=0, dtype=np.float64))


def test_chinese_text_is_segmented(tmp_path):
    path = tmp_path / "zh.txt"
    path.write_text("他 1 0\n看书 0 1\n看 7 7\n书 7 7\n", encoding="utf-8")
    assert load_embeddings(str(path), language="zh").compute_means([("他看书",)])[0] == pytest.approx([1 / 2, 1 / 2])


def test_fixture_model_mean_equals_transformers(shared):
    transformers = pytest.importorskip("transformers")
    folder = shared / "hub/models/nli-fixtures/minilm-l6-snli"
    table = load_embeddings(str(folder))
    network = transformers.AutoModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    expected = network.get_input_embeddings().weight.detach().float().numpy()
    assert (table.vectors == expected).all()
    sentence = "Two unhurried walruses juggle; nobody at all is watching them."
    ids = tokenizer(sentence, add_special_tokens=False)["input_ids"]
    assert table.compute_means([(sentence,)])[0] == pytest.approx(expected[ids].mean(axis=0), abs=1e-6)
