"""Tests that invalid arguments are rejected before any computation, for each command and option, and in Python."""

import math
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path

import pytest

from tests.robustness.conftest import read_files_below, run_rejected, sample_inputs, write_pairs
from unbag import challenge_sets
from unbag.api import evaluate
from unbag.baselines.lexical.fitting import LexicalTrainingOptions
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest
from unbag.challenge_sets.selection import PairSelection
from unbag.evaluation.comparison import compare
from unbag.training.config import TrainConfig
from unbag.utils import optional_deps

pytestmark = pytest.mark.usefixtures("empty_working_dir")


class ReachedError(BaseException):
    """Raised when an expensive step begins. Commands handle an Exception as a failed set."""


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
def reject(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command that must be rejected before all expensive steps, and returns its error.

    Words of the command stand for paths: valid files, and places that cannot be written.
    """
    pytest.importorskip("torch", reason="needs unbag[models]")
    for name in EXPENSIVE:

        def reached(*_, name=name, **__):
            raise ReachedError(name)

        monkeypatch.setattr(name, reached)
    write_pairs(tmp_path / "pairs.csv", 1)
    (tmp_path / "predictions.csv").write_text("id,prediction\na,neutral\n")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "empty").mkdir()
    paths = {
        "PAIRS": tmp_path / "pairs.csv",
        "PREDICTIONS": tmp_path / "predictions.csv",
        "UNDER": tmp_path / "file" / "below" / "it",
        "EMPTY": tmp_path / "empty",
        "LONG": tmp_path / ("x" * 300),
        "PROC": Path("/proc/nothing/here"),
        "LINK": tmp_path / "link" / "below",
    }

    def run(command):
        words = command.split()
        for name, path in paths.items():
            words = [word.replace(name, str(path)) for word in words]
        error = " ".join(run_rejected(capsys, *words).split())
        assert read_files_below(Path.cwd()) == []
        return error

    return run


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
evaluate endpoint:m --data PAIRS --sets plain --base-url http://127.0.0.1:9/v1 --no-cache --shard 0/2
evaluate org/model --data PAIRS --sets plain --shard 0/2 --predictions-csv predictions.csv
evaluate org/model --text PAIRS --sets negation --language nl
evaluate EMPTY --data PAIRS --sets plain
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
publish dataset plain --repo-id or,g --data PAIRS --license mit
publish results nowhere --repo-id org/name --sets-org org
""".strip().splitlines()


@pytest.mark.parametrize("command", [*OPTIONS, *sample_inputs(OUTPUTS, 10)])
def test_invalid_arguments_are_rejected_before_expensive_steps(reject, command):
    reject(command)


EXTRAS = {
    "build permuted --corpus ocnli --output out.parquet": "zh",
    "build breaking_nli --data PAIRS --output out.parquet -o wordnet=true": "wordnet",
    "evaluate org/model natlog --sets plain --data PAIRS": "wordnet",
    "train finetune --model org/model --corpus PAIRS --augment substituted --output-dir out": "wordnet",
    "models init kim --corpus PAIRS --output-dir out": "wordnet",
}


@pytest.mark.parametrize("command", EXTRAS)
def test_missing_extra_is_reported_before_expensive_steps(reject, monkeypatch, command):
    for package in (name for name, extra in optional_deps.EXTRA_OF.items() if extra == EXTRAS[command]):
        monkeypatch.setitem(sys.modules, package, None)
    assert f"pip install 'unbag[{EXTRAS[command]}]'" in reject(command)


@pytest.mark.parametrize("command", list(EXTRAS)[1:3])
def test_missing_wordnet_is_reported_before_expensive_steps(reject, monkeypatch, command):
    monkeypatch.setattr("nltk.data.path", [])
    assert "unbag.baselines.wordnet.install" in reject(command).replace(" ", "")


@pytest.mark.parametrize(
    "command",
    [
        "build plain --data PAIRS --labels ,",
        "evaluate majority --data PAIRS --sets ,",
        "lexical fit --output-dir out --train-data ,",
        "train finetune --model org/model --output-dir out --validation ,",
    ],
)
def test_empty_list_option_is_rejected(reject, command):
    assert "expected comma-separated " in reject(command)


WRONG = (10**30, b"x", {"a": 1}, "\n", "a\x1b[31mb", [None], object())
OPTIONS = [
    (name, field.name)
    for name in challenge_sets.list_set_names()
    for field in fields(challenge_sets.get_challenge_set(name).get_builder_class().BUILDER_CONFIG_CLASS)
    if field.name not in ("name", "version", "data_dir", "data_files", "description")  # of `datasets`
]


@pytest.mark.parametrize(("name", "option"), sample_inputs(OPTIONS, 20))
def test_set_option_of_wrong_type_is_rejected(tmp_path, name, option):
    pairs = write_pairs(tmp_path / "pairs.csv", 2)
    for value in WRONG:
        if (option, value) != ("columns", {"a": 1}):
            with pytest.raises(ValueError, match=f"{option}|least LMS"):
                loading.create_builder(name, cache_dir=tmp_path / "sets", **{"data": str(pairs), option: value})


@pytest.mark.parametrize(
    "call",
    [
        partial(SetRequest, "plain", max_examples=True),
        partial(LexicalTrainingOptions, train_data=[""]),
        partial(TrainConfig, model="m", output_dir=Path("x"), corpus=("a\nb",)),
        partial(evaluate, "majority", lexical_baseline=False, sets={1}),
        partial(evaluate, "majority", "plain", lexical_baseline=False, output_dir=1j),
        partial(loading.create_builder, {1}),
        partial(compare, "run", b"x"),
        partial(compare, "run", "other", metrics="p_c"),
        partial(compare, "run", "other", level=math.nan),
        partial(PairSelection, corpus=10**30),
    ],
)
def test_invalid_argument_in_python_is_rejected(call):
    with pytest.raises(ValueError, match="expected") as error:
        call()
    for name in [*call.keywords][-1:]:
        assert name in str(error.value).replace("-", "_")
