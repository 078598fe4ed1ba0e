"""Recipes under FSDP or DeepSpeed on CPUs, started by `accelerate launch` with a config as a user has it.

accelerate 1.15 makes FSDP and DeepSpeed of several GPUs. Several CPUs it leaves as they are, without a word: they train
by DDP. `AcceleratorState.__init__` names the accelerators it does so for; here `MULTI_CPU` is one of them. All the
rest, wrapping, clipping, gathering, checkpoints, is accelerate's own, and torch's but for what FSDP 1 does wrong on a
CPU, where moving to the CPU copies nothing.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType
from torch.distributed.fsdp import _flat_param, _optim_utils

from unbag import scripts
from unbag.inference.distributed import destroy_process_group
from unbag.training.checkpoints import CheckpointManager
from unbag.training.run import run

AS_ACCELERATE = AcceleratorState.__init__
AS_TORCH = _optim_utils._unflatten_orig_param_states


def with_cpus(self: Any, *arguments: Any, fsdp_plugin: Any = None, deepspeed_plugin: Any = None, **named: Any) -> None:
    """Make the state as accelerate does of GPUs."""
    AS_ACCELERATE(self, *arguments, fsdp_plugin=fsdp_plugin, deepspeed_plugin=deepspeed_plugin, **named)
    if self.distributed_type is not DistributedType.MULTI_CPU:
        return
    if fsdp_plugin is not None:
        self.distributed_type, self.fsdp_plugin = DistributedType.FSDP, fsdp_plugin
        if self._mixed_precision != "no":
            fsdp_plugin.set_mixed_precision(self._mixed_precision)
    if deepspeed_plugin is not None:
        self.distributed_type, self.deepspeed_plugins = DistributedType.DEEPSPEED, deepspeed_plugin
        deepspeed_plugin.set_mixed_precision(self._mixed_precision)
        deepspeed_plugin.select(_from_accelerator_state=True)
    # Without an index, for FSDP 1: to torch the current device of a CPU is `cpu`, to accelerate `cpu:0`.
    self.device = torch.device("cpu")
    PartialState._shared_state |= {"distributed_type": self.distributed_type, "device": self.device}


@contextmanager
def there_already(self: Any) -> Iterator[None]:
    """Stand in for `FlatParamHandle.to_cpu`, which moves weights to the CPU and frees what they were moved from."""
    yield


def copied(information: Any, states: dict[str, dict[str, Any]], name: str, *told: Any) -> None:
    """Return optimizer states that are copies: torch's `.cpu()` leaves them views of a buffer that it uses again."""
    AS_TORCH(information, states, name, *told)
    for state in states.values():
        state[name] = state[name].clone()


def held(parameter: Any) -> int:
    """Return how many numbers of a parameter this process keeps."""
    if hasattr(parameter, "ds_tensor"):  # ZeRO-3's
        parameter = parameter.ds_tensor
    if hasattr(parameter, "to_local"):  # FSDP 2's
        parameter = parameter.to_local()
    return int(parameter.numel())


class Stopped(Exception):
    """As if the processes had been killed."""


def main() -> None:
    """Train as each of the jobs says; a job that names a step is stopped after its checkpoint, and given again."""
    AcceleratorState.__init__ = with_cpus  # type: ignore[method-assign]
    _flat_param.FlatParamHandle.to_cpu = there_already
    _optim_utils._unflatten_orig_param_states = copied
    save = CheckpointManager.save
    for name, options, stop in json.loads(sys.argv[1]):

        def saved(
            self: Any, step: int, *rest: Any, stop: int | None = stop, options: Any = options, **named: Any
        ) -> None:
            save(self, step, *rest, **named)
            [model] = self._accelerator._models
            here = Path(f"{options['output_dir']}.held-{self._accelerator.process_index}")
            here.write_text(str(sum(map(held, model.parameters()))))
            if step == stop:
                raise Stopped

        recipe = scripts.file("trainers", name).RECIPE
        lists = {key: tuple(value) for key, value in options.items() if isinstance(value, list)}
        config = recipe.config(**options | lists | {"output_dir": Path(options["output_dir"])})
        CheckpointManager.save = saved  # type: ignore[method-assign]
        try:
            run(recipe, config)
        except Stopped:
            CheckpointManager.save = save  # type: ignore[method-assign]
            run(recipe, config)
    destroy_process_group()


if __name__ == "__main__":
    main()
