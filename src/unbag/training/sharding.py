"""What FSDP and DeepSpeed, which accelerate's own config asks for, need of a run."""

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
def without_gpu() -> Iterator[None]:
    """Let accelerate read a config of FSDP 1 where there is no GPU.

    It then shards nothing (`configure` says so), but would refuse to start without a GPU to send weights through, as it
    does by default (`fsdp_sync_module_states`).
    """
    of_fsdp_1 = os.environ.get("FSDP_VERSION", "1") == "1" and not torch.accelerator.is_available()
    unused = {"FSDP_SYNC_MODULE_STATES": "false", "FSDP_CPU_RAM_EFFICIENT_LOADING": "false"}
    with patch_environment(**unused) if of_fsdp_1 else nullcontext():
        yield


def kind(accelerator: Accelerator) -> str | None:
    """Return how weights and optimizer lie in a checkpoint: None where each process has all of them."""
    if accelerator.distributed_type is DistributedType.FSDP:
        plugin = accelerator.state.fsdp_plugin
        return f"FSDP {plugin.fsdp_version}, {plugin.state_dict_type.name}"
    if accelerator.distributed_type is DistributedType.DEEPSPEED:
        return f"DeepSpeed ZeRO-{accelerator.state.deepspeed_plugin.zero_stage}"
    return None


def configure(
    accelerator: Accelerator, *, batch_size: int, gradient_accumulation_steps: int, max_grad_norm: float
) -> None:
    """Tell DeepSpeed what it reads in its own config, and refuse a config by which training would be another.

    Args:
        accelerator: made by that config.
        batch_size: pairs a step learns from, over all processes.
        gradient_accumulation_steps: parts in which each process takes its share of them.
        max_grad_norm: largest norm of the gradient.

    Raises:
        ValueError: if it says otherwise than the run is told, or FSDP's is one that training cannot go by.
    """
    for name in (DistributedType.FSDP, DistributedType.DEEPSPEED):
        if parse_flag_from_env(f"ACCELERATE_USE_{name.value}") and accelerator.distributed_type is not name:
            logger.warning(
                "%s was asked for, and accelerate makes it of GPUs only: each process keeps all weights", name.value
            )
    if accelerator.distributed_type is DistributedType.FSDP:
        plugin = accelerator.state.fsdp_plugin
        if plugin.fsdp_version == 1 and not plugin.use_orig_params:
            raise ValueError(
                "expected fsdp_use_orig_params: true in accelerate's config, got false: matrices decay and biases do "
                "not, and FSDP would make one parameter of them. Set it, or take fsdp_version: 2"
            )
        if plugin.fsdp_version == 1 and (state_dict_type := plugin.state_dict_type.name) != "FULL_STATE_DICT":
            raise ValueError(
                f"expected fsdp_state_dict_type: FULL_STATE_DICT in accelerate's config, got {state_dict_type}: with "
                "fsdp_version: 1 accelerate would not load the optimizer from it again, and a run that was stopped "
                "would go on as another. Set it, or take fsdp_version: 2"
            )
    if accelerator.distributed_type is DistributedType.DEEPSPEED:
        config = accelerator.state.deepspeed_plugin.deepspeed_config
        # It would read the size off a data loader, which it is not given; nothing depends on it.
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
                    f"expected {name} of {ours} in DeepSpeed's config, as the run is told, got {config[name]}; leave "
                    "it out, or tell the run the same"
                )


@contextmanager
def whole_weights(accelerator: Accelerator) -> Iterator[None]:
    """Load models in this context as they are, in each process, whatever is spared by loading them in shards.

    Else (`fsdp_cpu_ram_efficient_loading`, `zero3_init_flag`) there would be nothing to look at before the model is
    wrapped: what its last layer is, which parameters are matrices. A classifier fits into the memory of the CPU.
    """
    if accelerator.distributed_type is DistributedType.DEEPSPEED:
        # For good: what is loaded after the training, to evaluate it, is no shard either.
        unset_hf_deepspeed_config()  # type: ignore[no-untyped-call]
    with patch_environment(FSDP_CPU_RAM_EFFICIENT_LOADING="false"):
        yield
