"""Code of ours that runs without us: the modules of unbag that a file needs, copied into one that imports none of them.

The metrics' arithmetic, for Spaces, and the networks, for repositories of models.

`evaluate` fetches the files beside a module that the module itself imports, and no others (`evaluate.loading`, 0.4.6):
not what those import in turn, nor folders; and one named like the module is refused. One file beside the module is
what it can fetch, and what an `app.py` in the same folder can import as well.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_OURS: Final = "unbag"
_NUMPY: Final = frozenset({"numpy"})
_ARITHMETIC: Final = "The arithmetic of a metric, needing numpy alone."


def source_notice() -> str:
    """Return the comment that each file copied from us begins with: where it is from, and its licence."""
    return (
        f"# From unbag {version(_OURS)}, by the unbag authors. Made by `unbag publish`: change it there.\n"
        "# SPDX-License-Identifier: Apache-2.0 (https://www.apache.org/licenses/LICENSE-2.0)\n"
    )


def rewrite_imports(source: str, bundled: str) -> tuple[str, list[str]]:
    r"""Return a module whose imports from unbag come from one file beside it, and which modules of unbag those were.

    Args:
        source: of the module.
        bundled: the name of the module beside it, a `bundle` of the modules returned.

    Raises:
        ValueError: if it imports from unbag in another form than `from unbag.x import y` at the top.

    >>> rewrite_imports("from unbag.scoring.bootstrap import plain\n\nprint(plain(1))\n", "scoring")
    ('from .scoring import plain\n\nprint(plain(1))\n', ['unbag.scoring.bootstrap'])
    """
    imports = list(_unbag_imports(source, "the module"))
    names = sorted({alias.name for node in imports for alias in node.names})
    lines = source.splitlines(keepends=True)
    for node in imports:
        _blank_lines(lines, node)
    if imports:  # on one line: `evaluate` reads line by line
        lines[imports[0].lineno - 1] = f"from .{bundled} import {', '.join(names)}\n"
    return "".join(lines), sorted({str(node.module) for node in imports})


def bundle_modules(
    modules: Iterable[str],
    *,
    title: str = _ARITHMETIC,
    allowed: frozenset[str] = _NUMPY,
    instead: Mapping[str, str] | None = None,
) -> str:
    """Return one module that holds everything that some modules of unbag define, and all of ours that they import.

    Each stays as it is written, but for its imports: those of unbag are no more needed, the others come together at the
    top. What is imported comes before what imports it.

    Args:
        modules: their names.
        title: the docstring of the whole.
        allowed: beside the standard library, all that the bundle may ask a stranger to install.
        instead: modules to take in the place of others, which define the same names.

    Raises:
        ValueError: if one needs more than is allowed, imports in a form that cannot be rewritten, or two use one name.
    """
    sources = _collect_sources(modules, instead or {}, allowed)
    imports: dict[str, set[str]] = {}
    owners: dict[str, str] = {}
    sections = []
    for name, source in sources.items():
        tree = ast.parse(source)
        lines = source.splitlines(keepends=True)
        for node in _top_imports(tree, name, allowed):
            _blank_lines(lines, node)
            for module, imported in _external_imports(node, name, allowed):
                imports.setdefault(module, set()).add(imported)
        for defined in _definitions(tree):
            if owners.setdefault(defined, name) != name:
                raise ValueError(
                    f"expected a name in one module only, found {defined!r} in {owners[defined]} and {name}"
                )
        docstring = (ast.get_docstring(tree) or "").splitlines()[0]
        _blank_lines(lines, tree.body[0])
        sections.append(f"# {name}: {docstring}\n\n\n" + "".join(lines).strip() + "\n")
    return "\n\n".join([f'"""{title}"""\n\n{_format_imports(imports)}', *sections])


def _collect_sources(modules: Iterable[str], instead: Mapping[str, str], allowed: frozenset[str]) -> dict[str, str]:
    """Return the sources of modules of ours and of all that they import of ours, what is imported first."""
    sources: dict[str, str] = {}

    def visit(name: str) -> None:
        name = instead.get(name, name)
        if name in sources:
            return
        source = _read_source(name)
        for node in _unbag_imports(source, name, allowed):
            visit(str(node.module))
        sources[name] = source

    for name in modules:
        visit(name)
    return sources


def _read_source(name: str) -> str:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ValueError(f"expected a module of unbag, found none called {name}")
    return Path(spec.origin).read_text(encoding="utf-8")


def _unbag_imports(source: str, name: str, allowed: frozenset[str] = frozenset()) -> Iterator[ast.ImportFrom]:
    for node in _top_imports(ast.parse(source), name, allowed):
        if isinstance(node, ast.Import):
            if any(alias.name.partition(".")[0] == _OURS for alias in node.names):
                raise ValueError(f"expected `from unbag.x import y` in {name}, found `{ast.unparse(node)}`")
        elif str(node.module).partition(".")[0] == _OURS:
            if node.module == _OURS or any(alias.asname or alias.name == "*" for alias in node.names):
                raise ValueError(f"expected `from unbag.x import y` in {name}, found `{ast.unparse(node)}`")
            yield node


def _top_imports(
    tree: ast.Module, name: str, allowed: frozenset[str] = frozenset()
) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports at the top of a module; there are no others, but in functions of what is allowed."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    imports = [node for node in found if node in tree.body or not _imports_only(node, allowed)]
    for node in imports:
        if node not in tree.body or (isinstance(node, ast.ImportFrom) and node.level):
            raise ValueError(f"expected absolute imports at the top of {name}, found `{ast.unparse(node)}`")
    return imports


def _imports_only(node: ast.Import | ast.ImportFrom, packages: frozenset[str]) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
    return all(name.partition(".")[0] in packages for name in names)


def _external_imports(
    node: ast.Import | ast.ImportFrom, name: str, allowed: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """Yield what an import brings from elsewhere: ("collections.abc", "Mapping"), and ("", "numpy as np")."""
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [str(node.module)]
    for module in modules:
        root = module.partition(".")[0]
        if root not in allowed | {_OURS} and root not in sys.stdlib_module_names:
            needed = ", ".join(sorted(allowed))
            raise ValueError(f"expected {name} to need {needed} alone, found that it imports {module}")
    if modules[0].partition(".")[0] != _OURS:
        source = "" if isinstance(node, ast.Import) else modules[0]
        yield from ((source, ast.unparse(alias)) for alias in node.names)


def _format_imports(imports: dict[str, set[str]]) -> str:
    """Write imports as isort does: the standard library, then the rest; `import x` before `from x import y`."""
    plain = sorted(imports.get("", set()))
    lines = [(name.partition(" ")[0], f"import {name}\n") for name in plain] + [
        (module, f"from {module} import {', '.join(sorted(names))}\n")
        for module, names in sorted(imports.items())
        if module
    ]
    groups = (
        [line for module, line in lines if (module.partition(".")[0] in sys.stdlib_module_names) == first]
        for first in (True, False)
    )
    return "\n".join("".join(group) for group in groups if group)


def _definitions(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines at its top."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def _blank_lines(lines: list[str], node: ast.stmt) -> None:
    """Empty the lines of a statement; the numbers of the others stay."""
    for number in range(node.lineno - 1, node.end_lineno or node.lineno):
        lines[number] = ""
