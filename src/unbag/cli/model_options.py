"""Options of the commands that evaluate a model: loading, labels, baselines, language models."""

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
from unbag.cli.typer_utils import split_commas

if TYPE_CHECKING:
    from unbag.inference.llm.endpoint import EndpointUsage

# Copies of the types in `unbag.inference.transformer`, which imports torch. A test compares both.
Dtype = Literal["float32", "bfloat16", "float16"]
Head = Literal["plain", "residual"]
LongPremise = Literal["truncate", "any-chunk", "every-sentence"]

_PANEL: Final = "Baselines"
_BUILT_IN: Final = "Built-in models (lexical, hypothesis-only, majority)"
_LANGUAGE_MODELS: Final = "Language models (causal:…, endpoint:…)"
LabelMap = Annotated[
    list[str] | None,
    typer.Option(callback=split_commas, help="Labels of the model outputs in order, comma-separated or repeated."),
]
Lexical = Annotated[
    bool,
    typer.Option(
        "--lexical-baseline/--no-lexical-baseline",
        rich_help_panel=_PANEL,
        envvar="UNBAG_LEXICAL_BASELINE",
        show_default=False,
        help="Compare scores with a bag-of-words baseline (default: on).",
    ),
]

Shuffled = Annotated[
    bool,
    typer.Option(
        "--shuffled/--no-shuffled",
        rich_help_panel=_PANEL,
        show_default=False,
        help="Compare with the scores of the same model on shuffled words (default: on).",
    ),
]


