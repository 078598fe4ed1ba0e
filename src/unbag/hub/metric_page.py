"""Page of a metric Space that computes scores and intervals from a table of predictions.

This module runs in the Space with gradio but without unbag, so it must not import other unbag modules.
"""

import csv
import inspect
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    import gradio as gr


Scores: TypeAlias = Mapping[str, Any]
MAX_ROWS: Final = 20_000
"""Maximum number of rows of a table on the page, because the browser stores the entire table."""
MAX_RESAMPLES: Final = 10_000
"""Maximum number of bootstrap resamples, because all visitors share one small machine."""
MAX_LISTED: Final = 4
"""Maximum number of displayed elements of a list of numbers."""
_ESTIMATE: Final = {"value", "low", "high", "n"}
_ALIASES: Final = {"predictions": ("prediction",), "references": ("four_way", "label")}
_STYLE: Final = """<style>
.scores { overflow-x: auto; color: var(--body-text-color); font-size: 14px }
.scores table { width: 100%; border-collapse: collapse }
.scores th, .scores td { text-align: left; padding: 6px 16px 6px 0;
  border-bottom: 1px solid var(--border-color-primary) }
.scores th { font-weight: 500; color: var(--body-text-color-subdued) }
.scores .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.scores .name { white-space: nowrap; font-weight: 600 }
.scores .part .name { padding-left: 20px; font-weight: 400 }
.scores .group td { border-bottom: none; padding-top: 14px }
.scores .meaning { opacity: .7; width: 40% }
.scores .interval { display: flex; gap: 12px; align-items: center; white-space: nowrap }
.scores .bar { position: relative; width: 150px; height: 12px; border-radius: 6px;
  background: var(--background-fill-secondary); box-shadow: inset 0 0 0 1px var(--border-color-primary) }
.scores .bar i { position: absolute; top: 1px; bottom: 1px; border-radius: 5px; background: var(--color-accent);
  opacity: .4; min-width: 2px }
.scores .bar b { position: absolute; top: -2px; bottom: -2px; width: 3px; margin-left: -1px; border-radius: 2px;
  background: var(--color-accent) }
@media (max-width: 640px) {
  .scores tr { display: grid; grid-template-columns: 1fr auto 4em; column-gap: 8px; padding: 6px 0;
    border-bottom: 1px solid var(--border-color-primary) }
  .scores th, .scores td { border: none; padding: 0 }
  .scores .group { border: none; padding-bottom: 0 }
  .scores .name { white-space: normal; overflow-wrap: anywhere }
  .scores td:nth-child(3) { grid-row: 2; grid-column: 1 / -1 }
  .scores th:nth-child(3), .scores th:last-child, .scores .meaning:empty { display: none }
  .scores .meaning { grid-column: 1 / -1; width: auto }
  .scores .bar { flex: 1 }
}
</style>"""


@dataclass(frozen=True)
class MetricCard:
    """README of a metric, split into sections for the page of the metric.

    Attributes:
        title: Heading.
        lead: First paragraph.
        text: Rest of the README, in Markdown.
        meanings: Description of each score, by key in the README's score table.
    """

    title: str
    lead: str
    text: str
    meanings: Mapping[str, str]

    @classmethod
    def parse(cls, readme: str) -> "MetricCard":
        r"""Parse the README of a metric.

        >>> text = "# A Metric\n\nIt counts.\n\n| key | formula |\n|---|---|\n| `a`, `b` | the share |\n"
        >>> card = MetricCard.parse("---\nsdk: gradio\n---\n" + text)
        >>> card.title, card.lead, card.meanings
        ('A Metric', 'It counts.', {'a': 'the share', 'b': 'the share'})
        """
        body = re.sub(r"\A---\n.*?\n---\n", "", readme, flags=re.DOTALL).strip()
        heading, _, rest = body.partition("\n")
        lead, _, text = rest.strip().partition("\n\n")
        meanings = {}
        for line in text.splitlines():
            keys, *columns = (cell.strip() for cell in line.strip("|").split("|"))
            if line.startswith("| `"):
                meaning = "; ".join(column for column in columns if column)
                meanings.update(dict.fromkeys(re.findall(r"`(\w+)`", keys), meaning))
        return cls(heading.lstrip("# "), lead, text, meanings)


