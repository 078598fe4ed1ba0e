"""Python calls with values of wrong types, and models that return invalid predictions."""

from __future__ import annotations

import random

from tests.robustness.malformed_inputs.inputs import Input

VALUES = (
    *("None", "True", "-1", "0", "1.5", "float('nan')", "float('inf')", "10**30", "''", "'x'", "'\\x1b[31m'", "b'x'"),
    *(
        "[]",
        "[None]",
        "[[]]",
        "{}",
        "{'x': 1}",
        "object()",
        "lambda: 0",
        "range(3)",
        "{1, 2}",
        "('a', 1)",
        "...",
        "int",
    ),
    *("__import__('pathlib').Path('.')", "__import__('pathlib').Path('nope')", "__import__('numpy').zeros(3)", "'*'"),
    *("__import__('numpy').array(['a'])", "'../..'", "'x' * 5000", "1j", "__import__('decimal').Decimal('NaN')"),
)
_MODEL = "import unbag\ndef model(p, h):\n    return ['neutral'] * len(p)\n"
_FIXED = "'plain', data='pairs.csv', lexical_baseline=False, progress=False"
_CALLS = (
    (_MODEL + "unbag.evaluate(VALUE, {fixed})", "model"),
    (_MODEL + "unbag.evaluate(model, VALUE, data='pairs.csv', lexical_baseline=False, progress=False)", "sets"),
    *(
        (
            _MODEL
            + f"unbag.evaluate(model, 'plain', data='pairs.csv', {name}=VALUE, lexical_baseline=False, progress=False)",
            name,
        )
        for name in ("corpus", "split", "columns", "labels", "language", "max_examples", "seed", "options")
    ),
    (_MODEL + "unbag.evaluate(model, 'plain', data=VALUE, lexical_baseline=False, progress=False)", "data"),
    (_MODEL + "unbag.evaluate(model, {fixed}, output_dir=VALUE)", "out"),
    *(
        (_MODEL + f"unbag.evaluate(model, {{fixed}}, {name}=VALUE)", name)
        for name in ("label_map", "dtype", "num_fewshot")
    ),
    *(
        (f"import unbag\nunbag.evaluate('bert', {{fixed}}, {name}=VALUE)", name)
        for name in ("label_map", "dtype", "head")
    ),
    *((f"import unbag\nunbag.evaluate('bert', {{fixed}}, {name}=VALUE)", name) for name in ("device", "max_length")),
    *(
        (f"import unbag\nunbag.evaluate('bert', {{fixed}}, {name}=VALUE)", name)
        for name in ("batch_tokens", "revision")
    ),
    ("import unbag\nunbag.load(VALUE, data='pairs.csv')", "name"),
    ("import unbag\nunbag.load('plain', VALUE)", "config"),
    ("import unbag\nunbag.load('plain', data=VALUE)", "data"),
    ("import unbag\nunbag.load('permuted', data='pairs.csv', q=VALUE)", "q"),
    ("import unbag\nunbag.load('permuted', data='pairs.csv', min_words=VALUE)", "min_words"),
    ("import unbag\nunbag.load('plain', data='pairs.csv', labels=VALUE)", "labels"),
    ("import unbag\nunbag.compare('run', VALUE)", "run"),
    *(
        (f"import unbag\nunbag.compare('run', 'other', {name}=VALUE)", name)
        for name in ("metrics", "level", "resamples", "across_data")
    ),
    ("import unbag\nunbag.SetRequest(VALUE)", "set"),
    ("import unbag\nunbag.SetRequest('plain', VALUE)", "config"),
    ("import unbag\nunbag.SetRequest('plain', options=VALUE)", "options"),
    ("import unbag\nunbag.SetRequest('plain', max_examples=VALUE)", "max_examples"),
    ("import unbag\nunbag.SetRequest('plain', seed=VALUE)", "seed"),
    ("from unbag.evaluation.gates import parse_bound\nparse_bound(str(VALUE), 'min')", "bound"),
    ("from unbag.data.labels import parse_label_map\nparse_label_map(str(VALUE))", "label map"),
    ("from unbag.data.labels import resolve_label\nresolve_label(str(VALUE))", "label"),
)
_ANSWERS = (
    *(
        "None",
        "[]",
        "['neutral']",
        "['nonsense'] * n",
        "[3] * n",
        "[-1] * n",
        "[None] * n",
        "[True] * n",
        "'neutral'",
        "5",
    ),
    *("np.zeros((n, 3))", "np.full((n, 3), np.nan)", "np.full((n, 3), np.inf)", "np.ones((n, 2, 3))", "np.ones(n) / 2"),
    *("np.full((n, 4), .25)", "np.array([['a', 'b', 'c']] * n)", "[[.5, .5]] * n", "[[1, 0, 0]] * (n - 1)", "object()"),
    *("{'neutral': n}", "iter(['neutral'] * n)", "[['neutral']] * n", "[{'label': 'x'}] * n", "[b'neutral'] * n"),
    *(
        "np.full((n, 3), -1.)",
        "[[1e308, 1e308, 1e308]] * n",
        "[['0.2', '0.3', '0.5']] * n",
        "[(.2, .3)] * n",
        "[1.5] * n",
    ),
)


