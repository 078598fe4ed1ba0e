"""Tests of model cards and inherited licenses."""

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from tests.factories import SNLI, build_model_record, build_plain_result, build_swapped_result
from unbag.data import corpora
from unbag.hub import model_card
from unbag.hub.licenses import choose_license, derive_license
from unbag.hub.model import build_model_upload, find_base_model
from unbag.hub.vendoring import remove_model_code
from unbag.inference.hub_files import compute_folder_revision
from unbag.training.recipes import find_recipe

LABELS = ["contradiction", "entailment", "neutral"]


# The record of a training run without real weights.
RECORD = json.loads((Path(__file__).parents[1] / "golden" / "training.json").read_text())


def build_data_part(name):
    corpus = corpora.CORPORA[name]
    return RECORD["data"]["held_out"][0] | {"name": name, "origin": f"{corpus.hub_id} ({corpus.config})"}


@pytest.fixture
def run(tmp_path):
    """Return a function that writes the output folder of a training run without real weights."""

    def write(*corpus, recipe="finetune", name="run", **config):
        folder = tmp_path / name
        folder.mkdir()
        corpus = corpus or ("snli",)
        made = find_recipe(recipe)(model="org/base", corpus=corpus, output_dir=name, **config)
        data = RECORD["data"] | {"training": list(map(build_data_part, corpus))}
        record = RECORD | {"recipe": recipe, "config": made.to_json(), "data": data}
        ids = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
        files = {"training.json": record, "config.json": ids, "tokenizer_config.json": {}}
        for path, content in {**files, "model.safetensors": f"weights of {name}"}.items():
            (folder / path).write_text(json.dumps(content))
        return folder

    return write


def publish(folder, *results, **options):
    """Build the files to publish. Return the parsed card, and the files."""
    files = build_model_upload(folder, "me/model", results, **options).files
    return ModelCard(files["README.md"].decode()), files


def update_json(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def build_folder_result(folder, build=build_plain_result, **more):
    return build(build_model_record(str(folder), compute_folder_revision(folder), model="folder", **more))


@pytest.mark.parametrize(
    ("corpus", "base", "license", "said"),
    [
        (("snli",), "apache-2.0", "cc-by-sa-4.0", "`cc-by-sa-4.0`, which meets the terms of all sources"),
        (("snli", "mnli"), "mit", "other", "No single license meets the terms of all sources"),
        (("snli",), None, "other", "| org/base | unknown |\n| stanfordnlp/snli | cc-by-sa-4.0 |"),
    ],
)
def test_model_card_inherits_license(run, corpus, base, license, said):
    found, _ = publish(run(*corpus), base_license=base)
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
    compared = [build_plain_result(base, seed=2), asked_less]
    card, files = publish(folder, *own, compare_with=compared)
    [row] = [line for line in card.text.splitlines() if line.startswith("|  | accuracy ↑ |")]
    ours, theirs = (f"{found.scores['accuracy'].value:.3f} [" for found in (own[0], compared[0]))
    assert row.index(ours) < row.index(theirs)
    [row] = [line for line in card.text.splitlines() if line.startswith("| Swapped, snli test |")]
    assert "| – |" in row, "others' results on other pairs are no comparison"
    names = [f".eval_results/unbag-{name}-snli-test.yaml" for name in ("plain", "swapped")]
    assert sorted(path for path in files if path.startswith(".eval_results/")) == names
    assert b"id: me/plain" in files[names[0]]


def test_model_card_shows_residual_results_separately(run):
    folder = run(recipe="hex")
    card, files = publish(folder, build_folder_result(folder, head="residual sha256:1"))
    assert "| set | metric | this model | residual head |" in card.text
    assert not [path for path in files if path.startswith(".eval_results/")]
    assert card.data.eval_results is None


def test_model_card_shows_curve_of_interpolated_weights(run):
    folder = run(recipe="mend", interpolate=True, augment=())
    curve = [{"alpha": step / 10, "all": {"accuracy": 0.6 - step / 100, "loss": 1, "pairs": 9}} for step in range(11)]
    update_json(
        folder / "training.json",
        interpolation={"alpha": 0.1, "max_loss": 1, "curve": curve},
        best_evaluation={"step": 1, "all": curve[1]["all"]},
    )
    text = publish(folder)[0].text
    assert "with α = 0.1, the largest α" in text
    assert "| 0 | 0.6000 | 1.0000 |\n| 0.1 (published) | 0.5900 | 1.0000 |" in text
    assert "| 1 (published, interpolated) | 0.5900 | 1.0000 |" in text
    assert "The interpolation chose α on the held-out pairs." in text
    assert "--interpolate" in text


def test_model_card_describes_recipe_and_word_order(run):
    assert "shuffled in each epoch" in publish(run(name="order", word_order="shuffled"))[0].text
    folder = run(recipe="max_entropy")
    text = publish(folder)[0].text
    assert "Sinha et al. 2021" in text
    assert "| alpha | 1 |\n| permutations | 1 |" in text
    assert "unbag train max-entropy --model org/base --revision bbbb" in text
    assert find_base_model(folder) == ("org/base", "b" * 40)


def test_results_of_other_model_are_rejected(run):
    folder, other = run(), run(name="other")
    with pytest.raises(ValueError, match="pass results of other models to --compare-with"):
        publish(folder, build_folder_result(other))
    with pytest.raises(ValueError, match="got results of the published model"):
        publish(folder, compare_with=[build_folder_result(folder)])


@pytest.mark.parametrize(
    "turned",
    [
        {"id2label": {"0": "entailment", "1": "contradiction", "2": "neutral"}},
        {"label2id": {"entailment": 0, "contradiction": 1, "neutral": 2}},
    ],
)
def test_inconsistent_label_order_is_rejected(run, turned):
    folder = run()
    update_json(folder / "config.json", **turned)
    with pytest.raises(ValueError, match=r"expected the label order of training.json .* in id2label"):
        publish(folder)


def test_publication_of_incomplete_folder_raises(run, tmp_path):
    with pytest.raises(ValueError, match=r"expected an output folder of `unbag train` with a training\.json"):
        publish(tmp_path)
    folder = run()
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="expected a complete model"):
        publish(folder)


