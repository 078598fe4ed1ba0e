"""Tests that keys and passwords are never printed, even if a server repeats them."""

import json
import os
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("openai", reason="needs unbag[llm]")

from tests.robustness.conftest import run_rejected, sample_inputs
from unbag.hub.push import HubError, explain_hub_errors
from unbag.utils.redaction import extract_first_line, redact

KEY = "kq7-ZpT4mW9xLr2Vb8Nc5Yd1"


@pytest.fixture(autouse=True)
def _secrets(empty_caches, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)


def pieces(text, *, of=KEY, length=8):
    """Return the substrings of the key that occur in a text."""
    return [of[i : i + length] for i in range(len(of) - length + 1) if of[i : i + length] in text]


@given(st.text(max_size=400), st.text(max_size=50), st.integers(0, 400))
def test_truncated_message_contains_no_part_of_key(before, after, longest):
    os.environ["OPENAI_API_KEY"] = KEY
    message = f"{before}{KEY}{after}".replace("\n", " ")
    assert not pieces(extract_first_line(ValueError(message), max_length=longest))
    assert not pieces(redact(message))


@pytest.mark.parametrize("secret", ["a/b+c=d ef&9%", 'quo"ted\\key', "Großer-Schlüssel"])
def test_redact_encoded_secret_hides_it(monkeypatch, secret):
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    for form in (secret, quote(secret, safe=""), quote(secret, safe="").lower(), json.dumps(secret)[1:-1]):
        assert redact(f"before {form} after") == "before … after"
    monkeypatch.setitem(os.environb, b"OPENAI_API_KEY", secret.encode("latin-1"))  # may be invalid UTF-8
    assert redact(f"before {os.environ['OPENAI_API_KEY']} after") == "before … after"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://user:s3cr3t-word@hub.example/api", "https://…@hub.example/api"),
        ("http://s3cr3t-word@hub.example:80", "http://…@hub.example:80"),
        ("proxy socks5://a:b%40s3cr3t-word@h/x failed", "proxy socks5://…@h/x failed"),
        ("write to a@b.org at https://hub.example", "write to a@b.org at https://hub.example"),
        ("a token hf_abcdefghijklmnopqrstuvwx here", "a token … here"),
        ("https://h/f?token=abc.def&page=2#top", "https://h/f?token=…&page=2#top"),
        ("https://h/f?a=1&access_token=abc&api-key=x", "https://h/f?a=1&access_token=…&api-key=…"),
        ("https://h/f?X-Amz-Signature=0f3a&X-Amz-Expires=60", "https://h/f?X-Amz-Signature=…&X-Amz-Expires=60"),
        ("https://h/f?tokenizer=bert&monkey=1&max_tokens=8", "https://h/f?tokenizer=bert&monkey=1&max_tokens=8"),
        ("{'Authorization': 'Bearer abc.def'}", "{'Authorization': 'Bearer …'}"),
        ("authorization: basic bWU6cHc=, accept: */*", "authorization: basic …, accept: */*"),
        ("Basic authentication is off", "Basic authentication is off"),
    ],
)
def test_passwords_and_tokens_are_redacted(text, kept):
    assert redact(text) == kept


def test_hub_token_and_address_are_redacted(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", token := "a-token-of-no-known-form-7f3a9")
    with pytest.raises(HubError) as caught, explain_hub_errors("org/name", "dataset"):
        raise OSError(f"401 for https://me:{token}@hub.example: {token}")
    assert not pieces(str(caught.value), of=token)


def test_placeholder_keys_are_not_redacted(monkeypatch):
    for placeholder in ("none", "EMPTY", "x", ""):
        monkeypatch.setenv("OPENAI_API_KEY", placeholder)
        assert redact("none of x is EMPTY") == "none of x is EMPTY"


@pytest.fixture
def command(endpoint, tmp_path):
    """Return the arguments of an evaluation of a served model."""
    (tmp_path / "pairs.csv").write_text("premise,hypothesis,label\nA dog runs.,A cat runs.,neutral\n")
    words = "evaluate endpoint:m --data pairs.csv --sets plain --output-dir out --retries 0 --base-url"
    return [*words.split(), endpoint.base_url]


@pytest.mark.parametrize("before", sample_inputs([0, 180, 190, 285, 295], 1))
@pytest.mark.parametrize("status", sample_inputs([200, 400, 401, 404, 422], 2))
def test_endpoint_that_repeats_key_is_redacted(endpoint, command, capsys, status, before):
    for body in (f"{'x' * before}{KEY}", json.dumps({"error": {"message": f"{'x' * before}{KEY}", "code": KEY}})):
        endpoint.arm({"status": status, "content": body, "content_type": "application/json", "times": 100})
        assert not pieces(run_rejected(capsys, *command))


@pytest.mark.parametrize("status", sample_inputs([301, 302, 303, 307, 308], 1))
def test_redirect_to_other_host_is_rejected(endpoint, command, capsys, status):
    other = {"location": "http://127.0.0.1:9/v1/chat/completions"}
    endpoint.arm({"status": status, "content": "", "headers": other, "times": 100})
    said = " ".join(run_rejected(capsys, *command).split())
    assert f"responded with {status}, a redirect to http://127.0.0.1" in said
