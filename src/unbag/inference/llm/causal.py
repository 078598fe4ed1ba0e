"""Predictor for causal language models on the Hub, based on the likelihood of each label's word."""

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

try:
    import tokenizers
    import torch
    import transformers
    from transformers.cache_utils import DynamicCache, DynamicLayer
except ImportError as error:
    raise ImportError("running a model requires PyTorch and transformers: pip install 'unbag[models]'") from error

from unbag.inference.hub_files import resolve_origin
from unbag.inference.llm.prompt_file import PromptFile, choose_prompt
from unbag.inference.llm.prompts import DefaultPrompt, compute_prompt_hash
from unbag.inference.llm.reading import close_thoughts
from unbag.inference.loading import (
    LoadedModel,
    build_missing_weights_message,
    has_classification_head,
    is_causal_lm,
    is_encoder_decoder_lm,
    load_config,
    load_network,
    load_tokenizer,
    validate_token_ids,
)
from unbag.inference.memory import BatchSplitter
from unbag.inference.options import Dtype
from unbag.inference.predictor import (
    BatchingPredictor,
    LabelSource,
    ModelError,
    validate_pairs,
)
from unbag.inference.tokenization import (
    build_token_batches,
    choose_batch_tokens,
    pad_sequences,
    shorten_longer_sentence,
)
from unbag.inference.transformer import DTYPES, resolve_device
from unbag.utils.redaction import extract_first_line

if TYPE_CHECKING:
    from torch import Tensor

_FIXED: Final[Mapping[str, Any]] = {"enable_thinking": False, "date_string": "01 Jan 2026"}
"""Variables of chat templates that have them: no reasoning before the answer, and a fixed date, so that the prompt does
not change from day to day."""

_TOLERANCE: Final = {torch.float32: 1e-3, torch.float16: 5e-2, torch.bfloat16: 5e-1}
"""Maximum difference between a label's log-likelihoods with and without the cached prompt head."""

_TEST_PAIRS: Final = (  # no two sentences begin alike, so that their common prefix belongs to the prompt
    ("A woman reads.", "She reads."),
    ("Two children are playing with a red ball in the garden behind the old house.", "Dogs are asleep."),
    ("the train has left.", "Nobody was on the platform when the last train of the evening left."),
    ("“Stop!”", "42"),
)


@dataclass(frozen=True)
class _Question:
    """Tokens of one pair's prompt and its continuations."""

    prefix: list[int]  # common prefix of the prompt and all whole texts
    endings: list[list[int]]  # tokens after the prefix, for each label; none is empty
    # Token sequences that the model has to read after the prefix to score all endings. No tail is a prefix of another.
    # One empty tail if every word is one token.
    tails: list[list[int]]

    @classmethod
    def of(cls, prompt: list[int], wholes: Sequence[list[int]]) -> "_Question":
        shared = _common_prefix_length([prompt, *wholes])
        shared = min(shared, *(len(whole) - 1 for whole in wholes))  # no ending may be empty
        endings = [whole[shared:] for whole in wholes]
        # The last token of an ending is scored, but never read.
        read = sorted({tuple(ending[:-1]) for ending in endings}, key=len, reverse=True)
        tails: list[list[int]] = []
        for tail in map(list, read):
            if not any(longer[: len(tail)] == tail for longer in tails):
                tails.append(tail)
        return cls(wholes[0][:shared], endings, tails)

    @property
    def length(self) -> int:
        """Number of tokens in the longest model input: the prefix plus the longest label word."""
        return len(self.prefix) + max(map(len, self.tails))


