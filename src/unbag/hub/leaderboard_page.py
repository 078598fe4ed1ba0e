"""The page of the leaderboard's Space: a data set of results as tables to sort, filter and search.

It runs in the Space, with gradio and datasets and without unbag: nothing of ours is imported here.
"""

import json
import re
from typing import Any, Final

import gradio as gr
import pandas as pd

ALL: Final = "all"
EXCLUDED: Final = "excluded"
"""Of a table of `sound` rows, how many others there were (in its `attrs`)."""

_CONTROL: Final = "plain"
"""The set that is a corpus as it is, which words can solve."""
_MEAN: Final = "mean"
_STYLE: Final = """
@media (max-width: 600px) {
  .gradio-container { padding: 0 8px !important }
  .board td, .board th { font-size: 12px !important; padding: 2px !important }
}
"""
_LARGEST: Final = 1e15
_LONGEST: Final = 300  # characters of a cell
_NAME: Final = re.compile(r"[\w.,:;@%^=+/ -]+")  # no character of HTML or Markdown that does something
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]()#!|<>~&:/@$.])")
_NAMES: Final = ("set", "config", "metric", "head", "model", "model_revision", "data_sha256")
_TEXTS: Final = ("metric_name", "options")
_NUMBERS: Final = ("value", "n", "low", "high")
_MAY_BE_MISSING: Final = ("low", "high")
_BOOLEANS: Final = ("higher_is_better", "is_score")
_HUB_ID: Final = re.compile(r"[\w.-]+/[\w.-]+")
_DATATYPES: Final[dict[str, Any]] = {
    "model": "markdown",
    "value": "number",
    "95 % interval": "str",
    "n": "number",
    "better": "str",
    "metric": "str",
    "set": "str",
    "config": "str",
    "rows": "str",
    "revision": "str",
    "options": "str",
}
"""The columns of the table and how each is shown."""
_KEY_COLUMNS: Final = ["config", "options", "data_sha256"]
"""What must be equal for two models to have been asked the same."""


def load_results(repo: str) -> pd.DataFrame:
    """Return the results as they are on the Hub now, with the columns of the data set.

    Raises:
        OSError or ValueError: if they cannot be read.
    """
    from datasets import load_dataset

    return drop_malformed_rows(load_dataset(repo, split="train").to_pandas())


def drop_malformed_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are what a row must be; anybody may have proposed one.

    Raises:
        ValueError: if a column is missing.
    """
    wanted = (*_NAMES, *_TEXTS, *_NUMBERS, *_BOOLEANS)
    if missing := [name for name in wanted if name not in results.columns]:
        raise ValueError(f"expected the columns of a data set of results, found none of {', '.join(missing)}")
    kept = [all(_is_valid_cell(name, row[name]) for name in wanted) for row in results.to_dict("records")]
    rows = results[pd.Series(kept, index=results.index, dtype=bool)].reset_index(drop=True)
    rows = rows.astype(dict.fromkeys(_BOOLEANS, bool) | dict.fromkeys(_NUMBERS, float)).astype({"n": int})
    rows.attrs[EXCLUDED] = len(results) - len(rows)
    return rows


def _is_valid_cell(name: str, value: Any) -> bool:
    """Tell whether a cell is what its column must hold."""
    if name in _BOOLEANS:
        return type(value).__name__ in ("bool", "bool_")
    if name in _NUMBERS:
        if name in _MAY_BE_MISSING and (value is None or value != value):
            return True
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        return False
    if name == "model_revision" and not value:  # of a baseline that nothing is fitted to
        return True
    return _is_options(value) if name == "options" else name in _TEXTS or _NAME.fullmatch(value) is not None


def _is_options(text: str) -> bool:
    try:
        options = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(options, dict) and isinstance(options.get("max_examples", 0), int)


def _plain(text: str) -> str:
    """Return text as Markdown that says the same and does nothing."""
    return _MARKUP.sub(r"\\\1", text)


def rank_results(results: pd.DataFrame, set_name: str, config: str, metric: str) -> pd.DataFrame:
    """Return the results of a set, config and metric, each one's name or `ALL`, the best of each metric first.

    The columns are those of `_DATATYPES`; the values are rounded to three digits.
    """
    for column, choice in (("set", set_name), ("config", config), ("metric", metric)):
        if choice != ALL:
            results = results[results[column] == choice]
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
            "rows": results["data_sha256"].str[:8].tolist(),
            "revision": results["model_revision"].str.removeprefix("sha256:").str[:8].tolist(),
        },
        columns=list(_DATATYPES),
    )


def build_overview(results: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return a row a model and a column a set: the value of the metric that stands for it; and what each column is.

    A set's column is of the rows that most models were asked; of several values of a model the last is shown. Who was
    asked more challenge sets comes first, and among these who has the better mean over them.
    """
    models = pd.Index(sorted({_link(row) for row in results.itertuples()}), name="model")
    columns: dict[str, pd.Series[Any]] = {}
    meanings = []
    goodness: dict[str, pd.Series[Any]] = {}
    for name in sorted(results["set"].unique()):
        rows = _comparable_rows(results, name)
        if rows.empty:
            continue
        heading = f"{name} {'↑' if rows['higher_is_better'].iloc[0] else '↓'}"
        values = pd.Series(rows["value"].round(3).to_numpy(), index=[_link(row) for row in rows.itertuples()])
        columns[heading] = values[~values.index.duplicated(keep="last")].reindex(models)
        if name != _CONTROL:
            goodness[name] = columns[heading] * (1 if rows["higher_is_better"].iloc[0] else -1)
        examples = json.loads(rows["options"].iloc[0]).get("max_examples")
        drawn = f" ({examples:,} examples)" if examples else ""
        what = f"{_plain(rows['metric_name'].iloc[0])}, {_plain(rows['config'].iloc[0])}"
        meanings.append(f"**{_plain(name)}**: {what}{drawn}")
    ranks = pd.DataFrame(goodness, index=models)
    ranks = pd.DataFrame({"asked": ranks.notna().sum(axis=1), "mean": ranks.mean(axis=1)})
    order = ranks.sort_values(["asked", "mean"], ascending=False, kind="stable").index
    means = {_MEAN: ranks["mean"].round(3)} if (results["higher_is_better"] | ~results["is_score"]).all() else {}
    if means:
        meanings.insert(0, f"**{_MEAN}**: over the challenge sets asked, the corpus as it is left aside")
    return pd.DataFrame({**means, **columns}, index=models).loc[order].reset_index(), " · ".join(meanings)


