import sys
from types import SimpleNamespace

import pytest

from unbag.hub import vendoring
from unbag.hub.vendoring import bundle_modules, rewrite_imports


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that writes modules of a test package, which replaces unbag in vendoring."""
    monkeypatch.setattr(vendoring, "_OURS", "ours")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "__init__.py").touch()

    def write(**sources):
        for name, source in sources.items():
            (tmp_path / "ours" / f"{name}.py").write_text(source)

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "ours"]:
        del sys.modules[name]


def _execute(source):
    names = {"__name__": "bundle"}
    exec(compile(source, "bundle", "exec"), names)
    return SimpleNamespace(**names)


LOW = '''"""Low."""
from math import pi

# why
TWO = 2
"""What it is."""
'''
MIDDLE = '''"""Middle."""
import numpy as np
from math import e
from ours.low import TWO


def f():
    return np.full(TWO, e)
'''
HIGH = '''"""High."""
from ours.low import TWO
from ours.middle import (
    f,
)


def g():
    return f() * TWO
'''


def test_bundle_modules_computes_same_values(package):
    package(low=LOW, middle=MIDDLE, high=HIGH)
    text = bundle_modules(["ours.high"])
    assert _execute(text).g().tolist() == [2 * 2.718281828459045] * 2
    assert text.count("TWO = 2") == 1, "what two import is there once"
    assert text.index("ours.low: Low.") < text.index("ours.middle: Middle.") < text.index("ours.high: High.")
    assert "from math import e, pi\n\nimport numpy as np\n" in text
    assert "# why\nTWO = 2" in text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import pandas\n", "expected ours.bad to import only numpy, scipy, got an import of pandas"),
        ("import ours.good\n", "expected `from unbag.x import y` in ours.bad, got `import ours.good`"),
        ("from ours import good\n", "got `from ours import good`"),
        ("from ours.good import A as B\n", "got `from ours.good import A as B`"),
        ("from ours.good import *\n", "got `from ours.good import"),
        ("from .good import A\n", "expected absolute imports at the top of ours.bad"),
        ("def f():\n    from ours.good import A\n", "expected absolute imports at the top of ours.bad"),
        (
            "from ours.good import A\n\nB = 1\n",
            "expected unique names, got 'B' in ours.good and ours.bad",
        ),
        ("from ours.none import A\n", "expected an unbag module, got ours.none, which does not exist"),
    ],
)
def test_bundle_modules_with_unsupported_source_raises(package, source, message):
    package(good='"""Good."""\n\nA = B = 1\n', bad=f'"""Bad."""\n\n{source}')
    with pytest.raises(ValueError, match=message):
        bundle_modules(["ours.bad"])


def test_bundled_module_imports_from_neighboring_bundle(package):
    source = '"""Shell."""\n\nimport numpy as np\n\nfrom ours.a import y, x\nfrom ours.b import z\n\nprint(x)\n'
    text, modules = rewrite_imports(source, "beside")
    assert modules == ["ours.a", "ours.b"]
    assert "\nfrom .beside import x, y, z\n" in text
    assert "ours" not in text
