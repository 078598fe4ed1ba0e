"""Tests of exported models: ONNX and OpenVINO files with a config and a tokenizer."""

import json
import shutil

import numpy as np
import pytest

from tests.factories import BARE, write_pairs
from tests.fake_hub.running import running_hub
from tests.fork_server import PYTHON
from tests.inference.fixtures import PAIRS, export_graph

pytest.importorskip("transformers", reason="needs unbag[models]")
pytest.importorskip("onnx", reason="needs the dev group")
pytest.importorskip("onnxruntime", reason="needs unbag[onnx]")

from transformers import AutoModelForSequenceClassification

from unbag import evaluate
from unbag.evaluation import model_loading
from unbag.inference.exported import ExportedPredictor
from unbag.inference.exported_files import find_exported_models
from unbag.inference.predictor import ModelError
from unbag.inference.transformer import TransformerPredictor

PREMISES, HYPOTHESES = map(list, zip(*PAIRS, strict=True))


def export_model(original, folder, names):
    """Export a model to `onnx/model.onnx` in a folder without PyTorch weights. `names` are the inputs of the graph."""
    for path in original.glob("*.json"):
        shutil.copy(path, folder)
    (folder / "onnx").mkdir()
    network = AutoModelForSequenceClassification.from_pretrained(original, attn_implementation="eager")
    export_graph(folder / "onnx/model.onnx", network, names, tokens=7)
    return folder, original


@pytest.fixture(scope="module")
def exported_models(make_model, tmp_path_factory):
    """Export a tiny BERT. Return its folder and the folder of the original."""
    names = ["input_ids", "attention_mask", "token_type_ids"]
    return export_model(make_model("bert"), tmp_path_factory.mktemp("exported"), names)


@pytest.fixture(scope="module")
def quantized_model(exported_models, tmp_path_factory):
    """Quantize the tiny BERT dynamically. Return a folder with both files."""
    from onnxruntime.quantization import quantize_dynamic

    folder = shutil.copytree(exported_models[0], tmp_path_factory.mktemp("quantized") / "model")
    quantize_dynamic(folder / "onnx/model.onnx", folder / "onnx/model_int8.onnx")
    return folder


@pytest.fixture
def folder(exported_models, tmp_path):
    return shutil.copytree(exported_models[0], tmp_path / "model")


@pytest.fixture
def openvino_folder(folder):
    """Add `openvino/openvino_model.xml` to the exported BERT, and return its folder."""
    openvino = pytest.importorskip("openvino", reason="needs unbag[openvino]")
    (folder / "openvino").mkdir()
    converted = openvino.convert_model(str(folder / "onnx/model.onnx"))
    openvino.save_model(converted, str(folder / "openvino/openvino_model.xml"), compress_to_fp16=False)
    return folder


def test_openvino_identity_depends_on_weights(exported_models, openvino_folder):
    predictor = ExportedPredictor.load(openvino_folder, model_file="openvino/openvino_model.xml")
    expected = TransformerPredictor.load(exported_models[1], device="cpu")
    assert (predictor.order, predictor.max_length) == (expected.order, expected.max_length)
    weights = openvino_folder / "openvino/openvino_model.bin"
    data = bytearray(weights.read_bytes())
    data[-4:] = np.float32(0.5).tobytes()
    weights.write_bytes(data)
    again = ExportedPredictor.load(openvino_folder, model_file="openvino/openvino_model.xml")
    assert again.identity["file_hash"] != predictor.identity["file_hash"]


_FREED_THEN_SIGNALLED = """
import signal
import sys
from unbag.inference.exported import ExportedPredictor

first, second = (ExportedPredictor.load(sys.argv[1], model_file="openvino/openvino_model.xml") for _ in range(2))
del first
del second
signal.signal(signal.SIGUSR1, lambda *_: print("handled"))
signal.raise_signal(signal.SIGUSR1)
"""


@pytest.mark.nightly
def test_signal_after_freed_openvino_models_is_handled(openvino_folder):
    run = PYTHON.run("-c", _FREED_THEN_SIGNALLED, openvino_folder)
    assert (run.returncode, run.stdout) == (0, "handled\n"), run.stderr


def test_quantized_model_probabilities_do_not_depend_on_order(quantized_model):
    predictor = ExportedPredictor.load(quantized_model, model_file="onnx/model_int8.onnx")
    expected = predictor.predict(PREMISES, HYPOTHESES)
    np.testing.assert_array_equal(predictor.predict(PREMISES[::-1], HYPOTHESES[::-1])[::-1], expected)
    alone = [predictor.predict([premise], [hypothesis])[0] for premise, hypothesis in PAIRS]
    np.testing.assert_array_equal(alone, expected)
    assert predictor.identity["batch_tokens"] == "1"
    together = ExportedPredictor.load(quantized_model, model_file="onnx/model_int8.onnx", batch_tokens=1024)
    assert together.identity["batch_tokens"] == "1024"
    difference = np.abs(together.predict(PREMISES, HYPOTHESES) - expected).max()
    assert difference > 1e-4, "the model must be one whose probabilities depend on the batch"


