"""Page of a metric Space that computes scores and intervals from a table of predictions.

This module runs in the Space with gradio but without unbag, so it must not import other unbag modules.
"""

import csv
import inspect
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pandas as pd

if TYPE_CHECKING:
    import gradio as gr


Scores: TypeAlias = Mapping[str, Any]
MAX_ROWS: Final = 20_000
"""Maximum number of rows of a table on the page, because the browser stores the entire table."""
MAX_RESAMPLES: Final = 10_000
"""Maximum number of bootstrap resamples, because all visitors share one small machine."""
_ALIASES: Final = {"predictions": ("prediction",), "references": ("four_way", "label")}
"""Columns of a challenge set that replace missing columns of a metric."""
_COLUMNS: Final = ["score", "value", "95 % interval", "n", "meaning"]


def parse_metric_card(readme: str) -> tuple[str, str, str, dict[str, str]]:
    r"""Parse a metric's README into heading, first paragraph, other text, and the meanings in its table of scores.

    >>> text = "# A Metric\n\nIt counts.\n\n| key | formula |\n|---|---|\n| `a`, `b` | the share |\n"
    >>> title, lead, _, meanings = parse_metric_card("---\nsdk: gradio\n---\n" + text)
    >>> title, lead, meanings
    ('A Metric', 'It counts.', {'a': 'the share', 'b': 'the share'})
    """
    body = re.sub(r"\A---\n.*?\n---\n", "", readme, flags=re.DOTALL).strip()
    heading, _, rest = body.partition("\n")
    lead, _, text = rest.strip().partition("\n\n")
    meanings = {}
    for line in text.splitlines():
        keys, *columns = (cell.strip() for cell in line.strip("|").split("|"))
        if line.startswith("| `"):
            meanings.update(dict.fromkeys(re.findall(r"`(\w+)`", keys), "; ".join(filter(None, columns))))
    return heading.lstrip("# "), lead, text, meanings


def read_table(text: str) -> pd.DataFrame:
    """Read a CSV file, or cells copied from a spreadsheet (separated by tabs), as a table of text."""
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    header, *rows = list(csv.reader(io.StringIO(text), delimiter=delimiter)) or [[]]
    if not 0 < len(rows) <= MAX_ROWS:
        raise ValueError(f"table: expected a header and 1 to {MAX_ROWS:,} rows on this page, got {len(rows):,} rows")
    wrong = next((number for number, row in enumerate(rows, start=2) if len(row) != len(header)), None)
    if wrong is not None:
        raise ValueError(f"line {wrong}: expected {len(header)} cells, got {len(rows[wrong - 2])}; correct it")
    return pd.DataFrame(rows, columns=header)


def parse_metric_columns(table: pd.DataFrame) -> dict[str, Any]:
    """Convert a table of text to the arguments of a metric function. Empty rows are dropped.

    A column is parsed as JSON (numbers, lists of numbers, true, null) if all of its cells are JSON. Otherwise it is
    text, so that ids such as 12e4 and 120e3 remain different. Empty cells become None. The columns `groups.a` and
    `groups.b` become `groups`, a dict of two columns.

    >>> parse_metric_columns(pd.DataFrame({"predictions": ["0", "[1, 2]", ""], "groups.part": ["verb", "", ""]}))
    {'predictions': [0, [1, 2]], 'groups': {'part': ['verb', None]}}
    >>> parse_metric_columns(pd.DataFrame({"source_id": ["12e4", "120e3", "ab12"]}))
    {'source_id': ['12e4', '120e3', 'ab12']}
    """
    # pandas stores empty cells as NaN.
    cells = [["" if cell is None or cell != cell else str(cell).strip() for cell in row] for row in table.to_numpy()]
    filled = [row for row in cells if any(row)]
    inputs: dict[str, Any] = {}
    for index, name in enumerate(table.columns):
        texts = [row[index] for row in filled]
        try:
            column = [json.loads(text) if text else None for text in texts]
        except (ValueError, RecursionError):  # RecursionError for deeply nested brackets
            column = [text or None for text in texts]
        outer, dot, inner = str(name).strip().partition(".")
        if dot:
            inputs.setdefault(outer, {})[inner] = column
        else:
            inputs[outer] = column
    return inputs


