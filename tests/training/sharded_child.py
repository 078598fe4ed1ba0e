"""Recipes under FSDP or DeepSpeed on CPUs, started by `accelerate launch` with a user's config.

On several CPUs, accelerate 1.15 silently trains with DDP instead of FSDP or DeepSpeed. `AcceleratorState.__init__`
lists the devices that support them; here `MULTI_CPU` is added. Everything else (wrapping, clipping, gathering,
checkpoints) is the code of accelerate and torch, except for what FSDP 1 does wrong on a CPU, where moving to the CPU
copies nothing.
"""

import json
import sys
from contextlib import contextmanager
from pathlib import Path

import torch
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType
from torch.distributed.fsdp import _flat_param, _optim_utils

from unbag.inference.distributed import destroy_process_group
from unbag.training.output import CheckpointCallback
from unbag.training.recipes import find_recipe
from unbag.training.run import run

AS_ACCELERATE = AcceleratorState.__init__
AS_TORCH = _optim_utils._unflatten_orig_param_states


def initialize_cpu_state(self, *arguments, fsdp_plugin=None, deepspeed_plugin=None, **named):
    """Initialize the state as accelerate does for GPUs."""
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
    # Without an index, for FSDP 1: the current device of a CPU is `cpu` in torch and `cpu:0` in accelerate.
    self.device = torch.device("cpu")
    PartialState._shared_state |= {"distributed_type": self.distributed_type, "device": self.device}


@contextmanager
def copy_weights_to_cpu(self):
    """Replace `FlatParamHandle.to_cpu`, which moves weights to the CPU and frees the original."""
    yield


def copy_states(information, states, name, *told):
    """Return copies of optimizer states, since torch's `.cpu()` returns views of a buffer that is overwritten later."""
    AS_TORCH(information, states, name, *told)
    for state in states.values():
        state[name] = state[name].clone()


def count_local_elements(parameter):
    """Return the number of elements of a parameter in this process."""
    if hasattr(parameter, "ds_tensor"):  # a parameter of ZeRO-3
        parameter = parameter.ds_tensor
    if hasattr(parameter, "to_local"):  # a parameter of FSDP 2
        parameter = parameter.to_local()
    return int(parameter.numel())


class Stopped(Exception):
    """Simulates a killed process."""


def main():
    """Run the training jobs. A job with a step is stopped after its checkpoint, and run again."""
    AcceleratorState.__init__ = initialize_cpu_state
    _flat_param.FlatParamHandle.to_cpu = copy_weights_to_cpu
    _optim_utils._unflatten_orig_param_states = copy_states
    save = CheckpointCallback.on_save
    for name, options, stop in json.loads(sys.argv[1]):

        def saved(self, args, state, control, *, model, stop=stop, options=options, **_):
            save(self, args, state, control)
            here = Path(f"{options['output_dir']}.held-{args.process_index}")
            here.write_text(str(sum(map(count_local_elements, model.parameters()))))
            if state.global_step == stop:
                raise Stopped

        lists = {key: tuple(value) for key, value in options.items() if isinstance(value, list)}
        config = find_recipe(name)(**options | lists | {"output_dir": Path(options["output_dir"])})
        CheckpointCallback.on_save = saved
        try:
            run(config)
        except Stopped:
            CheckpointCallback.on_save = save
            run(config)
    destroy_process_group()


if __name__ == "__main__":
    main()
