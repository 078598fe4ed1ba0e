"""Tests that pushed models give the same logits in a fresh process, with and without unbag."""

import json

import pytest
import torch

from tests.fake_hub.accounts import ALICE
from tests.fork_server import PYTHON
from tests.models.tiny_models import PAIRS
from unbag.models import ARCHITECTURES

pytestmark = pytest.mark.nightly

PUSH = """
import json, sys, torch
from pathlib import Path
from huggingface_hub import create_repo, upload_folder
from unbag.hub import vendoring
from unbag.models import ARCHITECTURES
from tests.models.tiny_models import RightBranchingParser, encode, tiny_model, tiny_tokenizer
import unbag.models.s_tlstm as s_tlstm
s_tlstm.load_tree_parser = lambda pipeline: RightBranchingParser()
logits = {}
for name in ARCHITECTURES:
    network = tiny_model(name)
    folder = Path(sys.argv[1]).parent / name
    network.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    config, code = vendoring.add_model_code(json.loads((folder / "config.json").read_text()))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / vendoring.MODEL_CODE_FILE).write_text(code)
    create_repo(f"alice/tiny-{name}", private=False)
    upload_folder(repo_id=f"alice/tiny-{name}", folder_path=folder)
    logits[name] = network(**encode()).logits.detach()
torch.save(logits, sys.argv[1])
"""
LOAD = """
import sys, torch
import unbag.models
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from tests.models.tiny_models import PAIRS, RightBranchingParser
import unbag.models.s_tlstm as s_tlstm
s_tlstm.load_tree_parser = lambda pipeline: RightBranchingParser()
logits = {}
for name in unbag.models.ARCHITECTURES:
    repository = f"alice/tiny-{name}"
    network = AutoModelForSequenceClassification.from_pretrained(repository)
    tokenizer = AutoTokenizer.from_pretrained(repository)
    premises, hypotheses = map(list, zip(*PAIRS))
    encoded = tokenizer(premises, hypotheses, padding=True, return_tensors="pt")
    logits[name] = network(**encoded).logits.detach()
torch.save(logits, sys.argv[1])
"""

WITHOUT_US = """
import json, sys, torch
sys.modules["unbag"] = None  # whoever imports it fails
from transformers import AutoModelForSequenceClassification, AutoTokenizer

class RightBranchingParser:
    def parse_trees(self, sentences):
        lengths = map(len, sentences)
        return [[(n - 2 - k, n - 1 if k == 0 else n + k - 1) for k in range(n - 1)] for n in lengths]

sources, pairs, out = json.loads(sys.argv[1])
logits = {}
for name, repository in sources.items():
    tokenizer = AutoTokenizer.from_pretrained(repository, trust_remote_code=False)
    try:
        AutoModelForSequenceClassification.from_pretrained(repository, trust_remote_code=False)
        raise SystemExit("loaded without its code?")
    except ValueError as error:
        assert "custom code" in str(error), error
    network = AutoModelForSequenceClassification.from_pretrained(repository, trust_remote_code=True)
    module = sys.modules[type(network).__module__]
    assert module.__name__.startswith("transformers_modules."), module
    module.load_tree_parser = lambda pipeline: RightBranchingParser()
    premises, hypotheses = map(list, zip(*pairs))
    encoded = tokenizer(premises, hypotheses, padding=True, return_tensors="pt")
    logits[name] = network(**encoded).logits.detach()
torch.save(logits, out)
"""


@pytest.mark.slow
def test_pushed_models_load_from_hub(hub, tmp_path):
    found = {}
    folders = {name: str(tmp_path / name) for name in ARCHITECTURES}
    coded = json.dumps([folders | {"esim": "alice/tiny-esim"}, PAIRS, str(tmp_path / "without us.pt")])
    for name, script, given in (
        ("pushed", PUSH, tmp_path / "pushed.pt"),
        ("loaded", LOAD, tmp_path / "loaded.pt"),
        ("without us", WITHOUT_US, coded),
    ):
        environment = hub.env(tmp_path / f"home of {name}", token=ALICE)  # with a separate cache
        PYTHON.run("-c", script, given, env=environment, check=True)
        found[name] = torch.load(tmp_path / f"{name}.pt", weights_only=True)
    assert set(found["pushed"]) == set(found["loaded"]) == set(found["without us"]) == set(ARCHITECTURES)
    for name, logits in found["pushed"].items():
        torch.testing.assert_close(found["loaded"][name], logits, atol=1e-6, rtol=1e-5, msg=name)
        torch.testing.assert_close(found["without us"][name], logits, atol=1e-6, rtol=1e-5, msg=name)
