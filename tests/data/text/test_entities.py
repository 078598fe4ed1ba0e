import pytest

from unbag.data.text.entities import Entity, EntityRecognizer, precompute_entities
from unbag.data.text.parses import Parser
from unbag.utils import parallel

SENTENCES = ["They arrived in Paris on Monday.", "The dog sleeps.", "Mary Smith lives in the United States."]


@pytest.fixture
def pipeline(shared):
    pytest.importorskip("spacy")
    return shared / "hub" / "models" / "spacy" / "en_core_web_sm"


def test_entity_positions_match_parse(pipeline, tmp_path):
    found = list(EntityRecognizer(pipeline, cache=tmp_path).recognize(SENTENCES))
    parses = Parser(pipeline, cache=tmp_path).parse(SENTENCES)
    texts = [
        {parse.text(start, end): label for start, end, label in entities}
        for parse, entities in zip(parses, found, strict=True)
    ]
    assert texts[0]["Paris"] == "GPE"
    assert texts[1] == {}
    assert texts[2] == {"Mary Smith": "PERSON", "the United States": "GPE"}


def test_entities_do_not_depend_on_order_or_cache(pipeline, tmp_path):
    recognizer = EntityRecognizer(pipeline, cache=tmp_path)
    first = list(recognizer.recognize(SENTENCES))
    assert all(isinstance(entity, Entity) for entities in first for entity in entities)
    assert list(recognizer.recognize([*SENTENCES[::-1], *SENTENCES])) == [*first[::-1], *first]


@pytest.mark.nightly
def test_several_processes_recognize_same_entities(pipeline, tmp_path):
    with parallel.set_num_proc(2):
        precompute_entities(pipeline, SENTENCES, cache=tmp_path / "ahead")
    [file] = (tmp_path / "ahead").glob("*.sqlite")
    assert file.stat().st_size
    one, ahead = (EntityRecognizer(pipeline, cache=tmp_path / name) for name in ("one", "ahead"))
    assert list(ahead.recognize(SENTENCES)) == list(one.recognize(SENTENCES))


def test_pipeline_without_ner_is_rejected(tmp_path):
    spacy = pytest.importorskip("spacy")
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ValueError, match=r"^entities: expected a spaCy pipeline with the component ner, got"):
        EntityRecognizer(tmp_path / "blank", cache=tmp_path)
