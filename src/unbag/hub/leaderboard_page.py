"""Page of the leaderboard Space: tables of results that can be sorted, filtered and searched.

This module runs in the Space with gradio and datasets but without unbag, so it must not import other unbag modules.
"""

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

if TYPE_CHECKING:
    import gradio as gr

ALL: Final = "all"
EXCLUDED: Final = "excluded"
"""Key in `DataFrame.attrs` for the number of malformed rows dropped by `drop_malformed_rows`."""

_CONTROL: Final = "plain"
"""Control set: an unmodified corpus, which a bag of words can partly solve. Excluded from the mean."""
_MEAN: Final = "mean"
_STYLE: Final = """
@media (max-width: 600px) {
  .gradio-container { padding: 0 8px !important }
  .board td, .board th { font-size: 12px !important; padding: 2px !important }
}
"""
_MAX_NUMBER: Final = 1e15
_MAX_CELL: Final = 300  # characters
_NAME: Final = re.compile(r"[\w.,:;@%^=+/ -]+")  # excludes characters with a meaning in HTML or Markdown
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
"""Columns of the table and their gradio data types."""
_KEY_COLUMNS: Final = ["config", "options", "data_sha256"]
"""Columns that identify the evaluated rows. They are equal for comparable models."""


def load_results(repo: str) -> pd.DataFrame:
    """Load the current results from the Hub.

    Raises:
        OSError or ValueError: If the dataset cannot be read.
    """
    from datasets import load_dataset

    return drop_malformed_rows(load_dataset(repo, split="train").to_pandas())


