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

For models that run locally (`causal:`), `words` may have words for entailment alone, whose logit is then the score,
`tokens` has the id of a token for each label instead of words, and `raw: true` makes the rendered template the whole
input: without a chat template, and white space at its end is kept (except the last line break). In these three cases,
a label is scored by the logit of the first token of its word, as for yes/no rerankers. `RECIPES` are prompts of
published models.
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

from unbag.data.labels import ENTAILMENT, LABEL_SPACES, TWO_WAY, LabelError, find_label_space, resolve_label
from unbag.inference.llm.prompts import DEFAULT_WORDS, DefaultPrompt, Messages, Words
from unbag.utils.redaction import extract_first_line
from unbag.utils.safe_io import validate_file

_FENCE: Final = "---\n"
_SIDES: Final = frozenset({"premise", "hypothesis"})
_LARGEST: Final = 1 << 20  # bytes
_EXPRESSION_ERRORS: Final = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)  # of a template
_FIELDS: Final = ("words", "json", "system", "tokens", "raw")
_RECIPES_FOLDER: Final = Path(__file__).parent / "recipes"
RECIPES: Final = ("qwen3-reranker", "bge-reranker-gemma", "minicheck-t5", "monot5")
"""Names of the prompts in the package, each for the models whose card documents it."""


class PromptError(ValueError):
    """Error for an invalid prompt file."""


@dataclass(frozen=True)
class PromptFile:
    """Prompt defined by a template file."""

    template: jinja2.Template  # with the variables `premise` and `hypothesis`
    words: Words  # words for each label of a label space
    json_field: str | None  # field of the JSON answer that holds the word; None for answers as text
    system: str  # text of the system turn; empty for none
    sha256: str
    num_fewshot: int = 0
    tokens: Mapping[str, int] | None = None  # token id for each label in place of a word
    is_raw: bool = False  # whether the rendered template is the whole input of the model

    @classmethod
    def load(cls, path: str | Path, *, option: str = "--prompt") -> "PromptFile":
        """Load a prompt from a file, or by its name in `RECIPES`. Errors name the option that the user passed."""
        if str(path) in RECIPES and not Path(path).exists():
            path = _RECIPES_FOLDER / f"{path}.jinja"
        try:
            source = validate_file(Path(path), max_bytes=_LARGEST).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise PromptError(
                f"{option}: expected a readable template, or one of {', '.join(RECIPES)}, got {path} "
                f"({extract_first_line(error)})"
            ) from None
        head, body = "", source.replace("\r\n", "\n")
        if body.startswith(_FENCE):
            head, _, body = body.removeprefix(_FENCE).partition(f"\n{_FENCE}")
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
                f"{', '.join(sorted(variables)) or 'none'}; "
                "write {{ premise }} and {{ hypothesis }}"
            )
        sha256 = hashlib.sha256(source.encode()).hexdigest()
        tokens = _parse_tokens(fields["tokens"], path) if "tokens" in fields else None
        words = DEFAULT_WORDS if "words" not in fields else _parse_words(fields["words"], path)
        if tokens is not None:
            words = {label: (f"token {number}",) for label, number in tokens.items()}
        return cls(
            template,
            words,
            json_field=str(fields["json"]) if fields.get("json") else None,
            system=str(fields.get("system", "")),
            sha256=sha256,
            tokens=tokens,
            is_raw=str(fields.get("raw", "false")).lower() == "true",
        )

    @property
    def scores_tokens(self) -> bool:
        """Whether a label is scored by the logit of one token, which requires a model in this process."""
        return self.is_raw or self.tokens is not None or len(self.words) == 1

    @property
    def label_space(self) -> tuple[str, ...]:
        """Labels that the model can choose from."""
        return TWO_WAY if tuple(self.words) == (ENTAILMENT,) else find_label_space(tuple(self.words))

    def build_text(self, premise: str, hypothesis: str) -> str:
        """Render the prompt as text that begins with the system text, if any."""
        body = self.template.render(premise=premise, hypothesis=hypothesis)
        if self.is_raw:
            return body
        return f"{self.system}\n\n{body.strip()}" if self.system else body.strip()

    def build_messages(self, premise: str, hypothesis: str) -> Messages:
        """Render the prompt as a list of chat messages."""
        body = self.template.render(premise=premise, hypothesis=hypothesis).strip()
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": body}]


def choose_prompt(
    path: str | Path | None, num_fewshot: int = 0, *, is_local: bool = False
) -> DefaultPrompt | PromptFile:
    """Load the prompt from a file or by its name in `RECIPES`, or build the default prompt with `num_fewshot` examples.

    `is_local` states whether the model runs in this process, so that the logits of its tokens can be read.
    """
    if path is None:
        return DefaultPrompt(num_fewshot)
    if num_fewshot:
        raise PromptError(
            f"--num-fewshot: cannot be combined with --prompt, got {num_fewshot}; write the examples in {path}"
        )
    prompt = PromptFile.load(path)
    if not is_local and prompt.scores_tokens:
        raise PromptError(
            f"--prompt: expected words for each label for a model behind an endpoint, got {path} with tokens, raw or "
            "one label; write words for each label, or run the model locally with causal:"
        )
    return prompt


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
    if tuple(parsed) != (ENTAILMENT,) and sorted(parsed) not in map(sorted, LABEL_SPACES):
        raise PromptError(f"{path}: expected words for each of {spaces}, got words for {', '.join(parsed)}")
    every = [word.casefold() for listed in parsed.values() for word in listed]
    if repeated := sorted({word for word in every if every.count(word) > 1}):
        raise PromptError(f"{path}: expected each word once, got {', '.join(repeated)} twice; choose other words")
    space = parsed if len(parsed) == 1 else find_label_space(tuple(parsed))
    return {label: parsed[label] for label in space}


def _parse_tokens(tokens: Any, path: str | Path) -> dict[str, int]:
    """Parse and validate the token id of each label."""
    if not isinstance(tokens, Mapping) or not all(str(number).isdecimal() for number in tokens.values()):
        raise PromptError(f"{path}: expected tokens with the id of a token for each label, got {tokens!r:.100}")
    words = _parse_words({label: str(number) for label, number in tokens.items()}, path)
    return {label: int(number) for label, (number,) in words.items()}
