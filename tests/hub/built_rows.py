"""Print descriptions of the rows that the builders of sets produce; see `dataset_reader`."""

import json
import sys

from tests.hub.dataset_reader import describe_rows
from unbag.challenge_sets import loading

_OPTIONS = {
    "cs_lambda": {"train_data": ("snli",), "pipeline": "all", "max_train_pairs": 200, "folds": 2},
    "permuted": {"q": 3, "min_words": 6},
}

if __name__ == "__main__":
    configs, vectors = json.load(sys.stdin)
    for name, config in configs.items():
        options = {"embeddings": vectors} if name == "resnli" else _OPTIONS.get(name, {})
        builder = loading.create_builder(name, config, **options)
        loading.load_evaluation_split(builder)
        for split, rows in builder.as_dataset().items():
            print(json.dumps({"set": name, "config": config, "split": split, **describe_rows(rows)}))  # noqa: T201
