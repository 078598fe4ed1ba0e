"""Any causal language model of the Hub as a predictor, by how likely it finds each label's word."""

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

try:
    import tokenizers
    import torch
    import transformers
    from transformers.cache_utils import DynamicCache, DynamicLayer
except ImportError as error:
    raise ImportError("running a model needs PyTorch and transformers: pip install 'unbag[models]'") from error

from unbag.data.labels import LABELS
from unbag.inference.llm.prompts import WORDS, Prompt, fingerprint
from unbag.inference.loading import LoadedModel, load_causal_lm, validate_token_ids
from unbag.inference.memory import Halving
from unbag.inference.predictor import ModelError, checked_pairs, checked_probabilities, from_batches
from unbag.inference.tokenization import CPU_BATCH_TOKENS, GPU_BATCH_TOKENS, pad, token_batches, wanted
from unbag.inference.transformer import DTYPES, Dtype, usable_device
from unbag.utils.redaction import first_line

if TYPE_CHECKING:
    from torch import Tensor

_FIXED: Final[Mapping[str, Any]] = {"enable_thinking": False, "date_string": "01 Jan 2026"}
"""What chat templates are told that know of it: to leave no room for thoughts before the answer, and one date for every
day's run."""

_TOLERANCE: Final = {torch.float32: 1e-3, torch.float16: 5e-2, torch.bfloat16: 5e-1}
"""Most that a label's log-likelihood may differ when the head of the prompt is read once for all pairs."""

_OF_DIFFERENT_LENGTHS: Final = (  # no two sentences begin alike, so that what they share is the prompt's
    ("A woman reads.", "She reads."),
    ("Two children are playing with a red ball in the garden behind the old house.", "Dogs are asleep."),
    ("the train has left.", "Nobody was on the platform when the last train of the evening left."),
    ("“Stop!”", "42"),
)


@dataclass(frozen=True)
class _Question:
    """The tokens of one pair's prompt and of what may follow it.

    Attributes:
        prefix: the tokens of the prompt, as far as the three whole texts begin with them.
        endings: the tokens after those, for each of `LABELS`; none is empty.
        tails: what has to be read after the prefix to score all endings: no tail begins another. One empty tail where
            every word is one token.
    """

    prefix: list[int]
    endings: list[list[int]]
    tails: list[list[int]]

    @classmethod
    def of(cls, prompt: list[int], wholes: Sequence[list[int]]) -> "_Question":
        shared = _shared([prompt, *wholes])
        shared = min(shared, *(len(whole) - 1 for whole in wholes))  # a word that begins another has an ending too
        endings = [whole[shared:] for whole in wholes]
        read = sorted({tuple(ending[:-1]) for ending in endings}, key=len, reverse=True)
        tails: list[list[int]] = []
        for tail in map(list, read):
            if not any(longer[: len(tail)] == tail for longer in tails):
                tails.append(tail)
        return cls(wholes[0][:shared], endings, tails)

    @property
    def length(self) -> int:
        """Tokens of the longest text that is read."""
        return len(self.prefix) + max(map(len, self.tails))