def parse_table(text: str) -> tuple[list[str], list[list[str]]]:
    """Parse a CSV file, or cells copied from a spreadsheet (separated by tabs), into a header and rows of text.

    Raises:
        ValueError: If there are no rows or too many, or if a row and the header have different lengths.
    """
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    header, *rows = list(csv.reader(io.StringIO(text), delimiter=delimiter)) or [[]]
    if not rows:
        raise ValueError("table: expected CSV with a header and at least one row, got no row; add rows")
    if len(rows) > MAX_ROWS:
        raise ValueError(
            f"table: expected at most {MAX_ROWS:,} rows on this page, got {len(rows):,}; call the metric from Python"
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(f"line {number}: expected {len(header)} cells, got {len(row)}; correct it")
    return header, rows


def parse_metric_columns(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Convert the columns of a table to the arguments of a metric function. Empty rows are dropped.

    A cell is parsed as JSON if possible (a number, a list of numbers, true, null), otherwise it is text. Empty cells
    become None. The columns `groups.a` and `groups.b` become `groups`, a dict of two columns.

    >>> parse_metric_columns(["predictions", "groups.part"], [["0", "verb"], ["[1, 2]", ""], ["", ""]])
    {'predictions': [0, [1, 2]], 'groups': {'part': ['verb', None]}}
    """
    cells = [[_parse_cell(cell) for cell in row] for row in rows]
    filled = [row for row in cells if any(cell is not None for cell in row)]
    inputs: dict[str, Any] = {}
    for index, name in enumerate(header):
        column = [row[index] for row in filled]
        outer, dot, inner = name.strip().partition(".")
        if dot:
            inputs.setdefault(outer, {})[inner] = column
        else:
            inputs[outer] = column
    return inputs


def _parse_cell(value: Any) -> Any:
    text = "" if value is None or value != value else str(value).strip()  # pandas stores empty cells as NaN
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return text


def select_metric_columns(metric: Callable[..., Scores], inputs: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Select the columns that a metric accepts. Returns these columns, and the names of unused columns.

    Columns of a challenge set replace missing columns of the metric: `prediction` replaces `predictions`, and SICCK's
    `four_way`, or otherwise `label`, replaces `references`.

    >>> select_metric_columns(lambda predictions, references: {}, {"prediction": [1], "label": [0], "premise": ["a"]})
    ({'predictions': [1], 'references': [0]}, ['premise'])
    """
    parameters = inspect.signature(metric).parameters
    selected = {name: column for name, column in inputs.items() if name in parameters}
    used = set(selected)
    for name, aliases in _ALIASES.items():
        alias = next((each for each in aliases if each in inputs), None)
        if name in parameters and name not in selected and alias is not None:
            selected[name] = inputs[alias]
            used.add(alias)
    return selected, [name for name in inputs if name not in used]


def compute_scores(metric: Callable[..., Scores], inputs: Mapping[str, Any], options: str) -> Scores:
    """Compute the scores of a metric from table columns and from options in JSON.

    Args:
        metric: Function of columns.
        inputs: Columns by name.
        options: Additional arguments as a JSON object; may be empty.

    Raises:
        ValueError: If the options are not a JSON object, an argument is unknown or missing, or the metric rejects its
            arguments.
    """
    try:
        more = json.loads(options.strip() or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f'options: expected JSON such as {{"seed": 1}}, got {options!r} ({error})') from None
    if not isinstance(more, dict):
        raise ValueError(f'options: expected a JSON object such as {{"seed": 1}}, got {options!r}; correct it')
    parameters = inspect.signature(metric).parameters
    arguments = {**inputs, **more}
    required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    unknown = sorted(set(arguments) - set(parameters))
    missing = [name for name in required if name not in arguments]
    if unknown or missing:
        raise ValueError(
            f"table: expected the columns {', '.join(required)} "
            f"(optional: {', '.join(sorted(set(parameters) - set(required)))}), "
            f"got {', '.join(inputs)}" + (f"; options {', '.join(more)}" if more else "")
        )
    resamples = arguments.get("resamples", 0)
    if not isinstance(resamples, int) or resamples > MAX_RESAMPLES:
        raise ValueError(f"resamples: expected at most {MAX_RESAMPLES:,} on this page, got {resamples!r}; reduce it")
    try:
        return metric(**arguments)
    except ValueError:
        raise
    # Invalid cells can raise any error, such as text, None or a list instead of a number, or a number out of range.
    except Exception as error:
        raise ValueError(f"table or options: expected valid values, got {type(error).__name__}: {error}") from None


@dataclass(frozen=True)
class ScoreLine:
    """Metric name and value, as one line of the score table.

    Attributes:
        path: Keys of the value in the scores, such as (`by_category`, `colors`).
        value: Value of the metric.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
        n: Number of examples.
    """

    path: tuple[str, ...]
    value: Any
    low: float | None = None
    high: float | None = None
    n: int | None = None


def iter_score_lines(scores: Any, path: tuple[str, ...] = ()) -> Iterator[ScoreLine]:
    """Iterate over the values in nested scores, in order. Each line has the keys that lead to the value.

    In a list of dicts, the entries before the first nested value identify a dict. Without nested values, all entries
    except the last identify it.

    >>> accuracy = {"value": 1, "low": 1, "high": 1, "n": 2}
    >>> [line.path for line in iter_score_lines({"by": [{"kind": "a", "accuracy": accuracy}]})]
    [('by', 'kind a', 'accuracy')]
    >>> scores = {"bins": [{"low": 0.5, "n": 3, "share": 0.2}], "all": [1, None]}
    >>> [(line.path, line.value) for line in iter_score_lines(scores)]
    [(('bins', 'low 0.5, n 3', 'share'), 0.2), (('all',), '1, –')]
    """
    if hasattr(scores, "_asdict"):
        scores = scores._asdict()
    if isinstance(scores, Mapping) and set(scores) == _ESTIMATE:
        yield ScoreLine(path, **scores)
    elif isinstance(scores, Mapping):
        for name, part in scores.items():
            yield from iter_score_lines(part, (*path, str(name)))
    elif isinstance(scores, list | tuple) and any(_is_nested(part) for part in scores):
        for part in scores:
            part = part._asdict() if hasattr(part, "_asdict") else part
            pairs = list(part.items()) if isinstance(part, Mapping) else list(enumerate(part))
            first = next((i for i, (_, value) in enumerate(pairs) if _is_nested(value)), len(pairs) - 1)
            which = ", ".join(f"{name} {_format_number(value)}" for name, value in pairs[:first])
            for name, value in pairs[first:]:
                yield from iter_score_lines(value, (*path, which, str(name)))
    elif isinstance(scores, list | tuple):
        more = f", … ({len(scores)})" if len(scores) > MAX_LISTED else ""
        yield ScoreLine(path, ", ".join(_format_number(value) for value in scores[:MAX_LISTED]) + more)
    else:
        yield ScoreLine(path, scores)


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _format_number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return "–" if value is None else str(value)


def render_scores(scores: Scores, score_descriptions: Mapping[str, str]) -> str:
    """Render scores as an HTML table with values, intervals (as bars and numbers) and descriptions."""
    body = []
    group = ""
    last_meaning = ""  # Show a description once if consecutive lines share it.
    for line in iter_score_lines(scores):
        outer, *inner = line.path
        if inner and outer != group:
            last_meaning = score_descriptions.get(outer, "")
            body.append(_row((outer,), ScoreLine((), ""), last_meaning, "group"))
        meaning = next((score_descriptions[part] for part in line.path if part in score_descriptions), "")
        body.append(_row(inner or (outer,), line, "" if meaning == last_meaning else meaning, "part" if inner else ""))
        group, last_meaning = outer, meaning
    head = (
        '<tr><th>score</th><th class="number">value</th><th>95 % interval</th><th class="number">n</th><th></th></tr>'
    )
    return f'{_STYLE}<div class="scores"><table>{head}{"".join(body)}</table></div>'


def _row(names: Sequence[str], line: ScoreLine, meaning: str, kind: str) -> str:
    interval = ""
    if isinstance(line.value, float) and line.low is not None and line.high is not None:
        least = -1.0 if min(line.value, line.low) < 0 else 0.0
        left, middle, right = ((number - least) / (1 - least) * 100 for number in (line.low, line.value, line.high))
        interval = (
            f'<div class="interval"><div class="bar"><i style="left: {left:.1f}%; width: {right - left:.1f}%"></i>'
            f'<b style="left: {middle:.1f}%"></b></div><span>{line.low:.3f} to {line.high:.3f}</span></div>'
        )
    value = f"{line.value:.3f}" if isinstance(line.value, float) else escape(_format_number(line.value))
    return (
        f'<tr class="{kind}"><td class="name">{escape(" · ".join(names))}</td><td class="number">{value}</td>'
        f'<td>{interval}</td><td class="number">{"" if line.n is None else f"{line.n:,}"}</td>'
        f'<td class="meaning">{_render_code(meaning)}</td></tr>'
    )


def _render_code(text: str) -> str:
    """Convert the inline code in a line of Markdown to HTML."""
    return re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text))


