"""Tests of model cards and inherited licenses."""

import json
from dataclasses import replace
from itertools import permutations

import pytest
from huggingface_hub import ModelCard

from tests.hub.synthetic_results import SNLI, build_model_record, build_plain_result, build_swapped_result
from unbag.data import corpora
from unbag.hub import model_card
from unbag.hub.licenses import choose_license, derive_license
from unbag.hub.model import build_model_upload, find_base_model
from unbag.hub.vendoring import remove_model_code
from unbag.inference.hub_files import compute_folder_revision
from unbag.training.recipes import find_recipe

LABELS = ["contradiction", "entailment", "neutral"]

SCORED = {"accuracy": 0.5, "loss": 0.9, "pairs": 100}


def build_data_part(name, **more):
    known = corpora.CORPORA.get(name)
    origin = f"{known.hub_id} ({known.config})" if known else name
    return {"name": name, "origin": origin, "splits": ["train"] if known else [], "revisions": ["d" * 40]} | {
        **{"rows": 9, "excluded": {}, "pairs": 9, "weight": 1.0},
        **more,
    }


@pytest.fixture
def run(tmp_path):
    """Return a function that writes the output folder of a training run without real weights."""

    def write(*corpus, recipe="finetune", steps=1, name="run", base="org/base", **config):
        folder = tmp_path / name
        folder.mkdir()
        made = find_recipe(recipe)(model=base, corpus=corpus or ("snli",), output_dir=name, **config)
        evaluations = [{"step": step, "snli": SCORED, "all": SCORED} for step in range(1, steps + 1)]
        record = {
            "schema": 2,
            "recipe": recipe,
            "config": made.to_json(),
            "precision": "no",
            "model": {"name": base, "revision": "b" * 40},
            "data": {
                "training": [build_data_part(each) for each in corpus or ("snli",)],
                "held_out": [build_data_part("snli")],
            },
            "label_order": LABELS,
            **{"pairs_per_epoch": 9, "steps_per_epoch": 1, "steps": steps, "truncated_pairs": 0, "processes": 1},
            **{"evaluations": evaluations, "best_evaluation": evaluations[-1], "device": "cpu"},
            "environment": {"python": "3.11", "unbag": "0.1.0"},
        }
        files = {
            "training.json": record,
            "config.json": {
                "id2label": dict(enumerate(LABELS)),
                "label2id": {label: i for i, label in enumerate(LABELS)},
            },
            "tokenizer_config.json": {},
            "model.safetensors": f"weights of {name}",
        }
        for path, content in files.items():
            (folder / path).write_text(json.dumps(content))
        return folder

    return write


def parse_card(upload):
    return ModelCard(upload.files["README.md"].decode())


def build_folder_result(folder, build=build_plain_result, **more):
    return build(build_model_record(str(folder), compute_folder_revision(folder), model="folder", **more))


@pytest.mark.parametrize(
    ("corpus", "base", "license", "said"),
    [
        (("snli",), "apache-2.0", "cc-by-sa-4.0", "`cc-by-sa-4.0`, which meets the terms of all sources"),
        (("anli",), "mit", "cc-by-nc-4.0", "`cc-by-nc-4.0`, which meets"),
        (("snli", "anli"), "mit", "other", "No single license meets the terms of all sources"),
        (("snli", "mnli"), "mit", "other", "No single license meets the terms of all sources"),
        (("snli",), None, "other", "| org/base | unknown |\n| stanfordnlp/snli | cc-by-sa-4.0 |"),
    ],
)
def test_model_card_inherits_license(run, corpus, base, license, said):
    found = parse_card(build_model_upload(run(*corpus), "me/model", base_license=base))
    assert found.data.license == license
    assert (found.data.get("license_name") is not None) == (license == "other")
    assert said in found.text
    assert found.data.datasets == [corpora.CORPORA[name].hub_id for name in corpus]
    assert (found.data.base_model, found.data.library_name) == ("org/base", "transformers")


