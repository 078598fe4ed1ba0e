"""Count the functions and representations that pairs of sentences pass in one evaluation.

    python -m tools.trace_evaluation MODEL      number of functions and of representations, and their names

The program evaluates a classifier on a few pairs of our own, whose number is a prime that nothing else has. A function
counts if an argument or its result holds as many items as there are pairs, or one of the pairs as text. A
representation is the type of such a value, with the type of its items.
"""

import argparse
import csv
import sys
import tempfile
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, Final

ROWS: Final = 37
_MARK: Final = "heliotrope"  # a word of every premise
_PACKAGE: Final = "unbag"


def write_pairs(path: Path) -> None:
    """Write the pairs, each about a person with another number."""
    labels = ("entailment", "neutral", "contradiction")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["premise", "hypothesis", "label"])
        for row in range(ROWS):
            writer.writerow([f"Person {row} holds a {_MARK}.", f"Person {row} holds a plant.", labels[row % 3]])


def find_representation(value: Any, depth: int = 1) -> str | None:
    """Name the type of a value if it holds the pairs. Fields of records are searched one level deep."""
    if isinstance(value, str):
        return "str" if _MARK in value else None
    if isinstance(value, type | FunctionType) or value is None:
        return None
    shape = getattr(value, "shape", None)
    try:
        size = shape[0] if shape else len(value)
    except Exception:  # no size, or a lazy object that cannot compute it
        size = None
    kind = type(value).__name__
    if size == ROWS:
        if shape is not None and hasattr(value, "dtype"):
            return f"{kind} of {value.dtype}"
        if isinstance(value, list | tuple):
            return f"{kind} of {type(value[0]).__name__}"
        return kind
    if isinstance(value, list | tuple) and size and size < ROWS and depth:
        return next((found for each in value if (found := find_representation(each, depth - 1))), None)
    if isinstance(value, dict) and depth:
        held = next((each for item in value.values() if (each := find_representation(item, depth - 1))), None)
        return held and f"dict of {held}"
    if type(value).__module__.startswith(_PACKAGE) and depth and hasattr(value, "__dict__"):
        return kind if any(find_representation(item, depth - 1) for item in vars(value).values()) else None
    return None


class Tracer:
    """Profile function that collects the functions of the package that pass the pairs."""

    def __init__(self) -> None:
        self.functions: dict[str, None] = {}
        self.representations: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, result: Any) -> None:
        """Handle a call or a return."""
        module = str(frame.f_globals.get("__name__"))
        if event not in ("call", "return") or module.partition(".")[0] != _PACKAGE:
            return
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [frame.f_locals.get(name) for name in names if name != "self"] if event == "call" else [result]
        found = [each for value in values if (each := find_representation(value)) is not None]
        # Lambdas, comprehensions and module bodies are no functions of their own.
        if found and not code.co_name.startswith("<"):
            self.functions[f"{module}:{code.co_qualname}"] = None
            self.representations |= dict.fromkeys(found)


def main() -> None:
    """Evaluate the model, and print the counts and the names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder or Hub id of a classifier")
    options = parser.parse_args()
    import unbag

    tracer = Tracer()
    with tempfile.TemporaryDirectory() as folder:
        write_pairs(Path(folder) / "pairs.csv")
        sys.setprofile(tracer)
        try:
            report = unbag.evaluate(
                options.model,
                "plain",
                data=Path(folder) / "pairs.csv",
                output_dir=Path(folder) / "run",
                lexical_baseline=False,
                shuffled=False,
                progress=False,
            )
            report.save(Path(folder) / "run")
        finally:
            sys.setprofile(None)
    for title, names in (("functions", tracer.functions), ("representations", tracer.representations)):
        print(f"{len(names)} {title}")
        for name in names:
            print(f"  {name}")


if __name__ == "__main__":
    main()
