"""Functions that tests call in a separate process, in the order of their names and values on standard input."""

import hashlib
import json
import sys


def run_commands(commands):
    """Run several commands of unbag in one process, because the start of a process is slow."""
    from unbag.cli import app, run

    for arguments in commands:
        if code := run(app, arguments):
            sys.exit(code)


def read_datasets(asked):
    """Print descriptions of datasets of the Hub, read without unbag. A config is None for the default config."""
    import datasets

    for repo, config in asked:
        streamed = datasets.load_dataset(repo, config, streaming=True)
        for split, rows in datasets.load_dataset(repo, config).items():
            found = _describe_rows(rows)
            assert _describe_rows(streamed[split]) == found, f"{repo} {config} {split} streams something else"
            print(json.dumps({"repo": repo, "config": config, "split": split, **found}))  # noqa: T201
    assert "unbag" not in sys.modules


def build_rows(asked):
    """Print descriptions of the rows that the builders of sets produce."""
    from unbag.challenge_sets import loading

    for name, config, options in asked:
        options = {option: tuple(value) if isinstance(value, list) else value for option, value in options.items()}
        builder = loading.create_builder(name, config, **options)
        loading.load_evaluation_split(builder)
        for split, rows in builder.as_dataset().items():
            print(json.dumps({"set": name, "config": config, "split": split, **_describe_rows(rows)}))  # noqa: T201


def _describe_rows(rows):
    """Return a description of the rows that depends on their content."""
    digest, n = hashlib.sha256(), 0
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True).encode())
        n += 1
    return {"rows": n, "sha256": digest.hexdigest(), "labels": rows.features["label"].names}


if __name__ == "__main__":
    for function, value in json.load(sys.stdin):
        globals()[function](value)
