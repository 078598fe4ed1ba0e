"""The option of every command that may take several processes."""

from typing import Annotated

import typer

NumProc = Annotated[
    int,
    typer.Option(
        "--num-proc",
        min=1,
        help="Processes that make rows and tag sentences, one a core at most; what comes out does not depend on it.",
    ),
]
