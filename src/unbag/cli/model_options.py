"""The options that say how a model is asked: the same for every command that evaluates one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import typer

from unbag.cli import config_file, typer_utils
from unbag.cli.options import Offline
from unbag.cli.output import echo
from unbag.cli.typer_utils import comma_separated

if TYPE_CHECKING:
    from unbag.inference.llm.endpoint import Spending

# As in `unbag.inference.transformer`, which is too heavy to import for a help page; a test holds them together.
Dtype = Literal["float32", "bfloat16", "float16"]
Head = Literal["plain", "residual"]
LongPremise = Literal["truncate", "any-chunk", "every-sentence"]

_BASELINES: Final = "For the built-in models (lexical, hypothesis-only, majority)"
_IN_WORDS: Final = "For language models (causal:…, endpoint:…)"
LabelMap = Annotated[
    list[str] | None,
    typer.Option(callback=comma_separated, help="The model's labels in output order, comma-separated or repeated."),
]
Lexical = Annotated[
    bool,
    typer.Option(
        "--lexical-baseline/--no-lexical-baseline",
        envvar="UNBAG_LEXICAL_BASELINE",
        help="Hold scores against a lexical model too (default), or against guessing alone.",
    ),
]

Shuffled = Annotated[
    bool,
    typer.Option(
        "--shuffled/--no-shuffled",
        help="Also ask the model the pairs with shuffled words, and hold scores against that (default).",
    ),
]


@dataclass(frozen=True)
class ModelOptions:
    """How models are asked; see `options.with_shared_options`."""

    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of the model.")] = None
    dtype: Annotated[Dtype | None, typer.Option(metavar="DTYPE", help="float32 (default), bfloat16 or float16.")] = None
    device: Annotated[str | None, typer.Option(help="As torch names it; by default a GPU if there is one.")] = None
    head: Annotated[
        Head | None,
        typer.Option(metavar="HEAD", help="plain (default), or residual: of a HEX model, F_L instead of f([h, 0])."),
    ] = None
    label_map: LabelMap = None
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Sigmoid of a single output from which on its label begins; or break-even.",
        ),
    ] = None
    long_premise: Annotated[
        LongPremise | None,
        typer.Option(
            metavar="MODE",
            help="Long documents: truncate (default), any-chunk or every-sentence.",
        ),
    ] = None
    trust_remote_code: Annotated[
        bool,
        typer.Option(
            "--trust-remote-code",
            callback=config_file.confirmed,
            help="Run the Python code that the model's repository brings (recorded; off by default).",
        ),
    ] = False
    trust_labels: Annotated[
        bool, typer.Option("--trust-labels", help="Continue even if another label order fits the model better.")
    ] = False
    lexical_baseline: Lexical = True
    shuffled: Shuffled = True
    offline: Offline = False
    train_data: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_BASELINES,
            callback=comma_separated,
            autocompletion=typer_utils.corpora,
            help="What they are fitted to: corpora or files, comma-separated or repeated (default: snli,mnli).",
        ),
    ] = None
    num_fewshot: Annotated[
        int | None,
        typer.Option(rich_help_panel=_IN_WORDS, help="Worked examples before each pair: 0 (default), 3 or 6."),
    ] = None
    apply_chat_template: Annotated[
        bool | None,
        typer.Option(
            "--apply-chat-template/--no-apply-chat-template",
            rich_help_panel=_IN_WORDS,
            help="causal: ask by the tokenizer's chat template (default: where it has one).",
        ),
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_IN_WORDS,
            help="endpoint: its address up to /v1. The key is read from OPENAI_API_KEY in the environment.",
        ),
    ] = None
    concurrency: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=_IN_WORDS, help="endpoint: requests at a time (default: 8).")
    ] = None
    price_in: Annotated[
        float | None,
        typer.Option(min=0, rich_help_panel=_IN_WORDS, help="endpoint: price of a million tokens of questions."),
    ] = None
    price_out: Annotated[
        float | None,
        typer.Option(min=0, rich_help_panel=_IN_WORDS, help="endpoint: price of a million tokens of answers."),
    ] = None

    def of_model(self) -> dict[str, Any]:
        """Return those that a model is made with (`unbag.evaluation.model_loading.predictor_of`)."""
        return {
            "revision": self.revision,
            "dtype": self.dtype,
            "device": self.device,
            "head": self.head,
            "label_map": parsed(self.label_map),
            "threshold": self.threshold,
            "long_premise": self.long_premise,
            "trust_remote_code": self.trust_remote_code or None,
            "train_data": tuple(self.train_data) if self.train_data else None,
            "num_fewshot": self.num_fewshot,
            "apply_chat_template": self.apply_chat_template,
            "base_url": self.base_url,
            "concurrency": self.concurrency,
        }

    def check(self, models: Sequence[str]) -> None:
        """Refuse what some models cannot be asked with, before anything is computed.

        Raises:
            typer.BadParameter: if a model is a challenge set or a corpus, or asked over the network while offline, or
                `train_data` is for none of them.
        """
        from unbag import challenge_sets
        from unbag.data.corpora import CORPORA
        from unbag.evaluation.model_loading import BUILT_IN, ENDPOINT, kind_of

        for what, option, known in (
            ("challenge set", "--sets", challenge_sets.names()),
            ("corpus", "--corpus", list(CORPORA)),
        ):
            if found := [model for model in models if model in known and not Path(model).exists()]:
                raise typer.BadParameter(
                    f"expected a model, found {', '.join(found)}, a {what}; several are given with commas between "
                    f"them, such as {option} {known[0]},{known[1]}"
                )
        if self.offline and not _is_of_this_machine(self.base_url):
            for model in models:
                if kind_of(model) is ENDPOINT:
                    raise typer.BadParameter(
                        f"{model} is asked over the network, which --offline keeps from; leave one out"
                    )
        if self.train_data and not any(kind_of(model) is BUILT_IN for model in models):
            raise typer.BadParameter(f"--train-data is for {BUILT_IN.named}; an option of a set is -o train_data=…")

    @contextmanager
    def spending(self, models: Sequence[str]) -> Iterator["Spending | None"]:
        """Give where to count what endpoints cost, and show it at the end, however that comes; None without any."""
        from unbag.evaluation.model_loading import ENDPOINT, kind_of

        if not any(kind_of(model) is ENDPOINT for model in models):
            if self.price_in is not None or self.price_out is not None:
                raise typer.BadParameter("a price is for a model behind an endpoint (endpoint:NAME)")
            yield None
            return
        from unbag.inference.llm.endpoint import Spending

        spending = Spending(self.price_in, self.price_out)
        try:
            yield spending
        finally:
            echo(str(spending), err=True)


def in_folder_name(lexical_baseline: bool, shuffled: bool = True) -> dict[str, Any]:
    """Return what a run's folder is called by beside the models' own options: the baselines that are not asked."""
    return {
        name: False for name, asked in (("lexical_baseline", lexical_baseline), ("shuffled", shuffled)) if not asked
    }


def parsed(label_map: list[str] | None) -> dict[str, str] | None:
    """Return a label map from its parts."""
    from unbag.data.labels import parse_label_map

    return None if label_map is None else parse_label_map(",".join(label_map))


def _is_of_this_machine(address: str | None) -> bool:
    host = urlsplit(address or "").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
