"""Yes/no rerankers and text-to-text verifiers are scored by the recipe of their card."""

import itertools
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs unbag[models]")
transformers = pytest.importorskip("transformers", reason="needs unbag[models]")

from tests.inference.fixtures import SIZES, tiny_tokenizer  # noqa: E402
from unbag.evaluation.model_loading import load_predictor  # noqa: E402
from unbag.inference import label_probe as probe  # noqa: E402
from unbag.inference.llm.prompt_file import RECIPES, PromptFile  # noqa: E402
from unbag.inference.predictor import ModelError  # noqa: E402

WORDS = "a the man boy dog reads runs sleeps is predict : yes no 1 0 .".split()
PAIRS = [(f"the {a} {b}", f"a {a} {c}") for a, b, c in itertools.product(("man", "dog"), ("reads", "runs"), WORDS[2:8])]
PREMISES, HYPOTHESES = map(list, zip(*PAIRS, strict=True))
VOCABULARY = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
ANSWERS = [VOCABULARY["yes"], VOCABULARY["no"]]


def save_model(folder, architecture, config, vocabulary=VOCABULARY):
    """Save a tiny random network and a tokenizer. Return their folder and the network."""
    torch.manual_seed(0)
    network = getattr(transformers, architecture)(config).eval()
    network.save_pretrained(folder)
    tiny_tokenizer(vocabulary).save_pretrained(folder)
    return folder, network


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2, "initializer_factor": 1.0}
    config = transformers.T5Config(vocab_size=64, decoder_start_token_id=0, tie_word_embeddings=False, **sizes)
    return save_model(tmp_path_factory.mktemp("t5"), "T5ForConditionalGeneration", config)


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    config = transformers.LlamaConfig(vocab_size=64, initializer_range=0.5, pad_token_id=0, **SIZES)
    return save_model(tmp_path_factory.mktemp("causal"), "LlamaForCausalLM", config)


def write_prompt(folder, head):
    path = folder / "prompt.jinja"
    path.write_text(f"---\n{head}raw: true\n---\npredict : {{{{ premise }}}} {{{{ hypothesis }}}}\n")
    return path


def compute_answer_logits(network, folder, *, is_encoder_decoder):
    """Compute the logits of the two answers for each pair alone, at the first position of the answer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = []
    for premise, hypothesis in PAIRS:
        text = f"predict : {premise} {hypothesis}"
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=is_encoder_decoder)["input_ids"]
        more = {"decoder_input_ids": torch.zeros((1, 1), dtype=torch.long)} if is_encoder_decoder else {}
        with torch.no_grad():
            rows.append(network(input_ids=ids, **more).logits[0, -1, ANSWERS].double().numpy())
    return np.array(rows)


@pytest.mark.parametrize("kind", ["t5", "causal"])
@pytest.mark.parametrize(
    "head",
    [
        "words: {entailment: 'yes', not_entailment: 'no'}\n",
        f"tokens: {{entailment: {ANSWERS[0]}, not_entailment: {ANSWERS[1]}}}\n",
    ],
    ids=["words", "tokens"],
)
def test_score_is_log_odds_of_two_answers(kind, head, request, tmp_path):
    folder, network = request.getfixturevalue(kind)
    yes, no = compute_answer_logits(network, folder, is_encoder_decoder=kind == "t5").T
    predictor, _ = load_predictor(f"causal:{folder}", prompt=write_prompt(tmp_path, head))
    found = predictor.predict(PREMISES, HYPOTHESES).astype(np.float64)
    assert predictor.label_space == ("entailment", "not_entailment")
    assert np.ptp(yes - no) > 0.01
    np.testing.assert_allclose(np.log(found[:, 0] / found[:, 1]), yes - no, atol=1e-4)


def test_score_of_one_answer_is_its_logit(causal, tmp_path):
    folder, network = causal
    expected = compute_answer_logits(network, folder, is_encoder_decoder=False)[:, 0]
    prompt = write_prompt(tmp_path, "words: {entailment: 'yes'}\n")
    found = load_predictor(f"causal:{folder}", prompt=prompt)[0].predict(PREMISES, HYPOTHESES).astype(np.float64)
    np.testing.assert_allclose(np.log(found[:, 0] / found[:, 1]), expected, atol=1e-4)


def test_each_advice_for_a_text_to_text_model_works(t5):
    folder, _ = t5
    with pytest.raises(ModelError, match=rf"got a text-to-text model .* pass causal:{folder}, and the prompt"):
        load_predictor(str(folder), threshold=0.5)
    with pytest.raises(ModelError, match="expected --prompt for a text-to-text model"):
        load_predictor(f"causal:{folder}")
    predictor, _ = load_predictor(f"causal:{folder}", prompt="minicheck-t5")
    assert predictor.predict(PREMISES[:1], HYPOTHESES[:1]).shape == (1, 2)


def test_answers_that_begin_with_one_token_are_refused(t5, tmp_path):
    prompt = write_prompt(tmp_path, "words: {entailment: 'yes', not_entailment: 'yes no'}\n")
    with pytest.raises(ModelError, match="expected a different token below 64 for each label"):
        load_predictor(f"causal:{t5[0]}", prompt=prompt)


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_renders_both_sentences(name):
    text = PromptFile.load(name).build_text("A dog runs.", "It moves.")
    assert "A dog runs." in text
    assert "It moves." in text
    assert name != "qwen3-reranker" or text.endswith("</think>\n\n")


def test_classifier_of_one_text_reads_the_template(tmp_path):
    texts = [text for pair in probe.PAIRS["en"] for text in pair[:2]]
    words = [*VOCABULARY, *(word for text in texts for word in re.findall(r"\w+", text))]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    own = {"num_labels": 1, "head_dim": 16, "num_key_value_heads": 2}
    config = transformers.Qwen3Config(vocab_size=len(vocabulary), initializer_range=0.5, pad_token_id=0, **own, **SIZES)
    _, network = save_model(tmp_path, "Qwen3ForSequenceClassification", config, vocabulary)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    expected = []
    for premise, hypothesis in PAIRS:
        encoded = tokenizer(f"predict : {premise} {hypothesis}", return_tensors="pt", return_token_type_ids=False)
        with torch.no_grad():
            expected.append(network(**encoded).logits.item())
    template = write_prompt(tmp_path, "")
    predictor, _ = load_predictor(str(tmp_path), template=str(template), threshold=0.5)
    found = predictor.predict(PREMISES, HYPOTHESES).astype(np.float64)
    np.testing.assert_allclose(np.log(found[:, 0] / found[:, 1]), expected, atol=1e-4)
    assert predictor.identity["template"].startswith("sha256:")
    plain, _ = load_predictor(str(tmp_path), threshold=0.5)
    assert np.abs(plain.predict(PREMISES, HYPOTHESES) - found).max() > 0.01

    # The end of the template is kept, and the longer sentence is cut.
    short, _ = load_predictor(str(tmp_path), template=str(template), threshold=0.5, max_length=8)
    cut = short.predict([f"{PREMISES[0]} sleeps sleeps sleeps"], ["a man"])
    assert short.truncated == 1
    np.testing.assert_allclose(cut, predictor.predict([PREMISES[0][:8]], ["a man"]), atol=1e-3)
    template.write_text("{{ premise }} {{ hypothesis }}")
    with pytest.raises(ValueError, match=r"--template: expected a readable template, or one of qwen3-.*absent\.jinja"):
        load_predictor(str(tmp_path), template="absent.jinja", threshold=0.5)
    with pytest.raises(ModelError, match="--template: expected raw: true"):
        load_predictor(str(tmp_path), template=str(template), threshold=0.5)
