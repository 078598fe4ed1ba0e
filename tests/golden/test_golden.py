"""Test that the outputs of unbag on a small corpus equal the texts and summaries in `expected/`.

Further tests validate changed results of each set. They are here because they need the same runs.
"""

import difflib
import io
import json
from contextlib import redirect_stderr, suppress

import pytest

from tests.fake_llm import running_endpoint
from tests.golden.outputs import BYTES, SHARED, WORDNET, create_outputs
from tests.golden.store import build_section, is_equal_up_to_rounding, read_sections
from tests.inference.llm.tiny_lm import save_tiny_lm
from unbag.challenge_sets import results

EXPECTED = read_sections()
WRITE = "if the change is intended, run python -m tests.golden.write"
COMPARE = "for the full texts before and after, run python -m tests.golden.compare_numbers HEAD"
_SHOWN = 60  # maximum number of lines of a diff


@pytest.fixture(scope="session")
def outputs(request, tmp_path_factory, make_model, _lower_size_limits):
    """Return the texts by name. Texts that need ../shared or WordNet are included only if these are available."""
    for package in ("openai", "vl_convert", "scipy", "torch"):
        pytest.importorskip(package)
    optional = {}
    for name in ("shared", "wordnet"):
        with suppress(pytest.skip.Exception):
            optional[name] = request.getfixturevalue(name)
    causal = save_tiny_lm(tmp_path_factory.mktemp("tiny_lm"))
    with running_endpoint() as endpoint, redirect_stderr(io.StringIO()):  # progress bars would hide the differences
        return create_outputs(
            tmp_path_factory.mktemp("golden"),
            bert=make_model(),
            causal=causal,
            endpoint=endpoint.base_url,
            shared=optional.get("shared"),
            lexicon=optional.get("wordnet"),
        )


@pytest.mark.parametrize("name", EXPECTED)
def test_output_equals_golden_file(name, request):
    for prefix, fixture in ((SHARED, "shared"), (WORDNET, "wordnet")):
        if name.startswith(prefix):
            request.getfixturevalue(fixture)  # skips if the files are missing
    outputs = request.getfixturevalue("outputs")
    assert name in outputs, f"{name} is not made any more; {WRITE}"
    expected, found = EXPECTED[name], build_section(name, outputs[name])
    if name.endswith(BYTES) and parse_versions(expected) != parse_versions(found):
        pytest.skip(
            f"other versions than those that wrote the files: {parse_versions(found)}, not {parse_versions(expected)}"
        )
    is_prose = name.endswith((".txt", "shown.json"))
    if found != expected and not is_equal_up_to_rounding(expected, found, is_prose=is_prose):
        pytest.fail(f"{name} differs; {WRITE}; {COMPARE}\n{format_difference(expected, found)}", pytrace=False)


def test_all_outputs_are_expected(outputs):
    assert sorted(set(outputs) - set(EXPECTED)) == [], WRITE


def parse_versions(section):
    return json.loads(section.partition("\n")[2])["written with"]


def format_difference(one, two):
    lines = list(difflib.unified_diff(one.splitlines(), two.splitlines(), "expected", "found", lineterm="", n=1))
    more = [f"… and {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
    return "\n".join(line[:400] for line in [*lines[:_SHOWN], *more])


@pytest.mark.parametrize(
    ("one", "two", "where_rounded", "anywhere"),
    [
        ("a 0.123456789", "a 0.123456999", True, True),
        ("a 0.123456789", "a 0.123556789", False, False),
        ("a 0.060035", "a 0.060034", True, True),
        ("a 0.060035", "a 0.060032", False, False),
        ("a 0.123 of 12", "a 0.124 of 12", True, False),
        ("a 0.123 of 12", "a 0.125 of 12", False, False),
        ("a 0.123 of 12", "a 0.123 of 13", False, False),
        ("sha256:3e7656", "sha256:3e7657", False, False),
        ("sha256:a1.5", "sha256:a1.6", False, False),
        ("at 1.5e-07", "at 1.6e-07", True, True),
    ],
)
@pytest.mark.parametrize("filler", ["", "words " * 2000], ids=["full", "summary"])
def test_numbers_are_compared_up_to_last_digits(filler, one, two, where_rounded, anywhere):
    one, two = (build_section("x.txt", f"{filler}{text}\n") for text in (one, two))
    assert is_equal_up_to_rounding(one, two, is_prose=True) == where_rounded
    assert is_equal_up_to_rounding(one, two, is_prose=False) == anywhere


@pytest.fixture(scope="module")
def records(outputs):
    """Return one result per challenge set as JSON."""
    runs = (f"{name}/results.json" for name in ("runs/transformer", "runs/words", "shared/runs/official"))
    records = [record for run in runs if run in outputs for record in json.loads(outputs[run])["results"]]
    by_set = {record["set"]: json.dumps(record) for record in reversed(records)}
    assert len(by_set) == 8 if "shared/runs/official/results.json" in outputs else 7
    return by_set


def read_changed(record, path, value, folder):
    """Read a record after a change of the value at a path; None deletes the value."""
    record = json.loads(record)
    *above, last = (int(key) if key.isdigit() else key for key in path.split("/"))
    inner = record
    for key in above:
        inner = inner[key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    (folder / results.FILE).write_text(json.dumps({"schema": results.SCHEMA, "results": [record]}))
    return results.read_results(folder / results.FILE)[0]


CHANGES = (
    ("plain", "scores/accuracy/value", 1.5, "accuracy.value = 1.5, which is not between 0 and 1"),
    ("plain", "scores/accuracy/low", 1e300, ", which is out of range"),
    ("plain", "model/options", {"train_data": "snli"}, "model.options.train_data: input should be a valid array"),
    ("permuted", "config/mode", None, "which cannot be shown (KeyError: 'mode')"),
    ("swapped", "scores/drop/value", None, "which cannot be shown (AttributeError: "),
    ("swapped", "scores/drop", {"value": None, "low": 0.1, "high": 0.2, "n": 5}, "there is no value"),
    ("swapped", "scores/skill/n_sources", "many", "scores.skill.n_sources: input should be a valid integer"),
)


@pytest.mark.parametrize(("name", "path", "value", "said"), CHANGES, ids=lambda each: str(each)[:40])
def test_read_invalid_result_is_rejected(records, tmp_path, name, path, value, said):
    with pytest.raises(ValueError, match=r"results\.json: expected a results file of unbag, got results\.0") as raised:
        read_changed(records[name], path, value, tmp_path)
    assert said in str(raised.value)


def test_read_result_accepts_unknown_fields_and_sets(records, tmp_path):
    changed = read_changed(records["plain"], "scores/later", {"value": 1, "low": None, "high": None, "n": 1}, tmp_path)
    assert changed.scores["later"].value == 1
    assert read_changed(records["plain"], "later", 1, tmp_path).set == "plain"
    assert read_changed(records["plain"], "scores/later", [{}], tmp_path).scores["later"] == [{}]
    assert read_changed(records["plain"], "set", "theirs", tmp_path).scores["accuracy"].n > 0


def test_read_undefined_kappa_is_accepted(records, tmp_path):
    none = {"value": None, "low": None, "high": None, "n": 5}
    kappa = {"annotators": 5, "overall": none, "by_label": [{"label": 0, "kappa": none}]}
    assert read_changed(records["breaking_nli"], "scores/kappa", kappa, tmp_path).scores["kappa"]["overall"].n == 5
