"""Read datasets of the Hub with `datasets` and without unbag. Print one line of JSON per split.

The input is JSON on standard input: pairs of a repository and a config, or null for the default config.
"""

import hashlib
import json
import sys

import datasets


def describe_rows(rows: datasets.Dataset) -> dict[str, object]:
    """Return a description of the rows that depends on their content."""
    digest = hashlib.sha256()
    n = 0
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True).encode())
        n += 1
    return {"rows": n, "sha256": digest.hexdigest(), "labels": rows.features["label"].names}


def main() -> None:
    for repo, config in json.load(sys.stdin):
        whole = datasets.load_dataset(repo, config)
        streamed = datasets.load_dataset(repo, config, streaming=True)
        for split in whole:
            found = describe_rows(whole[split])
            assert describe_rows(streamed[split]) == found, f"{repo} {config} {split} streams something else"
            print(json.dumps({"repo": repo, "config": config, "split": split, **found}))  # noqa: T201
    assert not [name for name in sys.modules if name == "unbag" or name.startswith("unbag.")]


if __name__ == "__main__":
    main()
