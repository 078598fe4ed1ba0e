"""Tests of evaluations shared by unconnected processes, local and remote: results equal those of one process."""

import pytest

import unbag
from tests.cli.test_options import run_unbag as command
from tests.evaluation.test_evaluator import set_request  # noqa: F401  a few pairs of ours
from unbag.inference.runner import predict_rows, predict_shard
from unbag.utils.storage import StorageFolder


@pytest.fixture(autouse=True)
def _small_chunks(empty_caches, monkeypatch):
    for predict in (predict_rows, predict_shard):
        monkeypatch.setitem(predict.__kwdefaults__, "chunk_rows", 10)


def test_score_command_scores_shards_and_predicts_the_rest(tmp_path, set_request, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lengths.py").write_text(
        "def answer(premises, hypotheses):\n"
        "    return [['entailment', 'neutral'][len(p) > len(h)] for p, h in zip(premises, hypotheses)]\n"
    )
    words = ["evaluate", "lengths:answer", "--sets", "plain", "--data", set_request.options["data"]]
    words += ["--no-lexical-baseline", "--trust-labels"]
    assert command(*words, "--output-dir", "one").exit_code == 0
    done = command(*words, "--output-dir", "shared", "--shard", "0/2")
    assert done.exit_code == 0, done.output
    assert "score them: unbag score --run-dir shared" in " ".join(done.output.split())
    for out in ("shared", "other"):
        done = command("score", "--run-dir", "shared", "--output-dir", out)
        assert done.exit_code == 0, done.output
        assert (tmp_path / out / "results.json").read_bytes() == (tmp_path / "one" / "results.json").read_bytes()


def test_unsharable_evaluation_is_rejected(tmp_path, set_request):  # noqa: F811
    names = {}
    # a function without a source file
    exec("def made(premises, hypotheses):\n    return ['neutral'] * len(premises)", names)
    for options, words in (
        ({"shard": "0/2"}, "output_dir: expected a folder or URL that all processes share"),
        ({"shard": "2/2", "output_dir": tmp_path / "shared"}, "expected I/N with I"),
        ({"shard": "0/2", "output_dir": tmp_path / "x"}, "expected a model that every process can identify"),
    ):
        with pytest.raises(ValueError, match=words):
            unbag.evaluate(names["made"], [set_request], lexical_baseline=False, progress=False, **options)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "majority", "--output-dir", "nosuch://x/y"], "nosuch"),
        (
            ["score", "--run-dir", "x", "--set", "plain"],
            "--run-dir: cannot be combined with FILE, --set, --by-order, --threshold or source pairs",
        ),
        (
            ["score", "--run-dir", "x", "--no-lexical-baseline"],
            "--no-lexical-baseline: cannot be combined with --run-dir",
        ),
        (["score"], "expected FILE or --run-dir, got neither"),
        (["score", "--run-dir", "nowhere"], "got nowhere without run.yaml"),
        (["report", "runs", "--output", "s3://bucket/report.html"], "expected a local path"),
    ],
)
def test_command_error_is_one_line(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command(*words)
    assert done.exit_code != 0
    assert said in " ".join((done.output + str(done.exception)).replace("│", " ").split())


def test_set_is_built_to_address(tmp_path, set_request):  # noqa: F811
    data = set_request.options["data"]
    for place in (f"memory://{tmp_path.name}/set.parquet", str(tmp_path / "set.parquet")):
        done = command("build", "permuted", "--data", data, "--output", place)
        assert done.exit_code == 0, done.output
        assert f"{place}: 48 examples" in " ".join(done.output.split())
    assert StorageFolder(f"memory://{tmp_path.name}").read("set.parquet") == (tmp_path / "set.parquet").read_bytes()
