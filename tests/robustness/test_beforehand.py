"""What can be told to be wrong before anything is computed is told then: command by command, option by option."""

import sys
from pathlib import Path

import pytest

from tests.robustness.command import files_below, refused, some
from unbag.api import evaluate
from unbag.utils import optional_deps

pytest.importorskip("torch", reason="needs unbag[models]")
pytestmark = pytest.mark.usefixtures("elsewhere")

HEADER = "premise,hypothesis,label\n"


class ReachedError(BaseException):
    """An expensive step that is begun: nothing between it and the test may take it for a failure of a set."""


EXPENSIVE = (
    "unbag.data.readers.open_hub",  # a corpus
    "unbag.data.readers.hub_commit",
    "unbag.data.sources.Source.examples",  # all of somebody's pairs
    "unbag.challenge_sets.loading.prepare",
    "unbag.baselines.lexical.fitting._gathered",
    "unbag.inference.loading.load_network",
    "unbag.inference.hub_files._commit",
    "unbag.training.run.load_to_train",
    "unbag.data.text.tagging.load",
    "unbag.baselines.lexical.embeddings._fetch",
    "unbag.evaluation.backends.predict_rows",
    "httpx2.Client.send",
)


@pytest.fixture
def nothing_done(monkeypatch):
    """Let no command begin what costs minutes."""
    import unbag.baselines.lexical.embeddings
    import unbag.evaluation.backends
    import unbag.inference.loading
    import unbag.training.run  # noqa: F401  (or their names were not there to be replaced)

    for name in EXPENSIVE:

        def reached(*_, name=name, **__):
            raise ReachedError(name)

        monkeypatch.setattr(name, reached)


