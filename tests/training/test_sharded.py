"""Tests of FSDP and DeepSpeed, configured through accelerate: two processes with a shard of the weights each."""

import importlib.util
import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from tests.fork_server import PYTHON
from tests.training.conftest import has_close_weights, has_equal_weights
from unbag.training.recipes import find_recipe
from unbag.training.run import run

pytestmark = pytest.mark.nightly

CHILD = Path(__file__).with_name("sharded_child.py")
LAUNCH = "-m", "accelerate.commands.launch", "--config_file"
TELL = "import json, os; os.environ['RANK'] == '0' and print(json.dumps(dict(os.environ)))"
COMMON = {
    "compute_environment": "LOCAL_MACHINE",
    "num_machines": 1,
    "num_processes": 2,
    "main_process_port": 0,  # any free port
    "use_cpu": True,
}
FSDP = {
    "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "fsdp_cpu_ram_efficient_loading": False,
    "fsdp_sync_module_states": False,
}
# FSDP 1 requires a GPU for this.
SPARING = dict.fromkeys(("fsdp_cpu_ram_efficient_loading", "fsdp_sync_module_states"), True)
ZERO = {"stage": 3, "stage3_param_persistence_threshold": 0, "stage3_gather_16bit_weights_on_model_save": True}
AUTO = ("train_micro_batch_size_per_gpu", "train_batch_size", "gradient_accumulation_steps", "gradient_clipping")
CONFIGS = {
    "FSDP 1, FULL_STATE_DICT": {"distributed_type": "FSDP", "fsdp_config": {"fsdp_version": 1, **FSDP}},
    "FSDP 2, SHARDED_STATE_DICT": {
        "distributed_type": "FSDP",
        "fsdp_config": {
            "fsdp_version": 2,
            "fsdp_reshard_after_forward": True,
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            **FSDP,
            **SPARING,
        },
    },
}
# DeepSpeed is no test dependency, because it compiles its operations on the machine
if importlib.util.find_spec("deepspeed"):
    CONFIGS["DeepSpeed ZeRO-3"] = {"distributed_type": "DEEPSPEED", "deepspeed_config": {"zero3_init_flag": True}}
HEX = {"warm_start": 0.5}
RECIPES = {"finetune": {}, "max_entropy": {}, "hex": HEX}
STEPS, STOP = 6, 2


@pytest.fixture(scope="module")
def run_options(pretrained, pairs_path):
    """Return the options of all runs."""
    return {
        "model": str(pretrained),
        "corpus": [str(pairs_path)],
        "validation": [str(pairs_path)],
        "batch_size": 12,
        "max_steps": STEPS,
        "learning_rate": 3e-3,
        "weight_decay": 1.0,  # large, so that the test shows which weights decay
        "max_grad_norm": 0.5,
        "save_steps": STOP,
    }


@pytest.fixture(scope="module")
def single_process_runs(run_options, tmp_path_factory):
    """Train each recipe in one process. Return the folder of all runs."""
    folder = tmp_path_factory.mktemp("alone")
    for name, options in RECIPES.items():
        lists = {key: tuple(run_options[key]) for key in ("corpus", "validation")}
        run(find_recipe(name)(**run_options | lists | options | {"output_dir": folder / name}))
    return folder


@pytest.fixture(scope="module")
def sharded_processes(run_options, dropout_model, tmp_path_factory):
    """Start all sharded runs. Yield their processes and folders."""
    launched = {}
    for kind in CONFIGS:
        folder = tmp_path_factory.mktemp("sharded")
        environment = build_environment(kind, folder)
        asked = json.dumps(build_jobs(kind, folder, run_options, str(dropout_model)))
        launched[kind] = PYTHON.start_group(2, CHILD, asked, env=environment), folder
    yield launched
    for processes, _ in launched.values():
        for process in processes:
            process.kill()


@pytest.fixture(scope="module", params=CONFIGS)
def sharded_run(request, sharded_processes, single_process_runs):
    """Train in several processes. Return the kind of sharding and the folder."""
    processes, folder = sharded_processes[request.param]
    for process in processes:
        assert process.wait() == 0, process.communicate()
    return request.param, folder