@dataclass(frozen=True)
class ModelOptions:
    """Options for loading and running models; see `options.with_shared_options`."""

    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of the model.")] = None
    dtype: Annotated[
        Dtype | None,
        typer.Option(metavar="DTYPE", help="Floating-point type: float32, bfloat16 or float16 (default: float32)."),
    ] = None
    device: Annotated[str | None, typer.Option(help="Torch device, such as cuda:1 (default: a GPU if available).")] = (
        None
    )
    head: Annotated[
        Head | None,
        typer.Option(
            metavar="HEAD", help="Head of a HEX model: plain, or residual as in the HEX paper (default: plain)."
        ),
    ] = None
    label_map: LabelMap = None
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="PROBABILITY",
            help="Entailment threshold, or break-even (as many entailments as in the gold labels).",
        ),
    ] = None
    long_premise: Annotated[
        LongPremise | None,
        typer.Option(
            metavar="MODE",
            help="Handling of long premises: truncate (default), any-chunk or every-sentence.",
        ),
    ] = None
    trust_remote_code: Annotated[
        bool,
        typer.Option(
            "--trust-remote-code",
            callback=config_file.require_confirmation,
            help="Run Python code from the model repository; recorded in results (default: off).",
        ),
    ] = False
    model_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Exported model file, such as onnx/model.onnx (default: the only such file)."
        ),
    ] = None
    trust_labels: Annotated[
        bool,
        typer.Option("--trust-labels", help="Continue even if a check on obvious pairs suggests another label order."),
    ] = False
    lexical_baseline: Lexical = True
    shuffled: Shuffled = True
    offline: Offline = False
    train_data: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_BUILT_IN,
            callback=split_commas,
            autocompletion=typer_utils.complete_corpora,
            help="Training corpora or files of the built-in models (default: snli,mnli).",
        ),
    ] = None
    num_fewshot: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=_LANGUAGE_MODELS, help="Number of few-shot examples in the prompt: 0, 3 or 6 (default: 0)."
        ),
    ] = None
    prompt: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_LANGUAGE_MODELS,
            callback=split_commas,
            metavar="FILE",
            help="Files with Jinja prompt templates; each file is evaluated separately.",
        ),
    ] = None
    apply_chat_template: Annotated[
        bool | None,
        typer.Option(
            "--apply-chat-template/--no-apply-chat-template",
            rich_help_panel=_LANGUAGE_MODELS,
            help="Causal models: apply the chat template (default: if the tokenizer has one).",
        ),
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_LANGUAGE_MODELS,
            help="Endpoint URL, ending in /v1, /predict, /rerank, /classify or /score.",
        ),
    ] = None
    separator: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_LANGUAGE_MODELS,
            help="Endpoints: text between premise and hypothesis for /classify.",
        ),
    ] = None
    concurrency: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=_LANGUAGE_MODELS,
            help="Endpoints: number of concurrent requests (default: 8).",
        ),
    ] = None
    price_in: Annotated[
        float | None,
        typer.Option(
            metavar="PRICE", min=0, rich_help_panel=_LANGUAGE_MODELS, help="Endpoints: price per million input tokens."
        ),
    ] = None
    price_out: Annotated[
        float | None,
        typer.Option(
            metavar="PRICE", min=0, rich_help_panel=_LANGUAGE_MODELS, help="Endpoints: price per million output tokens."
        ),
    ] = None

    def build_loading_options(self) -> dict[str, Any]:
        """Build the options for loading a model (`unbag.evaluation.model_loading.load_predictor`)."""
        return {
            "revision": self.revision,
            "dtype": self.dtype,
            "device": self.device,
            "head": self.head,
            "label_map": parse_label_names(self.label_map),
            "threshold": self.threshold,
            "long_premise": self.long_premise,
            "trust_remote_code": self.trust_remote_code or None,
            "model_file": self.model_file,
            "train_data": tuple(self.train_data) if self.train_data else None,
            "num_fewshot": self.num_fewshot,
            "prompt": tuple(self.prompt) if self.prompt else None,
            "apply_chat_template": self.apply_chat_template,
            "base_url": self.base_url,
            "separator": self.separator,
            "concurrency": self.concurrency,
        }

    def validate(self, models: Sequence[str]) -> None:
        """Validate the options against the models, before the run starts.

        Raises:
            typer.BadParameter: If a model is the name of a challenge set or a corpus, if `--offline` is given with an
                endpoint, or if `--train-data` is given without a built-in model.
        """
        from unbag import challenge_sets
        from unbag.data.corpora import CORPORA
        from unbag.evaluation.model_loading import BUILT_IN, ENDPOINT, find_model_type

        # `--sets plain swapped` parses "swapped" as a model.
        for kind, option, names in (
            ("challenge set", "--sets", challenge_sets.list_set_names()),
            ("corpus", "--corpus", list(CORPORA)),
        ):
            if misplaced := [model for model in models if model in names and not Path(model).exists()]:
                raise typer.BadParameter(
                    f"MODEL: expected a model, got {', '.join(misplaced)} ({kind}); separate the values of {option} "
                    f"with commas: {option} {names[0]},{names[1]}"
                )
        if self.offline and not _is_local_address(self.base_url):
            for model in models:
                if find_model_type(model) is ENDPOINT:
                    raise typer.BadParameter(
                        f"{model}: expected a local model with --offline, got an endpoint; remove one of them"
                    )
        if self.train_data and not any(find_model_type(model) is BUILT_IN for model in models):
            raise typer.BadParameter(
                f"--train-data: expected the model {BUILT_IN.name_form}, got other models; use -o train_data=… for the "
                "set option"
            )

    @contextmanager
    def track_endpoint_usage(self, models: Sequence[str]) -> Iterator["EndpointUsage | None"]:
        """Track the tokens and costs of endpoints, and print them at the end, even after an error.

        Yields None if no model is an endpoint.
        """
        from unbag.evaluation.model_loading import ENDPOINT, find_model_type

        if not any(find_model_type(model) is ENDPOINT for model in models):
            if self.price_in is not None or self.price_out is not None:
                raise typer.BadParameter(
                    "--price-in, --price-out: expected a model endpoint:NAME, got none; remove the prices"
                )
            yield None
            return
        from unbag.inference.llm.endpoint import EndpointUsage

        spending = EndpointUsage(self.price_in, self.price_out)
        try:
            yield spending
        finally:
            echo(str(spending), err=True)


def build_disabled_baseline_options(lexical_baseline: bool, shuffled: bool = True) -> dict[str, Any]:
    """Build the options that record in the name of the run folder which baselines are disabled."""
    enabled = {"lexical_baseline": lexical_baseline, "shuffled": shuffled}
    return {name: False for name, is_on in enabled.items() if not is_on}


def parse_label_names(label_map: list[str] | None) -> dict[str, str] | None:
    """Parse the values of `--label-map`."""
    from unbag.data.labels import parse_label_map

    return None if label_map is None else parse_label_map(",".join(label_map))


def _is_local_address(address: str | None) -> bool:
    host = urlsplit(address or "").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