def calls(rng: random.Random) -> Input:
    """Sample a call with a value of a wrong type."""
    code, name = rng.choice(_CALLS)
    value = rng.choice(VALUES)
    code = code.replace("{fixed}", _FIXED).replace("VALUE", value)
    return Input("Python calls", (code,), {}, _list_used_files(code), "", f"{name} = {value}", "python")


def answers(rng: random.Random) -> Input:
    """Sample a model that returns invalid predictions."""
    value = rng.choice(_ANSWERS)
    code = f"import unbag, numpy as np\ndef model(p, h):\n    n = len(p)\n    return {value}\n"
    code += f"print(unbag.evaluate(model, {_FIXED}))"
    may = ("iter", "np.ones(n) / 2", "['0.2'", "[True]", "[(.2", "[[.5, .5]]", "[-1]")
    expected = "" if any(part in value for part in may) else "refuse"
    return Input("models in Python", (code,), {}, ("pairs.csv",), expected, value, "python")  # type: ignore[arg-type]


_COLUMNS = ("[]", "[0, 1, 2]", "[0, 1]", "['a', 'b', 'c']", "[9, 9, 9]", "[-1, -1, -1]", "[None, 1, 2]", "[0.5, 1, 2]")
_METRICS = (
    *("permutation_acceptance", "swap_consistency", "pos_minitree", "natural_logic", "category_accuracy"),
    *("label_distribution", "compositionality_sensitivity"),
)


def metrics(rng: random.Random) -> Input:
    """Sample columns that a metric cannot score, for the `evaluate` modules."""
    name = rng.choice(_METRICS)
    one, two = rng.choice(_COLUMNS), rng.choice(_COLUMNS)
    code = (
        f"import evaluate, inspect\nfrom unbag import scripts\nfrom importlib.util import find_spec\n"
        f"metric = scripts.import_script_module('metrics', {name!r})\n"
        "[cls] = [v for v in vars(metric).values() if inspect.isclass(v) and issubclass(v, evaluate.Metric)"
        " and v.__module__ == metric.__name__]\n"
        "metric = cls()\n"
        "features = metric.info.features\n"
        "names = features[0] if isinstance(features, list) else features  # some metrics accept ids or names\n"
        f"given = {{key: {one} for key in names}}\n"
        f"given['predictions'] = {two}\n"
        "metric.compute(**given)"
    )
    return Input("metrics", (code,), {}, (), "", f"{name}: {two} of {one}", "python")


def _list_used_files(code: str) -> tuple[str, ...]:
    return tuple(name for name in ("pairs.csv", "bert", "run", "other") if f"'{name}'" in code)
