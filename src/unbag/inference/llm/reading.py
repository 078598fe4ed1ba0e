"""Conversion of a language model's response to a label or to label probabilities.

The response may contain thoughts, an echo of the question, and text around a JSON object. Text that does not state one
label clearly has no label: a wrong label would change every score without a sign.
"""

import ast
import contextlib
import json
import math
import re
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from unbag.data.labels import LabelError, resolve_label
from unbag.inference.llm.prompts import DEFAULT_WORDS, Words

LEAST_MASS: Final = 0.5
"""Minimum probability mass on first tokens that begin a label word. With less, the model is about to
write something else, and the small probabilities of the label words do not reflect its answer."""

_NAMES: Final = (
    r"(?:(?!end_)\w+[:_-])?(?:ant)?"
    r"(?:think|thinking|thoughts?|reason|reasoning|analysis|reflection|scratch_?pad|rationale|monologue|internal|cot)"
)
_OPENING: Final = re.compile(
    rf"<{_NAMES}>|\[{_NAMES}\]|◁{_NAMES}▷|<\|{_NAMES}\|>|<\|(?:start|begin)_(?:of_)?{_NAMES}\|>"
    r"|<unused94>|<\|channel>thought",
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(
    rf"</{_NAMES}\s*>|\[/{_NAMES}\]|◁/{_NAMES}▷|<\|/{_NAMES}\|>|<\|end_(?:of_)?{_NAMES}\|>|<unused95>|<channel\|>",
    re.IGNORECASE,
)
"""Markers around thoughts: those of DeepSeek, Qwen, Seed, Mistral, Kimi, Command, Sky-T1, MedGemma and Gemma."""

_CHANNEL: Final = re.compile(
    r"<\|channel\|>\s*(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>|\bassistant(final)(?=\W|[A-Z\d])|\A(analysis)(?=[A-Z])"
)
"""Start of a channel of gpt-oss, with its special tokens or, where the server drops these, as plain text."""
_CHANNEL_END: Final = re.compile(r"<\|(?:end|return|call|start)\|>")
_RESPONSE: Final = re.compile(
    r"<\|(?:start|begin)_(?:of_)?(?:response|solution|answer)\|>|\[BEGIN FINAL RESPONSE\]|<\|im_start\|>answer"
    r"|<(?:final_)?(?:response|solution|output|label)>",
    re.IGNORECASE,
)
_RESPONSE_END: Final = re.compile(
    r"<\|end_(?:of_)?(?:response|solution|answer)\|>|\[END FINAL RESPONSE\]"
    r"|</(?:final_)?(?:response|solution|output|label)>",
    re.IGNORECASE,
)
"""Markers around the response proper, which some models write after their thoughts."""

_OPEN: Final = (
    r"[\s*_\"'`“”‘’「『【《(\[{<>#$|~\u2190-\u21ff\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200b-\u200f\ufeff]*"
)
"""Markup, quotation marks and symbols before a label."""
_LATEX: Final = r"(?:\\(?:text\w*|math\w*)\s*\{)?"
_STRONG: Final = re.compile(
    rf"\\f?boxed\s*\{{\s*{_LATEX}{_OPEN}"
    rf"|(?:(?<![^\W_])(?<!/)(?:answer|verdict)\b"
    rf"|(?<![a-z])(?:réponse|antwort|respuesta|resposta|risposta|ответ)(?: finale?)?"
    rf"|答案|回答|\b答|答え|정답|답변|الإجابة|الجواب)"
    rf"(?:{_OPEN}(?:[:=>→\n\]|)—–-]|\*\*)"
    rf"|\s+(?:is|would be|should be|ist|lautet|est|es|è|é)(?:\s+(?:therefore|thus))?\b"
    rf"|\s*[是为為は])"
    rf"(?:[:=>\n—–-]|{_OPEN}(?:is\b|would be\b)?)*{_OPEN}{_LATEX}{_OPEN}",
    re.IGNORECASE,
)
_WEAK: Final = re.compile(
    r"(?:\b(?:label|conclusion|decision|judge?ment|classification|prediction|rating|score|result|output|option"
    r"|response|final|choice|assessment|evaluation|determination|outcome)\b|(?<=\n)a(?=:)|结论|判断|结果|关系)"
    rf"(?:{_OPEN}[:=>\n—–]|\s+is\b|\s*[是为為]){_OPEN}",
    re.IGNORECASE,
)
_RESTATED: Final = re.compile(r"\n\s*(?:premise|hypothesis|document|claim|user|human|question)\s*:", re.IGNORECASE)
_MARKUP: Final = re.compile(rf"{_OPEN}(?:(?<![^\s])[-–—•]\s+)?{_OPEN}[:.,]*{_OPEN}")
_SENTENCE: Final = re.compile(
    r"\s*(?:(?:therefore|thus|hence|so|then|overall|consequently|accordingly|finally|clearly|and|but|however),?\s+)?"
    r"(?:it|this|that|(?:the|this|that)\s+(?:claim|statement|hypothesis|sentence|response|summary|answer|relation(?:ship)?)"
    r"(?:\s+between\s+.{1,80}?)?)"
    rf"\s*(?:\s+is\s+(?:therefore\s+|thus\s+)?|(?=\s+isn[’']t\b)){_OPEN}"
)
"""A last sentence such as "Therefore, the claim is …", up to the label."""
_SOURCE: Final = re.compile(
    r"\s+(?:by|in|from)\s+(?:the|this)\s+(?:\w+\s+)?(?:document|text|passage|context|premise|source|evidence)s?(?=\s*(?:[.,;:!]|$))"
)
"""A source of the judgement after the label, up to the end of the clause."""
_NUMBERING: Final = re.compile(r"\s*\d+[.)]\s+")
_NEGATION: Final = re.compile(r"(?:is |are )?(?:not|non|isn[’']t)[\s_-]+|[不非](?=\S)", re.IGNORECASE)
_VALUE: Final = re.compile(
    r"[*_\"'`]*(?:\s*[:?=]|\s+[–—-])\s*[*_\"'`]*(?:(yes|no|true|false|[01](?![.,/]\d))\b|[✗✘❌])"
)
"""A truth value after a label. A cross has no group."""
_TRUE: Final = frozenset({"true", "yes", "1", "y", "ja", "oui", "sí", "da", "да", "是", "はい", "예"})
_FALSE: Final = frozenset({"false", "no", "0", "n", "nein", "non", "nu", "нет", "否", "いいえ", "아니요"})
_LONGEST: Final = 100_000  # characters of a response, so that no pattern takes long
_RUN_LENGTH: Final = 40
_RUN: Final = re.compile(r"[\W_]{41,}")
_MOST_BRACES: Final = 200  # of a response; nested braces take quadratic time


def close_thoughts(prompt: str, template: str = "") -> str:
    r"""Complete a rendered chat prompt that leaves the model inside a thought, so that the answer follows it.

    If the chat template has the channels of gpt-oss, the answer's channel begins.

    >>> close_thoughts("<assistant><think>\n")
    '<assistant><think>\n\n</think>\n\n'
    """
    if "<|channel|>" in template and prompt.rstrip().endswith("<|start|>assistant"):
        return f"{prompt}<|channel|>final<|message|>"
    openings = list(_OPENING.finditer(prompt))
    if not openings or prompt[openings[-1].end() :].strip():
        return prompt
    marker = openings[-1][0]
    closing = {"<unused94>": "<unused95>", "<|channel>thought": "<channel|>"}.get(marker.lower())
    if closing is None:
        # Markers are closed in two ways: <|begin_of_thought|> by <|end_of_thought|>, and <think> by </think>.
        end = re.sub("(?i)start|begin", lambda found: "END" if found[0].isupper() else "end", marker)
        closing = end if end != marker else re.sub(r"^([<\[◁]\|?)", r"\1/", marker)
    return f"{prompt}\n{closing}\n\n"


class FoundLabel(NamedTuple):
    """Label in a text, with the position of its first character."""

    label: str
    position: int


def find_visible_answer(text: str) -> tuple[int, int]:
    """Find the start and end of the answer proper: the text after all thoughts, or before those at the end.

    Everything up to the last closing marker is thought, with or without an opening marker. An opening marker without a
    closing one begins thoughts that were cut. Of the channels of gpt-oss, only `final` is the answer.

    >>> text = "All nouns match.</think> Yes"
    >>> text[slice(*find_visible_answer(text))]
    ' Yes'
    """
    channels = list(_CHANNEL.finditer(text))
    if channels:
        last = channels[-1]
        # The response was cut before its answer.
        if "final" not in (last[1], last[2]):
            return len(text), len(text)
        ending = _CHANNEL_END.search(text, last.end())
        return last.end(), ending.start() if ending else len(text)
    start = max((closing.end() for closing in _CLOSING.finditer(text)), default=0)
    opening = _OPENING.search(text)
    if start and opening and not text[start:].strip() and text[: opening.start()].strip():
        return 0, opening.start()  # thoughts after the answer
    again = _OPENING.search(text, start)
    end = again.start() if again else len(text)
    if responses := list(_RESPONSE.finditer(text, start, end)):
        start = responses[-1].end()
        closing = _RESPONSE_END.search(text, start, end)
        end = closing.start() if closing else end
    return start, end


def find_label(text: str, label_words: Words = DEFAULT_WORDS) -> FoundLabel | None:
    r"""Find the label of a response, with its position in the text. Return None without a clear label.

    The last statement such as "Answer: …", "Verdict: …" or `\boxed{…}` decides. Otherwise, the label begins the
    response, as a word of its own, or is the whole last sentence. A word inside a sentence ("There is no way to tell")
    and a list of the labels ("Yes or No?") do not count.
    """
    text = text[:_LONGEST]
    start, end = find_visible_answer(text)
    phrases = _Phrases(label_words)
    # Folded characters and removed lists keep their length, so that positions stay valid.
    answer = phrases.remove_lists(_fold(_shorten_runs(text[start:end])))
    found = _find_in_answer(answer, phrases)
    if found is None:
        return None
    position = start + found.position
    # The position in the text with shortened runs is converted to that in the original text.
    for run in _RUN.finditer(text, start, end):
        if run.start() + _RUN_LENGTH > position:
            break
        position += len(run[0]) - _RUN_LENGTH
    return found._replace(position=position)


def parse_label(text: str, label_words: Words = DEFAULT_WORDS) -> str | None:
    """Extract the label from a response as `find_label` does. Return None if the response has no clear label.

    >>> parse_label("**Yes**, since a dog is an animal."), parse_label("Let us see. The answer is: maybe.")
    ('entailment', 'neutral')
    >>> parse_label("There is no way to tell.")
    >>> parse_label("Not supported.", {"entailment": ("supported",), "not_entailment": ("unsupported",)})
    'not_entailment'
    >>> parse_label("Yes or no? No.")
    'contradiction'
    """
    found = find_label(text, label_words)
    return None if found is None else found.label


def parse_json_label(text: str, field: str, label_words: Words) -> str | None:
    r"""Extract the label from a JSON object in a response. Return None if `field` contains no known label.

    Thoughts, and text or code fences around the object, are ignored. The last object with the field decides. The field
    may be nested and in another case. Booleans and the numbers 1 and 0 stand for the words true and false, yes and no.

    >>> parse_json_label('{"verdict": "Yes"}', "verdict", DEFAULT_WORDS)
    'entailment'
    >>> words = {"entailment": ("true",), "not_entailment": ("false",)}
    >>> parse_json_label('```json\n{"Supported": true}\n``` (see {a})', "supported", words)
    'entailment'
    """
    text = text[:_LONGEST]
    answer = _shorten_runs(text[slice(*find_visible_answer(text))])
    phrases = _Phrases(label_words)
    key = _normalize_field(field)
    # A model without a stop sequence may continue with the next example.
    for text in dict.fromkeys((_RESTATED.split(answer)[0], answer)):
        if values := [value for content in _iter_objects(text) if (value := _find_values(content, key))]:
            break
    else:
        # Without structured outputs, some models write the field or the word alone, or an object that is no JSON.
        pattern = rf"(?<!\w){re.escape(field)}[\"'”*_`]*\s*[:=]\s*(?:/\*.*?\*/\s*)?"
        if "{" not in answer:
            alone = re.match(rf"(?i)\W*{pattern}(.+)", answer)
            return _label_of_value(alone[1] if alone else answer.strip(), field, phrases)
        values = [re.findall(rf"(?i){pattern}(\"[^\"\n]*\"|'[^'\n]*'|[\w.]+)", answer)]
    labels = {_label_of_value(value, field, phrases) for value in values[-1]}
    return labels.pop() if len(labels) == 1 else None


class _Phrases:
    """Words and names of the labels, longest first."""

    def __init__(self, words: Words) -> None:
        listed = [(word, label) for label, each in words.items() for word in each]
        names = [(form, label) for label in words for form in (label, label.replace("_", " "))]
        # JSON values are often written as names: NotSupported.
        joined = [(re.sub(r"(?<=\w)[ _](?=\w)", "", form), label) for form, label in (*names, *listed)]
        self.label_of = {_fold(form): label for form, label in (*joined, *names, *listed)}
        self.labels = tuple(words)
        self.phrases = sorted(self.label_of, key=len, reverse=True)
        self.has_numbers = any(phrase[:1].isnumeric() for phrase in self.phrases)
        one = "|".join(re.escape(phrase) for phrase in self.phrases)
        mark = r"[\s*_\"'`“”‘’「」『』【】()]*"
        self._list = re.compile(
            rf"(?<![^\W_]){mark}(?:{one})(?:{mark}(?:[,、/|]\s*(?:or\b)?|\bor\b|\band\b|\bvs\b\.?|或者?|还是|またはか?){mark}"
            rf"(?:{one})(?![^\W_]))+{mark}[?？]?"
        )
        self._score = re.compile(rf"(?<![^\W_])({one})(?![^\W_]){mark}(?:([:=])|[–—-])?{mark}\d+(?:[.,/]\d+|\s*%)")

    def remove_lists(self, text: str) -> str:
        """Replace lists of different labels ("Yes, No or Maybe?") and scores by line breaks of the same length."""
        text = self._list.sub(lambda found: "\n" * len(found[0]), text)
        scored = [] if self.has_numbers else list(self._score.finditer(text))
        # A single number in parentheses is the confidence of the answer.
        if len({self.label_of[each[1]] for each in scored}) > 1 or any(each[2] for each in scored):
            text = self._score.sub(lambda found: "\n" * len(found[0]), text)
        return text

    def match(self, text: str, position: int, *, whole: bool = False) -> FoundLabel | None:
        """Match a label that is a word of its own at a position: nothing follows that continues the sentence.

        If `whole`, only punctuation may follow.
        """
        for phrase in self.phrases:
            if text.startswith(phrase, position) and _is_separate(text, position + len(phrase), phrase, whole=whole):
                label = self._answer_of(self.label_of[phrase], text[position + len(phrase) :])
                return None if label is None else FoundLabel(label, position)
        name = re.compile(r"[^\W\d]+(?:[ -][^\W\d]+)?").match(text, position)
        for form in (name[0], re.split("[ -]", name[0])[0]) if name else ():
            try:
                label = resolve_label(form)
            except LabelError:
                continue
            if label in self.labels and _is_separate(text, position + len(form), form, whole=whole):
                return FoundLabel(label, position)
        negation = _NEGATION.match(text, position)
        if negation and (found := self.match(text, negation.end(), whole=whole)):
            label = self.negate(found.label)
            return None if label is None else FoundLabel(label, position)
        return None

    def negate(self, label: str) -> str | None:
        """Get the other label of two. Return None for three labels."""
        return next(other for other in self.labels if other != label) if len(self.labels) == 2 else None

    def _answer_of(self, label: str, rest: str) -> str | None:
        """Apply a truth value after the label ("Supported: no")."""
        value = _VALUE.match(rest)
        if value is None or value[1] in self.label_of:
            return label
        return label if value[1] in _TRUE else self.negate(label)


def _shorten_runs(text: str) -> str:
    """Shorten runs of spaces and punctuation, with which a model may fill thousands of tokens."""
    return _RUN.sub(lambda run: run[0][:_RUN_LENGTH], text)


def _fold(text: str) -> str:
    """Fold case and width of each character that stays one character, so that positions do not change."""
    folded = (unicodedata.normalize("NFKC", each).casefold() for each in text)
    return "".join(new if len(new) == 1 else old for new, old in zip(folded, text, strict=True))


def _is_separate(text: str, end: int, phrase: str, *, whole: bool) -> bool:
    """Check whether a phrase that ends at a position is a word, and does not begin a sentence of its own."""
    rest = text[end:]
    source = _SOURCE.match(rest)
    if whole:
        return not re.search(r"[^\W_]", rest[source.end() :] if source else rest)
    if phrase[-1:].isnumeric() and re.match(r"[.,/]\d|\s*[%/]", rest):
        return False  # 1.5, 1/5, 1 %
    if (
        phrase.isdecimal()
        and re.match(r"[.)]\s", rest)
        and (item := re.search(r"\n\s*(\d+)[.)]\s", rest))
        and int(item[1]) == int(phrase) + 1
    ):
        return False  # a numbered list
    if not rest or rest[0] in "\n" or source:
        return True
    # 的 follows an adjective, as in 正确的.
    if rest[0] == "的" or (rest[0] in "-_" and not re.match(r"[-_]\w", rest)):
        return True
    if rest[0].isalnum() or unicodedata.category(rest[0])[0] == "M" or rest[0] in "-_":
        return False
    if re.match(r"[\s*_\"'`”’]+(?:because|since)\b", rest):
        return True
    # A space before another word continues a sentence: "Supported claims need a match".
    return not re.match(r"[ \t]+[*_\"'`“(\[]*[^\W_]", rest) or rest.lstrip(" \t")[:1] in "(["


def _find_in_answer(answer: str, phrases: _Phrases) -> FoundLabel | None:
    first = _skip_markup(answer, 0, phrases)
    begun = phrases.match(answer, first)
    # A model without a stop sequence may continue with the next example.
    if begun and (restated := _RESTATED.search(answer)):
        answer = answer[: restated.start()]
    if stated := [each for each in _STRONG.finditer(answer) if re.search(r"[^\W_]", answer[each.end() :])]:
        return phrases.match(answer, _skip_markup(answer, stated[-1].end(), phrases))
    for statement in reversed(list(_WEAK.finditer(answer))):
        if found := phrases.match(answer, _skip_markup(answer, statement.end(), phrases)):
            return found
    sentences = [each for each in re.finditer(r"[^\n.!?。！？]+", answer) if re.search(r"[^\W_]", each[0])]
    last = None
    if sentences:
        subject = _SENTENCE.match(answer, sentences[-1].start())
        start = subject.end() if subject else sentences[-1].start()
        last = phrases.match(answer[: sentences[-1].end()], _skip_markup(answer, start, phrases), whole=True)
    # The response contradicts itself.
    if begun and last and begun.label != last.label:
        return None
    return begun or last


def _skip_markup(text: str, position: int, phrases: _Phrases) -> int:
    """Skip markup, quotation marks and the number of a list before a label."""
    at = _MARKUP.match(text, position)
    position = at.end() if at else position
    if not phrases.has_numbers and (number := _NUMBERING.match(text, position)):
        return _skip_markup(text, number.end(), phrases)
    return position


def _iter_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Iterate over the outermost JSON objects in a text. Objects with the syntax of Python are read too."""
    if text.count("{") > _MOST_BRACES:
        return
    decoder, start = json.JSONDecoder(strict=False), text.find("{")  # texts may contain line breaks
    while start >= 0:
        end = start + 1
        try:
            content, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            content, closing = None, _find_closing_brace(text, start)
            if closing is not None:
                content = _parse_literal(text[start:closing])
                end = closing if isinstance(content, dict) else end
        if isinstance(content, dict):
            yield content
        start = text.find("{", end)


def _parse_literal(text: str) -> Any:
    """Parse an object with other quotes, `True`, a comment or a trailing comma. Return None if it is no literal."""
    names = {"true": "True", "false": "False", "null": "None"}
    source = re.sub(r"\b(?:true|false|null)\b", lambda found: names[found[0].lower()], text, flags=re.IGNORECASE)
    loose = re.sub(r"//.*", "", re.sub(r"[“”„]", '"', source.replace('\\"', '"')))
    for form in (source, re.sub(r"([{,]\s*)([^\W\d]\w*)\s*:", r'\1"\2":', loose)):
        with warnings.catch_warnings(), contextlib.suppress(*_LITERAL_ERRORS):
            warnings.simplefilter("ignore")  # about escapes that Python does not know
            return ast.literal_eval(form)
    return None


_LITERAL_ERRORS: Final = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def _find_closing_brace(text: str, start: int) -> int | None:
    depth = 0
    for place in re.finditer(r"[{}]", text[start : start + 10_000]):
        depth += 1 if place[0] == "{" else -1
        if not depth:
            return start + place.end()
    return None


def _normalize_field(name: object) -> str:
    return re.sub(r"[\s_-]", "", str(name)).casefold()


def _find_values(content: Any, key: str) -> list[Any]:
    """Find the values of a key at the least depth at which it occurs."""
    level = [content]
    for _ in range(20):
        mappings = [each for each in level if isinstance(each, dict)]
        if values := [value for each in mappings for name, value in each.items() if _normalize_field(name) == key]:
            return values
        level = [value for each in mappings for value in each.values()]
        level += [value for each in level if isinstance(each, list) for value in each]
        if not level:
            break
    return []


def _label_of_value(value: Any, field: str, phrases: _Phrases) -> str | None:
    """Map a JSON value to a label: by a word, or by its truth value."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        exact = {
            label
            for each in parts
            if not isinstance(each, dict | list) and (label := _label_of_word(_text_of(each), field, phrases))
        }
        return exact.pop() if len(exact) == 1 else None
    text = _text_of(value)
    if (label := _label_of_word(text, field, phrases)) is not None:
        return label
    found = _find_in_answer(phrases.remove_lists(_fold(text)), phrases)
    return None if found is None else found.label


