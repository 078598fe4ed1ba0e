"""Stand-ins for what the pages name: small corpora, models and files, and local replacements of remote services."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import zipfile
from collections.abc import Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq

from tests.docs.blocks import PAGES
from tests.factories import write_corpus, write_table
from tests.fake_hub.storage import PINS
from unbag.baselines.lexical import embeddings
from unbag.challenge_sets.perturbations import sicck
from unbag.data import demo
from unbag.data.corpora import CORPORA, Corpus
from unbag.data.labels import LABELS

SPLIT_SIZES = {"train": 600, "validation": 90, "test": 90}
LARGE = ("mnli", 450)  # the human study needs more pairs
CORPORA_OF_PAGES = ("snli", "mnli", "anli", "ocnli", "xnli_de", "xnli_sw")
_SENTENCES = {
    "zh": ("一个戴红帽子的男人今天早上在公园里看报纸{n}。", "一个男人今天早上在外面的长椅上看报纸{n}。"),
    "de": (
        "Ein Mann mit rotem Hut liest heute im Park die Zeitung {n}.",
        "Ein älterer Mann liest heute draußen in der Zeitung {n}.",
    ),
    "sw": (
        "Mwanaume mwenye kofia nyekundu anasoma gazeti {n} kwenye bustani leo asubuhi.",
        "Mwanaume mmoja mwenye kofia anasoma gazeti {n} nje leo asubuhi.",
    ),
}
ONE_OUTPUT = re.compile("RERANKER|VERIFIER")
_WELL_KNOWN = (
    "cross-encoder/nli-deberta-v3-base",
    "nli-fixtures/minilm-l6-snli",
    "sentence-transformers/all-MiniLM-L6-v2",
)
STORED = ("org/MODEL", "org/NAME")
"""Models that pages also write to. Repositories from a mounted folder are read-only."""
OFFICIAL_FILES = (import_module("unbag.scripts.dataset_scripts.breaking_nli.breaking_nli").PINNED, sicck.FILE)
"""The authors' files, which users download."""
_DATASET_CARD = """---
configs:
- config_name: default
  data_files:
  - split: test
    path: test.csv
---
"""
_HUB_NAME = re.compile(r"(?:ORG|org)/((?:[A-Z]+-)*[A-Z]+|model)\b(?![/-])")


def substitute(text: str, services: Mapping[str, str]) -> str:
    """Replace placeholders and remote addresses in a command or in code."""
    text = re.sub(
        r"http://(?:localhost|HOST):\d+(?=/rerank|/score)", services.get("scorer", "http://localhost:1"), text
    )
    text = re.sub(r"http://(?:localhost|HOST):\d+", services.get("endpoint", "http://localhost:1"), text)
    text = re.sub(r"s3://B\w*/", "bucket/", text).replace("/shared/", "shared/")
    text = re.sub(r"--shard \S+/8", "--shard 0/1", text).replace("COMMIT", "main")
    return re.sub(r"\bUSER\b", "alice", re.sub(r"\bORG\b", "org", text))


def write_hub(root: Path, shared: Path, models: Mapping[str, Path]) -> dict[tuple[str, str], str]:
    """Write the repositories that the pages name to a folder to mount. Return the pinned commits.

    Args:
        root: the folder to mount.
        shared: the folder of the real spaCy pipeline, and of SICK, whose rows are pinned by hash.
        models: a model folder by kind: classifier, one_output, encoder and lm.
    """
    pins = {}
    english = {split: list(demo.iter_demo_pairs(split)) for split in demo.SPLITS}
    for name in CORPORA_OF_PAGES:
        corpus = CORPORA[name]
        write_corpus(root, corpus, {split: _select_pairs(corpus, split, english) for split in corpus.splits})
        pins["dataset", corpus.hub_id] = PINS["dataset", corpus.hub_id]
    for kind, name in (("datasets", "RobZamp/sick"), ("models", "spacy/en_core_web_sm")):
        (root / kind / name).parent.mkdir(parents=True, exist_ok=True)
        (root / kind / name).symlink_to(shared / "hub" / kind / name)
    for name in ("DATASET", "PAIRS"):
        dataset = root / "datasets/org" / name
        dataset.mkdir(parents=True)
        (dataset / "README.md").write_text(_DATASET_CARD)
    _write_claims(root / "datasets/org/DATASET/test.csv", has_source=True)
    _write_pairs(root / "datasets/org/PAIRS/test.csv")
    named = {"org/MODEL", "org/MODEL-int8", "org/PRETRAINED"}  # also needed to prepare runs
    named |= {f"org/{name}" for page in PAGES for name in _HUB_NAME.findall(page.read_text(encoding="utf-8"))}
    for name in sorted(named.union(_WELL_KNOWN)):
        if name not in ("org/DATASET", "org/PAIRS", *STORED):
            shutil.copytree(models[_choose_kind(name)], root / "models" / name)
    name, _, commit = embeddings.DEFAULT.partition("@")
    pins["model", name] = commit
    return pins


