"""The page of the Space that asks a model about one pair, as it is and with its words moved, and a bag of words too.

It runs in the Space, with gradio, transformers and spaCy and without unbag: what it needs of ours is a file beside it.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, Final

import gradio as gr
import numpy as np
from numpy.typing import NDArray

Pair = tuple[str, str]
Probabilities = NDArray[Any]
PERMUTATIONS: Final = 3
MAX_CHARACTERS: Final = 1_000
"""Of a sentence: everybody shares one small machine."""
MAX_BYTES: Final = 1_500_000_000
"""Of a model's weights."""
TOP: Final = 5
UNKNOWN: Final = "not said"
EXAMPLES: Final = (
    ("Two dogs chase a small child across the wet grass.", "A small child chases two dogs across the grass."),
    ("A man in a red coat is sitting on a bench.", "A man in a red coat is standing beside a bench."),
    ("Every musician on the stage plays an old guitar.", "Some musician on the stage plays a guitar."),
)
_HUB_ID: Final = re.compile(r"[\w-][\w.-]*/[\w.-]+")
_STYLE: Final = """<style>
.pair { border-top: 1px solid var(--border-color-primary); padding: 12px 0; color: var(--body-text-color) }
.pair h4 { margin: 0 0 4px; font-size: 13px; font-weight: 600; color: var(--body-text-color-subdued) }
.pair p { margin: 0 0 2px; overflow-wrap: anywhere }
.answers { display: grid; grid-template-columns: 1fr 1fr; gap: 4px 24px; margin-top: 8px }
.answer { display: grid; grid-template-columns: 92px 1fr 40px; gap: 8px; align-items: center; font-size: 13px }
.answer b { grid-column: 1 / 4; font-weight: 600 }
.bar { height: 10px; border-radius: 5px; background: var(--background-fill-secondary);
  box-shadow: inset 0 0 0 1px var(--border-color-primary) }
.bar i { display: block; height: 100%; border-radius: 5px; background: var(--color-accent); opacity: .45 }
.first .bar i { opacity: 1 }
.answer span:last-child { text-align: right; font-variant-numeric: tabular-nums }
.words { border-collapse: collapse } .words td { padding: 2px 16px 2px 0 }
@media (max-width: 600px) { .answers { grid-template-columns: 1fr } }
</style>"""


@dataclass(frozen=True)
class ScoredPair:
    """A pair, what was done to it, and the probabilities of the labels: the model's, and the lexical model's."""

    what: str
    pair: Pair
    model: Probabilities
    lexical: Probabilities