def test_graph_with_one_output_and_without_token_type_ids_agrees_with_pytorch(make_model, tmp_path):
    original = make_model("distilbert", order=("LABEL_0",))
    export_model(original, tmp_path, ["input_ids", "attention_mask"])
    predictor = ExportedPredictor.load(tmp_path, threshold=0.5)
    expected = TransformerPredictor.load(original, device="cpu", threshold=0.5)
    np.testing.assert_allclose(
        predictor.predict(PREMISES, HYPOTHESES), expected.predict(PREMISES, HYPOTHESES), atol=1e-5
    )


def test_evaluate_exported_model_reuses_predictions_of_same_file(quantized_model, tmp_path, monkeypatch):
    quantized_model = shutil.copytree(quantized_model, tmp_path / "model")
    rows = []
    run_batch = ExportedPredictor._probabilities

    def predict_and_count(self, pairs, batch):
        rows.append(len(batch))
        return run_batch(self, pairs, batch)

    monkeypatch.setattr(ExportedPredictor, "_probabilities", predict_and_count)
    pairs = write_pairs(tmp_path / "pairs.csv", [(*pair, "entailment") for pair in PAIRS])

    def count_predicted_rows(file):
        rows.clear()
        options = {"data": str(pairs), "output_dir": tmp_path / "run", "trust_labels": True, **BARE}
        [result] = evaluate(str(quantized_model), "plain", model_file=file, **options).results
        return sum(rows), result.model

    probed = 12  # number of pairs in the label probe, which runs once per command
    first, model = count_predicted_rows("onnx/model.onnx")
    assert first == probed + len(PAIRS)
    assert model["model_file"] == "onnx/model.onnx"
    assert model["label_probe"]["en"].endswith(f" of {probed}")
    assert count_predicted_rows("onnx/model.onnx") == (probed, model)
    with pytest.raises(
        ValueError, match=r"model_file=onnx/model_int8\.onnx, got results with model_file=onnx/model\.onnx"
    ):
        count_predicted_rows("onnx/model_int8.onnx")
    shutil.copy(quantized_model / "onnx/model_int8.onnx", quantized_model / "onnx/model.onnx")
    again, other = count_predicted_rows("onnx/model.onnx")
    assert again == probed + len(PAIRS), "another content under the same name is another model"
    assert other["file_hash"] != model["file_hash"]


def test_unsuitable_exported_model_is_rejected(folder):
    with pytest.raises(ValueError, match=r"an exported model, .* does not support the option dtype; omit it"):
        model_loading.load_predictor(folder, dtype="bfloat16")
    with pytest.raises(ModelError, match=r"expected an exported model other\.onnx, got onnx/model\.onnx"):
        ExportedPredictor.load(folder, model_file="other.onnx")
    shutil.copy(folder / "onnx/model.onnx", folder / "model_quantized.onnx")
    with pytest.raises(ModelError, match=r"model_quantized\.onnx, onnx/model\.onnx; select a file with --model-file"):
        ExportedPredictor.load(folder)
    (folder / "onnx/model.onnx").write_bytes(b"version https://git-lfs")
    with pytest.raises(ModelError, match="expected an ONNX model"):
        ExportedPredictor.load(folder, model_file="onnx/model.onnx")
    names = ["model.onnx", "onnx/model_qint8_avx512.onnx", "openvino/openvino_model.xml", "a/b/model.onnx", "x.bin"]
    assert find_exported_models(names) == names[:3], "in the layouts of the exporters"


_FROM_HUB = """
import json
from unbag.evaluation.model_loading import load_predictor
from unbag.evaluation.prefetch import fetch_requirements, list_run_requirements
from unbag.utils.offline import enable_offline_mode

def load(model, **options):
    predictor = load_predictor(model, **options)[0]
    return predictor.identity.get("model_file"), predictor.predict(*PAIRS).tolist()

def load_all():
    return [load("org/only"), load("org/both", model_file="onnx/model.onnx")]

online = load_all()
enable_offline_mode()
wanted = list_run_requirements([], ["org/both"]), list_run_requirements([], ["org/both"], model_file="onnx/model.onnx")
print(json.dumps([online, load_all(), *map(fetch_requirements, wanted)]))
try:
    load("org/both")
except ValueError as error:
    print("refused")  # offline without its weights, the exported model must not replace them
"""


@pytest.mark.nightly
def test_hub_exported_model_runs_online_and_offline(exported_models, tmp_path):
    folder, original = exported_models
    models = tmp_path / "hub/models/org"
    for name in ("only", "both"):
        shutil.copytree(folder, models / name)
    shutil.copy(original / "model.safetensors", models / "both")
    with running_hub(mount=tmp_path / "hub") as hub:
        code = f"PAIRS = {[PREMISES, HYPOTHESES]}{_FROM_HUB}"
        run = PYTHON.run("-c", code, env=hub.env(tmp_path / "home"), check=True)
    found, last = run.stdout.splitlines()
    online, offline, lacking, complete = json.loads(found)
    expected = ExportedPredictor.load(folder).predict(PREMISES, HYPOTHESES)
    for file, values in online:
        assert file == "onnx/model.onnx"
        np.testing.assert_allclose(values, expected, atol=1e-6)
    assert offline == online
    assert list(lacking) == ["the model org/both"]
    assert not complete
    assert last == "refused"