def select_metric_columns(metric: Callable[..., Scores], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Select the columns that a metric accepts, including columns of a challenge set under other names.

    >>> select_metric_columns(lambda predictions, references: {}, {"prediction": [1], "label": [0], "premise": ["a"]})
    {'predictions': [1], 'references': [0]}
    """
    names = {name: (name, *_ALIASES.get(name, ())) for name in inspect.signature(metric).parameters}
    found = {name: next((each for each in some if each in inputs), None) for name, some in names.items()}
    return {name: inputs[column] for name, column in found.items() if column is not None}


def compute_scores(metric: Callable[..., Scores], inputs: Mapping[str, Any], options: str) -> Scores:
    """Compute the scores of a metric from the columns of a table and from options as a JSON object."""
    try:
        arguments = select_metric_columns(metric, inputs) | json.loads(options.strip() or "{}")
        if arguments.get("resamples", 0) > MAX_RESAMPLES:
            raise ValueError(f"resamples: expected at most {MAX_RESAMPLES:,} on this page; reduce it")
        return metric(**arguments)
    # Invalid cells can raise any error, such as text, None or a list instead of a number, or a number out of range.
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error} (columns: {', '.join(inputs)})") from None


def build_score_table(scores: Mapping[str, float], meanings: Mapping[str, str]) -> list[list[Any]]:
    """Build the rows of the score table, with the columns score, value, interval, number of examples and meaning.

    The scores are the flat output of a metric. The meanings of its keys are those in the README.

    >>> scores = {"by_a_drop": 0.5, "by_a_drop_low": 0.4, "by_a_drop_high": 0.6, "by_a_drop_n": 9}
    >>> build_score_table(scores, {"drop": "before − after"})
    [['by_a_drop', '0.500', '0.400 to 0.600', '9', 'before − after']]
    """
    rows = []
    for name, value in scores.items():
        base, _, part = name.rpartition("_")
        if part in ("low", "high", "n") and base in scores:
            continue
        low, high, n = (scores.get(f"{name}_{part}") for part in ("low", "high", "n"))
        interval = "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
        shown = f"{value:.3f}" if isinstance(value, float) else str(value)
        # A nested score such as `by_label_neutral_drop` has the meaning of its last part.
        keys = [key for key in meanings if f"_{key}_" in f"_{name}_"]
        last = max(keys, key=lambda key: (f"_{name}_".rindex(f"_{key}_") + len(key), len(key)), default="")
        rows.append([name, shown, interval, "" if n is None else f"{n:,}", meanings.get(last, "")])
    return rows


def build_page(
    metric: Callable[..., Scores], flatten: Callable[[Scores], Mapping[str, float]], folder: Path
) -> "gr.Blocks":
    """Build the Gradio page of a metric Space, whose folder has README.md and example.csv.

    `flatten` converts the scores of `metric` to the output of `evaluate`.
    """
    import gradio as gr

    title, lead, text, meanings = parse_metric_card((folder / "README.md").read_text(encoding="utf-8"))
    parameters = inspect.signature(metric).parameters.values()
    optional = ", ".join(f"`{each.name}`" for each in parameters if each.default is not each.empty)

    @contextmanager
    def shown_errors() -> Iterator[None]:
        try:
            yield
        except (ValueError, csv.Error) as error:
            raise gr.Error(escape(str(error)), print_exception=False) from None

    def score(cells: pd.DataFrame, options: str) -> list[list[Any]]:
        with shown_errors():
            return build_score_table(flatten(compute_scores(metric, parse_metric_columns(cells), options)), meanings)

    def read(text: str) -> Any:
        with shown_errors():
            table = read_table(text)
        return gr.Dataframe(table, column_count=table.shape[1])

    demo = gr.Blocks(title=title, analytics_enabled=False)
    with demo:
        gr.Markdown(f"# {title}\n{lead}")
        with gr.Tab("Try it"):
            with gr.Row():
                with gr.Column(scale=3):
                    cells = gr.Dataframe(
                        read_table((folder / "example.csv").read_text(encoding="utf-8")),
                        label="One row per example. Edit these example rows, or use your own data",
                        interactive=True,
                        max_height=330,
                    )
                with gr.Column(scale=1, min_width=220):
                    paste = gr.Textbox(
                        label="Paste a table",
                        placeholder="with a header; separated by commas or tabs",
                        lines=3,
                        max_lines=3,
                    )
                    upload = gr.UploadButton("Upload a CSV file", file_types=[".csv"], size="md")
                    options = gr.Code("{}", language="json", label="Options", lines=3, interactive=True)
                    gr.Markdown(f"Optional columns or options: {optional}.")
                    button = gr.Button("Compute", variant="primary")
            result = gr.Dataframe(
                headers=_COLUMNS,
                datatype=["str", "str", "str", "str", "markdown"],
                label="Scores, as returned by evaluate",
                interactive=False,
                wrap=True,
                max_height=800,
                column_widths=["260px", "90px", "150px", "80px", "560px"],
            )
        with gr.Tab("Description"):
            gr.Markdown(text)
        upload.upload(
            lambda path: read(Path(path).read_text(encoding="utf-8-sig", errors="replace")),
            upload,
            cells,
            api_visibility="private",
        )
        # The event fires on every key press. A single line is not yet a table, so it must not raise an error.
        paste.input(lambda text: read(text) if "\n" in text.strip() else gr.skip(), paste, cells, api_name="paste")
        button.click(score, [cells, options], result, api_name="score")
        demo.load(score, [cells, options], result, api_visibility="private")
    return demo
