import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs unbag[models]")

from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

from tests.inference.llm.tiny_lm import save_tiny_lm  # noqa: E402
from unbag.data.labels import LABELS, TWO_WAY  # noqa: E402
from unbag.evaluation.model_loading import load_predictor  # noqa: E402
from unbag.inference.llm.causal import CausalPredictor  # noqa: E402
from unbag.inference.llm.prompts import WORDS, DefaultPrompt  # noqa: E402
from unbag.inference.predictor import ModelError  # noqa: E402

PAIRS = [
    ("An old man reads a paper.", "A man reads."),
    ("A dog runs, and a cat is asleep on the old red sofa in the house.", "Cats sleep."),
    ("the boy eats", "The young boy eats with the old woman, the dog and the cat, and they all drink tea."),
    ("No woman sees the man.", "A woman sees the man in red."),
    ("“A cat!”", "42"),
]
PREMISES, HYPOTHESES = (list(side) for side in zip(*PAIRS, strict=True))


@pytest.fixture(scope="module")
def make_lm(tmp_path_factory):
    return lambda kind="llama", **options: save_tiny_lm(tmp_path_factory.mktemp(kind), kind, **options)


@pytest.fixture(scope="module")
def tiny_lm(make_lm):
    return make_lm()


def compute_log_likelihoods(predictor):
    """Compute the log-likelihood of each label's word in one batch, shape (n, labels)."""
    return predictor._log_likelihoods(predictor._questions(PREMISES, HYPOTHESES)).numpy()


