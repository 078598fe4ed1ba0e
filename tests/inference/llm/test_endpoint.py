"""Tests of the endpoint predictor over HTTP: requests, errors and stored answers."""

import logging

import numpy as np
import pytest

pytest.importorskip("openai", reason="needs unbag[llm]")

from tests.fake_llm import WORDS, answer_by_letters
from unbag.data.labels import LABELS
from unbag.inference.llm.client import KEY, EndpointUsage
from unbag.inference.llm.endpoint import EndpointPredictor
from unbag.inference.llm.prompts import WORDS as WORD_OF
from unbag.inference.llm.prompts import DefaultPrompt
from unbag.inference.predictor import EndpointError

PREMISES = [f"A woman with {n} red apples waits." for n in range(12)]
HYPOTHESES = [f"Somebody waits for {n} hours." for n in range(12)]
SECRET = "sk-a-key-that-nobody-may-see"
NONSENSE = "<html>it works!</html>"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv(KEY, raising=False)


def connect(endpoint, **options):
    return EndpointPredictor("tiny", base_url=endpoint.base_url, **options)


def expected(endpoint):
    """Return one row of probabilities per pair, each from a separate answer of the endpoint."""
    pairs = zip(PREMISES, HYPOTHESES, strict=True)
    names = [endpoint.answers(DefaultPrompt().build_messages(*pair)[-1]["content"]) for pair in pairs]
    return np.array([[float(WORD_OF[label] == name) for label in LABELS] for name in names])


def test_probabilities_are_those_of_first_token(endpoint):
    predictor = connect(endpoint)
    assert hasattr(predictor, "iter_batches")
    assert predictor.request_format.name == "logprobs-20"
    assert predictor.has_probabilities
    values = predictor.predict(PREMISES, HYPOTHESES)
    certain = expected(endpoint)
    assert len(set(certain.argmax(axis=1))) == 3, "nothing to see if all answers are one"
    # WORDS has the order of LABELS: 0.7 for the answer, 0.2 and 0.1 for the next two words.
    assert [WORD_OF[label] for label in LABELS] == list(WORDS)
    shares = 0.7 * certain + 0.2 * np.roll(certain, 1, axis=1) + 0.1 * np.roll(certain, 2, axis=1)
    np.testing.assert_allclose(values, shares, atol=1e-6)


def answer_after_thought(question):
    return "<think>" + " hm" * 20 + "</think> " + answer_by_letters(question)


@pytest.mark.parametrize(
    ("abilities", "form"),
    [
        ({"most_logprobs": 5}, "logprobs-5"),
        ({"most_logprobs": 0}, "text"),
        ({"ignores_logprobs": True}, "text"),
        ({"takes": frozenset({"model", "messages", "max_completion_tokens"})}, "thinking"),
        ({"answers": answer_after_thought}, "logprobs-20-512"),
    ],
)
def test_request_format_adapts_to_endpoint(endpoint, abilities, form):
    for name, value in abilities.items():
        setattr(endpoint, name, value)
    predictor = connect(endpoint)
    assert predictor.request_format.name == form == predictor.identity["form"]
    assert predictor.has_probabilities == form.startswith("logprobs")
    found = predictor.predict(PREMISES, HYPOTHESES)
    endpoint.answers = answer_by_letters
    np.testing.assert_array_equal(found.argmax(axis=1), expected(endpoint).argmax(axis=1))


def test_temporary_errors_are_retried(endpoint):
    predictor = connect(endpoint)
    calm = predictor.predict(PREMISES, HYPOTHESES)
    stormy = connect(endpoint, no_cache=True, retries=16)  # enough retries even if all faults hit one request
    endpoint.arm(
        {"status": 429, "headers": {"Retry-After": "0.01"}, "times": 3},
        {"status": 503, "times": 3},
        {"status": 500, "times": 2},
        {"cut": 0, "cut_in": "response", "times": 2},
        {"cut": 20, "cut_in": "response", "times": 2},
        {"delay": 0.2, "times": 2},
        {"content": NONSENSE, "times": 2},
    )
    before = len(endpoint.requests)
    np.testing.assert_array_equal(stormy.predict(PREMISES, HYPOTHESES), calm)
    assert endpoint.faults == []
    assert len(endpoint.requests) - before == len(PREMISES) + 3 + 3 + 2 + 2 + 2 + 2  # a slow answer is no failure
    assert stormy.spending.answered == 1 + len(PREMISES), "what failed is not counted"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"status": 429}, r"responded with 429 to tiny: .*reduce --concurrency and run the same command again"),
        ({"status": 503}, "responded with 503 to tiny: .*run the same command again to continue"),
        ({"cut": 0, "cut_in": "response"}, "cannot reach .*run the same command again to continue"),
        ({"content": NONSENSE}, "expected a chat completion, got '<html>it works!</html>'"),
    ],
)
def test_permanent_error_ends_run(endpoint, fault, message):
    predictor = connect(endpoint, retries=2, concurrency=1)
    half = len(PREMISES) // 2
    predictor.predict(PREMISES[:half], HYPOTHESES[:half])
    endpoint.arm({**fault, "times": 1000})
    with pytest.raises(EndpointError, match=message):
        predictor.predict(PREMISES, HYPOTHESES)
    assert endpoint.faults[0].times > 1000 - 10, "no endless tries"
    endpoint.arm()
    again = connect(endpoint)
    again.predict(PREMISES, HYPOTHESES)
    assert again.spending.answered == 1 + len(PREMISES) - half, "the first request is always sent"


