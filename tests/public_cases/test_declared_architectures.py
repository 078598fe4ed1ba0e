"""A model runs as its files declare it, or is refused by name; it never gets a random head."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs unbag[models]")
transformers = pytest.importorskip("transformers", reason="needs unbag[models]")

from tests.inference.fixtures import SIZES, tiny_tokenizer  # noqa: E402
from unbag.evaluation.model_loading import load_predictor  # noqa: E402
from unbag.inference.predictor import ModelError  # noqa: E402

WORDS = "a the man boy dog cat reads runs sleeps is it supported by".split()
PAIRS = [(f"the {a} {b}", f"a {a} {c}") for a, b, c in itertools.product(("man", "dog"), ("reads", "runs"), WORDS[2:9])]
PREMISES, HYPOTHESES = map(list, zip(*PAIRS, strict=True))


def save_bert(folder, head, **options):
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    config = transformers.BertConfig(vocab_size=len(vocabulary), initializer_range=0.3, **SIZES, **options)
    torch.manual_seed(0)
    getattr(transformers, f"Bert{head}")(config).save_pretrained(folder)
    tokenizer = tiny_tokenizer(vocabulary)
    names = ["input_ids", "token_type_ids", "attention_mask"]
    tokenizer.model_input_names = tokenizer.init_kwargs["model_input_names"] = names
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("ForTokenClassification", "a token classifier"),
        ("ForMultipleChoice", "a multiple-choice model"),
        ("ForQuestionAnswering", "a question-answering model"),
        ("ForNextSentencePrediction", "a next-sentence model"),
        ("ForMaskedLM", "a masked language model without a classification head"),
        ("Model", "an encoder without a classification head"),
    ],
)
def test_other_architecture_is_refused_by_name(head, kind, tmp_path):
    folder = save_bert(tmp_path, head, num_labels=1 if head == "ForMultipleChoice" else 3)
    with pytest.raises(ModelError, match=rf"got {kind} \(Bert{head}\)"):
        load_predictor(folder, threshold=0.5)


@pytest.mark.parametrize(
    ("file", "advice"), [("adapter_config.json", "merge the adapter"), ("model-Q4_K_M.gguf", "serve the GGUF file")]
)
def test_weights_in_other_formats_are_named(file, advice, tmp_path):
    folder = save_bert(tmp_path, "ForSequenceClassification", num_labels=1)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / file).write_text('{"base_model_name_or_path": "org/base"}')
    for model in (folder, tmp_path / file):
        with pytest.raises(ModelError, match=advice):
            load_predictor(str(model), threshold=0.5)
    (tmp_path / "config.json").unlink()
    with pytest.raises(ModelError, match=rf"expected a model folder with config\.json.*{advice}"):
        load_predictor(folder, threshold=0.5)


@pytest.fixture(params=["modules", "prompt"])
def cross_encoder(request, tmp_path):
    """Return a CrossEncoder with a head in modules of its own, or with a default prompt."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    if request.param == "prompt":
        base = save_bert(tmp_path / "base", "ForSequenceClassification", num_labels=1)
        prompts = {"nli": "is it supported by the "}
        return sentence_transformers.CrossEncoder(base, device="cpu", prompts=prompts, default_prompt_name="nli")
    torch.manual_seed(1)
    base = Transformer(save_bert(tmp_path / "base", "Model"))
    head = Dense(32, 1, activation_function=None, module_output_name="scores")
    return sentence_transformers.CrossEncoder(modules=[base, Pooling(32, pooling_mode="cls"), head], device="cpu")


@pytest.mark.parametrize("made", ["folder", "object"])
def test_cross_encoder_gives_its_own_scores(cross_encoder, made, tmp_path):
    expected = cross_encoder.predict(PAIRS)
    assert np.ptp(expected) > 0.01
    cross_encoder.save_pretrained(str(tmp_path / "saved"))
    model = str(tmp_path / "saved") if made == "folder" else cross_encoder
    predictor, _ = load_predictor(model, threshold=0.5)
    found = predictor.predict(PREMISES, HYPOTHESES)[:, predictor.label_space.index("entailment")]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert predictor.predict(PREMISES[:3], HYPOTHESES[:3])[:, 0] == pytest.approx(found[:3], abs=1e-5)
    assert cross_encoder.predict(PAIRS) == pytest.approx(expected), "the object is unchanged"


def test_embedding_model_is_refused_by_name(tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    base = Transformer(save_bert(tmp_path / "base", "Model"))
    model = sentence_transformers.SentenceTransformer(modules=[base, Pooling(32)], device="cpu")
    model.save_pretrained(str(tmp_path / "saved"))
    with pytest.raises(ModelError, match="got a SentenceTransformer, which embeds each text by itself"):
        load_predictor(str(tmp_path / "saved"), threshold=0.5)