def _choose_kind(name: str) -> str:
    if name.endswith("/LM"):
        return "lm"
    if ONE_OUTPUT.search(name):
        return "one_output"
    return "encoder" if "PRETRAINED" in name or name.startswith("sentence-transformers") else "classifier"


def _select_pairs(corpus: Corpus, split: str, english: Mapping[str, list[Any]]) -> list[tuple[str, ...]]:
    """Select pairs of the demonstration for a split, or build pairs in another language."""
    kind = "train" if split in corpus.train else "validation" if split in corpus.validation else "test"
    if corpus.language != "en":
        premise, hypothesis = _SENTENCES[corpus.language]
        return [(premise.format(n=n), hypothesis.format(n=n), LABELS[n % 3]) for n in range(SPLIT_SIZES[kind])]
    size = LARGE[1] if corpus.name == LARGE[0] else SPLIT_SIZES[kind]
    pairs = english["train" if kind == "train" else "validation"][500 * (kind == "test") :][:size]
    return [(pair.premise, pair.hypothesis, pair.label) for pair in pairs]


def _write_claims(path: Path, *, has_source: bool = False) -> None:
    """Write document-claim pairs, with the columns that the pages name."""
    label = "supported" if path.stem.endswith("yes_no") else "label"
    words = ("no", "yes") if path.stem.endswith("yes_no") else ("unsupported", "supported")
    rows = []
    for pair in islice(demo.iter_demo_pairs("validation"), 120):
        is_entailed = pair.label == "entailment"
        gold = int(is_entailed) if has_source else words[is_entailed]
        row = {"document": pair.premise, "claim": pair.hypothesis, label: gold}
        rows.append(row | ({"source": pair.premise, "is_hallucinated": not is_entailed} if has_source else {}))
    write_table(path, rows)


def _write_pairs(path: Path) -> None:
    rows = []
    for pair in islice(demo.iter_demo_pairs("validation"), 90):
        row = {"premise": pair.premise, "hypothesis": pair.hypothesis, "label": pair.label}
        if path.stem == "rag":
            row = {"contexts": [pair.premise], "response": pair.hypothesis, "faithful": pair.label == "entailment"}
        if path.stem == "notes":
            row = {"old": pair.premise, "new": pair.hypothesis, "conflict": int(pair.label == "contradiction")}
        rows.append(row)
    write_table(path, rows)


def save_encoder(classifier: Path, folder: Path) -> None:
    """Save the encoder of a classifier, without its head."""
    from transformers import AutoModel, AutoTokenizer

    AutoModel.from_pretrained(classifier).save_pretrained(folder)
    AutoTokenizer.from_pretrained(classifier).save_pretrained(folder)


def export_model(classifier: Path, folder: Path) -> None:
    """Export a classifier to ONNX, in a folder without PyTorch weights, and to OpenVINO beside its weights."""
    import openvino

    from tests.inference.test_exported import export_model as export_to_onnx

    folder.mkdir()
    export_to_onnx(classifier, folder, ["input_ids", "attention_mask", "token_type_ids"])
    (classifier / "openvino").mkdir()
    openvino.save_model(
        openvino.convert_model(str(folder / "onnx/model.onnx")), classifier / "openvino/openvino_model.xml"
    )