class CausalPredictor(BatchingPredictor):
    """Predictor that scores each label by its likelihood under a causal language model. Build it with `load`.

    Each label's word continues the prompt (`unbag.inference.llm.prompts`). The score of a label is the log-likelihood
    of its word, summed over the word's tokens: ln p(word | prompt) = Σ_t ln p(token_t | prompt, tokens before t). A
    softmax over the scores gives the probabilities: p(label) = p(word | prompt) / Σ p(words | prompt). The sum is not
    divided by the word's length: the words are nearly always one token each, and the model would generate the likeliest
    one. lm-evaluation-harness calls this `acc` for a task of `output_type: multiple_choice`; its `acc_norm` divides by
    the characters of the choice.

    Prompt and word are tokenized together. The likelihood is conditional on the common prefix of these texts and the
    prompt alone. If a tokenizer merges characters across the border of prompt and word, the last tokens of the prompt
    are scored too.

    The probabilities of a pair depend on that pair alone up to rounding, as for `TransformerPredictor`.

    `max_length` is the maximum number of tokens of a prompt. `truncated` counts the pairs so far that were longer, and
    whose sentences were truncated.
    """

    has_probabilities: Final = True
    label_source: ClassVar[LabelSource] = "generated"

    def __init__(
        self,
        lm: LoadedModel,
        *,
        device: str,
        prompt: DefaultPrompt | PromptFile,
        apply_chat_template: bool | None = None,
        max_length: int | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        if prompt.json_field is not None:
            raise ModelError(
                "--prompt: expected a prompt with a plain-text answer for a causal language model, got the field json; "
                "remove json"
            )
        self._is_raw = isinstance(prompt, PromptFile) and prompt.is_raw
        templated = bool(getattr(lm.tokenizer, "chat_template", None)) and not self._is_raw
        if apply_chat_template and self._is_raw:
            raise ModelError("--prompt: expected a prompt without raw for --apply-chat-template; omit one of them")
        if apply_chat_template and not templated:
            raise ModelError(f"{lm.identity.name} has no chat template; omit --apply-chat-template")
        self.model = lm.network.to(device)
        self.tokenizer = lm.tokenizer
        self.prompt = prompt
        self.label_space = prompt.label_space
        self._words = [prompt.words[label][0] for label in prompt.label_space if label in prompt.words]
        self.apply_chat_template = templated if apply_chat_template is None else apply_chat_template
        self.max_length = lm.resolve_max_length(max_length)
        self.truncated = 0
        self._splitter = BatchSplitter()
        self.batch_tokens = batch_tokens or choose_batch_tokens(self.model.device)
        self._pad_id = next((i for i in (lm.tokenizer.pad_token_id, lm.tokenizer.eos_token_id) if i is not None), 0)
        self._selects_logits = "logits_to_keep" in inspect.signature(self.model.forward).parameters
        # The tokens that the tokenizer adds before a text. A chat template already contains them.
        bos = lm.tokenizer.bos_token_id
        has_start = not self.apply_chat_template and bos is not None and lm.tokenizer("a")["input_ids"][:1] == [bos]
        self._start = [bos] if has_start else []
        self._head: list[int] = []
        self._head_cache: Any = None
        self._cache_head()
        self.identity: Mapping[str, str] = {
            "kind": "causal",
            **lm.identity.to_record(),
            "prompt": f"sha256:{compute_prompt_hash(self._rendered('{premise}', '{hypothesis}'), prompt.sha256)}",
            "num_fewshot": str(prompt.num_fewshot),
            "apply_chat_template": str(self.apply_chat_template),
            "words": ",".join(self._words),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.model.device.type,
            "attention": str(self.model.config._attn_implementation),
            "last_layer": "shared-head" if self._head else "none",
            "max_length": str(self.max_length),
            "batch_tokens": str(self.batch_tokens),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
        }

    @classmethod
    def load(
        cls,
        model: str | Path,
        *,
        revision: str | None = None,
        dtype: Dtype = "float32",
        device: str | None = None,
        num_fewshot: int = 0,
        prompt: str | Path | None = None,
        apply_chat_template: bool | None = None,
        max_length: int | None = None,
        batch_tokens: int | None = None,
        trust_remote_code: bool = False,
    ) -> "CausalPredictor":
        """Load a causal language model from the Hub or a folder.

        The options are those of `inference.options.CausalKwargs`. The first word of each label is scored. An
        encoder-decoder requires a prompt.
        """
        device = resolve_device(dtype, device)
        chosen = choose_prompt(prompt, num_fewshot, is_local=True)  # before gigabytes are downloaded
        origin = resolve_origin(model, revision, trust_remote_code=trust_remote_code)
        config = load_config(origin)
        declared = ", ".join(config.architectures or ())
        is_encoder_decoder = is_encoder_decoder_lm(config)
        if not is_causal_lm(config) and not is_encoder_decoder:
            advice = (
                "omit causal: for a classifier"
                if has_classification_head(config)
                else "pass a function that calls the model"
            )
            raise ModelError(
                f"{origin}: expected a causal language model (…ForCausalLM) or a text-to-text model, got "
                f"{declared or 'no architecture in its config'}; {advice}"
            )
        if is_encoder_decoder and not isinstance(chosen, PromptFile):
            raise ModelError(
                f"{origin}: expected --prompt for a text-to-text model ({declared}), got none; pass a file with the "
                "prompt and the answer words of its card, or --prompt minicheck-t5 or monot5 for such models"
            )
        auto_class = transformers.AutoModelForSeq2SeqLM if is_encoder_decoder else transformers.AutoModelForCausalLM
        network, missing = load_network(auto_class, origin, DTYPES[dtype])
        if missing:
            raise ModelError(build_missing_weights_message(missing, origin))
        lm = LoadedModel(network.eval(), load_tokenizer(origin), origin.compute_identity())
        has_tokens = isinstance(chosen, PromptFile) and chosen.scores_tokens
        try:
            return (AnswerTokenPredictor if is_encoder_decoder or has_tokens else cls)(
                lm,
                device=device,
                prompt=chosen,
                apply_chat_template=apply_chat_template,
                max_length=max_length,
                batch_tokens=batch_tokens,
            )
        except (RuntimeError, MemoryError) as error:  # the constructor moves the model to the device and runs it once
            raise ModelError(f"{model} cannot be run: {type(error).__name__}: {extract_first_line(error)}") from error

    def iter_batches(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield each batch as row positions, shape (b,), and probabilities, shape (b, len(label_space))."""
        premises, hypotheses = validate_pairs(premises, hypotheses)
        if not premises:
            return
        questions = self._questions(premises, hypotheses)
        sizes = [question.length * len(question.tails) for question in questions]

        def run(rows: NDArray[np.intp]) -> "Tensor":
            return self._log_likelihoods([questions[row] for row in rows.tolist()])

        for rows in build_token_batches(sizes, self.batch_tokens):
            for subset, scores in self._splitter.run_in_parts(rows, sizes, run):
                yield subset, scores.softmax(dim=-1).numpy()

    def _rendered(self, premise: str, hypothesis: str) -> str:
        """Render the prompt text before a label's word. Without a chat template, a space follows the prompt."""
        if not self.apply_chat_template:
            return self.prompt.build_text(premise, hypothesis)
        turns = self.prompt.build_messages(premise, hypothesis)
        rendered = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **_FIXED)
        # Some templates begin a thought in spite of `enable_thinking`: its first token is not the answer.
        return close_thoughts(str(rendered), str(self.tokenizer.chat_template))

    def _questions(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[_Question]:
        """Build the prompts. The end of the longer sentence of a pair is truncated until its prompt fits."""
        questions = self._encoded(list(zip(premises, hypotheses, strict=True)))
        if self.max_length is None:
            return questions
        for row, (premise, hypothesis) in enumerate(zip(premises, hypotheses, strict=True)):
            self.truncated += questions[row].length > self.max_length
            while (over := questions[row].length - self.max_length) > 0:
                if not premise and not hypothesis:
                    raise ModelError(
                        f"expected a prompt of at most {self.max_length} tokens, the maximum length of the model, got "
                        f"{questions[row].length}; use fewer few-shot examples (--num-fewshot)"
                    )
                premise, hypothesis = shorten_longer_sentence(premise, hypothesis, over)
                [questions[row]] = self._encoded([(premise, hypothesis)])
        return questions

    def _encoded(self, pairs: Sequence[tuple[str, str]]) -> list[_Question]:
        space = "" if self.apply_chat_template or self._is_raw else " "
        endings = ["", *(space + word for word in self._words)]
        texts = [prompt + ending for prompt in (self._rendered(*pair) for pair in pairs) for ending in endings]
        # No special tokens, since one at the end would end the text; the one at the start is added below.
        ids = self.tokenizer(texts, add_special_tokens=False, padding=False, truncation=False, verbose=False)
        sequences = [self._start + tokens for tokens in ids["input_ids"]]
        validate_token_ids(sequences, self.model, self.tokenizer)
        n = len(endings)
        return [_Question.of(sequences[at], sequences[at + 1 : at + n]) for at in range(0, len(sequences), n)]

    def _log_likelihoods(self, questions: Sequence[_Question]) -> "Tensor":
        """Compute the log-likelihood of each label's word for b questions, shape (b, labels), float32 on the CPU."""
        head = self._head
        if any(len(q.prefix) <= len(head) or q.prefix[: len(head)] != head for q in questions):
            head = []

        def positions_of(question: _Question, tail: int) -> range:  # whose logits predict the tokens after the prefix
            last = len(question.prefix) - 1 - len(head)
            return range(last, last + tail + 1)

        # One row per question and tail: the tokens after the cached head.
        rows = [(q, tail) for q in questions for tail in q.tails]
        texts = [(q.prefix + tail)[len(head) :] for q, tail in rows]
        needed = sorted({i for q, tail in rows for i in positions_of(q, len(tail))})
        with torch.inference_mode():
            logits = self._logits(texts, head, needed)
            logs = logits.float().log_softmax(dim=-1).cpu()  # (rows, needed, vocabulary)
        index_of = {position: index for index, position in enumerate(needed)}
        scores = torch.empty(len(questions), len(self.label_space))
        row = 0
        for number, q in enumerate(questions):
            for label, ending in enumerate(q.endings):
                tail = next(i for i, tail in enumerate(q.tails) if tail[: len(ending) - 1] == ending[:-1])
                at = [index_of[i] for i in positions_of(q, len(ending) - 1)]
                scores[number, label] = logs[row + tail, at, ending].sum()
            row += len(q.tails)
        return scores

    def _logits(self, texts: Sequence[list[int]], head: list[int], needed: Sequence[int]) -> "Tensor":
        """Compute the logits of b texts at some positions, shape (b, len(needed), vocabulary)."""
        device = self.model.device
        # Padding at the end is invisible to the tokens before it, because attention is causal.
        ids = torch.from_numpy(pad_sequences(texts, self._pad_id, "right")).to(device)
        mask = torch.from_numpy(pad_sequences([[1] * (len(head) + len(text)) for text in texts], 0, "right")).to(device)
        options: dict[str, Any] = {"use_cache": False}
        if head:
            cache = copy.deepcopy(self._head_cache)  # the model appends to the cache in place
            cache.batch_repeat_interleave(len(texts))
            options = {"use_cache": True, "past_key_values": cache}
        positions = torch.tensor(list(needed), device=device)
        if self._selects_logits:  # for a large vocabulary, the logits of all positions take gigabytes
            options["logits_to_keep"] = positions
        logits: Tensor = self.model(input_ids=ids, attention_mask=mask, **options).logits
        return logits if self._selects_logits else logits[:, positions]

    def _cache_head(self) -> None:
        """Cache the attention keys and values of the prompt's common beginning, if that leaves the scores the same.

        This is done only for models whose layers all cache every token: a sliding window or a recurrent state is not a
        function of the cached tokens alone.
        """
        questions = self._encoded(_TEST_PAIRS)
        if any(len(set(map(tuple, question.endings))) < len(self._words) for question in questions):
            raise ModelError(
                f"--prompt: expected words with different tokens, got {', '.join(self._words)}, which the tokenizer "
                "does not distinguish; choose other words"
            )
        prefixes = [question.prefix for question in questions]
        head = prefixes[0][: min(_common_prefix_length(prefixes), len(prefixes[0]) - 1)]
        if not head or (self.max_length is not None and len(head) >= self.max_length):
            return
        with torch.inference_mode():
            ids = torch.tensor([head], device=self.model.device)
            cache = getattr(self.model(input_ids=ids, use_cache=True), "past_key_values", None)
        layers = getattr(cache, "layers", ())
        if type(cache) is not DynamicCache or not all(type(layer) is DynamicLayer for layer in layers):
            return
        # The instruction and the few-shot examples are most of every prompt. Nothing is approximated, but matrix
        # products of another shape may round differently.
        expected = self._log_likelihoods(questions)
        self._head, self._head_cache = head, cache
        difference = (expected - self._log_likelihoods(questions)).abs().max()
        if not difference <= _TOLERANCE[self.model.dtype]:  # `not <=` is true for NaN as well
            self._head, self._head_cache = [], None


class AnswerTokenPredictor(CausalPredictor):
    """Predictor that scores each label by the logit of one token at the first position of the answer.

    This is how yes/no rerankers and T5 verifiers are scored, by the first step of the decoder of an encoder-decoder
    (MiniCheck, Tang et al. 2024, https://arxiv.org/abs/2404.10774; monoT5, Nogueira et al. 2020,
    https://arxiv.org/abs/2003.06713). A softmax over the logits gives the probabilities. A single logit, of a token for
    entailment alone, is the log odds.
    """

    def __init__(self, lm: LoadedModel, *, prompt: DefaultPrompt | PromptFile, **options: Any) -> None:
        self._is_encoder_decoder = is_encoder_decoder_lm(lm.network.config)
        max_length = options.pop("max_length", None)
        super().__init__(lm, prompt=prompt, max_length=None, **options)
        # T5 has no table of positions, so that the limit of its tokenizer is only the length of its pre-training.
        if hasattr(lm.network.config, "max_position_embeddings") or not self._is_encoder_decoder:
            self.max_length = lm.resolve_max_length(max_length)
        else:
            self.max_length = max_length or self.max_length
        self._answer_ids = self._find_answer_ids()
        self.identity = {
            **self.identity,
            "max_length": str(self.max_length),
            "answer_tokens": ",".join(map(str, self._answer_ids)),
        }

    def _find_answer_ids(self) -> list[int]:
        """Find the token of each label: the first one of its word, unless the prompt has ids."""
        tokens = getattr(self.prompt, "tokens", None)
        if tokens is not None:
            ids = list(tokens.values())
        else:
            space = "" if self._is_encoder_decoder or self.apply_chat_template or self._is_raw else " "
            ids = [self.tokenizer(space + word, add_special_tokens=False)["input_ids"][0] for word in self._words]
        size = self.model.config.get_text_config().vocab_size
        if len(set(ids)) < len(ids) or max(ids) >= size:
            raise ModelError(
                f"--prompt: expected a different token below {size:,} for each label, got {ids}; choose words that "
                "begin with different tokens, or correct tokens"
            )
        return ids

    def _encoded(self, pairs: Sequence[tuple[str, str]]) -> list[_Question]:
        texts = [self._rendered(*pair) for pair in pairs]
        special = self._is_encoder_decoder  # an encoder reads the end of the text
        ids = self.tokenizer(texts, add_special_tokens=special, padding=False, truncation=False, verbose=False)
        start = [] if special else self._start
        sequences = [start + tokens for tokens in ids["input_ids"]]
        validate_token_ids(sequences, self.model, self.tokenizer)
        return [_Question(sequence, [[]], [[]]) for sequence in sequences]

    def _log_likelihoods(self, questions: Sequence[_Question]) -> "Tensor":
        """Compute the logit of each label for b questions, shape (b, labels); for one token, its logit and 0."""
        texts = [question.prefix for question in questions]
        with torch.inference_mode():
            if self._is_encoder_decoder:
                logits = self._first_step_logits(texts)
            else:
                needed = sorted({len(text) - 1 for text in texts})
                at = [needed.index(len(text) - 1) for text in texts]
                logits = self._logits(texts, [], needed)[range(len(texts)), at]
            scores = logits[:, self._answer_ids].float().cpu()
        return scores if len(self._answer_ids) > 1 else torch.cat([scores, torch.zeros_like(scores)], dim=-1)

    def _first_step_logits(self, texts: Sequence[list[int]]) -> "Tensor":
        """Compute the logits of the first step of the decoder, shape (b, vocabulary)."""
        device, config = self.model.device, self.model.config
        ids = torch.from_numpy(pad_sequences(texts, self._pad_id, "right")).to(device)
        mask = torch.from_numpy(pad_sequences([[1] * len(text) for text in texts], 0, "right")).to(device)
        generation = self.model.generation_config
        start = config.decoder_start_token_id
        start = generation.decoder_start_token_id if start is None else start
        forced = getattr(generation, "forced_bos_token_id", None)
        begin = [token for token in (self._pad_id if start is None else start, forced) if token is not None]
        decoder = torch.tensor([begin] * len(texts), device=device)
        logits: Tensor = self.model(
            input_ids=ids, attention_mask=mask, decoder_input_ids=decoder, use_cache=False
        ).logits[:, -1]
        return logits

    def _cache_head(self) -> None:
        """Cache nothing: an encoder reads the whole text at once."""


def _common_prefix_length(sequences: Sequence[Sequence[int]]) -> int:
    """Compute the length of the common prefix of sequences."""
    shared = 0
    for items in zip(*sequences, strict=False):
        if len(set(items)) > 1:
            break
        shared += 1
    return shared
