"""A process of `test_hex.py`: computes the gradients of a step and ω* on its shard of a batch."""

import sys

import accelerate
import torch
from torch import distributed as dist

from tests.training.tiny_networks import LABELS, PAIRS, encode, tiny_network, tiny_tokenizer
from unbag.inference.distributed import destroy_process_group
from unbag.training.config import HexOptions
from unbag.training.hex import HexObjective


def main() -> None:
    accelerator = accelerate.Accelerator(cpu=True)
    rank, world = accelerator.process_index, accelerator.num_processes
    objective = HexObjective(tiny_network(), tiny_tokenizer(), HexOptions(warm_start=0))
    wrapped = accelerator.prepare(objective)
    assert isinstance(wrapped, torch.nn.parallel.DistributedDataParallel) == (world > 1)
    rows = slice(rank * len(PAIRS) // world, (rank + 1) * len(PAIRS) // world)
    batch = encode(PAIRS[rows])

    def gradients() -> dict[str, torch.Tensor]:
        wrapped.zero_grad()
        accelerator.backward(wrapped(LABELS[rows], **batch).loss)
        return {name: parameter.grad.clone() for name, parameter in objective.named_parameters()}

    outcome = {"world": world, "gradients": gradients()}
    objective.finish(wrapped, iter([batch]), accelerator)
    outcome["omega"] = objective.omega
    if world > 1:  # the result if each process projected separately
        joint, dist.get_world_size = dist.get_world_size, lambda: 1
        outcome["apart"] = gradients()
        dist.get_world_size = joint
    if accelerator.is_main_process:
        torch.save(outcome, sys.argv[1])
    destroy_process_group()


if __name__ == "__main__":
    main()