def test_model_card_compares_results_on_same_pairs(run):
    folder = run()
    base = build_model_record("org/base", "b" * 40)
    asked_less = replace(build_swapped_result(base), config={"max_examples": 9}, data=SNLI | {"sha256": "7" * 64})
    own = [build_folder_result(folder), build_folder_result(folder, build_swapped_result)]
    upload = build_model_upload(folder, "me/model", own, [build_plain_result(base, seed=2), asked_less])
    text = parse_card(upload).text
    [row] = [line for line in text.splitlines() if line.startswith("|  | accuracy ↑ |")]
    ours, theirs = (
        f"{found.scores['accuracy'].value:.3f} [" for found in (build_plain_result(), build_plain_result(seed=2))
    )
    assert row.index(ours) < row.index(theirs)
    [row] = [line for line in text.splitlines() if line.startswith("| Swapped, snli test |")]
    assert "| – |" in row, "others' results on other pairs are no comparison"
    assert {path for path in upload.files if path.startswith(".eval_results/")} == {
        ".eval_results/unbag-plain-snli-test.yaml",
        ".eval_results/unbag-swapped-snli-test.yaml",
    }
    assert b"id: me/plain" in upload.files[".eval_results/unbag-plain-snli-test.yaml"]


def test_model_card_shows_residual_results_separately(run):
    folder = run(recipe="hex")
    upload = build_model_upload(folder, "me/model", [build_folder_result(folder, head="residual sha256:1")])
    assert "| set | metric | this model | residual head |" in parse_card(upload).text
    assert not [path for path in upload.files if path.startswith(".eval_results/")]
    assert parse_card(upload).data.eval_results is None


def test_model_card_shows_curve_of_interpolated_weights(run):
    folder = run(recipe="mend", interpolate=True, augment=())
    record = json.loads((folder / "training.json").read_text())
    curve = [{"alpha": step / 10, "all": {"accuracy": 0.6 - step / 100, "loss": 1, "pairs": 9}} for step in range(11)]
    record["interpolation"] = {"alpha": 0.1, "max_loss": 1, "curve": curve}
    record["best_evaluation"] = {"step": 1, "all": curve[1]["all"]}
    (folder / "training.json").write_text(json.dumps(record))
    text = parse_card(build_model_upload(folder, "me/model")).text
    assert "with α = 0.1, the largest α" in text
    assert "| 0 | 0.6000 | 1.0000 |\n| 0.1 (published) | 0.5900 | 1.0000 |" in text
    assert "| 1 (published, interpolated) | 0.5900 | 1.0000 |" in text
    assert "The interpolation chose α on the held-out pairs." in text
    assert "--interpolate" in text


def test_model_card_describes_recipe_and_word_order(run):
    text = parse_card(build_model_upload(run(name="order", word_order="shuffled"), "me/model")).text
    assert "shuffled in each epoch" in text
    text = parse_card(build_model_upload(run(recipe="max_entropy"), "me/model")).text
    assert "Sinha et al. 2021" in text
    assert "| alpha | 1 |\n| permutations | 1 |" in text
    assert "unbag train max-entropy --model org/base --revision bbbb" in text
    assert find_base_model(run(name="again")) == ("org/base", "b" * 40)


def test_results_of_other_model_are_rejected(run):
    folder, other = run(), run(name="other")
    with pytest.raises(ValueError, match="pass results of other models to --compare-with"):
        build_model_upload(folder, "me/model", [build_folder_result(other)])
    with pytest.raises(ValueError, match="got results of the published model"):
        build_model_upload(folder, "me/model", compare_with=[build_folder_result(folder)])


@pytest.mark.parametrize(
    "turned",
    [
        {"id2label": {"0": "entailment", "1": "contradiction", "2": "neutral"}},
        {"label2id": {"entailment": 0, "contradiction": 1, "neutral": 2}},
    ],
)
def test_inconsistent_label_order_is_rejected(run, turned):
    folder = run()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | turned))
    with pytest.raises(ValueError, match=r"expected the label order of training.json .* in id2label"):
        build_model_upload(folder, "me/model")


def test_publication_of_incomplete_folder_raises(run, tmp_path):
    with pytest.raises(ValueError, match=r"expected an output folder of `unbag train` with a training\.json"):
        build_model_upload(tmp_path, "me/model")
    folder = run()
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="expected a complete model"):
        build_model_upload(folder, "me/model")