class CausalPredictor:
    """A causal language model asked by label likelihood; made by `load`.

    The prompt (`unbag.inference.llm.prompts`) is continued by each label's word, and a label's score is the
    log-likelihood of its word, summed over the word's tokens: ln p(word | prompt) = Σ_t ln p(token_t | prompt, tokens
    before t). A softmax over the three scores gives the probabilities: p(label) = p(word | prompt) / Σ p(words |
    prompt). The sum is not divided by the word's length: the words are nearly always one token each, and that of the
    likeliest is what the model would say. It is what lm-evaluation-harness calls `acc` for a task of `output_type:
    multiple_choice`; its `acc_norm` divides by the characters of the choice.

    Prompt and word are tokenized together. The condition is what the three texts and the prompt by itself begin with,
    so a tokenizer that merges across the seam changes nothing: there the last tokens of the prompt are scored too.

    The probabilities of a pair depend on that pair alone up to rounding, as `TransformerPredictor`'s do.

    Attributes:
        label_space: the labels of the columns of `predict`.
        identity: what decides the numbers, by name.
        max_length: the most tokens of a prompt that the model is shown; None where nothing limits it.
        truncated: how many of the pairs so far were longer than that and lost the ends of their sentences.
    """

    has_probabilities: Final = True
    label_space: Final = LABELS

    def __init__(
        self,
        lm: LoadedModel,
        *,
        device: str,
        num_fewshot: int = 0,
        apply_chat_template: bool | None = None,
        max_length: int | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        templated = bool(getattr(lm.tokenizer, "chat_template", None))
        if apply_chat_template and not templated:
            raise ModelError(f"{lm.name} has no chat template; leave out --apply-chat-template")
        self.model = lm.network.to(device)
        self.tokenizer = lm.tokenizer
        self.prompt = Prompt(num_fewshot)
        self.apply_chat_template = templated if apply_chat_template is None else apply_chat_template
        self.max_length = lm.tokens_read(max_length)
        self.truncated = 0
        self._halving = Halving()
        on_cpu = self.model.device.type == "cpu"
        self.batch_tokens = batch_tokens or (CPU_BATCH_TOKENS if on_cpu else GPU_BATCH_TOKENS)
        self._pad_id = next((i for i in (lm.tokenizer.pad_token_id, lm.tokenizer.eos_token_id) if i is not None), 0)
        self._picks = "logits_to_keep" in inspect.signature(self.model.forward).parameters
        self._start = self._begins_with()
        self._head: list[int] = []
        self._head_cache: Any = None
        self._read_head_once()
        self.identity: Mapping[str, str] = {
            "kind": "causal",
            "model": lm.name,
            "revision": lm.revision,
            "prompt": f"sha256:{fingerprint(self._rendered('{premise}', '{hypothesis}'))}",
            "num_fewshot": str(num_fewshot),
            "apply_chat_template": str(self.apply_chat_template),
            "words": ",".join(WORDS[label] for label in LABELS),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.model.device.type,
            "attention": str(self.model.config._attn_implementation),
            "last_layer": "shared-head" if self._head else "none",
            "max_length": str(self.max_length),
            "batch_tokens": str(self.batch_tokens),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
            **({} if lm.code is None else {"trusted_code": lm.code}),
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
        apply_chat_template: bool | None = None,
        max_length: int | None = None,
        batch_tokens: int | None = None,
        trust_remote_code: bool = False,
    ) -> "CausalPredictor":
        """Load a model from the Hub or a folder. No code of the repository is run unless it is trusted.

        Args:
            model: a Hub id such as `org/name`, or a folder made by `save_pretrained`.
            revision: the branch, tag or commit of a Hub model; `identity` records the commit found there.
            dtype: what the model computes in.
            device: as torch names it; by default this process's GPU, else the CPU.
            num_fewshot: worked examples before each pair: 0, 3 or 6.
            apply_chat_template: Whether to use the tokenizer's chat template; by default where it has one.
            max_length: the most tokens a prompt; by default, and at most, what the model can read.
            batch_tokens: the most tokens a batch, padding included; by default what is fast on a CPU or a GPU.
            trust_remote_code: run the code that the repository brings, at the commit that is read; `identity` has a
                hash of it.

        Raises:
            ModelError: if there is no such model, it is no causal language model, it cannot read `max_length` tokens,
                it has no chat template though asked for one, or there is no such dtype or device.
            ValueError: if there are no so many worked examples.
        """
        device = usable_device(dtype, device)
        Prompt(num_fewshot)  # say so before gigabytes are fetched
        lm = load_causal_lm(model, revision=revision, dtype=DTYPES[dtype], trust_remote_code=trust_remote_code)
        try:
            return cls(
                lm,
                device=device,
                num_fewshot=num_fewshot,
                apply_chat_template=apply_chat_template,
                max_length=max_length,
                batch_tokens=batch_tokens,
            )
        except (RuntimeError, MemoryError) as error:  # it is put on the device there, and asked a first time
            raise ModelError(f"{model} cannot be asked: {type(error).__name__}: {first_line(error)}") from error

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs in their order, shape (n, 3).

        Raises:
            ValueError: if there are more premises than hypotheses or fewer, one of them is not text, or the model
                answers with something else than numbers (as on an overflow in float16).
        """
        return from_batches(self, premises, hypotheses)

    def batches(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        done: NDArray[np.bool_] | None = None,
        share: tuple[int, int] | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield the positions of a batch's b pairs, shape (b,), and their probabilities, shape (b, 3).

        Raises:
            ValueError: as `predict`.
        """
        premises, hypotheses = checked_pairs(premises, hypotheses)
        if not premises:
            return
        questions = self._questions(premises, hypotheses)
        sizes = [question.length * len(question.tails) for question in questions]
        for rows in wanted(token_batches(sizes, self.batch_tokens), done, share):
            for some, scores in self._halving.ask(rows, sizes, partial(self._log_likelihoods_of, questions)):
                values = scores.softmax(dim=-1).numpy()
                yield some, checked_probabilities(values, len(some), self.label_space)

    def log_likelihoods(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float64]:
        """Return ln p(word | prompt) of each label's word for n pairs, shape (n, 3)."""
        scores = np.empty((len(premises), len(self.label_space)))
        questions = self._questions(*checked_pairs(premises, hypotheses))
        sizes = [question.length * len(question.tails) for question in questions]
        for rows in token_batches(sizes, self.batch_tokens):
            for some, found in self._halving.ask(rows, sizes, partial(self._log_likelihoods_of, questions)):
                scores[some] = found.numpy()
        return scores

    def _log_likelihoods_of(self, questions: Sequence[_Question], rows: NDArray[np.intp]) -> "Tensor":
        return self._log_likelihoods([questions[row] for row in rows.tolist()])

    def _rendered(self, premise: str, hypothesis: str) -> str:
        """Return the text that a label's word follows at once, a space of its own included."""
        if not self.apply_chat_template:
            return self.prompt.text(premise, hypothesis)
        turns = self.prompt.messages(premise, hypothesis)
        return str(self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **_FIXED))

    def _begins_with(self) -> list[int]:
        """Return the token that the tokenizer sets before a text; a chat template writes it itself."""
        bos = self.tokenizer.bos_token_id
        return (
            [bos]
            if not self.apply_chat_template and bos is not None and self.tokenizer("a")["input_ids"][:1] == [bos]
            else []
        )

    def _questions(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[_Question]:
        questions = self._encoded(list(zip(premises, hypotheses, strict=True)))
        for row, question in enumerate(questions):
            if self.max_length is not None and question.length > self.max_length:
                questions[row] = self._shortened(premises[row], hypotheses[row], question)
                self.truncated += 1
        return questions

    def _encoded(self, pairs: Sequence[tuple[str, str]]) -> list[_Question]:
        space = "" if self.apply_chat_template else " "
        endings = ["", *(space + WORDS[label] for label in LABELS)]
        texts = [prompt + ending for prompt in (self._rendered(*pair) for pair in pairs) for ending in endings]
        # Special tokens only at the beginning: one at the end would stand between the prompt and nothing.
        ids = self.tokenizer(texts, add_special_tokens=False, padding=False, truncation=False, verbose=False)
        sequences = [self._start + tokens for tokens in ids["input_ids"]]
        validate_token_ids(sequences, self.model, self.tokenizer)
        n = len(endings)
        return [_Question.of(sequences[at], sequences[at + 1 : at + n]) for at in range(0, len(sequences), n)]

    def _shortened(self, premise: str, hypothesis: str, question: _Question) -> _Question:
        """Return the question with the ends of its longer sentence, then of both, left out until it can be read."""
        assert self.max_length is not None
        while (over := question.length - self.max_length) > 0:
            if not premise and not hypothesis:
                raise ModelError(
                    f"the prompt alone has {question.length} tokens, the model reads {self.max_length}; take fewer "
                    "worked examples (--num-fewshot)"
                )
            if len(premise) >= len(hypothesis):
                premise = premise[: max(0, len(premise) - over)]  # a token is a character or more
            else:
                hypothesis = hypothesis[: max(0, len(hypothesis) - over)]
            [question] = self._encoded([(premise, hypothesis)])
        return question

    def _log_likelihoods(self, questions: Sequence[_Question]) -> "Tensor":
        """Return the log-likelihood of each label's word for b questions, shape (b, 3), float32 on the CPU."""
        head = self._head
        if any(len(q.prefix) <= len(head) or q.prefix[: len(head)] != head for q in questions):
            head = []
        # A row is what is read of a question with one of its tails, from the last shared token on.
        rows = [(q, tail) for q in questions for tail in q.tails]
        texts = [(q.prefix + tail)[len(head) :] for q, tail in rows]
        needed = sorted({i for q, tail in rows for i in self._positions(q, len(tail), len(head))})
        with torch.inference_mode():
            logits = self._logits(texts, head, needed)
            logs = logits.float().log_softmax(dim=-1).cpu()  # (rows, needed, vocabulary)
        index_of = {position: index for index, position in enumerate(needed)}
        scores = torch.empty(len(questions), len(LABELS))
        row = 0
        for number, q in enumerate(questions):
            for label, ending in enumerate(q.endings):
                tail = next(i for i, tail in enumerate(q.tails) if tail[: len(ending) - 1] == ending[:-1])
                at = [index_of[i] for i in self._positions(q, len(ending) - 1, len(head))]
                scores[number, label] = logs[row + tail, at, ending].sum()
            row += len(q.tails)
        return scores

    def _positions(self, question: _Question, tail: int, head: int) -> range:
        """Return where the next token is predicted, for the token after the prefix and each in a tail."""
        last = len(question.prefix) - 1 - head
        return range(last, last + tail + 1)

    def _logits(self, texts: Sequence[list[int]], head: list[int], needed: Sequence[int]) -> "Tensor":
        """Return the logits of b texts at some positions, shape (b, len(needed), vocabulary)."""
        device = self.model.device
        # Padding stands at the end, where no token before it can see it.
        ids = torch.from_numpy(pad(texts, self._pad_id, "right")).to(device)
        mask = torch.from_numpy(pad([[1] * (len(head) + len(text)) for text in texts], 0, "right")).to(device)
        options: dict[str, Any] = {"use_cache": False}
        if head:
            cache = copy.deepcopy(self._head_cache)  # the model adds to what it is given
            cache.batch_repeat_interleave(len(texts))
            options = {"use_cache": True, "past_key_values": cache}
        positions = torch.tensor(list(needed), device=device)
        if self._picks:  # the logits of all positions are gigabytes where vocabularies are large
            picked: Tensor = self.model(input_ids=ids, attention_mask=mask, logits_to_keep=positions, **options).logits
            return picked
        logits: Tensor = self.model(input_ids=ids, attention_mask=mask, **options).logits[:, positions]
        return logits

    def _read_head_once(self) -> None:
        """Keep what attention remembers of the prompt's beginning, if that changes no score.

        The instruction and the worked examples are most of every prompt. Nothing is approximated, but matrix products
        of another shape may round differently. Only for models all of whose layers remember every token: elsewhere
        what is remembered is not a function of the tokens alone.
        """
        questions = self._encoded(_OF_DIFFERENT_LENGTHS)
        head = questions[0].prefix[: min(_shared([q.prefix for q in questions]), len(questions[0].prefix) - 1)]
        if not head or (self.max_length is not None and len(head) >= self.max_length):
            return
        with torch.inference_mode():
            ids = torch.tensor([head], device=self.model.device)
            cache = getattr(self.model(input_ids=ids, use_cache=True), "past_key_values", None)
        layers = getattr(cache, "layers", ())
        if type(cache) is not DynamicCache or not all(type(layer) is DynamicLayer for layer in layers):
            return
        expected = self._log_likelihoods(questions)
        self._head, self._head_cache = head, cache
        difference = (expected - self._log_likelihoods(questions)).abs().max()
        if not difference <= _TOLERANCE[self.model.dtype]:  # `not <=`: NaN is no agreement either
            self._head, self._head_cache = [], None


def _shared(sequences: Sequence[Sequence[int]]) -> int:
    """Return how many items all sequences have in common at their beginning."""
    shared = 0
    for items in zip(*sequences, strict=False):
        if len(set(items)) > 1:
            break
        shared += 1
    return shared
