"""Answers of judges: thoughts, echoed questions, statements of the answer, label words of any script, and JSON."""

import pytest

from unbag.inference.llm.prompts import DEFAULT_WORDS
from unbag.inference.llm.reading import (
    close_thoughts,
    find_answer_token,
    find_visible_answer,
    parse_json_label,
    parse_label,
)

YES, NO = "entailment", "not_entailment"


def words(yes, no):
    return {YES: (yes,), NO: (no,)}


SUPPORTED = words("supported", "unsupported")
DIGITS = words("1", "0")
CHINESE = words("是", "否")
TRUE = words("true", "false")


@pytest.mark.parametrize(
    "thought",
    [
        "<think>Supported?</think>",
        "Supported claims need a match. None.</think>\n\n",
        "All nouns match.\n</thinking>",
        "[THINK]Supported.[/THINK]",
        "Supported.[/THINK]",
        "<seed:think>Answer: Supported</seed:think>",
        "Supported</seed:think>",
        "◁think▷Supported◁/think▷",
        "<|START_THINKING|>Supported<|END_THINKING|>",
        "<unused94>thought Supported<unused95>",
        "<think>a</think>\n<think>Supported</think>",
        "<|channel|>analysis<|message|>Supported.<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|channel|>analysis<|message|>Supported<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
        "analysisSupported claims need a match.assistantfinal",
        "<|begin_of_thought|>Supported<|end_of_thought|><|begin_of_solution|>",
        "<|START_THINKING|>Supported<|END_THINKING|><|START_RESPONSE|>",
        "Supported.\n[BEGIN FINAL RESPONSE]\n",
        "<inner_monologue>Supported</inner_monologue>",
        "Supported.</antThinking>",
        "<longcat_think>Supported</longcat_think>",
        "<reasoning>Supported.</reasoning>\n<output>",
    ],
)
def test_thoughts_are_never_the_answer(thought):
    assert parse_label(f"{thought}Unsupported.", SUPPORTED) == NO
    assert parse_label(f"{thought}Supported.", SUPPORTED) == YES
    assert parse_label(thought, SUPPORTED) is None


@pytest.mark.parametrize(
    "text",
    [
        "<think>Supported",
        "Supported claims need a match. The document has",
        "<|channel|>analysis<|message|>We look. Answer: Supported",
        "analysisWe look. Answer: Supported",
        "Supported or Unsupported?",
        "Supported, Unsupported?",
        "Supported.\n\nUnsupported.",
        "Partially supported.",
        "The claim is supported only in part.",
        "Hard to say.\nWhether the claim is supported.",
        "Supported by the document in part",
        "The claim is supported. The claim is unsupported if dates count.",
        "Answer: unclear. It was supported.",
        "Supported: 0.3",
        "- Supported: 30%\n- Unsupported: 70%",
        "Supported (0.3), Unsupported (0.7)",
    ],
)
def test_text_without_a_clear_answer_has_no_label(text):
    assert parse_label(text, SUPPORTED) is None


@pytest.mark.parametrize(
    "text",
    [
        "Supported or Unsupported? Unsupported.",
        '"Supported" or "Unsupported"?\n**Unsupported**',
        "Supported/Unsupported: Unsupported",
        "Supported claims need a match. None. Answer: Unsupported",
        "Supported at first sight.\nVerdict: **Unsupported**",
        "Supported?\n\\boxed{Unsupported}",
        "$\\boxed{\\text{Unsupported}}$",
        "**Final answer** Unsupported",
        "### Verdict\nUnsupported",
        "<answer>Unsupported</answer>",
        "The answer is not supported.",
        "Not supported.",
        "❌ Unsupported",
        "**Verdict:** Unsupported\n**Reasoning:** The text has supported claims.",
        "not_supported",
        "Supported: no",
        "Supported? No.",
        "Supported - no",
        "Supported at first sight.\nFinal assessment: Unsupported",
        "Supported: ✗",
        "Therefore, the claim is unsupported.",
        "Nothing matches. The claim is not supported by the document.",
        "Unsupported by the given document.",
        "Answer with Supported or Unsupported: Unsupported",
        "Q: Supported or Unsupported?\nA: Unsupported",
        "Final verdict → Unsupported",
        "The answer is therefore unsupported.",
        "<final_answer>Unsupported</final_answer>",
        "It isn't supported.",
        "The relationship between the two texts is **unsupported**.",
        "Supported: 30%, Unsupported: 70%. Answer: Unsupported",
        "Unsupported (0.7)",
        "Answer: \\text{Unsupported}",
        "Réponse : Unsupported",
        "\ufeffUnsupported",
        "The document does not mention it.\n\nUnsupported",
    ],
)
def test_stated_answer_wins_over_words_before_it(text):
    assert parse_label(text, SUPPORTED) == NO


