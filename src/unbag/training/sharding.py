"""Support for FSDP and DeepSpeed, as configured in accelerate."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from math import ceil

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, parse_flag_from_env, patch_environment
from transformers.integrations.deepspeed import unset_hf_deepspeed_config

logger = logging.getLogger(__name__)


@contextmanager
def allow_missing_gpu() -> Iterator[None]:
    """Make accelerate's FSDP 1 configs work on machines without a GPU until the `with` block ends.

    Without a GPU, accelerate shards nothing (`configure_sharding` logs this). But by default
    (`fsdp_sync_module_states`) FSDP 1 broadcasts weights through a GPU, and would fail to start without one.
    """
    of_fsdp_1 = os.environ.get("FSDP_VERSION", "1") == "1" and not torch.accelerator.is_available()
    unused = {"FSDP_SYNC_MODULE_STATES": "false", "FSDP_CPU_RAM_EFFICIENT_LOADING": "false"}
    with patch_environment(**unused) if of_fsdp_1 else nullcontext():
        yield


def describe_sharding(accelerator: Accelerator) -> str | None:
    """Describe how weights and optimizer state are sharded in checkpoints. Return None if they are not sharded."""
    if accelerator.distributed_type is DistributedType.FSDP:
        plugin = accelerator.state.fsdp_plugin
        return f"FSDP {plugin.fsdp_version}, {plugin.state_dict_type.name}"
    if accelerator.distributed_type is DistributedType.DEEPSPEED:
        return f"DeepSpeed ZeRO-{accelerator.state.deepspeed_plugin.zero_stage}"
    return None


def configure_sharding(
    accelerator: Accelerator, *, batch_size: int, gradient_accumulation_steps: int, max_grad_norm: float
) -> None:
    """Complete the DeepSpeed config, and reject FSDP or DeepSpeed configs that conflict with the options.

    Args:
        accelerator: Accelerator with that config.
        batch_size: Pairs per step, over all processes.
        gradient_accumulation_steps: Forward passes per step of each process.
        max_grad_norm: Maximum gradient norm.

    Raises:
        ValueError: If DeepSpeed's config contradicts these options, or FSDP's config cannot be supported.
    """
    for name in (DistributedType.FSDP, DistributedType.DEEPSPEED):
        if parse_flag_from_env(f"ACCELERATE_USE_{name.value}") and accelerator.distributed_type is not name:
            logger.warning(
                "the accelerate config selects %s, which requires GPUs, but no GPU is available; each process keeps "
                "all weights",
                name.value,
            )
    if accelerator.distributed_type is DistributedType.FSDP:
        plugin = accelerator.state.fsdp_plugin
        if plugin.fsdp_version == 1 and not plugin.use_orig_params:
            raise ValueError(
                "expected fsdp_use_orig_params: true in accelerate's config, got false; set it to true, or use "
                "fsdp_version: 2. Otherwise FSDP merges matrices (with weight decay) and biases (without) into "
                "one parameter"
            )
        if plugin.fsdp_version == 1 and (state_dict_type := plugin.state_dict_type.name) != "FULL_STATE_DICT":
            raise ValueError(
                f"expected fsdp_state_dict_type: FULL_STATE_DICT in accelerate's config, got {state_dict_type}; set "
                "FULL_STATE_DICT or fsdp_version: 2. Otherwise accelerate does not reload the optimizer, and a "
                "resumed run produces different weights"
            )
    if accelerator.distributed_type is DistributedType.DEEPSPEED:
        config = accelerator.state.deepspeed_plugin.deepspeed_config
        # DeepSpeed derives this size from a data loader, which it does not get here; training does not depend on it.
        micro = ceil(batch_size / (accelerator.num_processes * gradient_accumulation_steps))
        if config.get("train_micro_batch_size_per_gpu", "auto") == "auto":
            config["train_micro_batch_size_per_gpu"] = micro
        for name, ours in (
            ("gradient_accumulation_steps", gradient_accumulation_steps),
            ("gradient_clipping", max_grad_norm),
        ):
            if config.get(name, "auto") == "auto":
                config[name] = ours
            elif config[name] != ours:
                raise ValueError(
                    f"expected {name} = {ours} in the DeepSpeed config, as in the options, got {config[name]}; remove "
                    "the key from the config, or set the option to the same value"
                )


@contextmanager
def disable_sharded_loading(accelerator: Accelerator) -> Iterator[None]:
    """Disable sharded loading until the `with` block ends, so that each process loads complete weights.

    Sharded loading (`fsdp_cpu_ram_efficient_loading`, `zero3_init_flag`) would leave empty weights until the model is
    wrapped. But the objective inspects them before: it looks for the last layer and for matrices. A classifier fits
    into the memory of the CPU.
    """
    if accelerator.distributed_type is DistributedType.DEEPSPEED:
        # Not restored: models loaded after the training, for its evaluation, must be complete too.
        unset_hf_deepspeed_config()  # type: ignore[no-untyped-call]
    with patch_environment(FSDP_CPU_RAM_EFFICIENT_LOADING="false"):
        yield