def test_caches_and_hidden_files_are_not_published(run):
    folder = run()
    for path in ("evaluation/results.json", "evaluation/predictions/part.parquet", ".cache/a", "README.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("{}")
    assert set(publish(folder)[1]) == {
        *("README.md", "config.json", "evaluation/results.json"),
        *("model.safetensors", "tokenizer_config.json", "training.json"),
    }


def test_model_card_lists_hex_embeddings_as_source(run):
    """`hex.safetensors` contains the word vectors, whose license is unknown."""
    about, _ = publish(run(recipe="hex", embeddings="glove.txt"))
    assert about.data.license == "other"
    assert "| glove.txt | unknown |" in about.text
    assert "| warm start | 0.2 |\n| embeddings | glove.txt |\n| superficial weight | 0 |" in about.text
    assert "glove" not in publish(run(recipe="hex", name="own"))[0].text


def test_publication_of_unbag_architecture_imports_unbag_or_includes_code(run):
    folder = run()
    known, config = "import unbag.models", folder / "config.json"
    assert known not in publish(folder)[0].text
    with pytest.raises(ValueError, match="which is part of transformers"):
        publish(folder, with_code=True)
    update_json(config, model_type="unbag-esim")
    text = publish(folder)[0].text
    assert text.count(known) == 2, "in both examples"
    assert "trust_remote_code" not in text
    upload = build_model_upload(folder, "me/model", with_code=True)
    assert b"trust_remote_code=True" in upload.files["README.md"]
    names = {
        "AutoConfig": "modeling_unbag.EsimConfig",
        "AutoModelForSequenceClassification": "modeling_unbag.EsimForSequenceClassification",
    }
    assert json.loads(upload.files["config.json"]) == json.loads(config.read_text()) | {"auto_map": names}
    code = upload.files["modeling_unbag.py"].decode()
    assert "import unbag" not in code
    assert "from unbag" not in code
    assert "modeling_unbag.py" in upload.owned_patterns, "it goes when the model is published again without"
    # the format of transformers
    config.write_text(json.dumps(json.loads(config.read_text()), indent=2, sort_keys=True) + "\n")
    # Results of the folder are assigned to the repository by the hash of this file.
    assert remove_model_code(publish(folder, with_code=True)[1]["config.json"]) == config.read_bytes()


@pytest.mark.parametrize(
    ("kinds", "counts", "where"),
    [
        ({"negation": 400, "contrast": 8}, "400 negation and 8 contrast", "with"),
        (
            {"soswap": 3, "recombined": 5, "contrast": 8},
            "3 SOSwap, 5 recombined and 8 contrast",
            "SOSwap and contrast with",
        ),
    ],
)
def test_augmentation_sentence_names_vocabulary_half_where_used(kinds, counts, where):
    added = {"words": "training", "first_epoch": {kind: {"pairs": n} for kind, n in kinds.items()}}
    assert model_card._augmentation({"config": {}, "augmentation": added}) == (
        f"In each epoch, {counts} pairs generated from the training pairs were added, {where} words and templates from "
        "the training half of the vocabulary only."
    )


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