def test_answers_are_stored_and_equal_requests_sent_once(endpoint):
    first = connect(endpoint)
    values = first.predict(PREMISES * 3, HYPOTHESES * 3)
    assert first.spending.answered == 1 + len(PREMISES)
    np.testing.assert_array_equal(values[:12], values[24:])
    before = len(endpoint.requests)
    second = connect(endpoint)
    np.testing.assert_array_equal(second.predict(PREMISES, HYPOTHESES), values[:12])
    assert len(endpoint.requests) == before + 1
    assert (second.spending.answered, second.spending.kept) == (1, 12)
    connect(endpoint, num_fewshot=3).predict(PREMISES, HYPOTHESES)
    assert len(endpoint.requests) == before + 1 + 13, "another prompt is another question"


def test_concurrent_requests_are_limited(endpoint):
    endpoint.delay = 0.05
    connect(endpoint, concurrency=3).predict(PREMISES, HYPOTHESES)
    assert endpoint.busiest == 3
    endpoint.busiest = 0
    connect(endpoint, concurrency=1, num_fewshot=3).predict(PREMISES[:3], HYPOTHESES[:3])
    assert endpoint.busiest == 1


def test_tokens_are_counted_and_priced(endpoint):
    spending = EndpointUsage(price_in=3.0, price_out=15.0)
    connect(endpoint, spending=spending).predict(PREMISES, HYPOTHESES)
    sizes = [sum(len(turn["content"].split()) for turn in r.body["messages"]) for r in endpoint.requests]
    assert (spending.tokens_in, spending.tokens_out) == (sum(sizes), len(sizes))
    assert spending.cost == pytest.approx((3.0 * sum(sizes) + 15.0 * len(sizes)) / 1e6)
    assert str(spending).startswith(f"{len(sizes)} requests answered (0 more reused from earlier runs), ")


def test_key_is_sent_only_to_endpoint(endpoint, monkeypatch, tmp_path, caplog):
    monkeypatch.setenv(KEY, SECRET)
    endpoint.key = SECRET
    caplog.set_level(logging.INFO)
    predictor = connect(endpoint)
    predictor.predict(PREMISES, HYPOTHESES)
    assert {request.key for request in endpoint.requests} == {SECRET}
    endpoint.key = "another"  # the error message of the endpoint repeats the rejected key
    with pytest.raises(EndpointError, match=f"Incorrect API key provided: ….*set {KEY} in the environment") as failed:
        connect(endpoint, num_fewshot=3)
    endpoint.key = SECRET
    endpoint.arm({"status": 500, "body": f"you said {SECRET}", "times": 9})
    with pytest.raises(EndpointError) as broken:
        connect(endpoint, num_fewshot=6, retries=0)
    told = [str(failed.value), str(broken.value), str(predictor.identity), caplog.text]
    told += [file.read_bytes().decode(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    assert len(told) > 4
    assert not [text for text in told if SECRET in text]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (None, "expected the URL of the endpoint"),
        ("localhost:8000", "expected the URL of"),
        ("http://me:secret@localhost/v1", "without user name, password or"),
        ("http://localhost/v1?key=secret", "without user name, password or"),
        ("http://host\nx", "expected the URL of"),
        ("http://host:99999/v1", "expected the URL of"),
        ("http://ho!é/v1", "expected a URL such as"),
        (f"http://{'a' * 64}/v1", "expected the URL of"),
    ],
)
def test_invalid_addresses_are_rejected(address, message):
    with pytest.raises(EndpointError, match=message) as refused:
        EndpointPredictor("tiny", base_url=address)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_unreachable_endpoint_error_names_address(endpoint):
    with pytest.raises(EndpointError, match=r"responded with 404 to missing: .*check the model's name and --base-url"):
        EndpointPredictor("missing", base_url=endpoint.base_url)
    with pytest.raises(EndpointError, match=r"responded with 404 .*which usually ends in /v1"):
        EndpointPredictor("tiny", base_url=endpoint.base_url.removesuffix("/v1"))
    with pytest.raises(EndpointError, match=r"cannot reach http://127\.0\.0\.1:9/v1"):
        EndpointPredictor("tiny", base_url="http://127.0.0.1:9/v1", retries=1)
