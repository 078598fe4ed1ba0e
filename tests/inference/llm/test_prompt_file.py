"""Tests of the default prompt and of prompt files, of reading answers, and of the spread over several prompts."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.factories import QUICK, run_unbag
from unbag.challenge_sets import results
from unbag.data.labels import LABELS, TWO_WAY
from unbag.evaluation.model_loading import list_variants
from unbag.evaluation.prompt_spread import compute_prompt_spreads
from unbag.inference.label_probe import PAIRS as PROBE_PAIRS
from unbag.inference.llm.prompt_file import PromptError, PromptFile, choose_prompt
from unbag.inference.llm.prompts import DEFAULT_WORDS, EXAMPLES, INSTRUCTION, DefaultPrompt
from unbag.inference.llm.reading import compute_label_probabilities, parse_label
from unbag.reports.reproduce import build_reproduce_command

BODY = "Premise: {{ premise }}\nHypothesis: {{ hypothesis }}\nAnswer Yes, Maybe or No."
TWO_WORDS = "words: {entailment: [supported, yes], not_entailment: not supported}"
WORDS = {"entailment": ("supported", "yes"), "not_entailment": ("not supported",)}
PAIR = ("A <b>dog</b> runs.", "It moves & barks.")


def write_prompt(path, body=BODY, head=None):
    path.write_text(body if head is None else f"---\n{head}\n---\n{body}", encoding="utf-8")
    return path


def test_load_template_renders_both_sentences_unchanged(tmp_path):
    prompt = PromptFile.load(write_prompt(tmp_path / "own.jinja", head="system: Be strict."))
    assert prompt.build_messages(*PAIR) == [
        {"role": "system", "content": "Be strict."},
        {"role": "user", "content": BODY.replace("{{ premise }}", PAIR[0]).replace("{{ hypothesis }}", PAIR[1])},
    ]
    assert (prompt.label_space, prompt.words, prompt.json_field) == (LABELS, DEFAULT_WORDS, None)


def test_prompt_words_define_label_space(tmp_path):
    prompt = PromptFile.load(write_prompt(tmp_path / "own.jinja", head=f"{TWO_WORDS}\njson: verdict"))
    assert (prompt.label_space, prompt.words, prompt.json_field) == (TWO_WAY, WORDS, "verdict")
    plain = PromptFile.load(
        write_prompt(tmp_path / "no.jinja", head="words: {entailment: yes, neutral: maybe, contradiction: no}")
    )
    assert plain.words["contradiction"] == ("no",), "YAML would read a bare no as false"


@pytest.mark.parametrize(
    ("head", "body", "words"),
    [
        (None, "{{ premise }}", "expected a template with the variables premise and hypothesis, got premise"),
        (None, BODY + "{% if %}", "expected a Jinja template after YAML front matter"),
        (None, BODY + "{{ 1 / 0 }}", "expected a Jinja template after YAML front matter, got division by zero"),
        ("answer: yes", BODY, "expected front matter with words, json, system"),
        ("words: {neutral: maybe}", BODY, "expected words for each of entailment, neutral, contradiction"),
        ("words: {entailment: yes, not_entailment: Yes}", BODY, "expected each word once, got yes twice"),
        ("words: {entailment: [], not_entailment: no}", BODY, "expected one word or a list of words for entailment"),
    ],
)
def test_load_invalid_prompt_file_is_rejected(tmp_path, head, body, words):
    with pytest.raises(PromptError, match=words):
        PromptFile.load(write_prompt(tmp_path / "own.jinja", body, head))


def test_unsuitable_prompt_options_are_rejected(tmp_path):
    with pytest.raises(PromptError, match="--num-fewshot: cannot be combined with --prompt, got 3"):
        choose_prompt(write_prompt(tmp_path / "own.jinja"), 3)
    with pytest.raises(PromptError, match=r"--prompt: expected a readable template, or one of .*, got .*absent"):
        choose_prompt(tmp_path / "absent.jinja")
    with pytest.raises(ValueError, match="expected different file names, got a twice"):
        list_variants(["causal:lm"], {"prompt": ["x/a.jinja", "y/a.jinja"]})


@pytest.mark.parametrize(
    ("abilities", "form"),
    [
        ({}, "json-logprobs-20"),
        ({"most_logprobs": 0}, "json-text"),
        ({"takes": frozenset({"model", "messages", "max_tokens", "temperature"})}, "text"),
    ],
)
def test_endpoint_answers_in_json(endpoint, tmp_path, abilities, form):
    from unbag.inference.llm.endpoint import EndpointPredictor

    for name, value in abilities.items():
        setattr(endpoint, name, value)
    answers = endpoint.answers
    if form == "text":
        endpoint.answers = lambda question: json.dumps({"verdict": answers(question)})
    prompt = write_prompt(tmp_path / "own.jinja", head="json: verdict")
    predictor = EndpointPredictor("tiny", base_url=endpoint.base_url, prompt=prompt)
    assert predictor.request_format.name == form
    pairs = [(f"A woman with {n} apples waits.", "Somebody waits.") for n in range(9)]
    values = predictor.predict(*zip(*pairs, strict=True))
    words = [answers(predictor.prompt.build_messages(*pair)[-1]["content"]) for pair in pairs]
    np.testing.assert_array_equal(values.argmax(axis=1), [["Yes", "Maybe", "No"].index(word) for word in words])
    np.testing.assert_allclose(values.max(axis=1), 0.7 if "logprobs" in form else 1.0, atol=1e-6)
    if form != "text":
        schema = endpoint.requests[-1].body["response_format"]["json_schema"]["schema"]
        assert schema["properties"] == {"verdict": {"type": "string", "enum": ["Yes", "Maybe", "No"]}}


def test_command_with_several_prompts_reports_spread_and_abstentions(endpoint, tmp_path):
    prompts = [write_prompt(tmp_path / "a.jinja"), write_prompt(tmp_path / "strict.jinja", BODY + " Be strict.")]
    endpoint.answers = lambda question: (
        "Yes" if "strict" not in question else "Who knows?" if " on a " in question else "Maybe"
    )
    endpoint.most_logprobs = 0
    done = run_unbag(
        *("evaluate", "endpoint:tiny", "--base-url", endpoint.base_url, "--prompt", ",".join(map(str, prompts))),
        *("--sets", "plain", "--data", QUICK["data"], "--max-examples", "30", "--no-lexical-baseline"),
        *("--no-shuffled", "--output-dir", tmp_path / "run", "--json"),
    )
    assert done.exit_code == 0, done.output
    found = results.read_results(tmp_path / "run" / results.FILE)
    assert [each.model["name"] for each in found] == ["endpoint:tiny · a", "endpoint:tiny · strict"]
    share, n_unread = found[1].model["abstained_share"], found[1].model["n_abstained"]
    assert found[0].model["abstained_share"].value == 0
    assert 0 < share.value == n_unread / share.n
    assert share.low < n_unread / share.n < share.high
    accuracies = {each.model["name"].rpartition(" ")[2]: each.scores["accuracy"].value for each in found}
    [spread] = [each for each in compute_prompt_spreads(found) if each.number == "accuracy"]
    assert (spread.model, spread.values) == ("endpoint:tiny", accuracies)
    assert spread.mean == pytest.approx(sum(accuracies.values()) / 2)
    assert spread.deviation == pytest.approx(abs(accuracies["a"] - accuracies["strict"]) / math.sqrt(2))
    assert accuracies[spread.lowest] < accuracies[spread.highest]
    over_prompts = json.loads(done.stdout.splitlines()[-1])["over_prompts"]
    [accuracy] = [each for each in over_prompts if each["number"] == "accuracy"]
    assert (accuracy["values"], accuracy["highest"]) == (accuracies, spread.highest)
    table = (tmp_path / "run" / "table.txt").read_text(encoding="utf-8")
    [row] = [line for line in table.splitlines() if line.startswith("Corpus: accuracy")]
    assert row.split()[2:4] == [f"{spread.mean:.3f}", f"{spread.deviation:.3f}"]
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Metrics over several prompts" in page
    assert f"{accuracies[spread.lowest]:.3f} ({spread.lowest})" in page
    command = build_reproduce_command(found[1]).command
    assert command.startswith("unbag evaluate endpoint:tiny ")
    assert f"--prompt {prompts[1]}" in command


def test_few_shot_examples_are_not_in_label_probe():
    probed = {side for pair in PROBE_PAIRS["en"] for side in pair[:2]}
    assert not probed & {side for example in EXAMPLES for side in example[:2]}


def test_text_and_conversation_have_same_content():
    text = DefaultPrompt(3).build_text("A dog runs.", "It moves.")
    turns = DefaultPrompt(3).build_messages("A dog runs.", "It moves.")
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 3 + ["user"]
    assert text.startswith(INSTRUCTION)
    assert turns[0]["content"].startswith(INSTRUCTION)
    assert text.count("Premise:") == sum(turn["content"].count("Premise:") for turn in turns) == 4
    for premise, hypothesis, label in EXAMPLES[:3]:
        assert f"Premise: {premise}\nHypothesis: {hypothesis}\nAnswer: {DEFAULT_WORDS[label][0]}\n" in text
        at = next(i for i, turn in enumerate(turns) if premise in turn["content"])
        assert turns[at + 1]["content"] == DEFAULT_WORDS[label][0]
    assert text.endswith("Premise: A dog runs.\nHypothesis: It moves.\nAnswer:")
    assert turns[-1]["content"] == "Premise: A dog runs.\nHypothesis: It moves."


def test_probabilities_are_normalized_over_words():
    top = [("Yes", math.log(0.5)), (" yes", math.log(0.1)), ("No", math.log(0.2)), ("May", math.log(0.1)), ("I", -3)]
    assert compute_label_probabilities(top) == pytest.approx([6 / 9, 1 / 9, 2 / 9])
    assert compute_label_probabilities([("The", math.log(0.6)), ("Yes", math.log(0.4))]) is None
    assert compute_label_probabilities([("", 0.0), (" ", 0.0), ("Yesterday", 0.0)]) is None


@settings(max_examples=50)
@given(st.lists(st.tuples(st.text(max_size=6), st.floats(max_value=0, allow_nan=False)), max_size=20))
def test_probabilities_sum_to_one_or_are_none(top):
    found = compute_label_probabilities(top)
    assert found is None or (sum(found) == pytest.approx(1) and min(found) >= 0)


@settings(max_examples=50)
@given(st.text())
def test_parse_label_accepts_any_text(text):
    assert parse_label(text) in (*LABELS, None)
