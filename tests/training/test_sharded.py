"""Tests of FSDP and DeepSpeed, configured through accelerate: two processes with a shard of the weights each."""

import importlib.util
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedType
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from tests.fork_server import PYTHON
from tests.training.test_finetune import has_close_weights, has_equal_weights, train_and_stop_after
from unbag import scripts
from unbag.training import sharding
from unbag.training.run import run
from unbag.utils import checksums

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
SPARING = dict.fromkeys(
    ("fsdp_cpu_ram_efficient_loading", "fsdp_sync_module_states"), True
)  # FSDP 1 requires a GPU for this
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
    """Return the options of all runs. The 13 pairs are divided unequally among the processes."""
    return {
        "model": str(pretrained),
        "corpus": [str(pairs_path)],
        "validation": [str(pairs_path)],
        "batch_size": 13,
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
        recipe = scripts.import_script_file("trainers", name).RECIPE
        lists = {key: tuple(run_options[key]) for key in ("corpus", "validation")}
        AcceleratorState._reset_state(reset_partial_state=True)
        run(recipe, recipe.config(**run_options | lists | options | {"output_dir": folder / name}))
    AcceleratorState._reset_state(reset_partial_state=True)
    return folder


@pytest.fixture(scope="module")
def sharded_processes(run_options, dropout_model, tmp_path_factory):
    """Start all sharded runs. Yield their processes and folders."""
    launched = {}
    for kind in CONFIGS:
        folder = tmp_path_factory.mktemp("sharded")
        offline = {**os.environ, "HF_HUB_OFFLINE": "1", "DS_ACCELERATOR": "cpu"}
        told_by_accelerate = build_environment(write_accelerate_config(kind, folder), folder, offline)
        asked = json.dumps(build_jobs(kind, folder, run_options, str(dropout_model)))
        launched[kind] = PYTHON.start_group(2, CHILD, asked, env=told_by_accelerate), folder
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


def build_environment(config, folder, around):
    """Return the environment that `accelerate launch` sets for a process."""
    script = folder / "tell.py"
    script.write_text(TELL)
    run_options = json.loads(PYTHON.run(*LAUNCH, config, script, env=around, check=True).stdout)
    # The launcher sets the variables for communication separately.
    return {name: value for name, value in run_options.items() if not name.startswith("TORCHELASTIC_")}


def write_accelerate_config(kind, folder):
    """Write accelerate's config, and return the file."""
    config = json.loads(json.dumps({**COMMON, **CONFIGS[kind]}))
    if "deepspeed_config" in config:
        settings = folder / "deepspeed.json"
        settings.write_text(json.dumps({"zero_optimization": ZERO, **dict.fromkeys(AUTO, "auto")}))
        config["deepspeed_config"]["deepspeed_config_file"] = str(settings)
    file = folder / "accelerate.json"
    file.write_text(json.dumps(config))
    return file


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
        assert (record["sharding"], record["processes"]) == (kind, 2)
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


def fsdp(**plugin):
    names = {"fsdp_version": 1, "use_orig_params": True, "state_dict_type": "FULL_STATE_DICT", **plugin}
    names["state_dict_type"] = SimpleNamespace(name=names["state_dict_type"])
    state = SimpleNamespace(fsdp_plugin=SimpleNamespace(**names))
    return SimpleNamespace(distributed_type=DistributedType.FSDP, state=state)


def deepspeed(run_options):
    state = SimpleNamespace(deepspeed_plugin=SimpleNamespace(deepspeed_config=run_options, zero_stage=3))
    return SimpleNamespace(distributed_type=DistributedType.DEEPSPEED, state=state, num_processes=2)


def test_unsupported_fsdp_config_is_rejected():
    options = {"batch_size": 32, "gradient_accumulation_steps": 1, "max_grad_norm": 1.0}
    sharding.configure_sharding(fsdp(), **options)
    sharding.configure_sharding(
        fsdp(fsdp_version=2, use_orig_params=None, state_dict_type="SHARDED_STATE_DICT"), **options
    )
    with pytest.raises(ValueError, match=r"expected fsdp_use_orig_params: true .* got false"):
        sharding.configure_sharding(fsdp(use_orig_params=False), **options)
    with pytest.raises(ValueError, match=r"expected fsdp_state_dict_type: FULL_STATE_DICT .* got SHARDED_STATE_DICT"):
        sharding.configure_sharding(fsdp(state_dict_type="SHARDED_STATE_DICT"), **options)


def test_deepspeed_config_must_match_run_options():
    options = {"batch_size": 13, "gradient_accumulation_steps": 3, "max_grad_norm": 0.5}
    run_options = dict.fromkeys(AUTO, "auto")
    sharding.configure_sharding(deepspeed(run_options), **options)
    assert run_options == {
        "train_micro_batch_size_per_gpu": 3,  # 13 pairs in 6 passes
        "train_batch_size": "auto",
        "gradient_accumulation_steps": 3,
        "gradient_clipping": 0.5,
    }
    sharding.configure_sharding(deepspeed(run_options), **options)
    with pytest.raises(ValueError, match=r"expected gradient_clipping = 0.5 in the DeepSpeed config.* got 1.0"):
        sharding.configure_sharding(deepspeed({**run_options, "gradient_clipping": 1.0}), **options)
    with pytest.raises(ValueError, match=r"expected gradient_accumulation_steps = 3 .* got 1"):
        sharding.configure_sharding(deepspeed({**run_options, "gradient_accumulation_steps": 1}), **options)


def test_unavailable_sharding_adds_warning(monkeypatch, caplog):
    options = {"batch_size": 32, "gradient_accumulation_steps": 1, "max_grad_norm": 1.0}
    whole = SimpleNamespace(distributed_type=DistributedType.MULTI_CPU)
    sharding.configure_sharding(whole, **options)
    assert not caplog.text
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    sharding.configure_sharding(fsdp(), **options)
    assert not caplog.text
    sharding.configure_sharding(whole, **options)
    assert "config selects FSDP, which requires GPUs" in caplog.text


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


def test_sharded_checkpoint_is_rejected_for_whole_weights(finetune, options):
    train_and_stop_after(2, finetune, save_steps=2)
    [state] = options["output_dir"].with_name("out.unfinished").glob("checkpoints/*/state.json")
    state.write_text(json.dumps({**json.loads(state.read_text()), "sharding": "FSDP 1, FULL_STATE_DICT"}))
    checksums.write_folder_checksums(state.parent)  # keep the checksums valid
    with pytest.raises(ValueError, match=re.escape("expected FSDP 1, FULL_STATE_DICT, got unsharded weights")):
        finetune()
