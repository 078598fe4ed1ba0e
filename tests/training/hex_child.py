"""A process of `test_hex.py`: computes the gradients of a step and ω* on its shard of a batch."""

import sys
from pathlib import Path

import torch
from torch import distributed as dist

from tests.training.tiny_networks import LABELS, PAIRS, build_trainer, encode, tiny_network
from unbag.inference.distributed import destroy_process_group
from unbag.training.config_recipes import HexConfig
from unbag.training.hex import HexTrainer


def main() -> None:
    config = HexConfig(model="m", output_dir=Path("o"), warm_start=0)
    trainer = build_trainer(HexTrainer, tiny_network(), config)
    trainer.train_dataset, trainer.data_collator = PAIRS, encode
    accelerator = trainer.accelerator
    rank, world = accelerator.process_index, accelerator.num_processes
    trainer.model_wrapped = wrapped = accelerator.prepare(trainer.model)
    assert isinstance(wrapped, torch.nn.parallel.DistributedDataParallel) == (world > 1)
    rows = slice(rank * len(PAIRS) // world, (rank + 1) * len(PAIRS) // world)
    batch = encode(PAIRS[rows])

    def gradients() -> dict[str, torch.Tensor]:
        wrapped.zero_grad()
        accelerator.backward(trainer.compute_loss(wrapped.train(), {"labels": LABELS[rows], **batch}))
        return {name: parameter.grad.clone() for name, parameter in trainer.model.named_parameters()}

    outcome = {"world": world, "gradients": gradients()}
    trainer.fit_omega()
    outcome["omega"] = trainer.omega
    if world > 1:  # the result if each process projected separately
        joint, dist.get_world_size = dist.get_world_size, lambda: 1
        outcome["apart"] = gradients()
        dist.get_world_size = joint
    if accelerator.is_main_process:
        torch.save(outcome, sys.argv[1])
    destroy_process_group()


if __name__ == "__main__":
    main()
