"""Page of the pair Space: predictions of a model and a bag of words for several word orders of a pair.

This module runs in the Space with gradio, transformers and spaCy but without unbag. The unbag functions that it needs
are bundled in a file of the Space (`words`), so it must not import other unbag modules.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import gradio as gr

Pair = tuple[str, str]
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
_HEADERS: Final = ["variant", "model", "lexical model", "premise", "hypothesis"]


class LexicalScorer:
    """Lexical model loaded from a folder (`lexical.json`, `lexical.safetensors`)."""

    def __init__(self, words: Any, folder: Path) -> None:
        from safetensors.numpy import load_file

        config = json.loads((folder / "lexical.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "lexical.safetensors")
        self._words = words
        self._vocabulary = words.FeatureVocabulary(config["words"], tensors["codes"])
        self._weights, self._bias = tensors["weights"], tensors["bias"]

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[Any]:
        """Compute the label probabilities, shape (n, 3)."""
        from scipy.special import softmax

        return np.asarray(softmax(self._matrix(pairs) @ self._weights + self._bias, axis=1))

    def find_misleading_features(self, pair: Pair, label: str) -> list[Any]:
        """Find the words and word pairs that favor the most probable wrong label over the gold label `label`."""
        gold = np.array([self._words.LABELS.index(label)])
        [features] = self._words.rank_misleading_features(
            self._vocabulary, self._weights, self._matrix([pair]), self.probabilities([pair]), gold, TOP
        )
        return list(features)

    def _matrix(self, pairs: Sequence[Pair]) -> Any:
        return self._vocabulary.matrix(
            [tuple(self._words.collect_words(side, "en") for side in pair) for pair in pairs]
        )


def build_pair_variants(words: Any, premise: str, hypothesis: str) -> list[tuple[str, Pair]]:
    """Build the variants of a pair with their descriptions: original, exchanged, and with permuted words.

    Permutation modes for which the sentences are too short are omitted.
    """
    variants = [("as given", (premise, hypothesis)), ("premise and hypothesis exchanged", (hypothesis, premise))]
    tokens = words.tokenize(premise), words.tokenize(hypothesis)
    for mode, change in (
        ("both", "words of both sentences in another order"),
        ("hypothesis", "words of the hypothesis in another order"),
    ):
        try:
            permuted = words.Permuter(PERMUTATIONS, mode).permute_texts("the pair", *tokens)
        except words.TooFewPermutationsError:
            continue
        variants += [(change, pair) for pair in permuted]
    return variants


# The limit bounds the memory of the Space, since visitors can enter any model.
@lru_cache(maxsize=2)
def load_classifier(name: str, words: Any) -> tuple[Any, list[str]]:
    """Load a Hub model as a pipeline, with the label of each output. Code in the repository is not run."""
    from huggingface_hub import HfApi
    from transformers import pipeline

    # The size is checked before the download, since all visitors share one machine.
    files = HfApi().list_repo_tree(name)
    size = sum(getattr(file, "size", 0) for file in files if file.path.endswith(".safetensors"))
    if not 0 < size <= MAX_BYTES:
        limit, actual = (f"{n / 1e9:.1f} GB" for n in (MAX_BYTES, size))
        raise ValueError(f"{name}: expected safetensors weights of at most {limit}, got {actual}; use a smaller model")
    # Other weight formats are pickles, which can run code when they are loaded.
    classifier = pipeline(
        "text-classification", model=name, trust_remote_code=False, model_kwargs={"use_safetensors": True}
    )
    order = list(words.resolve_output_labels(classifier.model.config.id2label))
    if set(order) != set(words.LABELS):
        raise ValueError(f"{name}: expected the labels {', '.join(words.LABELS)}, got {', '.join(order)}")
    # Without segment ids, some networks read both sentences as one (`inference.segments`).
    words.supply_segment_ids(classifier.model, classifier.tokenizer)
    return classifier, order


def classify_pairs(name: str, words: Any, pairs: Sequence[Pair]) -> NDArray[Any]:
    """Compute the label probabilities of a Hub model in unbag's label order, shape (n, 3)."""
    classifier, order = load_classifier(name, words)
    outputs = classifier.model.config.id2label
    answers = classifier(
        [{"text": premise, "text_pair": hypothesis} for premise, hypothesis in pairs],
        top_k=None,
        function_to_apply="softmax",
        truncation=True,
        max_length=256,
    )
    by_output = [{each["label"]: each["score"] for each in answer} for answer in answers]
    columns = [outputs[order.index(label)] for label in words.LABELS]
    return np.array([[answer[column] for column in columns] for answer in by_output])