def drop_malformed_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Drop malformed rows. Rows are untrusted, because anyone can propose rows in a pull request.

    Raises:
        ValueError: If a column is missing.
    """
    wanted = (*_NAMES, *_TEXTS, *_NUMBERS, *_BOOLEANS)
    if missing := [name for name in wanted if name not in results.columns]:
        raise ValueError(
            f"expected a results dataset, got one without the columns {', '.join(map(repr, missing))}; add them"
        )
    is_valid = [all(_is_valid_cell(name, row[name]) for name in wanted) for row in results.to_dict("records")]
    rows = results[pd.Series(is_valid, index=results.index, dtype=bool)].reset_index(drop=True)
    rows = rows.astype(dict.fromkeys(_BOOLEANS, bool) | dict.fromkeys(_NUMBERS, float)).astype({"n": int})
    rows.attrs[EXCLUDED] = len(results) - len(rows)
    return rows


def _is_valid_cell(name: str, value: Any) -> bool:
    """Check whether a cell has a valid value for its column."""
    if name in _BOOLEANS:
        return type(value).__name__ in ("bool", "bool_")  # Python's bool or NumPy's, which is not a subclass of bool
    if name in _NUMBERS:
        if name in _MAY_BE_MISSING and (value is None or value != value):  # pandas stores missing numbers as NaN
            return True
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MAX_NUMBER
    if not isinstance(value, str) or len(value) > _MAX_CELL or not value.isprintable():
        return False
    if name == "model_revision" and not value:  # Unfitted baselines have no revision.
        return True
    return _is_options(value) if name == "options" else name in _TEXTS or _NAME.fullmatch(value) is not None


def _is_options(text: str) -> bool:
    try:
        options = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(options, dict) and isinstance(options.get("max_examples", 0), int)


def _plain(text: str) -> str:
    """Escape all Markdown and HTML markup in a text."""
    return _MARKUP.sub(r"\\\1", text)


def rank_results(results: pd.DataFrame, set_name: str, config: str, metric: str) -> pd.DataFrame:
    """Rank the results of a set, config and metric, best first within each metric. `ALL` selects all values.

    The columns are defined in `_DATATYPES`. Values are rounded to three digits.
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
    """Build the overview table with one row per model and one column per set, and a legend of the columns.

    The column of a set contains its score on the config, options and rows on which most models were evaluated. If a
    model has several values, the last one is shown. Models with more challenge sets come first; ties are ordered by the
    mean.
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
        sample = f" ({examples:,} examples)" if examples else ""
        meaning = f"{_plain(rows['metric_name'].iloc[0])}, {_plain(rows['config'].iloc[0])}"
        meanings.append(f"**{_plain(name)}**: {meaning}{sample}")
    ranks = pd.DataFrame(goodness, index=models)
    ranks = pd.DataFrame({"n_sets": ranks.notna().sum(axis=1), "mean": ranks.mean(axis=1)})
    order = ranks.sort_values(["n_sets", "mean"], ascending=False, kind="stable").index
    # A mean over sets is meaningful only if all scores have the same direction.
    means = {_MEAN: ranks["mean"].round(3)} if (results["higher_is_better"] | ~results["is_score"]).all() else {}
    if means:
        meanings.insert(0, f"**{_MEAN}**: over the evaluated challenge sets, without the unmodified corpus")
    return pd.DataFrame({**means, **columns}, index=models).loc[order].reset_index(), " · ".join(meanings)


def _comparable_rows(results: pd.DataFrame, set_name: str) -> pd.DataFrame:
    """Select the comparable scores of a set: on the config, options and rows with the most models."""
    rows = results[(results["set"] == set_name) & results["is_score"]]
    if rows.empty:
        return rows
    most = pd.Series(rows.groupby(_KEY_COLUMNS)["model"].nunique().idxmax(), index=_KEY_COLUMNS)
    return rows[(rows[_KEY_COLUMNS] == most).all(axis=1)]


def list_filter_choices(results: pd.DataFrame, column: str, set_name: str) -> list[str]:
    """List the choices of a filter: `ALL`, and the values of the given column in the rows of a set."""
    rows = results if set_name == ALL else results[results["set"] == set_name]
    return [ALL, *sorted(rows[column].unique())]


def choose_default_set(results: pd.DataFrame) -> str:
    """Choose the set that the page shows first: the first set with a score, otherwise the first set.

    Returns `ALL` if there are no results.
    """
    names = list_filter_choices(results, "set", ALL)[1:]
    return next((name for name in names if not _comparable_rows(results, name).empty), next(iter(names), ALL))


def choose_defaults(results: pd.DataFrame, set_name: str) -> tuple[str, str]:
    """Choose the default config and metric of a set: the config with the most models, and the main score."""
    rows = _comparable_rows(results, set_name)
    return (ALL, ALL) if rows.empty else (str(rows["config"].iloc[0]), str(rows["metric"].iloc[0]))


def _link(row: Any) -> str:
    """Format a model name as Markdown, with a link for a Hub id. Removes unexpected characters."""
    from huggingface_hub.constants import ENDPOINT

    model, head = (re.sub(r"[^\w./ -]", "", str(text)) for text in (row.model, row.head))
    name = f"[{model}]({ENDPOINT}/{model})" if _HUB_ID.fullmatch(model) else model
    return name if head == "plain" else f"{name} ({head})"


def _interval(low: float, high: float) -> str:
    return "" if pd.isna(low) or pd.isna(high) else f"{low:.3f} to {high:.3f}"


def _options(text: str) -> str:
    return ", ".join(f"{name} {value}" for name, value in json.loads(text).items())


def build_page(repo: str) -> "gr.Blocks":
    """Build the leaderboard page. The results dataset is loaded each time the page is opened."""
    import gradio as gr

    def load_page() -> tuple[Any, ...]:
        try:
            results = load_results(repo)
        except Exception as error:
            raise gr.Error(f"{repo} could not be loaded: {' '.join(str(error).split())}; try again later") from error
        sets = list_filter_choices(results, "set", ALL)
        first = choose_default_set(results)
        count = f"Results: {len(results):,}. Models: {results['model'].nunique():,}. Sets: {len(sets) - 1}."
        if excluded := results.attrs[EXCLUDED]:
            count += f" Malformed rows excluded: {excluded:,}."
        table, meanings = build_overview(results)
        numbers = table.shape[1] - 1
        kinds: Any = ["markdown", *["number"] * numbers]
        # Without fixed widths, phones compress all columns and break the words.
        widths: Any = ["176px", *["140px"] * numbers]
        return (
            *(results, count, gr.Dataframe(table, datatype=kinds, column_widths=widths), meanings),
            *(gr.Dropdown(sets, value=first), *select_set(results, first)),
        )

    def select_set(results: pd.DataFrame, set_name: str) -> tuple[Any, ...]:
        config, metric = choose_defaults(results, set_name)
        return (
            gr.Dropdown(list_filter_choices(results, "config", set_name), value=config),
            gr.Dropdown(list_filter_choices(results, "metric", set_name), value=metric),
            rank_results(results, set_name, config, metric),
        )

    demo = gr.Blocks(title="unbag leaderboard", analytics_enabled=False, fill_width=True)
    with demo:
        gr.Markdown(
            "# Does an NLI model read sentences, or count words?\n"
            "Results of NLI models on challenge sets that test whether models use sentence structure. Intervals come "
            "from resampling the examples of one corpus. ↑: higher is better. ↓: lower is better."
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
                # With 140 px, the metrics of cs_lambda are cut off before the digits that distinguish them.
                column_widths=["220px" if name in ("model", "metric") else "140px" for name in _DATATYPES],
                elem_classes="board",
            )
        gr.Markdown(f"Dataset: [{repo}](https://huggingface.co/datasets/{repo}).")
        demo.load(load_page, None, [results, count, summary, legend, set_name, config, metric, table], api_name="load")
        set_name.input(select_set, [results, set_name], [config, metric, table], api_visibility="private")
        for choice in (config, metric):
            choice.input(rank_results, [results, set_name, config, metric], table, api_visibility="private")
    return demo