def test_caches_and_hidden_files_are_not_published(run):
    folder = run()
    for path in ("evaluation/results.json", "evaluation/predictions/part.parquet", ".cache/a", "README.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("{}")
    files = set(build_model_upload(folder, "me/model").files)
    assert files == {
        *("README.md", "config.json", "evaluation/results.json"),
        *("model.safetensors", "tokenizer_config.json", "training.json"),
    }


def test_model_card_lists_hex_embeddings_as_source(run):
    """`hex.safetensors` contains the word vectors, whose license is unknown."""
    about = parse_card(build_model_upload(run(recipe="hex", embeddings="glove.txt"), "me/model"))
    assert about.data.license == "other"
    assert "| glove.txt | unknown |" in about.text
    assert "| warm start | 0.2 |\n| embeddings | glove.txt |\n| superficial weight | 0 |" in about.text
    assert "glove" not in parse_card(build_model_upload(run(recipe="hex", name="own"), "me/own")).text


def test_model_card_of_unbag_architecture_imports_unbag(run):
    folder = run()
    known = "import unbag.models"
    assert known not in parse_card(build_model_upload(folder, "me/model")).text
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "unbag-esim"}))
    assert parse_card(build_model_upload(folder, "me/model")).text.count(known) == 2, "in both examples"


def test_publication_with_code_includes_architecture(run):
    folder = run()
    with pytest.raises(ValueError, match="which is part of transformers"):
        build_model_upload(folder, "me/model", with_code=True)
    config = json.loads((folder / "config.json").read_text()) | {"model_type": "unbag-esim"}
    (folder / "config.json").write_text(json.dumps(config))
    upload = build_model_upload(folder, "me/model", with_code=True)
    assert "trust_remote_code=True" in parse_card(upload).text
    assert "trust_remote_code" not in parse_card(build_model_upload(folder, "me/model")).text
    assert json.loads(upload.files["config.json"]) == config | {
        "auto_map": {
            "AutoConfig": "modeling_unbag.EsimConfig",
            "AutoModelForSequenceClassification": "modeling_unbag.EsimForSequenceClassification",
        }
    }
    written = json.dumps(config, indent=2, sort_keys=True) + "\n"  # the format of transformers
    (folder / "config.json").write_text(written)
    published = build_model_upload(folder, "me/model", with_code=True).files["config.json"]
    # Results of the folder are assigned to the repository by the hash of this file.
    assert remove_model_code(published) == written.encode()
    code = upload.files["modeling_unbag.py"].decode()
    assert "import unbag" not in code
    assert "from unbag" not in code
    assert "modeling_unbag.py" in upload.owned_patterns, "it goes when the model is published again without"


@pytest.mark.parametrize(
    ("kinds", "words", "end"),
    [
        (
            {"negation": 400, "contrast": 8},
            "training",
            "400 negation and 8 contrast pairs generated from the training pairs were added, with words and templates "
            "from the training half of the vocabulary only.",
        ),
        (
            {"soswap": 3, "recombined": 5, "contrast": 8},
            "training",
            "3 SOSwap, 5 recombined and 8 contrast pairs generated from the training pairs were added, SOSwap and "
            "contrast with words and templates from the training half of the vocabulary only.",
        ),
    ],
)
def test_augmentation_sentence_names_vocabulary_half_where_used(kinds, words, end):
    added = {"words": words, "first_epoch": {kind: {"pairs": n} for kind, n in kinds.items()}}
    assert model_card._augmentation({"config": {}, "augmentation": added}) == f"In each epoch, {end}"


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["apache-2.0", "cc-by-sa-4.0"], "cc-by-sa-4.0"),  # SNLI
        (["apache-2.0", "cc-by-sa-4.0", "other"], "other"),  # SNLI and MNLI
        (["mit", "cc-by-nc-4.0"], "cc-by-nc-4.0"),  # ANLI
        (["mit", "cc-by-nc-4.0", "cc-by-nc-sa-3.0"], "cc-by-nc-sa-3.0"),  # ANLI and SICK
        (["cc-by-sa-4.0", "cc-by-nc-4.0"], "other"),  # SNLI and ANLI, whose licenses exclude each other
        (["cc-by-nc-nd-4.0"], "other"),  # does not allow derivatives
        (["mit", None], "other"),
        ([], "other"),
    ],
)
def test_license_does_not_depend_on_source_order(sources, expected):
    assert {derive_license(list(order)) for order in permutations(sources)} == {expected}


def test_license_that_is_no_hub_id_is_rejected():
    with pytest.raises(ValueError, match=r"--license: expected a Hub license id .*, got 'CC BY'"):
        choose_license("pairs.csv", "", "CC BY")
