"""Tests that invalid arguments are rejected before any computation, for each command and option."""

import sys
from pathlib import Path

import pytest

from tests.robustness.command import read_files_below, run_rejected, sample_inputs
from unbag.api import evaluate
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
    "unbag.baselines.lexical.fitting._read_training_pairs",
    "unbag.inference.loading.load_network",
    "unbag.inference.hub_files._commit",
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
    (tmp_path / "folder.svg").mkdir()
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "empty").mkdir()
    words = {
        "PAIRS": pairs,
        "PREDICTIONS": predictions,
        "FILE": tmp_path / "file",
        "UNDER": tmp_path / "file" / "below" / "it",
        "EMPTY": tmp_path / "empty",
        "FOLDER": tmp_path / "folder",
        "LONG": tmp_path / ("x" * 300),
        "PROC": Path("/proc/nothing/here"),
        "LINK": tmp_path / "link" / "below",
    }
    return {name: str(path) for name, path in words.items()}


EVALUATE = "evaluate org/model --data PAIRS --sets plain"
TRAIN = "train finetune --model org/model --output-dir out"
HEX = "train hex --model org/model --output-dir out"
SCORE = "score PREDICTIONS --set plain --data PAIRS"
CHECK = "check org/model --data PAIRS --min plain:accuracy=.1"
DATASET = "publish dataset plain --repo-id org --data PAIRS --license mit"

