"""A Trainer with the callback in one of several processes: `python -m tests.integrations.train_child …`."""

import json
import os
import sys
from pathlib import Path

from transformers import AutoModelForSequenceClassification, AutoTokenizer

import unbag
from tests.inference.fixtures import ORDER, PAIRS
from tests.integrations.conftest import build_trainer
from unbag.challenge_sets.request import SetRequest
from unbag.inference.distributed import connect_process_group, destroy_process_group
from unbag.inference.live import ClassifierInTraining


def main() -> None:
    """Evaluate, train two steps, evaluate again, predict with a sharded model, and write a file per process."""
    folder, pairs, out = map(Path, sys.argv[1:])
    trainer = build_trainer(folder, pairs, out, steps=2, ddp_backend="gloo" if "RANK" in os.environ else None)
    requests = [SetRequest("permuted", options={"data": str(pairs), "q": 4}, max_examples=30)]
    trainer.add_callback(unbag.UnbagCallback(trainer, requests, batch_tokens=200))
    found = {"before": trainer.evaluate()}
    trainer.train()
    found["after"] = trainer.evaluate()
    ours = {when: {name: v for name, v in logged.items() if "unbag" in name} for when, logged in found.items()}
    record = {**ours, "processes": trainer.args.world_size, "sharded": _predict_with_sharded_model(folder)}
    out.mkdir(exist_ok=True, parents=True)
    (out / f"rank-{connect_process_group().rank}.json").write_text(json.dumps(record))
    destroy_process_group()


def _predict_with_sharded_model(folder: Path) -> list[list[float]]:
    """Return the probabilities of a model whose weights are sharded over all processes."""
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    if (world := connect_process_group().world_size) > 1:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (world,))
        for layer in (*model.bert.encoder.layer, model):
            fully_shard(layer, mesh=mesh)
    classifier = ClassifierInTraining(model, ORDER, AutoTokenizer.from_pretrained(folder), "cpu", batch_tokens=30)
    premises, hypotheses = zip(*PAIRS, strict=True)
    predictions = classifier.predict(classifier.encode(premises, hypotheses))
    probabilities: list[list[float]] = predictions.probabilities.tolist()
    return probabilities


if __name__ == "__main__":
    main()