@pytest.mark.parametrize(
    ("label_words", "text", "label"),
    [
        (words("CORRECT", "INCORRECT"), "INCORRECT", NO),
        (words("CORRECT", "INCORRECT"), "Correct!", YES),
        (words("supported", "not supported"), "Supported or not supported? Not supported.", NO),
        (DIGITS, "1", YES),
        (DIGITS, "0.", NO),
        (DIGITS, "**1**", YES),
        (DIGITS, "１", YES),
        (DIGITS, "Answer: 0", NO),
        (DIGITS, "1 or 0? 0", NO),
        (DIGITS, "10", None),
        (DIGITS, "1.5", None),
        (DIGITS, "-1", None),
        (words("1", "2"), "1. The text has no date.\n2. The claim has one.", None),
        (words("1", "2"), "1. The text has no date.\n2. The claim has one.\nAnswer: 2", NO),
        (words("1", "2"), "2. It has no date.", NO),
        (words("ja", "nein"), "Die Antwort lautet: Nein.", NO),
        (words("sí", "no"), "La respuesta es no.", NO),
        (words("oui", "non"), "Réponse finale : non", NO),
        (words("да", "нет"), "Ответ: нет", NO),
        (words("예", "아니요"), "답변: 아니요", NO),
        (words("نعم", "لا"), "الإجابة: لا", NO),
        (words("はい", "いいえ"), "答えは「いいえ」です。", NO),
        (words("1", "-1"), "-1", NO),
        (CHINESE, "是", YES),
        (CHINESE, "是的。", YES),
        (CHINESE, "否，文件没有提到。", NO),
        (CHINESE, "答案：否", NO),
        (CHINESE, "答案是：否", NO),
        (CHINESE, "【是】", YES),
        (CHINESE, "是否支持？否", NO),
        (CHINESE, "不是", NO),
        (CHINESE, "回答：否", NO),
        (words("支持", "不支持"), "不支持。", NO),
        (words("支持", "不支持"), "支持该主张的证据不足", None),
        (words("はい", "いいえ"), "いいえ、違います。", NO),
        (DEFAULT_WORDS, "Yes/No/Maybe: Maybe", "neutral"),
        (DEFAULT_WORDS, "No reason to think so", None),
        (DEFAULT_WORDS, "There is no way to tell.", None),
        (DEFAULT_WORDS, "Neutral", "neutral"),
        (DEFAULT_WORDS, "1. Yes", YES),
        (DEFAULT_WORDS, "not_entailment", None),
        (DEFAULT_WORDS, "Yes\n\nPremise: A.\nHypothesis: B.\nAnswer: No", YES),
    ],
)
def test_label_words_of_any_script_are_whole_words(label_words, text, label):
    assert parse_label(text, label_words) == label


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ('{"supported": true}', YES),
        ('{"supported": TRUE}', YES),
        ('{"supported": "False"}', NO),
        ('{"Supported": 0}', NO),
        ('{"supported": 1.0}', YES),
        ("{'supported': False}", NO),
        ('```json\n{"supported": false,}\n```', NO),
        ('{"result": {"supported": "true"}}', YES),
        ('[{"supported": [false]}]', NO),
        ('{"supported": {"value": false, "why": "all true"}}', NO),
        ('The set {x, y}: {"supported": "true"} (see {a})', YES),
        ('<think>{"supported": true}</think>{"supported": false}', NO),
        ('{"supported": true} Corrected: {"supported": false}', NO),
        ("supported: false", NO),
        ("{supported: false}", NO),
        ('{\n "supported": false // no match\n}', NO),
        ('"{\\"supported\\": false}"', NO),
        ("{“supported”: false}", NO),
        ('{"supported": "0.0"}', NO),
        ('{"why": "two\nlines", "supported": false}', NO),
        ('{"why": "it says "true"", "supported": false}', NO),
        ('{"why": "no match", "supported": false', NO),
        ('{"supported": /* no match */ false}', NO),
        ("**supported**: false", NO),
        ('{"supported": false}\nPremise: A.\nHypothesis: B.\n{"supported": true}', NO),
        ('{"why": "says "a"", "supported": false} or {"why": "says "b"", "supported": true}', None),
        ('{"supported": null}', None),
        ('{"supported": 0.7}', None),
        ('{"reason": "true"}', None),
        ('{"a": {"supported": true}, "b": {"supported": false}}', None),
    ],
)
def test_json_answers_are_read_by_the_declared_words(answer, label):
    assert parse_json_label(answer, "supported", TRUE) == label


def test_json_boolean_named_after_a_word_is_that_label():
    assert parse_json_label('{"supported": false}', "supported", SUPPORTED) == NO
    assert parse_json_label('{"verdict": false}', "verdict", SUPPORTED) is None
    assert parse_json_label('{"verdict": "NotSupported"}', "verdict", words("supported", "not supported")) == NO
    assert parse_json_label('{"urteil": false}', "urteil", words("ja", "nein")) == NO


@pytest.mark.parametrize(
    ("tokens", "text", "place"),
    [
        (["Supported", " claims", ".", "</think>", "Uns", "upported"], "Unsupported", 4),
        (["<think>", "Supported", "</think>", " Uns", "upported", "."], "<think>Supported</think> Unsupported.", 3),
        (["Supported", " or", " Unsupported", "?", " Unsupported"], "Supported or Unsupported? Unsupported", 4),
        (["Supported", " claims"], "", None),
        (["\n" * 50, "Answer", ":", "\n" * 99, "Unsupported"], f"{chr(10) * 50}Answer:{chr(10) * 99}Unsupported", 4),
    ],
)
def test_probabilities_are_those_of_the_token_of_the_answer(tokens, text, place):
    assert find_answer_token(tokens, text, SUPPORTED) == place


@pytest.mark.parametrize(
    "opening",
    [
        *("<think>", "<think>\n", "[THINK]", "<seed:think>", "◁think▷", "<|START_THINKING|>", "<|begin_of_thought|>"),
        *("<unused94>", "<|channel>thought\n"),
    ],
)
def test_prompt_that_opens_a_thought_is_completed_before_the_answer(opening):
    prompt = close_thoughts(f"<user>Is it <think>?</user><assistant>{opening}")
    text = f"{prompt}Yes"
    assert text[slice(*find_visible_answer(text))].strip() == "Yes"
    assert close_thoughts(prompt) == prompt, "a prompt without an open thought stays as it is"


def test_prompt_with_channels_begins_the_final_channel():
    template = "{{ turns }}<|start|>assistant<|channel|>final<|message|>"
    assert close_thoughts("<|start|>assistant", template).endswith("<|start|>assistant<|channel|>final<|message|>")
