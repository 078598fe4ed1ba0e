"""Page of the pair Space: predictions of a model and a bag of words for several word orders of a pair.

This module runs in the Space with gradio, transformers and spaCy but without unbag. The unbag functions that it needs
are bundled in a file of the Space, so it must not import other unbag modules.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import gradio as gr

Pair = tuple[str, str]
Probabilities = NDArray[Any]
PERMUTATIONS: Final = 3
MAX_CHARACTERS: Final = 1_000
"""Maximum length of a sentence, because all visitors share one small machine."""
MAX_BYTES: Final = 1_500_000_000
"""Maximum size of a model's weights."""
TOP: Final = 5
UNKNOWN: Final = "unknown"
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
    """Variant of a sentence pair, with the predictions of a model and of a lexical model.

    Attributes:
        description: Description of the variant.
        pair: Premise and hypothesis.
        model: Label probabilities of the model, shape (3,).
        lexical: Label probabilities of the lexical model, shape (3,).
    """

    description: str
    pair: Pair
    model: Probabilities
    lexical: Probabilities


class LexicalScorer:
    """Lexical model loaded from a folder (`lexical.json`, `lexical.safetensors`).

    Args:
        bundle: Module with the bundled unbag functions.
        folder: Folder of the Space.
    """

    def __init__(self, bundle: Any, folder: Path) -> None:
        from safetensors.numpy import load_file

        config = json.loads((folder / "lexical.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "lexical.safetensors")
        self._ours = bundle
        self._vocabulary = bundle.FeatureVocabulary(config["words"], tensors["codes"])
        self._weights, self._bias = tensors["weights"], tensors["bias"]

    def probabilities(self, pairs: Sequence[Pair]) -> Probabilities:
        """Compute the label probabilities, shape (n, 3)."""
        return _softmax(self._matrix(pairs) @ self._weights + self._bias)

    def find_misleading_features(self, pair: Pair, label: str) -> list[Any]:
        """Find the words and word pairs that favor the most probable wrong label over the gold label `label`."""
        matrix, gold = self._matrix([pair]), np.array([self._ours.LABELS.index(label)])
        probabilities = self.probabilities([pair])
        [features] = self._ours.rank_misleading_features(
            self._vocabulary, self._weights, matrix, probabilities, gold, TOP
        )
        return list(features)

    def _matrix(self, pairs: Sequence[Pair]) -> Any:
        words = [tuple(self._ours.collect_words(side, "en") for side in pair) for pair in pairs]
        return self._vocabulary.matrix(words)


def build_pair_variants(unbag_module: Any, premise: str, hypothesis: str) -> list[tuple[str, Pair]]:
    """Build the variants of a pair: the original pair, the swapped pair, and pairs with permuted words.

    Returns (description, pair) tuples.

    Permutation modes for which the sentences are too short are omitted.
    """
    variants = [("as given", (premise, hypothesis)), ("premise and hypothesis exchanged", (hypothesis, premise))]
    tokens = unbag_module.tokenize(premise), unbag_module.tokenize(hypothesis)
    for mode, change in (
        ("both", "words of both sentences in another order"),
        ("hypothesis", "words of the hypothesis in another order"),
    ):
        try:
            permuted = unbag_module.Permuter(PERMUTATIONS, mode).permute_texts("the pair", *tokens)
        except unbag_module.TooFewPermutationsError:
            continue
        variants += [(change, pair) for pair in permuted]
    return variants


@lru_cache(maxsize=2)
def load_transformer(
    name: str, resolve_output_labels: Callable[[Any], Sequence[str]]
) -> tuple[Any, Any, tuple[str, ...]]:
    """Load a Hub model, its tokenizer, and the label of each output. Code in the repository is not run.

    Raises:
        ValueError: If the model is too large, is not a three-label classifier, or has no safetensors weights.
    """
    from huggingface_hub import HfApi
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    if not _HUB_ID.fullmatch(name):
        raise ValueError(f"model: expected a Hub id as organization/name, got {name!r}; correct it")
    size = sum(getattr(file, "size", 0) for file in HfApi().list_repo_tree(name) if file.path.endswith(".safetensors"))
    if not 0 < size <= MAX_BYTES:
        limit, actual = (f"{n / 1e9:.1f} GB" for n in (MAX_BYTES, size))
        raise ValueError(f"{name}: expected safetensors weights of at most {limit}, got {actual}; use a smaller model")
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForSequenceClassification.from_pretrained(name, use_safetensors=True).eval()
    order = tuple(resolve_output_labels(model.config.id2label))
    return model, tokenizer, order


def classify_pairs(model_id: str, unbag_module: Any, pairs: Sequence[Pair]) -> Probabilities:
    """Compute the label probabilities of a Hub model in unbag's label order, shape (n, 3)."""
    import torch

    model, tokenizer, order = load_transformer(model_id, unbag_module.resolve_output_labels)
    if set(order) != set(unbag_module.LABELS):
        raise ValueError(
            f"{model_id}: expected the labels {', '.join(unbag_module.LABELS)}, got {', '.join(order)}; "
            "use another model"
        )
    unbag_module.supply_segment_ids(model, tokenizer)
    premises, hypotheses = (list(side) for side in zip(*pairs, strict=True))
    encoded = tokenizer(premises, hypotheses, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.no_grad():
        logits = model(**encoded).logits.float().numpy()
    return _softmax(logits)[:, [order.index(label) for label in unbag_module.LABELS]]


def _softmax(logits: Any) -> Probabilities:
    shifted = np.exp(logits - np.max(logits, axis=1, keepdims=True))  # The shift prevents overflow in exp.
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def summarize_prediction_agreement(scored_pairs: Sequence[ScoredPair], labels: Sequence[str]) -> str:
    """Summarize how often each model keeps its prediction when the words are permuted."""
    first, *others = scored_pairs
    permuted = [each for each in others if "order" in each.description]
    if not permuted:
        return "These sentences are too short for several other word orders."
    same = {
        name: sum(int(np.argmax(getattr(each, name)) == np.argmax(getattr(first, name))) for each in permuted)
        for name in ("model", "lexical")
    }
    prediction = labels[int(np.argmax(first.model))]
    return (
        f"The model predicts {prediction}. With the words in another order, the model keeps its prediction in "
        f"{same['model']} of {len(permuted)} cases. The lexical model, which ignores word order, keeps it in "
        f"{same['lexical']} of {len(permuted)}."
    )


def render_predictions_html(
    scored_pairs: Sequence[ScoredPair],
    labels: Sequence[str],
    misleading_features: Sequence[Any],
    gold_label: str | None,
) -> str:
    """Render the predictions for all variants of a pair as HTML."""
    parts = [f"<p><b>{escape(summarize_prediction_agreement(scored_pairs, labels))}</b></p>"]
    for each in scored_pairs:
        predictions = "".join(
            _render_prediction(name, labels, probabilities)
            for name, probabilities in (("model", each.model), ("lexical model", each.lexical))
        )
        parts.append(
            f'<div class="pair"><h4>{escape(each.description)}</h4><p>{escape(each.pair[0])}</p>'
            f'<p>→ {escape(each.pair[1])}</p><div class="answers">{predictions}</div></div>'
        )
        if each is scored_pairs[0]:
            parts.append(
                _render_pulls(
                    misleading_features,
                    gold_label or labels[int(np.argmax(each.lexical))],
                    is_gold=gold_label is not None,
                )
            )
    return _STYLE + "".join(parts)


def _render_prediction(name: str, labels: Sequence[str], probabilities: Probabilities) -> str:
    best = int(np.argmax(probabilities))
    lines = "".join(
        f'<div class="answer{" first" if i == best else ""}"><span>{label}</span>'
        f'<div class="bar"><i style="width: {100 * probabilities[i]:.1f}%"></i></div>'
        f"<span>{probabilities[i]:.2f}</span></div>"
        for i, label in enumerate(labels)
    )
    return f'<div><div class="answer"><b>{name}: {labels[best]}</b></div>{lines}</div>'


def _render_pulls(pulls: Sequence[Any], label: str, *, is_gold: bool) -> str:
    """Render the misleading words, which favor a label other than the gold or predicted label."""
    kind = "the gold label" if is_gold else "its prediction"
    if not pulls:
        none = f"No word in the vocabulary of the lexical model contradicts {kind}, {label}."
        return f'<div class="pair"><h4>misleading words</h4><p>{none}</p></div>'
    rows = "".join(
        f"<tr><td>{escape(_describe_feature(pull.feature))}</td><td>{pull.logit:+.2f}</td></tr>" for pull in pulls
    )
    return (
        f'<div class="pair"><h4>misleading words: features of the lexical model for {pulls[0].label} and against '
        f'{kind}, {label} (logit differences)</h4><table class="words">{rows}</table></div>'
    )


def _describe_feature(feature: Any) -> str:
    if feature.premise is None:
        return f"{feature.hypothesis} in the hypothesis"
    if feature.hypothesis is None:
        return f"{feature.premise} in the premise"
    return f"{feature.premise} – {feature.hypothesis}"


def build_page(unbag_module: Any, folder: Path, model: str) -> "gr.Blocks":
    """Build the Gradio page of the Space that classifies single pairs.

    Args:
        unbag_module: Module with the bundled unbag functions.
        folder: Folder of the Space, with the lexical model.
        model: Hub id of the model that is selected when the page opens.
    """
    import gradio as gr

    lexical = LexicalScorer(unbag_module, folder)
    labels = list(unbag_module.LABELS)

    def predict(premise: str, hypothesis: str, gold: str, name: str) -> str:
        """Predict entailment, neutral or contradiction for an English pair, with a model and with a bag of words.

        Both predict the pair as given, with premise and hypothesis exchanged, and with its words in other orders. A
        model that keeps its prediction for every word order may count words instead of reading sentences.

        Args:
            premise: English sentence that is assumed to be true.
            hypothesis: English sentence that follows from the premise, contradicts it, or neither.
            gold: Gold label of the pair, used to find misleading words; `unknown` if there is none.
            name: Hub id of a classifier with three labels, organization/name.

        Returns:
            HTML with the probabilities of both, per variant of the pair.
        """
        premise, hypothesis = " ".join(premise.split()), " ".join(hypothesis.split())
        try:
            if not (0 < len(premise) <= MAX_CHARACTERS and 0 < len(hypothesis) <= MAX_CHARACTERS):
                raise ValueError(
                    f"premise, hypothesis: expected 1 to {MAX_CHARACTERS:,} characters each; edit the sentences"
                )
            variants = build_pair_variants(unbag_module, premise, hypothesis)
            pairs = [pair for _, pair in variants]
            predictions = classify_pairs(name.strip(), unbag_module, pairs), lexical.probabilities(pairs)
        except Exception as error:  # Arbitrary Hub models can raise any exception.
            return f"<p>⚠️ {escape(' '.join(str(error).split())[:300])}</p>"
        scored = [
            ScoredPair(change, pair, *predicted)
            for (change, pair), *predicted in zip(variants, *predictions, strict=True)
        ]
        gold_label = gold if gold in labels else None
        against = gold_label or labels[int(np.argmax(scored[0].lexical))]
        return render_predictions_html(
            scored, labels, lexical.find_misleading_features((premise, hypothesis), against), gold_label
        )

    demo = gr.Blocks(title="Try a pair", analytics_enabled=False)
    with demo:
        gr.Markdown(
            "# Does the model read the pair, or count its words?\nEnter a premise, a hypothesis and a model of natural "
            "language inference. The page shows the predictions of the model and of a lexical model, which ignores "
            "word order, for the pair and for variants with words or sentences exchanged."
        )
        with gr.Row():
            premise = gr.Textbox(EXAMPLES[0][0], label="Premise", lines=2, max_length=MAX_CHARACTERS)
            hypothesis = gr.Textbox(EXAMPLES[0][1], label="Hypothesis", lines=2, max_length=MAX_CHARACTERS)
        with gr.Row():
            name = gr.Textbox(model, label="Model", info="organization/name on the Hub; English, three labels")
            gold = gr.Dropdown(
                [UNKNOWN, *labels], value=UNKNOWN, label="Gold label", info="reference for misleading words"
            )
        button = gr.Button("Predict", variant="primary")
        gr.Examples([list(pair) for pair in EXAMPLES], [premise, hypothesis])
        result = gr.HTML(apply_default_css=False)
        button.click(predict, [premise, hypothesis, gold, name], result, api_name="predict")
    return demo
