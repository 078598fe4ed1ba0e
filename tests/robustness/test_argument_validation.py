"""Tests that invalid arguments are rejected before any computation, for each command and option."""

import sys
from pathlib import Path

import pytest

from tests.robustness.command import read_files_below, run_rejected, sample_inputs
from unbag.utils import optional_deps

pytest.importorskip("torch", reason="needs unbag[models]")
pytestmark = pytest.mark.usefixtures("empty_working_dir")

HEADER = "premise,hypothesis,label\n"


class ReachedError(BaseException):
    """Raised when an expensive step begins. Derives from BaseException, so that commands do not handle it as a failed
    set.
    """


EXPENSIVE = (
    "unbag.data.readers.open_hub_table",  # loads a corpus
    "unbag.data.readers.resolve_hub_commit",
    "unbag.data.sources.PairSource.iter_examples",  # reads all pairs of a user
    "unbag.challenge_sets.loading.load_evaluation_split",
    "unbag.baselines.lexical.fitting._read_examples",
    "unbag.inference.loading.load_network",
    "unbag.inference.hub_files.resolve_revision",
    "unbag.training.run.load_classifier_for_training",
    "unbag.data.text.tagging.load_pipeline",
    "unbag.baselines.lexical.embeddings._fetch",
    "unbag.evaluation.evaluator.predict_rows",
    "httpx2.Client.send",
)


@pytest.fixture
def nothing_done(monkeypatch):
    """Make all expensive steps raise ReachedError."""
    import unbag.baselines.lexical.embeddings
    import unbag.evaluation.evaluator
    import unbag.inference.loading
    import unbag.training.run  # noqa: F401  (or their names were not there to be replaced)

    for name in EXPENSIVE:

        def reached(*_, name=name, **__):
            raise ReachedError(name)

        monkeypatch.setattr(name, reached)


@pytest.fixture
def given(tmp_path):
    """Return the paths that commands use by name: valid files, and places that cannot be written."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(HEADER + "A man runs.,A man moves.,entailment\n" * 3)
    predictions = tmp_path / "predictions.csv"
    predictions.write_text("id,prediction\na,neutral\n")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "empty").mkdir()
    words = {
        "PAIRS": pairs,
        "PREDICTIONS": predictions,
        "UNDER": tmp_path / "file" / "below" / "it",
        "EMPTY": tmp_path / "empty",
        "LONG": tmp_path / ("x" * 300),
        "PROC": Path("/proc/nothing/here"),
        "LINK": tmp_path / "link" / "below",
    }
    return {name: str(path) for name, path in words.items()}


EVALUATE = "evaluate org/model --data PAIRS --sets plain"
SCORE = "score PREDICTIONS --set plain --data PAIRS"
CHECK = "check org/model --data PAIRS --min plain:accuracy=.1"

OUTPUTS = [
    f"{command} {place}"
    for command in (
        f"{EVALUATE} --output-dir",
        f"{SCORE} --output-dir",
        f"{CHECK} --output-dir",
        "train kfold --model org/model --output-dir",
        "lexical fit --train-data PAIRS --output-dir",
        "models init esim --corpus PAIRS --output-dir",
        "human-study sample org/model --data PAIRS --output-dir",
        "export lm-eval --sets plain --data PAIRS --output-dir",
        "build permuted --data PAIRS --output",
        "report EMPTY --output",
    )
    for place in ("UNDER", "LONG", "PROC", "LINK")
]
OPTIONS = """
evaluate org/model --sets nope
evaluate org/model --sets plain --data PAIRS --columns premise=nope
evaluate org/model --sets permuted --data PAIRS -o q=x
evaluate org/model --sets permuted --data PAIRS -o minitrees=PAIRS -o pipeline=nope
evaluate org/model --sets breaking_nli --official-file nowhere
evaluate org/model ./nowhere --sets plain --data PAIRS
evaluate org/model majority --sets plain --data PAIRS --train-data nope
evaluate org/model --data PAIRS --sets plain --dtype float8
evaluate causal:org/model --data PAIRS --sets plain --num-fewshot 2
evaluate endpoint:m --data PAIRS --sets plain --base-url http://127.0.0.1:9/v1 --concurrency 0
evaluate org/model --config nowhere.yaml
score PREDICTIONS --set nowhere.parquet
check org/model --data PAIRS --min plain:nope=.1
report nowhere
compare EMPTY EMPTY --significance-level 2
build permuted --corpus snli --split nope --output out.parquet
lexical fit --train-data snli,nope --output-dir out
lexical score --train-data PAIRS --premise A. --hypothesis B. --label not_entailment
models init esim --corpus snli,ocnli --output-dir out
models interpolate org/model org/model org/model --alpha 0.5 --output-dir out
human-study sample org/model --data PAIRS --output-dir out --num-pairs 3
export lm-eval --sets plain,permuted --output-dir out --hub org/name
prefetch org/model --train-data nope
train finetune --model org/model --output-dir out --evaluate plain,nope
train finetune --model org/model --output-dir out --corpus snli --validation ocnli
train finetune --model org/model --output-dir out --resume-from-checkpoint ./nowhere
train max-entropy --model org/model --output-dir out --alpha 0
train rearranged --model org/model --output-dir out --rearranged-by ./nowhere
publish dataset plain --repo-id org --corpus snli --license mit
publish results nowhere --repo-id org/name --sets-org org
""".strip().splitlines()


@pytest.mark.parametrize("command", [*OPTIONS, *sample_inputs(OUTPUTS, 10)])
def test_invalid_arguments_are_rejected_before_expensive_steps(nothing_done, given, capsys, command):
    words = command.split()
    for name, path in given.items():
        words = [word.replace(name, path) for word in words]
    before = read_files_below(Path.cwd())
    run_rejected(capsys, *words)
    assert read_files_below(Path.cwd()) == before


EXTRAS = {
    "zh": ("build permuted --corpus ocnli --output out.parquet",),
    "wordnet": (
        "build breaking_nli --data PAIRS --output out.parquet -o wordnet=true",
        "evaluate org/model natlog --sets plain --data PAIRS",
        "train finetune --model org/model --corpus PAIRS --augment substituted --output-dir out",
        "models init kim --corpus PAIRS --output-dir out",
    ),
}


@pytest.mark.parametrize(("extra", "command"), [(extra, command) for extra in EXTRAS for command in EXTRAS[extra]])
def test_missing_extra_is_reported_before_expensive_steps(nothing_done, given, capsys, monkeypatch, extra, command):
    for package in (name for name, brought_by in optional_deps.EXTRA_OF.items() if brought_by == extra):
        monkeypatch.setitem(sys.modules, package, None)
    said = run_rejected(capsys, *[given.get(word, word) for word in command.split()])
    assert f"pip install 'unbag[{extra}]'" in " ".join(said.split())
    assert read_files_below(Path.cwd()) == []


@pytest.mark.parametrize("command", EXTRAS["wordnet"][:2])
def test_missing_wordnet_is_reported_before_expensive_steps(nothing_done, given, capsys, monkeypatch, command):
    monkeypatch.setattr("nltk.data.path", [])
    monkeypatch.setenv("UNBAG_CACHE", str(Path.cwd().parent / "cache"))
    said = run_rejected(capsys, *[given.get(word, word) for word in command.split()])
    assert "unbag.baselines.wordnet.install" in "".join(said.split())
    assert read_files_below(Path.cwd()) == []
