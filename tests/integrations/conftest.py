"""Pairs for training a tiny model, a Trainer, and challenge sets built from the pairs."""

import datasets
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")
pytest.importorskip("transformers", reason="needs unbag[models]")

from tests.factories import write_table
from tests.inference.fixtures import WORDS
from unbag.challenge_sets.request import SetRequest
from unbag.data.labels import LABELS


@pytest.fixture(scope="session")
def pairs_path(tmp_path_factory):
    """Return a file of 60 pairs with nine words per sentence, twenty of each label."""
    draw = np.random.default_rng(0)
    sentences = [" ".join(draw.choice(WORDS, size=9, replace=False)) for _ in range(120)]
    rows = zip(sentences[::2], sentences[1::2], LABELS * 20, strict=True)
    return write_table(tmp_path_factory.mktemp("pairs") / "pairs.jsonl", rows, ["premise", "hypothesis", "label"])


@pytest.fixture(scope="session")
def requests(pairs_path):
    """Return requests for permuted and swapped pairs."""
    data = {"data": str(pairs_path)}
    return [SetRequest("permuted", options={**data, "q": 4}, max_examples=30), SetRequest("swapped", options=data)]


def build_trainer(folder, pairs_path, output_dir, *, tokenizer=True, steps=4, **options):
    """Return a Trainer that evaluates every second step. `options` are `eval_dataset` and training arguments."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

    model = AutoModelForSequenceClassification.from_pretrained(folder)
    encode = AutoTokenizer.from_pretrained(folder)
    rows = datasets.load_dataset("json", data_files=str(pairs_path), split="train")
    encoded = rows.map(
        lambda row: {
            **encode(row["premise"], row["hypothesis"], truncation=False),
            "label": model.config.label2id.get(row["label"], 0),
        },
        remove_columns=rows.column_names,
    )
    evaluated = options.pop("eval_dataset", lambda rows: rows)(encoded)
    callbacks = options.pop("callbacks", None)
    arguments = {
        "max_steps": steps,
        "per_device_train_batch_size": 8,
        "eval_strategy": "steps",
        "eval_steps": 2,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        "learning_rate": 1e-3,
    }
    args = TrainingArguments(str(output_dir), **{**arguments, **options})
    return Trainer(
        model,
        args,
        train_dataset=encoded,
        eval_dataset=evaluated,
        processing_class=encode if tokenizer else None,
        callbacks=callbacks,
    )
