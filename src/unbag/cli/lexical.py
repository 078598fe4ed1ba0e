"""The commands `unbag lexical fit` and `unbag lexical score`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from unbag.cli.options import App, NumProc
from unbag.cli.output import AsJson, create_cli_console, echo, print_json
from unbag.cli.typer_utils import corpora_option, folder_option

app = App(
    no_args_is_help=True,
    help="Fit a lexical model (a bag of words) or score a pair with it.",
)
TrainData = Annotated[
    list[str] | None, corpora_option(help="Corpora (train splits) or files, comma-separated (default: snli,mnli).")
]
Pipeline = Annotated[
    str | None,
    typer.Option(help="spaCy pipeline to select content words, or all (default: spacy/en_core_web_sm)."),
]


@app.command()
def fit(
    output_dir: Annotated[Path, folder_option(help="Folder for the weights and config of the model.")],
    train_data: TrainData = None,
    pipeline: Pipeline = None,
    tags: Annotated[
        Literal["type", "context"],
        typer.Option(
            metavar="TAGS", help="Part-of-speech tag of a word: most frequent (type) or in its sentence (context)."
        ),
    ] = "type",
    max_train_pairs: Annotated[
        int | None, typer.Option(help="Maximum number of training pairs (default: all).")
    ] = None,
    l2: Annotated[
        float | None, typer.Option(help="L2 penalty (default: tuned on a held-out tenth of the pairs).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed for sampling and for the held-out tenth of the pairs.")] = 13,
    num_proc: NumProc = 1,
    as_json: AsJson = False,
) -> None:
    """Fit a lexical model (a bag of words) and save it to a folder.

    unbag lexical fit --train-data snli --output-dir lexical-snli
    unbag lexical fit --train-data my-train.csv --output-dir lexical-mine
    """
    from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model, load_lexical_model
    from unbag.utils import locks, parallel

    recipe = LexicalTrainingOptions(
        tuple(train_data) if train_data else None,
        pipeline=pipeline,
        tags=tags,
        max_train_pairs=max_train_pairs,
        l2=l2,
        seed=seed,
    )
    with parallel.set_num_proc(num_proc):
        model = load_lexical_model(fit_or_load_lexical_model(recipe))
    with locks.hold_lock(output_dir, "saving a lexical model", wait=True):
        model.save(output_dir)
    if as_json:
        print_json(model.record)
        return
    losses = ", ".join(f"{penalty}: {loss:.4f}" for penalty, loss in model.record.get("held_out_loss", {}).items())
    size = f"{model.record['pairs']:,} pairs, {model.record['features']:,} features"
    echo(
        f"{output_dir}: {size}, l2 = {model.record['l2']:g}"
        + (f" (held-out loss by penalty: {losses})" if losses else "")
    )


@app.command()
def score(
    premise: Annotated[str, typer.Option(help="Premise.")],
    hypothesis: Annotated[str, typer.Option(help="Hypothesis.")],
    label: Annotated[str | None, typer.Option(help="Gold label (default: compute the score for each label).")] = None,
    model: Annotated[
        str | None, typer.Option(help="Folder or Hub id of a lexical model (default: fitted on first use).")
    ] = None,
    train_data: TrainData = None,
    top: Annotated[
        int, typer.Option(min=0, help="Maximum number of words to list that favor another label (default: 5).")
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Score a pair with a lexical model, and list words that favor a wrong label.

    unbag lexical score --premise "A man sleeps." --hypothesis "A man runs."
    """
    from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model, load_lexical_model
    from unbag.baselines.lexical.model import locate_lexical_model
    from unbag.baselines.lexical.scorer import score_examples
    from unbag.baselines.lexical.words import BY_CONTEXT
    from unbag.data.labels import LABELS, LabelError, resolve_label
    from unbag.data.sources import Example

    if model and train_data:
        raise typer.BadParameter("expected one of --model and --train-data, got both; remove one")
    gold = [resolve_label(label)] if label else list(LABELS)
    if not set(gold) <= set(LABELS):
        raise LabelError(f"expected one of {', '.join(LABELS)}, got {label!r}")
    recipe = LexicalTrainingOptions(tuple(train_data) if train_data else None, tags=BY_CONTEXT)  # as for CS_λ
    lexical = load_lexical_model(locate_lexical_model(model) if model else fit_or_load_lexical_model(recipe))
    examples = [Example("", premise, hypothesis, name) for name in gold]
    scores = score_examples([lexical], examples, max_features=top)
    probabilities = dict(zip(LABELS, map(float, scores[0].probabilities), strict=True))
    if as_json:
        by_gold = {
            name: {
                "lms": pair_score.lms,
                "misleading": [
                    {"premise": each.premise, "hypothesis": each.hypothesis, "towards": each.label, "logit": each.logit}
                    for each in pair_score.misleading
                ],
            }
            for name, pair_score in zip(gold, scores, strict=True)
        }
        print_json({"probabilities": probabilities, "if_gold": by_gold})
        return
    from rich.table import Table

    table = Table(
        "label", "probability", "LMS if gold", "misleading words (difference of logits)", box=None, pad_edge=False
    )
    for name in LABELS:
        pair_score = scores[gold.index(name)] if name in gold else None
        misleading = pair_score.misleading if pair_score else ()
        words = "\n".join(f"{_feature_name(one)} → {one.label} {one.logit:+.2f}" for one in misleading)
        table.add_row(name, f"{probabilities[name]:.3f}", f"{pair_score.lms:.3f}" if pair_score else "", words)
    create_cli_console().print(table)


def _feature_name(contribution: Any) -> str:
    premise, hypothesis = contribution.premise, contribution.hypothesis
    return f"({premise}, {hypothesis})" if premise and hypothesis else f"{premise} …" if premise else f"… {hypothesis}"