OUTS = [
    f"{command} {option} {place}"
    for command, option in (
        (EVALUATE, "--output-dir"),
        ("evaluate majority --cross-domain --corpus snli", "--output-dir"),
        (SCORE, "--output-dir"),
        ("train finetune --model org/model", "--output-dir"),
        ("train hex --model org/model", "--output-dir"),
        ("train max-entropy --model org/model", "--output-dir"),
        ("train kfold --model org/model", "--output-dir"),
        ("train rearranged --model org/model", "--output-dir"),
        ("build permuted --data PAIRS", "--output"),
        ("lexical fit --train-data PAIRS", "--output-dir"),
        ("models init esim --corpus PAIRS", "--output-dir"),
        ("models interpolate org/model org/model", "--output-dir"),
        ("human-study sample org/model --data PAIRS", "--output-dir"),
        ("export lm-eval --sets plain --data PAIRS", "--output-dir"),
        (CHECK, "--output-dir"),
        ("demo", "--output-dir"),
    )
    for place in ("FILE", "UNDER", "LONG", "PROC", "/dev/null", "LINK")
]
FILES = [
    f"{command} {option} {place}"
    for command, option in (
        ("build permuted --data PAIRS", "--output"),
        ("report EMPTY", "--output"),
        ("report EMPTY", "--badge"),
        (CHECK, "--badge"),
    )
    for place in ("FOLDER.parquet", "FOLDER.svg", "UNDER.svg", "LONG.parquet", "PROC.svg")
    if ("--badge" in option) == place.endswith(".svg") or "report" in command
]
OPTIONS = """
evaluate org/model --sets nope
evaluate org/model --sets plain --corpus nope
evaluate org/model --sets plain --corpus snli --split nope
evaluate org/model --sets plain --data nowhere.csv
evaluate org/model --sets plain --data EMPTY
evaluate org/model --sets plain --data PAIRS --columns premise=nope
evaluate org/model --sets plain --data PAIRS --labels a,b,c
evaluate org/model --sets permuted --data PAIRS -o q=0
evaluate org/model --sets permuted --data PAIRS -o q=x
evaluate org/model --sets permuted --data PAIRS -o nope=1
evaluate org/model --sets permuted --data PAIRS -o minitrees=nope
evaluate org/model --sets permuted --data PAIRS -o minitrees=PAIRS -o pipeline=nope
evaluate org/model --sets permuted --data PAIRS -o mode=nope
evaluate org/model --sets soswap_addamod --data PAIRS -o pipeline=nope
evaluate org/model --sets soswap_addamod --data PAIRS -o pipeline=EMPTY
evaluate org/model --sets soswap_addamod --data PAIRS -o kind=nope
evaluate org/model --sets breaking_nli --data PAIRS -o train_data=nope
evaluate org/model --sets breaking_nli --data PAIRS -o bigrams=nope.txt
evaluate org/model --sets breaking_nli --data PAIRS -o embeddings=./nope
evaluate org/model --sets breaking_nli --official-file nowhere
evaluate org/model --sets cs_lambda --data PAIRS -o min_lms=2
evaluate org/model --sets cs_lambda --data PAIRS -o lexical=./nope
evaluate org/model --sets resnli --data PAIRS -o embeddings=./nope
evaluate org/model --sets resnli --data PAIRS -o test_size=0
evaluate org/model ./nowhere --sets plain --data PAIRS
evaluate org/model a/b/c --sets plain --data PAIRS
evaluate org/model EMPTY --sets plain --data PAIRS
evaluate org/model causal: --sets plain --data PAIRS
evaluate org/model nothing:here --sets plain --data PAIRS
evaluate org/model majority --sets plain --data PAIRS --train-data nope
evaluate org/model --data PAIRS --sets plain --dtype float8
evaluate org/model --data PAIRS --sets plain --head nope
evaluate org/model --data PAIRS --sets plain --label-map a,b
evaluate org/model --data PAIRS --sets plain --num-fewshot 3
evaluate causal:org/model --data PAIRS --sets plain --num-fewshot 2
evaluate endpoint:m --data PAIRS --sets plain --base-url nope
evaluate endpoint:m --data PAIRS --sets plain --base-url http://127.0.0.1:9/v1 --concurrency 0
evaluate endpoint:m --data PAIRS --sets plain --base-url http://127.0.0.1:9/v1 --num-fewshot 5
evaluate org/model --data PAIRS --sets plain --price-in 1
evaluate endpoint:m --data PAIRS --sets plain --base-url http://127.0.0.1:9/v1 --price-in -1
evaluate org/model --data PAIRS --sets plain --max-examples 0
evaluate org/model --data PAIRS --sets plain --language xx
evaluate org/model --config nowhere.yaml
evaluate org/model --cross-domain --sets plain
evaluate org/model --cross-domain --corpus nope
score nowhere.csv --set plain --data PAIRS
score PREDICTIONS --set nope --data PAIRS
score PREDICTIONS --set nowhere.parquet
check org/model --data PAIRS
check org/model --data PAIRS --min nope:accuracy=.1
check org/model --data PAIRS --min plain:nope=.1
check org/model --data PAIRS --max plain:accuracy=.1
check org/model --data PAIRS --min plain:accuracy=x
check org/model --data PAIRS --min plain:accuracy=.1 --badge badge.png
check org/model --data PAIRS --min plain:accuracy=.1 --format csv --json
check org/model --data PAIRS --min plain:accuracy=.1 --format nope
check org/model --data PAIRS --no-worse-than nowhere
check org/model --data PAIRS --no-worse-than EMPTY
check org/model --data PAIRS --min plain:accuracy=.1 --metric p_c
report EMPTY --format nope
report EMPTY --badge badge.png
report EMPTY --json --format csv
report nowhere
compare EMPTY EMPTY --json --format csv
compare nowhere nowhere
compare EMPTY EMPTY --significance-level 2
build nope --data PAIRS --output out.parquet
build permuted --corpus nope --output out.parquet
build permuted --corpus snli --split nope --output out.parquet
build permuted --data PAIRS --output out.parquet -o q=0
build soswap_addamod --data PAIRS --output out.parquet -o pipeline=nope
build permuted --data PAIRS --corpus snli --output out.parquet
build permuted --data PAIRS --output out.parquet --seed x
build permuted --output out.parquet --labels entailment,neutral,contradiction
lexical fit --train-data nope --output-dir out
lexical fit --train-data snli,nope --output-dir out
lexical fit --train-data PAIRS --pipeline nope --output-dir out
lexical fit --train-data PAIRS --tags nope --output-dir out
lexical fit --train-data PAIRS --max-train-pairs 0 --output-dir out
lexical fit --train-data PAIRS --l2 0 --output-dir out
lexical score --train-data PAIRS --premise A. --hypothesis B. --label nope
lexical score --train-data PAIRS --premise A. --hypothesis B. --label not_entailment
lexical score --train-data PAIRS --premise A. --hypothesis B. --top -1
lexical score --train-data nope --premise A. --hypothesis B.
lexical score --model ./nowhere --premise A. --hypothesis B.
models init nope --corpus PAIRS --output-dir out
models init esim --corpus nope --output-dir out
models init esim --corpus snli,nope --output-dir out
models init esim --corpus snli,ocnli --output-dir out
models init esim --corpus snli --vectors nowhere.txt --output-dir out
models init esim --corpus snli --vectors ./nowhere --output-dir out
models init esim --corpus PAIRS -o nope=1 --output-dir out
models init esim --corpus PAIRS -o hidden_size=0 --output-dir out
models init esim --corpus PAIRS --dimensions 0 --output-dir out
models init esim --corpus PAIRS --min-count 0 --output-dir out
models init esim --corpus PAIRS --output-dir EMPTY
models init diin --corpus snli --pipeline nope --output-dir out
models init s-tlstm --corpus snli --pipeline nope --output-dir out
models init esim --encoder ./nowhere --output-dir out
models init esim --encoder org/model --vectors PAIRS --output-dir out
models interpolate org/model --output-dir out
models interpolate org/model org/model --alpha 2 --output-dir out
models interpolate org/model org/model org/model --alpha 0.5 --output-dir out
models interpolate ./nowhere org/model --output-dir out
human-study sample org/model --data PAIRS --output-dir out --num-pairs 3
human-study sample org/model --data PAIRS --output-dir out --num-pairs 0
human-study sample org/model --data PAIRS --output-dir out --label-map a,b
human-study sample ./nowhere --data PAIRS --output-dir out
human-study sample org/model --data PAIRS --output-dir out -o q=0
human-study score nowhere PAIRS
human-study score EMPTY nowhere.csv
export nope --sets plain --data PAIRS --output-dir out
export lm-eval --sets nope --data PAIRS --output-dir out
export lm-eval --sets plain,plain --data PAIRS --output-dir out
export lm-eval --sets plain --data PAIRS --output-dir out --num-fewshot 2
export lm-eval --sets plain --data PAIRS --output-dir out --hub a/b/c
export lm-eval --sets plain --data PAIRS --output-dir out --hub org
export lm-eval --sets plain,permuted --output-dir out --hub org/name
export lm-eval --sets permuted,soswap_addamod --data PAIRS --output-dir out -o pipeline=nope
prefetch org/model --sets nope
prefetch org/model --sets plain --corpus nope
prefetch org/model --train-data nope
prefetch --train-data snli
prefetch a/b/c --sets plain --data PAIRS
train finetune --model org/model --output-dir out --evaluate nope
train finetune --model org/model --output-dir out --evaluate plain,nope
train finetune --model org/model --output-dir out --corpus nope
train finetune --model org/model --output-dir out --corpus snli nope
train finetune --model org/model --output-dir out --corpus snli=0
train finetune --model org/model --output-dir out --corpus PAIRS --validation nope
train finetune --model org/model --output-dir out --corpus snli --validation ocnli
train finetune --model ./nowhere --output-dir out
train finetune --model a/b/c --output-dir out
train finetune --model EMPTY --output-dir out
train finetune --model org/model --output-dir out --label-map a,b
train finetune --model org/model --output-dir out --seeds 1 1
train finetune --model org/model --output-dir out --seeds x
train finetune --model org/model --output-dir out --seeds
train finetune --model org/model --output-dir out --seed x
train finetune --model org/model --output-dir out --augment nope
train finetune --model org/model --output-dir out --augment soswap --corpus ocnli
train finetune --model org/model --output-dir out --word-order shuffled --corpus snli ocnli
train finetune --model org/model --output-dir out --report-to nope
train finetune --model org/model --output-dir out --precision nope
train finetune --model org/model --output-dir out --num-train-epochs 0
train finetune --model org/model --output-dir out --learning-rate -1
train finetune --model org/model --output-dir out --push-checkpoints nope
train finetune --model org/model --output-dir out --push-checkpoints a/b/c
train finetune --model org/model --output-dir out --resume-from-checkpoint ./nowhere
train finetune --model org/model --output-dir out --max-length 0
train finetune --model org/model --output-dir out --language xx
train finetune --model org/model --output-dir out --corpus PAIRS --language th --word-order shuffled
train hex --model org/model --output-dir out --embeddings ./nowhere
train hex --model org/model --output-dir out --embeddings nowhere.txt
train hex --model org/model --output-dir out --embeddings PAIRS
train hex --model org/model --output-dir out --warm-start 2
train hex --model org/model --output-dir out --width 0
train hex --model org/model --output-dir out --evaluate nope
train max-entropy --model org/model --output-dir out --alpha 0
train max-entropy --model org/model --output-dir out --evaluate nope
train kfold --model org/model --output-dir out --official-file nowhere.csv
train kfold --model org/model --output-dir out --official-file PAIRS
train kfold --model org/model --output-dir out --folds 1
train kfold --model org/model --output-dir out --folds 5000
train kfold --model org/model --output-dir out --folds 16 --protocol whole_seeds
train kfold --model org/model --output-dir out --protocol nope
train kfold --model org/model --output-dir out --seeds 1 1
train kfold --model ./nowhere --output-dir out
train kfold --model org/model --output-dir out --label-map a,b
train rearranged --model org/model --output-dir out --corpus nope
train rearranged --model org/model --output-dir out --corpus sick ocnli
train rearranged --model org/model --output-dir out --rearranged-by ./nowhere
train rearranged --model org/model --output-dir out --embeddings ./nowhere
train rearranged --model org/model --output-dir out --seeds 2 2
train rearranged --model ./nowhere --output-dir out
publish dataset nope --repo-id org --data PAIRS --license mit
publish dataset plain --repo-id a/b/c --data PAIRS --license mit
publish dataset plain --repo-id org --data PAIRS
publish dataset plain --repo-id org --data PAIRS --license !!
publish dataset plain --repo-id org --corpus snli --license mit
publish dataset plain --repo-id org --data PAIRS --license mit --config ../x
publish dataset plain --repo-id org --config nope
publish dataset plain --repo-id org --config snli-test,nope
publish dataset plain --repo-id org --config snli-test,snli-test
publish dataset permuted --repo-id org --data PAIRS --license mit -o q=0
publish dataset soswap_addamod --repo-id org --data PAIRS --license mit -o pipeline=nope
publish metric nope --repo-id org
publish metric --repo-id a/b/c
publish model nowhere --repo-id org/name
publish model EMPTY --repo-id org/name
publish results nowhere --repo-id org/name --sets-org org
publish results EMPTY --repo-id org --sets-org org
publish results-dataset nowhere --repo-id org
publish all --repo-id org/name
publish all --repo-id org --results nowhere
publish all --repo-id org --corpus nope
natlog modify --premise A. --hypothesis B. --label nope
natlog label --premise A. --hypothesis B. --pipeline nope
""".strip().splitlines()


