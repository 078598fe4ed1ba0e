"""Options of the commands that evaluate a model: loading, labels, baselines, language models."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, make_dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from unbag.cli import config_file, typer_utils
from unbag.cli.options import Offline
from unbag.cli.output import echo
from unbag.cli.typer_utils import build_declared_option
from unbag.inference.options import MODEL_OPTIONS, BuiltInKwargs, ClassifierKwargs
from unbag.utils.options import format_flag, parse_options

if TYPE_CHECKING:
    from unbag.inference.llm.client import EndpointUsage

_baseline_option = partial(typer.Option, rich_help_panel="Baselines", show_default=False)
_BUILT_IN: Final = "Built-in models (lexical, hypothesis-only, majority)"
_LANGUAGE_MODELS: Final = "Language models (causal:…, endpoint:…)"
_price_option = partial(typer.Option, metavar="PRICE", min=0, rich_help_panel=_LANGUAGE_MODELS)
# What only the command line has, in addition to the declaration of an option.
_CLI_SETTINGS: Final[Mapping[str, dict[str, Any]]] = {
    "trust_remote_code": {"callback": config_file.require_confirmation},
    "train_data": {"autocompletion": typer_utils.complete_corpora},
}


def build_cli_option(name: str) -> Any:
    """Build the annotated type of a CLI parameter from a model option that `inference.options` declares."""
    # The help lists an option in the panel of the only type of model that takes it.
    if name in ClassifierKwargs.__annotations__:
        panel = None
    else:
        panel = _BUILT_IN if name in BuiltInKwargs.__annotations__ else _LANGUAGE_MODELS
    return build_declared_option(MODEL_OPTIONS, name, rich_help_panel=panel, **_CLI_SETTINGS.get(name, {}))


LabelMap: Any = build_cli_option("label_map")
ModelFile: Any = build_cli_option("model_file")
Revision: Any = build_cli_option("revision")
lexical_option = partial(_baseline_option, "--lexical-baseline/--no-lexical-baseline", envvar="UNBAG_LEXICAL_BASELINE")
Lexical = Annotated[bool, lexical_option(help="Compare scores with a bag-of-words baseline (default: on).")]

_LoadingOptions: Any = make_dataclass(
    "_LoadingOptions", [(name, build_cli_option(name), None) for name in MODEL_OPTIONS], frozen=True
)


@dataclass(frozen=True)
class ModelOptions(_LoadingOptions):
    """Options for loading and running models: those in `inference.options`, and those that only the CLI has."""

    trust_labels: Annotated[
        bool,
        typer.Option("--trust-labels", help="Continue even if a check on obvious pairs suggests another label order."),
    ] = False
    lexical_baseline: Lexical = True
    shuffled: Annotated[
        bool,
        _baseline_option(
            "--shuffled/--no-shuffled",
            help="Compare with the scores of the same model on shuffled words (default: on).",
        ),
    ] = True
    offline: Offline = False
    price_in: Annotated[float | None, _price_option(help="Endpoints: price per million input tokens.")] = None
    price_out: Annotated[float | None, _price_option(help="Endpoints: price per million output tokens.")] = None

    @cached_property
    def loading_options(self) -> dict[str, Any]:
        """Given options of models, parsed for `unbag.evaluation.model_loading.load_predictor`."""
        return parse_options(MODEL_OPTIONS, {name: getattr(self, name) for name in MODEL_OPTIONS}, format_flag)

    @property
    def disabled_baselines(self) -> dict[str, bool]:
        """Baselines that are off, as options, which become part of the name of the run folder."""
        return {name: False for name in ("lexical_baseline", "shuffled") if not getattr(self, name)}

    def validate(self, models: Sequence[str]) -> None:
        """Validate that the options are compatible with the given models, before the run starts."""
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
        host = urlsplit(self.base_url or "").hostname or ""
        is_local = host in ("localhost", "::1") or host.startswith("127.")
        endpoints = [model for model in models if find_model_type(model) is ENDPOINT]
        if endpoints and self.offline and not is_local:
            raise typer.BadParameter(
                f"{endpoints[0]}: expected a local model with --offline, got an endpoint; remove one of them"
            )
        if self.train_data and not any(find_model_type(model) is BUILT_IN for model in models):
            raise typer.BadParameter(
                f"--train-data: expected the model {BUILT_IN.name_form}, got other models; to set the option "
                "train_data of a challenge set, use -o train_data=…"
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
        from unbag.inference.llm.client import EndpointUsage

        spending = EndpointUsage(self.price_in, self.price_out)
        try:
            yield spending
        finally:
            echo(str(spending), err=True)
