"""The user's own modules that a source file imports."""

import ast
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path

from unbag.utils.hashing import hash_file, hash_texts


def hash_imported_modules(file: Path, module: str) -> str | None:
    """Compute a hash of the user's own modules that a source file imports, directly or indirectly. None without any.

    Modules of Python, of installed packages and of unbag do not count. Modules are found by the import statements, also
    within functions, but not by `importlib.import_module`. `module` is the name of the file's module, or `__main__`.
    """
    root = file.resolve().parents[module.count(".") + (file.name == "__init__.py")]
    of_python = Path(sysconfig.get_path("stdlib")).resolve()
    folders = [
        str(folder)
        for folder in dict.fromkeys(each.resolve() for each in (root, *map(Path, sys.path)))
        if not (folder.is_relative_to(of_python) or {"site-packages", "dist-packages"} & set(folder.parts))
    ]
    own: dict[str, Path] = {}
    pending = [(module, file)]
    while pending:
        for name in _list_imports(*pending.pop()):
            source = _find_source(name, folders)
            if source is not None and name not in own and source.resolve() != file.resolve():
                own[name] = source
                pending.append((name, source))
    return hash_texts((name, hash_file(own[name])) for name in sorted(own)) if own else None


def _list_imports(module: str, file: Path) -> Iterator[str]:
    """List the modules that the import statements of a source file may import. Some names may not be modules."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (OSError, SyntaxError, ValueError):  # a file that does not exist any more, or that is never imported
        return
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # above the top-level package
                base = resolve_name("." * node.level + (node.module or ""), package)
                names = [f"{base}.{each.name}" for each in node.names]
        for name in names:
            yield from accumulate(name.split("."), "{}.{}".format)  # importing `a.b` also runs `a`


def _find_source(name: str, folders: Sequence[str]) -> Path | None:
    """Find the source file of a module. Return None if the folders have no such module, or it belongs to unbag."""
    if name.partition(".")[0] == "unbag":
        return None
    places: Sequence[str] | None = folders
    spec = None
    for each in accumulate(name.split("."), "{}.{}".format):
        try:
            spec = PathFinder.find_spec(each, places) if places else None
        except KeyError:  # a namespace package in a namespace package that is not loaded
            return None
        if spec is None:
            return None
        places = spec.submodule_search_locations
    return Path(spec.origin) if spec is not None and spec.origin and spec.origin.endswith(".py") else None