def build_page(metric: Callable[..., Scores], folder: Path) -> "gr.Blocks":
    """Build the Gradio page of a metric Space.

    Args:
        metric: Function of columns and options.
        folder: Folder of the Space, with README.md and example.csv.
    """
    import gradio as gr

    card = MetricCard.parse((folder / "README.md").read_text(encoding="utf-8"))
    header, rows = parse_table((folder / "example.csv").read_text(encoding="utf-8"))
    optional = [name for name, one in inspect.signature(metric).parameters.items() if one.default is not one.empty]

    def score(cells: Any, options: str) -> str:
        try:
            inputs, others = select_metric_columns(
                metric, parse_metric_columns(list(cells.columns), cells.to_numpy().tolist())
            )
            scores = compute_scores(metric, inputs, options)
            unused = f"<p>Columns not used: {escape(', '.join(others))}.</p>" if others else ""
            return render_scores(scores, card.meanings) + unused
        except ValueError as error:
            return f"<p>⚠️ {escape(str(error))}</p>"

    def read_upload(path: str) -> Any:
        return paste_table(Path(path).read_bytes().decode("utf-8-sig", errors="replace"))

    def paste_table(text: str) -> Any:
        try:
            header, rows = parse_table(text.strip("\r\n"))
        except (ValueError, csv.Error) as error:
            raise gr.Error(str(error)) from None
        return gr.Dataframe(value={"headers": header, "data": rows}, column_count=len(header))

    demo = gr.Blocks(title=card.title, analytics_enabled=False)
    with demo:
        gr.Markdown(f"# {card.title}\n{card.lead}")
        with gr.Tab("Try it"):
            with gr.Row():
                with gr.Column(scale=3):
                    cells = gr.Dataframe(
                        value={"headers": header, "data": rows},
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
                    gr.Markdown(f"Optional columns or options: {', '.join(f'`{name}`' for name in optional)}.")
                    button = gr.Button("Compute", variant="primary")
            result = gr.HTML(apply_default_css=False)
        with gr.Tab("Description"):
            gr.Markdown(card.text)
        upload.upload(read_upload, upload, cells, api_visibility="private")
        # The event fires on every key press. A single line is not yet a table, so it must not raise an error.
        paste.input(
            lambda text: paste_table(text) if "\n" in text.strip() else gr.skip(), paste, cells, api_name="paste"
        )
        button.click(score, [cells, options], result, api_name="score")
        demo.load(score, [cells, options], result, api_visibility="private")
    return demo