def build_environment(kind, folder):
    """Write accelerate's config. Return the environment that `accelerate launch` sets for a process."""
    config = json.loads(json.dumps({**COMMON, **CONFIGS[kind]}))
    if "deepspeed_config" in config:
        settings = folder / "deepspeed.json"
        settings.write_text(json.dumps({"zero_optimization": ZERO, **dict.fromkeys(AUTO, "auto")}))
        config["deepspeed_config"]["deepspeed_config_file"] = str(settings)
    file, script = folder / "accelerate.json", folder / "tell.py"
    file.write_text(json.dumps(config))
    script.write_text(TELL)
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "DS_ACCELERATOR": "cpu"}
    told = json.loads(PYTHON.run(*LAUNCH, file, script, env=offline, check=True).stdout)
    # The launcher sets the variables for communication separately.
    return {name: value for name, value in told.items() if not name.startswith("TORCHELASTIC_")}


def build_jobs(kind, folder, run_options, dropout_model):
    """Return the jobs of the processes: recipe, options, and the step of an interruption."""
    # Accumulation is not tested with HEX, which projects in each pass, and DeepSpeed, which has one value for all runs.
    parts = {} if "DeepSpeed" in kind else {"finetune": {"gradient_accumulation_steps": 2}}
    plain = [
        (name, {**run_options, **options, **parts.get(name, {}), "output_dir": str(folder / name)}, None)
        for name, options in RECIPES.items()
    ]
    dropping = {**run_options, **HEX, "model": dropout_model}
    return plain + [
        ("hex", {**dropping, "output_dir": str(folder / name)}, stop) for name, stop in (("whole", None), ("two", STOP))
    ]


def test_sharded_model_equals_single_process_model(sharded_run, single_process_runs):
    kind, folder = sharded_run
    for name in RECIPES:
        record = json.loads((folder / name / "training.json").read_text())
        assert record["processes"] == 2
        assert record["sharding"] == ("FSDP" if "FSDP" in kind else "DEEPSPEED")
        weights = load_file(folder / name / "model.safetensors")
        assert has_close_weights(weights, load_file(single_process_runs / name / "model.safetensors"), 1e-5)
        losses = [
            json.loads((path / name / "training.json").read_text())["best_evaluation"]["all"]["loss"]
            for path in (folder, single_process_runs)
        ]
        assert losses[0] == pytest.approx(losses[1], abs=1e-5)
        network, found = AutoModelForSequenceClassification.from_pretrained(folder / name, output_loading_info=True)
        assert not any(found.values()), found
        assert has_equal_weights(network.state_dict(), weights)
    beside = [load_file(path / "hex/hex.safetensors") for path in (folder, single_process_runs)]
    assert has_close_weights(*({name: each[name] for name in ("phi", "w_g")} for each in beside), 1e-5)
    assert has_close_weights(*({"omega": each["omega"]} for each in beside), 1e-4)


def test_each_process_has_part_of_weights(sharded_run):
    _, folder = sharded_run
    for name in RECIPES:
        files = [load_file(path) for path in (folder / name).glob("*.safetensors")]
        never_sharded = {"omega", "embeddings", "is_word"}  # fitted at the end, or constant
        numbers = sum(value.numel() for file in files for key, value in file.items() if key not in never_sharded)
        held = [int((folder / f"{name}.held-{rank}").read_text()) for rank in (0, 1)]
        assert numbers <= sum(held) < 1.1 * numbers, "more than that is padding"
        assert max(held) < 0.7 * numbers


def test_stopped_run_resumes_to_same_weights(sharded_run):
    """The run is stopped in the warm start of HEX and uses dropout."""
    _, folder = sharded_run
    for name in ("model.safetensors", "hex.safetensors"):
        assert (folder / "two" / name).read_bytes() == (folder / "whole" / name).read_bytes()
    losses = [json.loads((folder / name / "training.json").read_text())["evaluations"] for name in ("two", "whole")]
    assert losses[0] == losses[1]


@pytest.mark.skipif(torch.accelerator.is_available(), reason="where there is a GPU, FSDP makes shards")
def test_fsdp_defaults_without_gpu_train_unsharded(finetune, options, monkeypatch, caplog):
    _, plain = finetune(max_steps=2)
    defaults = ("ACCELERATE_USE_FSDP", "FSDP_SYNC_MODULE_STATES", "FSDP_CPU_RAM_EFFICIENT_LOADING")
    for name in defaults:  # the variables that `accelerate launch` sets
        monkeypatch.setenv(name, "true")
    record, weights = finetune(max_steps=2, output_dir=options["output_dir"].with_name("asked"))
    assert record["sharding"] is None
    assert "the accelerate config selects FSDP" in caplog.text
    assert all(torch.equal(weights[name], plain[name]) for name in plain)
