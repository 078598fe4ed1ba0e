"""The page of the leaderboard's Space: a data set of results as tables to sort, filter and search.

It runs in the Space, with gradio and datasets and without unbag: nothing of ours is imported here.
"""

import json
import re
from typing import Any, Final

import gradio as gr
import pandas as pd

ALL: Final = "all"
_HUB_ID: Final = re.compile(r"[\w.-]+/[\w.-]+")
_SHOWN: Final[dict[str, Any]] = {
    "model": "markdown",
    "value": "number",
    "95 % interval": "str",
    "n": "number",
    "better": "str",
    "set": "str",
    "config": "str",
    "metric": "str",
    "options": "str",
    "revision": "str",
}
"""The columns of the table and how each is shown."""


def read(repo: str) -> pd.DataFrame:
    """Return the results as they are on the Hub now, with the columns of the data set.

    Raises:
        OSError or ValueError: if they cannot be read.
    """
    from datasets import load_dataset

    results: pd.DataFrame = load_dataset(repo, split="train").to_pandas()
    return results


def ranked(results: pd.DataFrame, set_name: str, config: str, metric: str) -> pd.DataFrame:
    """Return the results of a set, config and metric, each one's name or `ALL`, the best of each metric first.

    The columns are those of `_SHOWN`; the values are rounded to three digits.
    """
    for column, wanted in (("set", set_name), ("config", config), ("metric", metric)):
        if wanted != ALL:
            results = results[results[column] == wanted]
    goodness = results["value"].where(results["higher_is_better"], -results["value"])
    results = results.assign(goodness=goodness).sort_values(
        ["set", "config", "metric", "goodness", "model"], ascending=[True, True, True, False, True]
    )
    return pd.DataFrame(
        {
            "model": [_link(row) for row in results.itertuples()],
            "value": results["value"].round(3).tolist(),
            "95 % interval": [_interval(row.low, row.high) for row in results.itertuples()],
            "n": results["n"].tolist(),
            "better": ["↑ higher" if higher else "↓ lower" for higher in results["higher_is_better"]],
            "set": results["set"].tolist(),
            "config": results["config"].tolist(),
            "metric": results["metric"].tolist(),
            "options": [_options(text) for text in results["options"]],
            "revision": results["model_revision"].str.removeprefix("sha256:").str[:8].tolist(),
        },
        columns=list(_SHOWN),
    )


def overview(results: pd.DataFrame) -> pd.DataFrame:
    """Return a row a model and a column a set: the value of the metric that stands for it.

    A set's column is of the config that most models were asked; of several values of a model the last is shown.
    """
    scores = results[results["is_score"]]
    columns: dict[str, pd.Series[Any]] = {}
    models = pd.Index(sorted({_link(row) for row in results.itertuples()}), name="model")
    for name, rows in scores.groupby("set"):
        config = rows.groupby("config")["model"].nunique().idxmax()
        rows = rows[rows["config"] == config]
        arrow = "↑" if rows["higher_is_better"].iloc[0] else "↓"
        values = pd.Series(rows["value"].round(3).to_numpy(), index=[_link(row) for row in rows.itertuples()])
        columns[f"{name} {config} {arrow}"] = values[~values.index.duplicated(keep="last")].reindex(models)
    return pd.DataFrame(columns, index=models).reset_index()


def choices(results: pd.DataFrame, column: str, set_name: str) -> list[str]:
    """Return what a filter offers: `ALL`, and the values that a column has in a set."""
    rows = results if set_name == ALL else results[results["set"] == set_name]
    return [ALL, *sorted(rows[column].unique())]


def usual(results: pd.DataFrame, set_name: str) -> tuple[str, str]:
    """Return the config of a set that has most models, and the metric that stands for the set."""
    rows = results[(results["set"] == set_name) & results["is_score"]]
    if rows.empty:
        return ALL, ALL
    return str(rows.groupby("config")["model"].nunique().idxmax()), str(rows["metric"].iloc[0])


def _link(row: Any) -> str:
    """Return a model as Markdown, with a link if it is one of the Hub."""
    from huggingface_hub.constants import ENDPOINT

    name = f"[{row.model}]({ENDPOINT}/{row.model})" if _HUB_ID.fullmatch(row.model) else str(row.model)
    return name if row.head == "plain" else f"{name} ({row.head})"


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) or pd.isna(high) else f"{low:.3f} to {high:.3f}"


def _options(text: str) -> str:
    return ", ".join(f"{name} {value}" for name, value in json.loads(text or "{}").items())


def page(repo: str) -> gr.Blocks:
    """Return the leaderboard of a data set of results, read anew whenever the page is opened."""

    def opened() -> tuple[Any, ...]:
        try:
            results = read(repo)
        except Exception as error:
            raise gr.Error(f"{repo} cannot be read now: {' '.join(str(error).split())}") from error
        sets = choices(results, "set", ALL)
        first = sets[1] if len(sets) > 1 else ALL
        count = f"{len(results):,} results of {results['model'].nunique():,} models on {len(sets) - 1} sets."
        return results, overview(results), count, gr.Dropdown(sets, value=first), *narrowed(results, first)

    def narrowed(results: pd.DataFrame, set_name: str) -> tuple[Any, ...]:
        config, metric = usual(results, set_name)
        return (
            gr.Dropdown(choices(results, "config", set_name), value=config),
            gr.Dropdown(choices(results, "metric", set_name), value=metric),
            ranked(results, set_name, config, metric),
        )

    demo = gr.Blocks(title="unbag leaderboard", analytics_enabled=False, fill_width=True)
    with demo:
        gr.Markdown(
            "# Does an NLI model read sentences, or count words?\n"
            "Challenge sets that a bag of words cannot solve, and the models that were asked. Intervals are over "
            "examples of one corpus; ↑ marks metrics of which more is better, ↓ those of which less is."
        )
        results = gr.State()
        count = gr.Markdown()
        with gr.Tab("All sets"):
            summary = gr.Dataframe(interactive=False, show_search="search", pinned_columns=1, datatype="markdown")
        with gr.Tab("One set"):
            with gr.Row():
                set_name, config, metric = (
                    gr.Dropdown(label=label, interactive=True) for label in ("Challenge set", "Config", "Metric")
                )
            table = gr.Dataframe(
                interactive=False, show_search="search", headers=list(_SHOWN), datatype=list(_SHOWN.values())
            )
        gr.Markdown(f"The rows: [{repo}](https://huggingface.co/datasets/{repo}).")
        demo.load(opened, None, [results, summary, count, set_name, config, metric, table], api_name="opened")
        set_name.input(narrowed, [results, set_name], [config, metric, table], api_visibility="private")
        for choice in (config, metric):
            choice.input(ranked, [results, set_name, config, metric], table, api_visibility="private")
    return demo
