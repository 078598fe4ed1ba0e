from unbag.inference.label_probe import PAIRS
from unbag.inference.llm.prompts import EXAMPLES, INSTRUCTION, WORDS, DefaultPrompt


def test_few_shot_examples_are_not_in_label_probe():
    probed = {side for pair in PAIRS["en"] for side in pair[:2]}
    assert not probed & {side for example in EXAMPLES for side in example[:2]}


def test_text_and_conversation_have_same_content():
    text = DefaultPrompt(3).build_text("A dog runs.", "It moves.")
    turns = DefaultPrompt(3).build_messages("A dog runs.", "It moves.")
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 3 + ["user"]
    assert text.startswith(INSTRUCTION)
    assert turns[0]["content"].startswith(INSTRUCTION)
    assert text.count("Premise:") == sum(turn["content"].count("Premise:") for turn in turns) == 4
    for premise, hypothesis, label in EXAMPLES[:3]:
        assert f"Premise: {premise}\nHypothesis: {hypothesis}\nAnswer: {WORDS[label]}\n" in text
        at = next(i for i, turn in enumerate(turns) if premise in turn["content"])
        assert turns[at + 1]["content"] == WORDS[label]
    assert text.endswith("Premise: A dog runs.\nHypothesis: It moves.\nAnswer:")
    assert turns[-1]["content"] == "Premise: A dog runs.\nHypothesis: It moves."