@pytest.mark.parametrize("command", sample_inputs([*OPTIONS, *OUTS, *FILES], 60))
def test_invalid_arguments_are_rejected_before_expensive_steps(nothing_done, given, capsys, command):
    words = command.split()
    for name, path in given.items():
        words = [word.replace(name, path) for word in words]
    before = read_files_below(Path.cwd())
    run_rejected(capsys, *words)
    assert read_files_below(Path.cwd()) == before


EXTRAS = {
    "zh": (
        "build permuted --corpus ocnli --output out.parquet",
        "evaluate org/model --sets cs_lambda --corpus ocnli",
        "train finetune --model org/model --corpus ocnli --word-order shuffled --output-dir out",
    ),
    "wordnet": (
        "build breaking_nli --data PAIRS --output out.parquet -o wordnet=true",
        "evaluate org/model natlog --sets plain --data PAIRS",
        "train finetune --model org/model --corpus PAIRS --augment substituted --output-dir out",
        "models init kim --corpus PAIRS --output-dir out",
        "models init diin --corpus PAIRS --output-dir out",
    ),
}


@pytest.mark.parametrize(("extra", "command"), [(extra, command) for extra in EXTRAS for command in EXTRAS[extra]])
def test_missing_extra_is_reported_before_expensive_steps(nothing_done, given, capsys, monkeypatch, extra, command):
    for package in (name for name, brought_by in optional_deps.EXTRA_OF.items() if brought_by == extra):
        monkeypatch.setitem(sys.modules, package, None)
    said = run_rejected(capsys, *[given.get(word, word) for word in command.split()])
    assert f"pip install 'unbag[{extra}]'" in " ".join(said.split())
    assert read_files_below(Path.cwd()) == []


@pytest.mark.parametrize("command", EXTRAS["wordnet"][:4])
def test_missing_wordnet_is_reported_before_expensive_steps(nothing_done, given, capsys, monkeypatch, command):
    monkeypatch.setattr("nltk.data.path", [])
    monkeypatch.setenv("UNBAG_CACHE", str(Path.cwd().parent / "cache"))
    said = run_rejected(capsys, *[given.get(word, word) for word in command.split()])
    assert "unbag.baselines.wordnet.install" in "".join(said.split())
    assert read_files_below(Path.cwd()) == []


@pytest.mark.parametrize(("option", "value"), [("device", "nope"), ("device", "cuda:99"), ("dtype", "float8")])
def test_python_rejects_device_before_expensive_steps(nothing_done, given, option, value):
    with pytest.raises(ValueError, match=value):
        evaluate("org/model", "plain", data=given["PAIRS"], progress=False, **{option: value})
