"""Options that a command cannot apply are refused by name, and the others are applied."""

import pytest
from typer.testing import CliRunner

from unbag import cli
from unbag.cli import evaluate


@pytest.mark.parametrize(
    "option",
    [("--data", "a.csv"), ("--text", "a.txt"), ("--split", "test"), ("--language", "zh"), ("-o", "q=2")],
)
def test_cross_domain_refuses_options_of_other_pairs_by_name(option):
    arguments = ["evaluate", "majority", "--cross-domain", *option]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(cli.app, arguments)
    assert done.exit_code == 2
    assert f"got {'--set-option (-o)' if option[0] == '-o' else option[0]}; remove the option" in done.output


def test_cross_domain_applies_sample_options(monkeypatch):
    asked = []

    def run_models(models, requests, *_, **__):
        asked.extend(requests)
        raise ValueError("planned")

    monkeypatch.setattr(evaluate, "run_models", run_models)
    arguments = [
        "evaluate",
        "majority",
        "--cross-domain",
        "--corpus",
        "snli-test",
        "--max-examples",
        "7",
        "--seed",
        "5",
    ]
    assert str(CliRunner().invoke(cli.app, arguments).exception) == "planned"
    [request] = asked
    assert (request.config, request.max_examples, request.seed) == ("snli-test", 7, 5)
