"""A `Trainer` with a tiny classifier."""

import datasets
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments


def build_trainer(folder, pairs_path, output_dir, *, tokenizer=True, steps=4, **options):
    """Return a Trainer that evaluates every second step. `options` are `eval_dataset` and training arguments."""
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    of_model = AutoTokenizer.from_pretrained(folder)
    rows = datasets.load_dataset("json", data_files=str(pairs_path), split="train")

    def encode(row):
        label = model.config.label2id.get(row["label"], 0)
        return {**of_model(row["premise"], row["hypothesis"], truncation=False), "label": label}

    encoded = rows.map(encode, remove_columns=rows.column_names)
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
    processing_class = of_model if tokenizer else None
    return Trainer(
        model,
        args,
        train_dataset=encoded,
        eval_dataset=evaluated,
        processing_class=processing_class,
        callbacks=callbacks,
    )
