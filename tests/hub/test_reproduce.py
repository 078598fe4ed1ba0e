"""Tests that commands printed in a report reproduce the result after a branch on the Hub has moved."""

import shlex

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from huggingface_hub import HfApi

from tests.fake_hub.accounts import ALICE
from tests.inference.conftest import make_model, tiny_bert  # noqa: F401  (fixtures)
from unbag.challenge_sets import results
from unbag.reports.reproduce import build_reproduce_command

pytestmark = pytest.mark.nightly


def test_rerun_evaluates_same_commit(commands, make_model, tiny_bert, tmp_path):  # noqa: F811
    api = HfApi(commands.hub.endpoint, token=ALICE)
    api.create_repo("alice/moving")
    api.upload_folder(repo_id="alice/moving", folder_path=tiny_bert)
    asked = ["evaluate", "alice/moving", "--sets", "plain", "--sets", "swapped", "--corpus", "snli", "--split", "test"]
    commands(*asked, "--max-examples", 9, "--output-dir", tmp_path / "first")
    api.upload_folder(repo_id="alice/moving", folder_path=make_model(seed=1))
    for result in results.read_results(tmp_path / "first" / results.FILE):
        command, remark = build_reproduce_command(result)
        assert not remark
        again = tmp_path / f"again-{result.set}"  # one folder would collect the results of both sets
        commands(*shlex.split(command)[1:], "--output-dir", again)
        assert results.read_results(again / results.FILE) == [result]