def _comparable_rows(results: pd.DataFrame, set_name: str) -> pd.DataFrame:
    """Return the values of the metric that stands for a set, of the rows that most models were asked."""
    rows = results[(results["set"] == set_name) & results["is_score"]]
    if rows.empty:
        return rows
    most = pd.Series(rows.groupby(_KEY_COLUMNS)["model"].nunique().idxmax(), index=_KEY_COLUMNS)
    return rows[(rows[_KEY_COLUMNS] == most).all(axis=1)]


def filter_choices(results: pd.DataFrame, column: str, set_name: str) -> list[str]:
    """Return what a filter offers: `ALL`, and the values that a column has in a set."""
    rows = results if set_name == ALL else results[results["set"] == set_name]
    return [ALL, *sorted(rows[column].unique())]


def default_choices(results: pd.DataFrame, set_name: str) -> tuple[str, str]:
    """Return the config of a set that most models were asked, and the metric that stands for the set."""
    rows = _comparable_rows(results, set_name)
    return (ALL, ALL) if rows.empty else (str(rows["config"].iloc[0]), str(rows["metric"].iloc[0]))


def _link(row: Any) -> str:
    """Return a model as Markdown, with a link if it is one of the Hub; anybody may have proposed the row."""
    from huggingface_hub.constants import ENDPOINT

    model, head = (re.sub(r"[^\w./ -]", "", str(text)) for text in (row.model, row.head))
    name = f"[{model}]({ENDPOINT}/{model})" if _HUB_ID.fullmatch(model) else model
    return name if head == "plain" else f"{name} ({head})"


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) or pd.isna(high) else f"{low:.3f} to {high:.3f}"


def _options(text: str) -> str:
    return ", ".join(f"{name} {value}" for name, value in json.loads(text).items())


def page(repo: str) -> gr.Blocks:
    """Return the leaderboard of a data set of results, read anew whenever the page is opened."""

    def opened() -> tuple[Any, ...]:
        try:
            results = load_results(repo)
        except Exception as error:
            raise gr.Error(f"{repo} cannot be read now: {' '.join(str(error).split())}") from error
        sets = filter_choices(results, "set", ALL)
        first = sets[1] if len(sets) > 1 else ALL
        count = f"Results: {len(results):,}. Models: {results['model'].nunique():,}. Sets: {len(sets) - 1}."
        if excluded := results.attrs[EXCLUDED]:
            count += f" Rows left out because they are malformed: {excluded:,}."
        table, meanings = build_overview(results)
        numbers = table.shape[1] - 1
        kinds: Any = ["markdown", *["number"] * numbers]
        widths: Any = ["176px", *["140px"] * numbers]  # said, or a phone would show all columns and break every word
        return (
            *(results, count, gr.Dataframe(table, datatype=kinds, column_widths=widths), meanings),
            *(gr.Dropdown(sets, value=first), *narrowed(results, first)),
        )

    def narrowed(results: pd.DataFrame, set_name: str) -> tuple[Any, ...]:
        config, metric = default_choices(results, set_name)
        return (
            gr.Dropdown(filter_choices(results, "config", set_name), value=config),
            gr.Dropdown(filter_choices(results, "metric", set_name), value=metric),
            rank_results(results, set_name, config, metric),
        )

    demo = gr.Blocks(title="unbag leaderboard", analytics_enabled=False, fill_width=True)
    with demo:
        gr.Markdown(
            "# Does an NLI model read sentences, or count words?\n"
            "Challenge sets that are held against bags of words, and the models that were asked. Intervals are over "
            "examples of one corpus; ↑ marks metrics of which more is better, ↓ those of which less is."
        )
        results = gr.State()
        count = gr.Markdown()
        with gr.Tab("All sets"):
            gr.HTML(f"<style>{_STYLE}</style>", visible=True, padding=False)
            summary = gr.Dataframe(
                interactive=False, show_search="search", pinned_columns=1, wrap=True, elem_classes="board"
            )
            legend = gr.Markdown()
        with gr.Tab("One set"):
            with gr.Row():
                set_name, config, metric = (
                    gr.Dropdown(label=label, interactive=True) for label in ("Challenge set", "Config", "Metric")
                )
            table = gr.Dataframe(
                interactive=False,
                show_search="search",
                headers=list(_DATATYPES),
                datatype=list(_DATATYPES.values()),
                pinned_columns=1,
                column_widths=["176px", *["140px"] * (len(_DATATYPES) - 1)],
                elem_classes="board",
            )
        gr.Markdown(f"The rows: [{repo}](https://huggingface.co/datasets/{repo}).")
        demo.load(opened, None, [results, count, summary, legend, set_name, config, metric, table], api_name="opened")
        set_name.input(narrowed, [results, set_name], [config, metric, table], api_visibility="private")
        for choice in (config, metric):
            choice.input(rank_results, [results, set_name, config, metric], table, api_visibility="private")
    return demo
