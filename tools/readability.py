"""Measure the readability of the code: sizes of files and functions, and random samples of prose for a review.

python -m tools.readability                # sizes, one per line
python -m tools.readability --sample 7     # samples with random seed 7
"""

import argparse
import ast
import random
import re
import statistics
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/unbag"
Function = ast.FunctionDef | ast.AsyncFunctionDef


def iter_modules() -> Iterator[tuple[Path, ast.Module]]:
    """Parse every module of the library."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def describe_repository() -> Iterator[str]:
    """Iterate over counts of the files that git tracks, and of their lines (as `wc -l`)."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    tracked = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    code = [name for name in tracked if name.endswith(".py")]
    in_src = [name for name in code if name.startswith("src/")]
    library = [name for name in code if name.startswith(("src/", "dataset_scripts/", "metrics/", "trainers/"))]
    tests = [name for name in tracked if name.startswith("tests/")]
    golden = [name for name in tests if name.startswith("tests/golden/") and not name.endswith(".py")]
    yield f"lines of src, dataset_scripts, metrics and trainers: {count_lines(library):,}"
    yield f"Python files in src: {len(in_src)}"
    yield f"tests: {count_lines(set(tests) & set(code)):,} lines of Python, {len(tests)} files"
    yield f"golden files: {count_lines(golden):,} lines"
    yield f"tracked files: {len(tracked)}"


def count_lines(names: Iterable[str]) -> int:
    """Count the line ends of files of the repository."""
    return sum((ROOT / name).read_bytes().count(b"\n") for name in names)


def describe_sizes() -> Iterator[str]:
    """Iterate over descriptions of the sizes of files and functions."""
    lengths, long_functions, many_parameters, comments = [], 0, 0, 0
    for path, tree in iter_modules():
        lengths.append(len(path.read_text(encoding="utf-8").splitlines()))
        with path.open("rb") as file:
            comments += sum(token.type == tokenize.COMMENT for token in tokenize.tokenize(file.readline))
        for node in ast.walk(tree):
            if isinstance(node, Function):
                long_functions += (node.end_lineno or node.lineno) - node.lineno + 1 > 60
                arguments = node.args
                names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                many_parameters += len([each for each in names if each.arg not in ("self", "cls")]) > 7
    entries = [each for each in SOURCE.iterdir() if not each.name.startswith("__") and each.name != "py.typed"]
    yield f"first-level entries: {len(entries)}"
    yield f"files: {len(lengths)}, lines: {sum(lengths):,}"
    percentile = sorted(lengths)[len(lengths) * 9 // 10]
    yield f"lines per file: median {statistics.median(lengths):g}, 90th percentile {percentile}"
    yield f"functions of more than 60 lines: {long_functions}; with more than 7 parameters: {many_parameters}"
    yield f"comments per 100 lines: {100 * comments / sum(lengths):.2f}"


def iter_docstrings() -> Iterator[str]:
    """Iterate over the first lines of all docstrings."""
    for _, tree in iter_modules():
        for node in ast.walk(tree):
            if isinstance(node, Function | ast.ClassDef | ast.Module) and (text := ast.get_docstring(node)):
                name = getattr(node, "name", "module")
                yield f"{name}: {text.splitlines()[0]}"


def iter_public_names() -> Iterator[str]:
    """Iterate over the public functions, methods and classes, with their modules."""
    for path, tree in iter_modules():
        for node in ast.walk(tree):
            if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
                yield f"{path.relative_to(SOURCE).with_suffix('')}: {node.name}"


def iter_error_messages() -> Iterator[str]:
    """Iterate over the messages of exceptions raised in the library."""
    for _, tree in iter_modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                message = node.exc.args[0]
                if isinstance(message, ast.Constant | ast.JoinedStr | ast.BinOp):
                    yield ast.unparse(message)


def iter_help_lines() -> Iterator[str]:
    """Iterate over the help texts of options, as the commands declare them."""
    for _, tree in iter_modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield from (ast.unparse(each.value) for each in node.keywords if each.arg == "help")
                if isinstance(node.func, ast.Name) and node.func.id == "option" and node.args:
                    yield ast.unparse(node.args[0])


def iter_paragraphs() -> Iterator[str]:
    """Iterate over the paragraphs of the README and the documentation: no headings, tables or code."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for block in text.split("\n\n"):
            if block.strip() and not block.lstrip().startswith(("#", "|", "-", "!", "[", ":", "(", "1.")):
                yield " ".join(block.split())


def main() -> None:
    """Print sizes, or samples of prose."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--sample", type=int, metavar="SEED", help="Random seed; prints samples of prose instead of sizes."
    )
    seed = parser.parse_args().sample
    if seed is None:
        print("\n".join((*describe_repository(), *describe_sizes())))
        return
    rng = random.Random(seed)
    kinds = {
        "docstring first lines": (iter_docstrings, 60),
        "help lines": (iter_help_lines, 30),
        "error messages": (iter_error_messages, 30),
        "documentation paragraphs": (iter_paragraphs, 30),
        "public names": (iter_public_names, 30),
    }
    for title, (found, n) in kinds.items():
        print(f"\n## {title} (seed {seed})\n")
        for number, each in enumerate(rng.sample(sorted(set(found())), n), start=1):
            print(f"{number}. {each}")


if __name__ == "__main__":
    main()