def summarize_predictions(
    variants: Sequence[str], model: NDArray[Any], lexical: NDArray[Any], labels: Sequence[str]
) -> str:
    """Summarize how often each model keeps its prediction when the words are permuted."""
    permuted = [i for i, variant in enumerate(variants) if "order" in variant]
    if not permuted:
        return "These sentences are too short for several other word orders."
    same = [sum(int(each[i].argmax() == each[0].argmax()) for i in permuted) for each in (model, lexical)]
    return (
        f"The model predicts {labels[int(model[0].argmax())]}. With the words in another order, the model keeps its "
        f"prediction in {same[0]} of {len(permuted)} cases. The lexical model, which ignores word order, keeps it in "
        f"{same[1]} of {len(permuted)}."
    )


def describe_feature(feature: Any) -> str:
    """Describe a word or word pair of the lexical model."""
    if feature.premise is None:
        return f"{feature.hypothesis} in the hypothesis"
    if feature.hypothesis is None:
        return f"{feature.premise} in the premise"
    return f"{feature.premise} – {feature.hypothesis}"


def build_page(words: Any, folder: Path, model: str) -> "gr.Blocks":
    """Build the Gradio page of the Space that classifies single pairs.

    `words` is the module with the bundled unbag functions, and `folder` has the lexical model. `model` is selected when
    the page opens.
    """
    import gradio as gr

    lexical = LexicalScorer(words, folder)
    labels = list(words.LABELS)

    # gradio shows the docstring to language models, as the description of an MCP tool.
    def predict(premise: str, hypothesis: str, gold: str, name: str) -> tuple[Any, ...]:
        """Predict entailment, neutral or contradiction for an English pair, with a model and with a bag of words.

        Both predict the pair as given, with premise and hypothesis exchanged, and with its words in other orders. A
        model that keeps its prediction for every word order may count words instead of reading sentences.

        Args:
            premise: English sentence that is assumed to be true.
            hypothesis: English sentence that follows from the premise, contradicts it, or neither.
            gold: Gold label of the pair, used to find misleading words; `unknown` if there is none.
            name: Hub id of a classifier with three labels, organization/name.

        Returns:
            A summary, the probabilities of model and bag of words for the pair as given, the predictions of both for
            each variant of the pair, and the words that mislead the bag of words.
        """
        premise, hypothesis = " ".join(premise.split()), " ".join(hypothesis.split())
        if not (0 < len(premise) <= MAX_CHARACTERS and 0 < len(hypothesis) <= MAX_CHARACTERS):
            raise gr.Error(f"premise, hypothesis: expected 1 to {MAX_CHARACTERS:,} characters each; edit the sentences")
        variants, pairs = zip(*build_pair_variants(words, premise, hypothesis), strict=True)
        try:
            of_model, of_words = classify_pairs(name.strip(), words, pairs), lexical.probabilities(pairs)
        except Exception as error:  # Arbitrary Hub models can raise any exception.
            message = escape(" ".join(str(error).split())[:300])
            raise gr.Error(message, print_exception=False) from None
        rows = [
            [variant, *(f"{labels[int(each.argmax())]} {each.max():.2f}" for each in both), *pair]
            for variant, pair, *both in zip(variants, pairs, of_model, of_words, strict=True)
        ]
        against = gold if gold in labels else labels[int(of_words[0].argmax())]
        misleading = [
            [describe_feature(each), each.label, f"{each.logit:+.2f}"]
            for each in lexical.find_misleading_features((premise, hypothesis), against)
        ]
        shares = [dict(zip(labels, map(float, each[0]), strict=True)) for each in (of_model, of_words)]
        return summarize_predictions(variants, of_model, of_words, labels), *shares, rows, misleading

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
        summary = gr.Markdown()
        with gr.Row():
            outputs = [gr.Label(label="Model"), gr.Label(label="Lexical model")]
        variants = gr.Dataframe(
            headers=_HEADERS,
            interactive=False,
            wrap=True,
            max_height=800,
            column_widths=["220px", "170px", "170px", "300px", "300px"],
            label="Variants of the pair",
        )
        misleading = gr.Dataframe(
            headers=["word", "favors", "logit difference"],
            interactive=False,
            label="Words of the lexical model against the gold label (if unknown: against its prediction)",
        )
        button.click(
            predict, [premise, hypothesis, gold, name], [summary, *outputs, variants, misleading], api_name="predict"
        )
    return demo