def _text_of(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _label_of_word(text: str, field: str, phrases: _Phrases) -> str | None:
    """Map a whole text to a label: a word, or a truth value that stands for a word or for the field's name."""
    word = re.sub(r"\.0+$", "", _fold(text).strip(" \t\n.\"'`*“”"))
    if word in phrases.label_of:
        return phrases.label_of[word]
    same = next((group for group in (_TRUE, _FALSE) if word in group), None)
    if same is None:
        return None
    alike = {label for phrase, label in phrases.label_of.items() if phrase in same}
    if len(alike) == 1:
        return alike.pop()
    named = {label for phrase, label in phrases.label_of.items() if _normalize_field(phrase) == _normalize_field(field)}
    if alike or len(named) != 1:
        return None
    label = named.pop()
    return label if same is _TRUE else phrases.negate(label)


def compute_label_probabilities(
    top_logprobs: Sequence[tuple[str, float]], label_words: Words = DEFAULT_WORDS
) -> list[float] | None:
    """Compute label probabilities from the most likely first tokens of a response and their log-probabilities.

    A token counts for the label of which it begins a word, in any case and with spaces before it (` Yes`, `yes`, `Y`).
    Tokens outside the list count as 0. The probabilities are then normalized to sum to 1.

    Returns:
        One number per label in the order of `label_words`, or None if the labels' words have less than `LEAST_MASS`.

    >>> top = [("Yes", math.log(0.6)), (" no", math.log(0.2)), ("The", math.log(0.2))]
    >>> [round(share, 6) for share in compute_label_probabilities(top)]
    [0.75, 0.0, 0.25]
    """
    mass: dict[str, list[float]] = {label: [] for label in label_words}
    for token, log in top_logprobs:
        start = token.strip().casefold()
        candidates = [
            label
            for label, listed in label_words.items()
            if start and any(w.casefold().startswith(start) for w in listed)
        ]
        if len(candidates) == 1:
            mass[candidates[0]].append(math.exp(min(log, 0.0)))  # rounding may make it positive
    # fsum rounds once, so that the order of the tokens does not matter.
    shares = [math.fsum(each) for each in mass.values()]
    total = math.fsum(shares)
    return [share / total for share in shares] if total >= LEAST_MASS else None


def find_answer_token(tokens: Sequence[str], text: str, words: Words, field: str | None = None) -> int | None:
    """Find the index of the token with which the label begins. Return None if there is none.

    Tokens may include thoughts that the text does not. A JSON response holds the label in `field`.

    >>> find_answer_token(['{"', "verdict", '":', ' "', "Yes", '"}'], '{"verdict": "Yes"}', DEFAULT_WORDS, "verdict")
    4
    >>> find_answer_token(["No", " verb", ".", "</think>", "Yes"], "No verb.</think>Yes", DEFAULT_WORDS)
    4
    """
    joined = "".join(tokens)
    visible = text[slice(*find_visible_answer(text))]
    # Thoughts may contain the text of the answer too, so the last occurrence counts.
    offset = joined.rfind(visible.strip()) if visible.strip() else -1
    if offset < 0:
        return None
    if field is None:
        found = find_label(joined[offset:], words)
        places = [] if found is None else [found.position]
    else:
        pattern = re.compile(rf"[\"']?{re.escape(field)}[\"']?\s*[:=]\s*[\"']?(?=\S)", re.IGNORECASE)
        places = [match.end() for match in pattern.finditer(joined, offset)]
        offset = 0
    if not places:
        return None
    # The last statement or field decides, as in `find_label` and `parse_json_label`.
    target, end = offset + places[-1], 0
    for index, token in enumerate(tokens):
        end += len(token)
        if end > target:
            return index
    return None