class LexicalScorer:
    """The lexical model in a folder (`lexical.json`, `lexical.safetensors`), read with our own functions.

    Args:
        ours: the module of these.
        folder: the Space's.
    """

    def __init__(self, ours: Any, folder: Path) -> None:
        from safetensors.numpy import load_file

        config = json.loads((folder / "lexical.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "lexical.safetensors")
        self._ours = ours
        self._vocabulary = ours.Vocabulary(config["words"], tensors["codes"])
        self._weights, self._bias = tensors["weights"], tensors["bias"]

    def probabilities(self, pairs: Sequence[Pair]) -> Probabilities:
        """Return the probabilities of the labels, shape (n, 3)."""
        return _softmax(self._matrix(pairs) @ self._weights + self._bias)

    def pull(self, pair: Pair, label: str) -> list[Any]:
        """Return the words, and pairs of words, that most favour the likeliest other label over a label."""
        matrix, gold = self._matrix([pair]), np.array([self._ours.LABELS.index(label)])
        probabilities = self.probabilities([pair])
        [found] = self._ours.misleading(self._vocabulary, self._weights, matrix, probabilities, gold, TOP)
        return list(found)

    def _matrix(self, pairs: Sequence[Pair]) -> Any:
        words = [tuple(self._ours.all_words(side, "en") for side in pair) for pair in pairs]
        return self._vocabulary.matrix(words)


def build_variants(ours: Any, premise: str, hypothesis: str) -> list[tuple[str, Pair]]:
    """Return a pair as it is, exchanged, and with its words in other orders, with what was done to it.

    Sentences too short to have that many orders are left as they are.
    """
    found = [("as given", (premise, hypothesis)), ("premise and hypothesis exchanged", (hypothesis, premise))]
    tokens = ours.tokenize(premise), ours.tokenize(hypothesis)
    for mode, what in (
        ("both", "the words of both in another order"),
        ("hypothesis", "the words of the hypothesis in another order"),
    ):
        try:
            made = ours.Permuter(PERMUTATIONS, mode).texts("the pair", *tokens)
        except ours.TooFewPermutationsError:
            continue
        found += [(what, pair) for pair in made]
    return found


@lru_cache(maxsize=2)
def load_transformer(name: str, resolve_order: Callable[[Any], Sequence[str]]) -> tuple[Any, Any, tuple[str, ...]]:
    """Return a model of the Hub, its tokenizer, and the label of each of its outputs; no code of the model's is run.

    Raises:
        ValueError: if it is too large, no classifier of three labels, or has no weights in safetensors.
    """
    from huggingface_hub import HfApi
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    if not _HUB_ID.fullmatch(name):
        raise ValueError("expected a model of the Hub as organisation/name")
    size = sum(getattr(file, "size", 0) for file in HfApi().list_repo_tree(name) if file.path.endswith(".safetensors"))
    if not 0 < size <= MAX_BYTES:
        most, found = (f"{n / 1e9:.1f} GB" for n in (MAX_BYTES, size))
        raise ValueError(f"expected weights in safetensors of at most {most}, found {found}")
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForSequenceClassification.from_pretrained(name, use_safetensors=True).eval()
    order = tuple(resolve_order(model.config.id2label))
    return model, tokenizer, order


def classify_pairs(name: str, ours: Any, pairs: Sequence[Pair]) -> Probabilities:
    """Return what a model of the Hub says of pairs: the probabilities of our labels in our order, shape (n, 3)."""
    import torch

    model, tokenizer, order = load_transformer(name, ours.resolve_order)
    if set(order) != set(ours.LABELS):
        raise ValueError(f"expected a model of the labels {', '.join(ours.LABELS)}, found {', '.join(order)}")
    premises, hypotheses = (list(side) for side in zip(*pairs, strict=True))
    encoded = tokenizer(premises, hypotheses, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.no_grad():
        logits = model(**encoded).logits.float().numpy()
    return _softmax(logits)[:, [order.index(label) for label in ours.LABELS]]


def _softmax(logits: Any) -> Probabilities:
    shifted = np.exp(logits - np.max(logits, axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def summarize(asked: Sequence[ScoredPair], labels: Sequence[str]) -> str:
    """Return in words how often each answered as to the pair in order, of those whose words moved."""
    first, *others = asked
    moved = [each for each in others if "order" in each.what]
    if not moved:
        return "These sentences are too short for their words to be put in several other orders."
    kept = {
        who: sum(int(np.argmax(getattr(each, who)) == np.argmax(getattr(first, who))) for each in moved)
        for who in ("model", "lexical")
    }
    answer = labels[int(np.argmax(first.model))]
    return (
        f"The model answers {answer}. With the words in another order it answers the same {kept['model']} of "
        f"{len(moved)} times; the lexical model, which knows of no order, {kept['lexical']} of {len(moved)}."
    )


def render_html(asked: Sequence[ScoredPair], labels: Sequence[str], pulls: Sequence[Any], gold: str | None) -> str:
    """Return the answers as HTML."""
    parts = [f"<p><b>{escape(summarize(asked, labels))}</b></p>"]
    for each in asked:
        answers = "".join(
            _render_answer(who, labels, found)
            for who, found in (("model", each.model), ("lexical model", each.lexical))
        )
        parts.append(
            f'<div class="pair"><h4>{escape(each.what)}</h4><p>{escape(each.pair[0])}</p>'
            f'<p>→ {escape(each.pair[1])}</p><div class="answers">{answers}</div></div>'
        )
        if each is asked[0]:
            parts.append(_render_pulls(pulls, gold or labels[int(np.argmax(each.lexical))], known=gold is not None))
    return _STYLE + "".join(parts)


def _render_answer(who: str, labels: Sequence[str], probabilities: Probabilities) -> str:
    best = int(np.argmax(probabilities))
    lines = "".join(
        f'<div class="answer{" first" if i == best else ""}"><span>{label}</span>'
        f'<div class="bar"><i style="width: {100 * probabilities[i]:.1f}%"></i></div>'
        f"<span>{probabilities[i]:.2f}</span></div>"
        for i, label in enumerate(labels)
    )
    return f'<div><div class="answer"><b>{who}: {labels[best]}</b></div>{lines}</div>'


def _render_pulls(pulls: Sequence[Any], label: str, *, known: bool) -> str:
    """Return the words that speak against a label, the right one or the lexical model's own answer."""
    whose = "the right label" if known else "its own answer"
    if not pulls:
        none = f"None that the lexical model knows speaks against {whose}, {label}."
        return f'<div class="pair"><h4>misleading words</h4><p>{none}</p></div>'
    rows = "".join(
        f"<tr><td>{escape(_describe_feature(pull.feature))}</td><td>{pull.logit:+.2f}</td></tr>" for pull in pulls
    )
    return (
        f'<div class="pair"><h4>misleading words: what speaks to the lexical model for {pulls[0].label} and against '
        f'{whose}, {label} (differences of logits)</h4><table class="words">{rows}</table></div>'
    )


def _describe_feature(feature: Any) -> str:
    if feature.premise is None:
        return f"{feature.hypothesis} in the hypothesis"
    if feature.hypothesis is None:
        return f"{feature.premise} in the premise"
    return f"{feature.premise} – {feature.hypothesis}"


def page(ours: Any, folder: Path, model: str) -> gr.Blocks:
    """Return the page.

    Args:
        ours: the module of our functions.
        folder: of the Space, with the lexical model.
        model: the Hub id of the model that is named at first.
    """
    lexical = LexicalScorer(ours, folder)
    labels = list(ours.LABELS)

    def tried(premise: str, hypothesis: str, gold: str, name: str) -> str:
        premise, hypothesis = " ".join(premise.split()), " ".join(hypothesis.split())
        try:
            if not (0 < len(premise) <= MAX_CHARACTERS and 0 < len(hypothesis) <= MAX_CHARACTERS):
                raise ValueError(f"expected two sentences of at most {MAX_CHARACTERS:,} characters")
            made = build_variants(ours, premise, hypothesis)
            pairs = [pair for _, pair in made]
            answers = classify_pairs(name.strip(), ours, pairs), lexical.probabilities(pairs)
        except Exception as error:  # whatever a stranger's model brings
            return f"<p>⚠️ {escape(' '.join(str(error).split())[:300])}</p>"
        asked = [ScoredPair(what, pair, *found) for (what, pair), *found in zip(made, *answers, strict=True)]
        known = gold if gold in labels else None
        against = known or labels[int(np.argmax(asked[0].lexical))]
        return render_html(asked, labels, lexical.pull((premise, hypothesis), against), known)

    demo = gr.Blocks(title="Try a pair", analytics_enabled=False)
    with demo:
        gr.Markdown(
            "# Does the model read the pair, or count its words?\nA premise, a hypothesis and a model of natural "
            "language inference: its answer, that of a lexical model, which knows the words and not their order, and "
            "the answers when words or sentences change places."
        )
        with gr.Row():
            premise = gr.Textbox(EXAMPLES[0][0], label="Premise", lines=2, max_length=MAX_CHARACTERS)
            hypothesis = gr.Textbox(EXAMPLES[0][1], label="Hypothesis", lines=2, max_length=MAX_CHARACTERS)
        with gr.Row():
            name = gr.Textbox(model, label="Model", info="organisation/name on the Hub; English, three labels")
            gold = gr.Dropdown(
                [UNKNOWN, *labels], value=UNKNOWN, label="The right label", info="what the words mislead from"
            )
        button = gr.Button("Ask", variant="primary")
        gr.Examples([list(pair) for pair in EXAMPLES], [premise, hypothesis])
        result = gr.HTML(apply_default_css=False)
        button.click(tried, [premise, hypothesis, gold, name], result, api_name="tried")
    return demo