def compute_by_definition(folder, rendered, space, words=tuple(WORDS[label] for label in LABELS)):
    """Compute ln p(word | prompt) of each word and text separately, without batches, padding or caches."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    found = np.empty((len(rendered), len(words)))
    for row, text in enumerate(rendered):
        prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
        for column, word in enumerate(words):
            whole = tokenizer(text + space + word, add_special_tokens=False)["input_ids"]
            assert whole[: len(prompt)] == prompt
            with torch.inference_mode():
                logs = model(input_ids=torch.tensor([whole])).logits[0].log_softmax(-1)
            found[row, column] = sum(logs[i - 1, whole[i]].item() for i in range(len(prompt), len(whole)))
    return found


@pytest.mark.parametrize(
    ("kind", "options", "num_fewshot", "batch_tokens"),
    [
        ("llama", {"merges": True}, 0, 2000),
        ("llama", {"merges": False}, 3, 1),
        ("gpt2", {"merges": True}, 3, 4000),
        ("gpt2", {"merges": False}, 0, 2000),
        ("mistral", {"merges": True, "sliding_window": 16, "num_key_value_heads": 4}, 0, 2000),
    ],
)
def test_scores_are_log_likelihoods_of_words(make_lm, kind, options, num_fewshot, batch_tokens):
    folder = make_lm(kind, positions=3000, **options)
    predictor = CausalPredictor.load(folder, num_fewshot=num_fewshot, batch_tokens=batch_tokens)
    expected = compute_by_definition(folder, [DefaultPrompt(num_fewshot).build_text(*pair) for pair in PAIRS], " ")
    # A model with a sliding window reads whole prompts, without a cache.
    assert predictor.identity["last_layer"] == ("none" if kind == "mistral" else "shared-head")
    np.testing.assert_allclose(compute_log_likelihoods(predictor), expected, atol=2e-4)
    softmax = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(predictor.predict(PREMISES, HYPOTHESES), softmax, atol=1e-4)
    assert np.ptp(expected) > 0.5, "too alike to tell a mistake"
    lengths = {len(ending) for q in predictor._questions(PREMISES, HYPOTHESES) for ending in q.endings}
    assert (lengths == {1}) == options["merges"]


def test_prompt_file_sets_text_words_and_labels(make_lm, tmp_path):
    folder, file = make_lm(positions=3000), tmp_path / "own.jinja"
    head = "---\nwords: {entailment: [true, right], not_entailment: false}\n---\n"
    file.write_text(f"{head}Given {{{{ premise }}}} {{{{ hypothesis }}}} is", encoding="utf-8")
    predictor = CausalPredictor.load(folder, prompt=file)
    assert (predictor.label_space, predictor.identity["words"]) == (TWO_WAY, "true,false")
    expected = compute_by_definition(folder, [f"Given {p} {h} is" for p, h in PAIRS], " ", ("true", "false"))
    np.testing.assert_allclose(compute_log_likelihoods(predictor), expected, atol=2e-4)
    file.write_text(file.read_text().replace("---\nwords", "---\njson: answer\nwords"))
    with pytest.raises(ModelError, match=r"--prompt: expected a prompt with a plain-text answer .* got the field json"):
        CausalPredictor.load(folder, prompt=file)


def test_chat_template_is_used_if_present(make_lm):
    folder = make_lm(chat=True, positions=3000)
    predictor = CausalPredictor.load(folder, num_fewshot=3)
    assert predictor.identity["apply_chat_template"] == "True"
    turns = [DefaultPrompt(3).build_messages(*pair) for pair in PAIRS]
    texts = ["".join(f"<{t['role']}>{t['content']}</{t['role']}>" for t in asked) + "<assistant>" for asked in turns]
    np.testing.assert_allclose(compute_log_likelihoods(predictor), compute_by_definition(folder, texts, ""), atol=2e-4)
    plain = CausalPredictor.load(folder, num_fewshot=3, apply_chat_template=False)
    assert plain.identity["prompt"] != predictor.identity["prompt"]
    assert plain.prompt.build_text(*PAIRS[0]) == plain._rendered(*PAIRS[0])


def test_beginning_token_is_added_once(make_lm):
    folder = make_lm(bos=True)
    [question] = CausalPredictor.load(folder)._questions(*zip(PAIRS[0], strict=True))
    assert question.prefix[0] == 0
    assert question.prefix.count(0) == 1
    [question] = CausalPredictor.load(make_lm(bos=True, chat=True))._questions(*zip(PAIRS[0], strict=True))
    assert 0 not in question.prefix, "a template writes its own"


def test_long_pairs_are_truncated_and_counted(make_lm):
    folder = make_lm("gpt2", positions=260)
    predictor = CausalPredictor.load(folder)
    long = "a very " * 400 + "old man"
    values = predictor.predict([long, *PREMISES], ["He is old.", *HYPOTHESES])
    assert predictor.truncated == 1
    np.testing.assert_allclose(values[1:], predictor.predict(PREMISES, HYPOTHESES), atol=1e-5)
    [question] = predictor._questions([long], ["He is old."])
    assert question.length <= 260
    with pytest.raises(ModelError, match=r"expected a prompt of at most 40 tokens, .* got \d+; use fewer"):
        CausalPredictor.load(folder, max_length=40).predict(["a"], ["b"])


def test_identity_contains_all_relevant_settings(make_lm, tiny_lm):
    first = load_predictor(f"causal:{tiny_lm}")[0].identity
    assert load_predictor(f"causal:{tiny_lm}", num_fewshot=0, apply_chat_template=False)[0].identity == first
    others = [{"num_fewshot": 3}, {"dtype": "bfloat16"}, {"max_length": 500}, {"batch_tokens": 100}]
    identities = [load_predictor(f"causal:{tiny_lm}", **options)[0].identity for options in others]
    identities.append(load_predictor(f"causal:{make_lm(seed=1)}")[0].identity)
    assert len({tuple(sorted(identity.items())) for identity in [first, *identities]}) == 6


def test_invalid_models_and_options_are_rejected(tiny_lm, tiny_bert):
    with pytest.raises(ModelError, match=r"got BertForSequenceClassification; omit causal:"):
        CausalPredictor.load(tiny_bert)
    with pytest.raises(ModelError, match=r"causal language model \(LlamaForCausalLM\).*causal:"):
        load_predictor(str(tiny_lm))
    with pytest.raises(ModelError, match="no chat template"):
        CausalPredictor.load(tiny_lm, apply_chat_template=True)
    with pytest.raises(ValueError, match="base_url is for endpoint:NAME; causal:x is a causal language model"):
        load_predictor("causal:x", base_url="http://localhost/v1")
    with pytest.raises(ValueError, match="expected a model name after the colon"):
        load_predictor("causal:")
