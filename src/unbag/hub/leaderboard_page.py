"""Page of the leaderboard Space: tables of results that can be sorted, filtered and searched.

This module runs in the Space with gradio and datasets but without unbag, so it must not import other unbag modules.
"""

import re
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

if TYPE_CHECKING:
    import gradio as gr

_CONTROL: Final = "plain"
"""Control set: an unmodified corpus, which a bag of words can partly solve. Excluded from the mean."""
_HUB_ID: Final = re.compile(r"[\w.-]+/[\w.-]+")
_KEY: Final = ["set", "config", "options", "data_sha256"]
"""Columns that identify the evaluated rows. They are equal for comparable models."""
_COLUMNS: Final = [
    *("model", "value", "95 % interval", "n", "better"),
    *("set", "config", "metric", "options", "rows", "revision"),
]


def drop_incomplete_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Drop rows without a value in a required column, because anyone can propose rows in a pull request."""
    required = [name for name in results if name not in ("low", "high")]
    complete = results.dropna(subset=required).reset_index(drop=True)
    return complete.astype(dict.fromkeys(("higher_is_better", "is_score"), bool))


def format_model_names(results: pd.DataFrame) -> "pd.Series[str]":
    """Format the model of each row as Markdown, with a link for a Hub id.

    All characters with a meaning in Markdown or HTML are removed.
    """
    from huggingface_hub.constants import ENDPOINT

    def format_name(model: str, head: str) -> str:
        name = f"[{model}]({ENDPOINT}/{model})" if _HUB_ID.fullmatch(model) else model
        return name if head == "plain" else f"{name} ({head})"

    models, heads = (
        results[column].astype(str).str.replace(r"[^\w./ -]", "", regex=True) for column in ("model", "head")
    )
    return pd.Series(list(map(format_name, models, heads)), index=results.index, dtype=object)


def build_results_table(results: pd.DataFrame) -> pd.DataFrame:
    """Build the table of all results: by set, config and metric, best first, with values rounded to three digits."""
    goodness = results["value"].where(results["higher_is_better"], -results["value"])
    results = results.assign(goodness=goodness).sort_values(
        ["set", "config", "metric", "goodness", "model"], ascending=[True, True, True, False, True], ignore_index=True
    )
    limits = zip(results["low"], results["high"], strict=True)
    return results.assign(
        **{
            "model": format_model_names(results),
            "value": results["value"].round(3),
            "95 % interval": [
                "" if pd.isna(low) or pd.isna(high) else f"{low:.3f} to {high:.3f}" for low, high in limits
            ],
            "better": results["higher_is_better"].map({True: "↑ higher", False: "↓ lower"}),
            "rows": results["data_sha256"].str[:8],
            "revision": results["model_revision"].str.removeprefix("sha256:").str[:8],
        }
    )[_COLUMNS]


def build_overview(results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Build the table of scores with one row per model and one column per set, and a table that explains the columns.

    The column of a set contains its score on the config, options and rows on which most models were evaluated. Models
    with more challenge sets come first; ties are ordered by the mean. A model with results of several revisions or data
    types has a row for each of them.
    """
    names = format_model_names(results)
    versions = results["model_revision"].str.removeprefix("sha256:").str[:8] + " " + results["dtype"]
    several = versions.groupby(names).transform("nunique") > 1
    results = results.assign(model=names.where(~several, names + " " + versions.str.strip()))
    scores = results[results["is_score"]].reset_index(drop=True)
    most = scores.groupby(_KEY)["model"].nunique().groupby("set").idxmax()
    scores = scores[scores.set_index(_KEY).index.isin(list(most))]
    scores = scores.assign(column=scores["set"] + scores["higher_is_better"].map({True: " ↑", False: " ↓"}))
    models = pd.Index(sorted(set(results["model"])), name="model")  # also those without a comparable score
    table = scores.pivot_table(index="model", columns="column", values="value", aggfunc="last").reindex(models)
    challenges = table[[name for name in table if not name.startswith(f"{_CONTROL} ")]]
    challenges = challenges * [1 if name.endswith("↑") else -1 for name in challenges]
    table.insert(0, "mean", challenges.mean(axis=1))
    order = pd.DataFrame({"sets": challenges.notna().sum(axis=1), "mean": table["mean"]})
    table = table.loc[order.sort_values(["sets", "mean"], ascending=False, kind="stable").index]
    if not scores["higher_is_better"].all():  # a mean over sets is meaningful only if all scores have one direction
        table = table.drop(columns="mean")
    meanings = scores.drop_duplicates("set").sort_values("set")[["set", "metric_name", "config", "options"]]
    return table.round(3).reset_index(), meanings.rename(columns={"metric_name": "score"})


def build_page(repo: str) -> "gr.Blocks":
    """Build the leaderboard page. The results dataset is loaded each time the page is opened."""
    import gradio as gr

    def load_page() -> tuple[Any, ...]:
        from datasets import load_dataset

        try:
            results = drop_incomplete_rows(load_dataset(repo, split="train").to_pandas())
            overview, meanings = build_overview(results)
            rows = build_results_table(results)
        except Exception as error:
            raise gr.Error(f"{repo} could not be loaded: {' '.join(str(error).split())}; try again later") from error
        count = f"Results: {len(rows):,}. Models: {len(overview):,}. Sets: {results['set'].nunique()}."
        kinds: Any = ["markdown", *["number"] * (overview.shape[1] - 1)]
        # Without fixed widths, phones compress all columns and break the words.
        widths: Any = ["176px", *["140px"] * (overview.shape[1] - 1)]
        return count, gr.Dataframe(overview, datatype=kinds, column_widths=widths), meanings, rows

    narrow = ("value", "n", "better", "set", "config", "rows", "revision")
    types: Any = ["markdown", "number", "str", "number", *["str"] * (len(_COLUMNS) - 4)]
    demo = gr.Blocks(title="unbag leaderboard", analytics_enabled=False, fill_width=True)
    with demo:
        gr.Markdown(
            "# Does an NLI model read sentences, or count words?\n"
            "Results of NLI models on challenge sets that test whether models use sentence structure. Intervals come "
            "from resampling the examples of one corpus. ↑: higher is better. ↓: lower is better. Mean: over the "
            "evaluated challenge sets, without the unmodified corpus."
        )
        count = gr.Markdown()
        with gr.Tab("All sets"):
            overview = gr.Dataframe(interactive=False, show_search="search", pinned_columns=1, wrap=True)
            meanings = gr.Dataframe(interactive=False, label="Scores in the columns", wrap=True)
        with gr.Tab("All results"):
            rows = gr.Dataframe(
                interactive=False,
                show_search="filter",
                headers=_COLUMNS,
                datatype=types,
                pinned_columns=1,
                # With 140 px, the metrics of cs_lambda are cut off before the digits that distinguish them.
                column_widths=["140px" if name in narrow else "220px" for name in _COLUMNS],
            )
        gr.Markdown(f"Dataset: [{repo}](https://huggingface.co/datasets/{repo}).")
        demo.load(load_page, None, [count, overview, meanings, rows], api_name="load")
    return demo