@pytest.fixture
def given(tmp_path):
    """Give by name what commands name: good files, and places where nothing can be written."""
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(HEADER + "A man runs.,A man moves.,entailment\n" * 3)
    predictions = tmp_path / "predictions.csv"
    predictions.write_text("id,prediction\na,neutral\n")
    labelled = tmp_path / "labelled.csv"
    labelled.write_text("id,prediction\na,maybe\n")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "folder.svg").mkdir()
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "empty").mkdir()
    words = {
        "PAIRS": pairs,
        "PREDICTIONS": predictions,
        "LABELLED": labelled,
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
TRAIN = "train finetune --model org/model --out out"
HEX = "train hex --model org/model --out out"
KFOLD = "train kfold --model org/model --out out"
REARRANGED = "train rearranged --model org/model --out out"
BUILD = "build permuted --data PAIRS --out out.parquet"
FIT = "lexical fit --training PAIRS --out out"
MAKE = "models make esim --corpus PAIRS --out out"
DRAW = "people draw org/model --data PAIRS --out out"
SCORE = "score PREDICTIONS --set plain --data PAIRS"
EXPORT = "export lm-eval --sets plain --data PAIRS --to out"
CHECK = "check org/model --data PAIRS --min plain:accuracy=.1"
DATASET = "publish dataset plain --to org --data PAIRS --license mit"

OUTS = [
    f"{command} {option} {place}"
    for command, option in (
        (EVALUATE, "--out"),
        ("evaluate majority --cross --corpus snli", "--out"),
        (SCORE, "--out"),
        ("train finetune --model org/model", "--out"),
        ("train hex --model org/model", "--out"),
        ("train max-entropy --model org/model", "--out"),
        ("train kfold --model org/model", "--out"),
        ("train rearranged --model org/model", "--out"),
        ("build permuted --data PAIRS", "--out"),
        ("lexical fit --training PAIRS", "--out"),
        ("models make esim --corpus PAIRS", "--out"),
        ("people draw org/model --data PAIRS", "--out"),
        ("export lm-eval --sets plain --data PAIRS", "--to"),
        (CHECK, "--out"),
        ("demo", "--out"),
    )
    for place in ("FILE", "UNDER", "LONG", "PROC", "/dev/null", "LINK")
]
FILES = [
    f"{command} {option} {place}"
    for command, option in (
        ("build permuted --data PAIRS", "--out"),
        ("report EMPTY", "--out"),
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
evaluate org/model --sets breaking_nli --data PAIRS -o training=nope
evaluate org/model --sets breaking_nli --data PAIRS -o bigrams=nope.txt
evaluate org/model --sets breaking_nli --data PAIRS -o embeddings=./nope
evaluate org/model --sets breaking_nli --file nowhere
evaluate org/model --sets cs_lambda --data PAIRS -o least_lms=2
evaluate org/model --sets cs_lambda --data PAIRS -o lexical=./nope
evaluate org/model --sets resnli --data PAIRS -o embeddings=./nope
evaluate org/model --sets resnli --data PAIRS -o test_size=0
evaluate org/model ./nowhere --sets plain --data PAIRS
evaluate org/model a/b/c --sets plain --data PAIRS
evaluate org/model EMPTY --sets plain --data PAIRS
evaluate org/model causal: --sets plain --data PAIRS
evaluate org/model nothing:here --sets plain --data PAIRS
evaluate org/model majority --sets plain --data PAIRS --training nope
evaluate org/model --data PAIRS --sets plain --dtype float8
evaluate org/model --data PAIRS --sets plain --head nope
evaluate org/model --data PAIRS --sets plain --label-map a,b
evaluate org/model --data PAIRS --sets plain --shots 3
evaluate causal:org/model --data PAIRS --sets plain --shots 2
evaluate endpoint:m --data PAIRS --sets plain --base-url nope
evaluate endpoint:m --data PAIRS --sets plain --base-url http://127.0.0.1:9/v1 --concurrency 0
evaluate endpoint:m --data PAIRS --sets plain --base-url http://127.0.0.1:9/v1 --shots 5
evaluate org/model --data PAIRS --sets plain --price-in 1
evaluate endpoint:m --data PAIRS --sets plain --base-url http://127.0.0.1:9/v1 --price-in -1
evaluate org/model --data PAIRS --sets plain --examples 0
evaluate org/model --data PAIRS --sets plain --language xx
evaluate org/model --config nowhere.yaml
evaluate org/model --cross --sets plain
evaluate org/model --cross --corpus nope
score nowhere.csv --set plain --data PAIRS
score LABELLED --set plain --data PAIRS
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
check org/model --data PAIRS --min plain:accuracy=.1 --number p_c
report EMPTY --format nope
report EMPTY --badge badge.png
report EMPTY --json --format csv
report nowhere
compare EMPTY EMPTY --json --format csv
compare nowhere nowhere
compare EMPTY EMPTY --level 2
build nope --data PAIRS --out out.parquet
build permuted --corpus nope --out out.parquet
build permuted --corpus snli --split nope --out out.parquet
build permuted --data PAIRS --out out.parquet -o q=0
build soswap_addamod --data PAIRS --out out.parquet -o pipeline=nope
build permuted --data PAIRS --corpus snli --out out.parquet
build permuted --data PAIRS --out out.parquet --seed x
build permuted --out out.parquet --labels entailment,neutral,contradiction
lexical fit --training nope --out out
lexical fit --training snli,nope --out out
lexical fit --training PAIRS --pipeline nope --out out
lexical fit --training PAIRS --tags nope --out out
lexical fit --training PAIRS --pairs 0 --out out
lexical fit --training PAIRS --l2 0 --out out
lexical score --training PAIRS --premise A. --hypothesis B. --label nope
lexical score --training PAIRS --premise A. --hypothesis B. --label not_entailment
lexical score --training PAIRS --premise A. --hypothesis B. --top -1
lexical score --training nope --premise A. --hypothesis B.
lexical score --model ./nowhere --premise A. --hypothesis B.
models make nope --corpus PAIRS --out out
models make esim --corpus nope --out out
models make esim --corpus snli,nope --out out
models make esim --corpus snli,ocnli --out out
models make esim --corpus snli --vectors nowhere.txt --out out
models make esim --corpus snli --vectors ./nowhere --out out
models make esim --corpus PAIRS -o nope=1 --out out
models make esim --corpus PAIRS -o hidden_size=0 --out out
models make esim --corpus PAIRS --dimensions 0 --out out
models make esim --corpus PAIRS --least 0 --out out
models make esim --corpus PAIRS --out EMPTY
models make diin --corpus snli --pipeline nope --out out
models make s-tlstm --corpus snli --pipeline nope --out out
models make esim --encoder ./nowhere --out out
models make esim --encoder org/model --vectors PAIRS --out out
people draw org/model --data PAIRS --out out --number 3
people draw org/model --data PAIRS --out out --number 0
people draw org/model --data PAIRS --out out --label-map a,b
people draw ./nowhere --data PAIRS --out out
people draw org/model --data PAIRS --out out -o q=0
people score nowhere PAIRS
people score EMPTY nowhere.csv
export nope --sets plain --data PAIRS --to out
export lm-eval --sets nope --data PAIRS --to out
export lm-eval --sets plain,plain --data PAIRS --to out
export lm-eval --sets plain --data PAIRS --to out --shots 2
export lm-eval --sets plain --data PAIRS --to out --hub a/b/c
export lm-eval --sets plain --data PAIRS --to out --hub org
export lm-eval --sets plain,permuted --to out --hub org/name
export lm-eval --sets permuted,soswap_addamod --data PAIRS --to out -o pipeline=nope
prefetch org/model --sets nope
prefetch org/model --sets plain --corpus nope
prefetch org/model --training nope
prefetch --training snli
prefetch a/b/c --sets plain --data PAIRS
train finetune --model org/model --out out --evaluate nope
train finetune --model org/model --out out --evaluate plain,nope
train finetune --model org/model --out out --corpus nope
train finetune --model org/model --out out --corpus snli nope
train finetune --model org/model --out out --corpus snli=0
train finetune --model org/model --out out --corpus PAIRS --validation nope
train finetune --model org/model --out out --corpus snli --validation ocnli
train finetune --model ./nowhere --out out
train finetune --model a/b/c --out out
train finetune --model EMPTY --out out
train finetune --model org/model --out out --label-map a,b
train finetune --model org/model --out out --seeds 1 1
train finetune --model org/model --out out --seeds x
train finetune --model org/model --out out --seeds
train finetune --model org/model --out out --seed x
train finetune --model org/model --out out --augment nope
train finetune --model org/model --out out --augment soswap --corpus ocnli
train finetune --model org/model --out out --order shuffled --corpus snli ocnli
train finetune --model org/model --out out --trackers nope
train finetune --model org/model --out out --precision nope
train finetune --model org/model --out out --epochs 0
train finetune --model org/model --out out --learning-rate -1
train finetune --model org/model --out out --push-checkpoints nope
train finetune --model org/model --out out --push-checkpoints a/b/c
train finetune --model org/model --out out --resume ./nowhere
train finetune --model org/model --out out --max-length 0
train finetune --model org/model --out out --language xx
train finetune --model org/model --out out --corpus PAIRS --language th --order shuffled
train hex --model org/model --out out --embeddings ./nowhere
train hex --model org/model --out out --embeddings nowhere.txt
train hex --model org/model --out out --embeddings PAIRS
train hex --model org/model --out out --warm-start 2
train hex --model org/model --out out --width 0
train hex --model org/model --out out --evaluate nope
train max-entropy --model org/model --out out --alpha 0
train max-entropy --model org/model --out out --evaluate nope
train kfold --model org/model --out out --file nowhere.csv
train kfold --model org/model --out out --file PAIRS
train kfold --model org/model --out out --folds 1
train kfold --model org/model --out out --folds 5000
train kfold --model org/model --out out --folds 16 --protocol whole_seeds
train kfold --model org/model --out out --protocol nope
train kfold --model org/model --out out --seeds 1 1
train kfold --model ./nowhere --out out
train kfold --model org/model --out out --label-map a,b
train rearranged --model org/model --out out --corpus nope
train rearranged --model org/model --out out --corpus sick ocnli
train rearranged --model org/model --out out --rearranged-by ./nowhere
train rearranged --model org/model --out out --embeddings ./nowhere
train rearranged --model org/model --out out --seeds 2 2
train rearranged --model ./nowhere --out out
publish dataset nope --to org --data PAIRS --license mit
publish dataset plain --to a/b/c --data PAIRS --license mit
publish dataset plain --to org --data PAIRS
publish dataset plain --to org --data PAIRS --license !!
publish dataset plain --to org --corpus snli --license mit
publish dataset plain --to org --data PAIRS --license mit --config ../x
publish dataset plain --to org --config nope
publish dataset plain --to org --config snli-test,nope
publish dataset plain --to org --config snli-test,snli-test
publish dataset permuted --to org --data PAIRS --license mit -o q=0
publish dataset soswap_addamod --to org --data PAIRS --license mit -o pipeline=nope
publish metric nope --to org
publish metric --to a/b/c
publish model nowhere --to org/name
publish model EMPTY --to org/name
publish results nowhere --to org/name --sets org
publish results EMPTY --to org --sets org
publish results-dataset nowhere --to org
publish all --to org/name
publish all --to org --results nowhere
publish all --to org --corpus nope
natlog modify --premise A. --hypothesis B. --label nope
natlog label --premise A. --hypothesis B. --pipeline nope
""".strip().splitlines()


@pytest.mark.parametrize("command", some([*OPTIONS, *OUTS, *FILES], 60))
def test_what_is_wrong_is_told_before_anything_expensive(nothing_done, given, capsys, command):
    words = command.split()
    for name, path in given.items():
        words = [word.replace(name, path) for word in words]
    before = files_below(Path.cwd())
    refused(capsys, *words)
    assert files_below(Path.cwd()) == before


EXTRAS = {
    "zh": (
        "build permuted --corpus ocnli --out out.parquet",
        "evaluate org/model --sets cs_lambda --corpus ocnli",
        "train finetune --model org/model --corpus ocnli --order shuffled --out out",
    ),
    "wordnet": (
        "build breaking_nli --data PAIRS --out out.parquet -o wordnet=true",
        "evaluate org/model natlog --sets plain --data PAIRS",
        "train finetune --model org/model --corpus PAIRS --augment substituted --out out",
        "models make kim --corpus PAIRS --out out",
        "models make diin --corpus PAIRS --out out",
    ),
}


@pytest.mark.parametrize(("extra", "command"), [(extra, command) for extra in EXTRAS for command in EXTRAS[extra]])
def test_an_extra_that_is_missing_is_told_before_anything_expensive(
    nothing_done, given, capsys, monkeypatch, extra, command
):
    for package in (name for name, brought_by in optional_deps.EXTRA_OF.items() if brought_by == extra):
        monkeypatch.setitem(sys.modules, package, None)
    said = refused(capsys, *[given.get(word, word) for word in command.split()])
    assert f"pip install 'unbag[{extra}]'" in " ".join(said.split())
    assert files_below(Path.cwd()) == []


@pytest.mark.parametrize("command", EXTRAS["wordnet"][:4])
def test_wordnet_that_is_missing_is_told_before_anything_expensive(nothing_done, given, capsys, monkeypatch, command):
    monkeypatch.setattr("nltk.data.path", [])
    monkeypatch.setenv("UNBAG_CACHE", str(Path.cwd().parent / "cache"))
    said = refused(capsys, *[given.get(word, word) for word in command.split()])
    assert "unbag.baselines.wordnet.install" in "".join(said.split())
    assert files_below(Path.cwd()) == []


@pytest.mark.parametrize(("option", "value"), [("device", "nope"), ("device", "cuda:99"), ("dtype", "float8")])
def test_python_refuses_a_device_before_anything_expensive(nothing_done, given, option, value):
    with pytest.raises(ValueError, match=value):
        evaluate("org/model", "plain", data=given["PAIRS"], progress=False, **{option: value})
