"""Options that select the source pairs of challenge sets, declared once for the Python API and the command line.

At the top, the module imports only `unbag.utils`, because every start of the command reads it.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Final, TypedDict

from unbag.utils.options import DeclaredOptions, Option, PositiveInt, collect_options


def _to_texts(value: Path | str | Sequence[Path | str]) -> list[str]:
    return [str(value)] if isinstance(value, str | PathLike) else list(map(str, value))


class PairKwargs(TypedDict, total=False):
    """Options of source pairs and challenge sets."""

    corpus: Annotated[
        str | None,
        Option(
            "Corpus from which the sets are built; see `unbag sets` (default: snli).",
            "Some sets have another default.",
        ),
    ]
    split: Annotated[str | None, Option("Split of the corpus (default: the split used in the papers).")]
    data: Annotated[
        Path | str | None,
        Option(
            "User-provided pairs: a csv, jsonl, parquet, … file or a Hub dataset id.",
            "Or a tsv, json or Arrow file, or a folder of `save_to_disk`.",
            parse=str,
        ),
    ]
    text: Annotated[
        Path | str | Sequence[Path | str] | None,
        Option(
            "User-provided English text instead of pairs: files, folder or Hub dataset id.",
            "Files are .txt, .md, or tables with a text column. Only sets that need no labels can be built from text "
            "(`ChallengeSet.from_text`).",
            metavar="FILE...",
            parse=_to_texts,
        ),
    ]
    columns: Annotated[
        Mapping[str, str] | None,
        Option(
            "Column names of --data or --text: premise=text,label=gold,source=doc, …",
            'In Python a mapping, such as `{"premise": "text", "source": "file"}`, or `{"text": "body"}` for `text`.',
            parse=dict,
        ),
    ]
    labels: Annotated[
        Sequence[str] | None,
        Option(
            "Label names for ids 0, 1, … in --data, or a mapping (E=entailment,N=neutral,…).",
            'In Python both are lists, such as `["E=entailment", "N=neutral"]`.',
            parse=list,
        ),
    ]
    language: Annotated[str | None, Option("Language code of --data, such as zh or nl (default: en).")]
    encoding: Annotated[
        str | None, Option("Encoding of --data without byte-order mark, such as cp1252 (default: utf-8).")
    ]
    join_passages: Annotated[
        bool | None, Option("Join premises that are lists of passages by blank lines.", default=False)
    ]
    max_examples: Annotated[
        PositiveInt | None,
        Option(
            "Maximum number of source examples (default: all).",
            "Without names of sets, a sample of each set is the default.",
        ),
    ]
    seed: Annotated[int | None, Option("Random seed for sampling (default: 13).")]
    options: Annotated[
        Mapping[str, Any] | None,
        Option(
            'Options of the sets, such as `{"q": 10}`; see `unbag sets NAME`.',
            "Each set uses the options that it has. `SET.NAME` applies to that set only, and takes precedence over "
            "`NAME`.",
        ),
    ]


PAIR_OPTIONS: Final[DeclaredOptions] = collect_options(PairKwargs)
"""Type and description of each option."""