def provide_file(path: Path, page: str, world: Path) -> None:
    """Create a missing file or folder with a content that fits its name. Leave other words alone."""
    if path.exists() or not str(path) or str(path) == ".":
        return
    if path.name == "docs":
        path.mkdir()
        for number, pairs in enumerate(([0, 150], [150, 300])):
            texts = [pair.premise for pair in list(demo.iter_demo_pairs("train"))[slice(*pairs)]]
            (path / f"{number}.md").write_text(" ".join(texts))
    elif path.name == "saved":
        _write_pairs(path.with_suffix(".parquet"))
        rows = datasets.Dataset(pq.read_table(path.with_suffix(".parquet")))
        datasets.DatasetDict({"test": rows}).save_to_disk(path)
    elif path.name == "copies":
        shutil.copytree(world / "official", path)
    elif path.suffix == ".jinja":
        [template] = re.findall(r"^```\n(---\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
        path.write_text(template if path.stem == "judge" else re.sub(r"json:.*\n", "", template))
    elif path.suffix in (".csv", ".jsonl", ".parquet", ".tsv"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.stem.startswith("claims"):
            _write_claims(path)
        elif "predictions" in path.stem or path.stem.startswith("samples"):
            _write_predictions(path)
        else:
            _write_pairs(path)
    elif path.suffix == ".eval":
        _write_predictions(path)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive, gzip.open(demo.VECTORS) as vectors:
            archive.writestr(f"{path.stem}.txt", vectors.read())


def _write_predictions(path: Path) -> None:
    """Write predictions for the pairs of the default set, or for a set: `NAME_predictions.csv` for `NAME.parquet`."""
    built = Path(f"{path.stem.removesuffix('_predictions')}.parquet")
    if built.exists():
        ids = pq.read_table(built, columns=["id"])["id"].to_pylist()
        path.write_text("".join(["id,prediction\n", *(f"{each},neutral\n" for each in ids)]))
        return
    rows: list[dict[str, Any]] = []
    for number, pair in enumerate(demo.iter_demo_pairs("validation")):
        texts, answer = {"premise": pair.premise, "hypothesis": pair.hypothesis}, LABELS[number % 3]
        if path.suffix == ".csv":
            rows.append({**texts, "prediction": answer})
        elif path.suffix == ".eval":  # of inspect-ai
            output = {"completion": answer}
            rows.append({"id": number, "metadata": texts, "target": pair.label, "output": output})
        elif path.stem.startswith("samples"):  # of lm-evaluation-harness
            rows.append({"doc_id": number, "doc": texts, "target": pair.label, "resps": [[answer]]})
        else:  # of `Trainer`
            gold = LABELS.index(pair.label)
            rows.append({**texts, "label": gold, "predicted_scores": [3.5 - gold, 1.0, gold]})
    if path.suffix == ".eval":
        with zipfile.ZipFile(path, "w") as archive:
            for row in rows:
                archive.writestr(f"samples/{row['id']}_epoch_1.json", json.dumps(row))
    else:
        write_table(path, rows)


def write_function(path: Path, name: str) -> None:
    """Write a module with a function that predicts labels, unless the module exists."""
    if not path.exists():
        value = "[len(premise) % 7 / 7, 1 - len(premise) % 7 / 7]" if name == "score" else "'neutral'"
        path.write_text(f"def {name}(premises, hypotheses):\n    return [{value} for premise in premises]\n")
    if "gliclass" in path.read_text():
        Path("gliclass.py").write_text(_GLICLASS)


_GLICLASS = """
class GLiClassModel:
    from_pretrained = staticmethod(lambda name: None)

class ZeroShotClassificationPipeline:
    def __init__(self, model, tokenizer, **options):
        pass

    def __call__(self, texts, labels, threshold):
        return [[{"score": len(text) % 7 / 7}] for text in texts]
"""


def provide_names(code: str, names: dict[str, Any]) -> None:
    """Define the objects that an example uses without creating them: a model, a function, a trainer."""
    if "model" not in names and re.search(r"\(model, ", code):
        from transformers import pipeline

        names["model"] = pipeline("text-classification", "org/MODEL")
    if "my_function" in code:
        names.setdefault("my_function", lambda premises, hypotheses: ["neutral" for _ in premises])
    if "trainer." in code and "trainer" not in names:
        from transformers import AutoModelForSequenceClassification, Trainer

        import unbag

        names |= {"unbag": unbag, "trainer": Trainer(AutoModelForSequenceClassification.from_pretrained("org/MODEL"))}
