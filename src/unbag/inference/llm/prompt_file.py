"""User-defined prompts: a Jinja template with premise and hypothesis, and the words for each label.

    ---
    words:
      entailment: [supported, yes]
      not_entailment: [unsupported, no]
    json: verdict
    system: You check facts.
    ---
    Document: {{ premise }}
    Claim: {{ hypothesis }}
    Answer with a JSON object whose "verdict" is "supported" or "unsupported".

The part between the lines `---` is YAML and may be absent. `words` has the words for each label of a label space
(default: Yes, Maybe, No); the first word is the one that a language model is scored by. `json` is the field of a JSON
object that holds the word (default: the answer is text). `system` is the text of a system turn (default: none).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jinja2
import yaml  # type: ignore[import-untyped]
from jinja2 import meta
from jinja2.sandbox import SandboxedEnvironment

from unbag.data.labels import LABEL_SPACES, LabelError, find_label_space, resolve_label
from unbag.inference.llm.prompts import DEFAULT_WORDS, DefaultPrompt, Messages, Words
from unbag.utils.redaction import extract_first_line
from unbag.utils.safe_io import validate_file

_FENCE: Final = "---\n"
_SIDES: Final = frozenset({"premise", "hypothesis"})
_LARGEST: Final = 1 << 20  # bytes
_EXPRESSION_ERRORS: Final = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)  # of a template
_FIELDS: Final = ("words", "json", "system")


class PromptError(ValueError):
    """Error for an invalid prompt file."""


@dataclass(frozen=True)
class PromptFile:
    """Prompt defined by a template file.

    Attributes:
        template: Jinja template with `premise` and `hypothesis`.
        words: Words for each label of a label space.
        json_field: Field of the JSON answer that holds the word; None for answers as text.
        system: Text of the system turn; empty for none.
        sha256: Hash of the file.
    """

    template: jinja2.Template
    words: Words
    json_field: str | None
    system: str
    sha256: str
    num_fewshot: int = 0

    @classmethod
    def load(cls, path: str | Path) -> "PromptFile":
        """Load a prompt from a file.

        Raises:
            PromptError: If the file cannot be read, its template lacks a sentence or uses another variable, or its head
                has another field, other labels, or a word for two labels.
        """
        try:
            source = validate_file(Path(path), max_bytes=_LARGEST).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise PromptError(
                f"--prompt: expected a readable template, got {path} ({extract_first_line(error)}); check the path"
            ) from None
        head, body = _split(source.replace("\r\n", "\n"))
        try:
            fields = yaml.load(head, Loader=yaml.BaseLoader) or {}  # BaseLoader makes text of `no`, not False
            environment = SandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)
            variables = meta.find_undeclared_variables(environment.parse(body))
            template = environment.from_string(body)
            if variables == _SIDES:
                template.render(premise="A dog runs.", hypothesis="It moves.")
        except (yaml.YAMLError, jinja2.TemplateError, *_EXPRESSION_ERRORS) as error:
            raise PromptError(
                f"{path}: expected a Jinja template after YAML front matter, got {extract_first_line(error)}"
            ) from None
        if not isinstance(fields, dict) or not set(fields) <= set(_FIELDS):
            raise PromptError(
                f"{path}: expected front matter with {', '.join(_FIELDS)}, got {fields!r:.100}; correct the front "
                "matter"
            )
        if variables != _SIDES:
            raise PromptError(
                f"{path}: expected a template with the variables premise and hypothesis, got "
                f"{', '.join(sorted(variables)) or 'none'}"
                "; write {{ premise }} and {{ hypothesis }}"
            )
        sha256 = hashlib.sha256(source.encode()).hexdigest()
        json_field = str(fields["json"]) if fields.get("json") else None
        words = DEFAULT_WORDS if "words" not in fields else _parse_words(fields["words"], path)
        return cls(template, words, json_field, str(fields.get("system", "")), sha256)

    @property
    def label_space(self) -> tuple[str, ...]:
        """Labels that the model can choose from."""
        return find_label_space(tuple(self.words))

    def build_text(self, premise: str, hypothesis: str) -> str:
        """Render the prompt as text that begins with the system text, if any."""
        body = self.template.render(premise=premise, hypothesis=hypothesis).strip()
        return f"{self.system}\n\n{body}" if self.system else body

    def build_messages(self, premise: str, hypothesis: str) -> Messages:
        """Render the prompt as a list of chat messages."""
        body = self.template.render(premise=premise, hypothesis=hypothesis).strip()
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": body}]


def choose_prompt(path: str | Path | None, num_fewshot: int = 0) -> DefaultPrompt | PromptFile:
    """Load the prompt from a file, or build the default prompt with `num_fewshot` examples.

    Raises:
        ValueError: If both are given, the file is no prompt, or the number is not one of `prompts.SHOTS`.
    """
    if path is None:
        return DefaultPrompt(num_fewshot)
    if num_fewshot:
        raise PromptError(
            f"--num-fewshot: cannot be combined with --prompt, got {num_fewshot}; write the examples in {path}"
        )
    return PromptFile.load(path)


def _split(source: str) -> tuple[str, str]:
    """Split a file into its head and its template."""
    if not source.startswith(_FENCE):
        return "", source
    head, _, body = source.removeprefix(_FENCE).partition(f"\n{_FENCE}")
    return head, body


def _parse_words(words: Any, path: str | Path) -> Words:
    """Parse and validate the words of each label."""
    spaces = "; or ".join(", ".join(space) for space in LABEL_SPACES)
    if not isinstance(words, Mapping):
        raise PromptError(f"{path}: expected words for each of {spaces}, got {words!r:.100}")
    parsed: dict[str, tuple[str, ...]] = {}
    for name, value in words.items():
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not listed or not all(isinstance(each, str) and each for each in listed):
            raise PromptError(f"{path}: expected one word or a list of words for {name}, got {value!r:.100}")
        try:
            parsed[resolve_label(str(name))] = tuple(listed)
        except LabelError as error:
            raise PromptError(f"{path}: {error}") from None
    if sorted(parsed) not in map(sorted, LABEL_SPACES):
        raise PromptError(f"{path}: expected words for each of {spaces}, got words for {', '.join(parsed)}")
    every = [word.casefold() for listed in parsed.values() for word in listed]
    if repeated := sorted({word for word in every if every.count(word) > 1}):
        raise PromptError(f"{path}: expected each word once, got {', '.join(repeated)} twice; choose other words")
    return {label: parsed[label] for label in find_label_space(tuple(parsed))}
