"""The outputs of unbag on a small corpus, as text: every set, models of each kind, and all result formats.

Only this module imports the package, so only it must follow moved modules. Paths of the machine and versions of
libraries are removed from the texts.
"""

import ast
import json
import math
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from html import unescape
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from tests.factories import score_file
from unbag import challenge_sets
from unbag.baselines.wordnet.predictor import WordNetPredictor
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest, export_challenge_set
from unbag.challenge_sets.results import Result
from unbag.cli import app
from unbag.data.corpora import OFFICIAL
from unbag.data.labels import LABELS
from unbag.evaluation import comparison
from unbag.evaluation.evaluator import evaluate_all
from unbag.hub import dataset, eval_results, model_card, results_dataset
from unbag.inference.llm.prompts import DefaultPrompt
from unbag.integrations.harness.export import HARNESSES, export_tasks
from unbag.integrations.harness.tasks import HarnessTask
from unbag.reports import comparison as compared
from unbag.reports import html, terminal

HERE = Path(__file__).parent
BYTES = "bytes.json"
"""The name of what is compared only where the libraries that write the files are the same."""
SHARED = "shared/"
"""What the names of texts that need ../shared begin with."""
WORDNET = "wordnet/"
"""What the names of texts that need WordNet begin with."""
_IN_A_FOLDER = ("transformer", "causal")
"""The runs whose models lie in a folder of the run's name."""

_ENVIRONMENT = {"python": "3", "unbag": "0"}
_VERSIONS = {
    *("torch", "transformers", "tokenizers", "scikit_learn", "scipy", "numpy", "openai", "answered", "imported_sha256"),
}
_WRITERS = ("datasets", "pyarrow", "spacy")
_OWN = {"data": "pairs.jsonl"}
_SEEDS = {"data": "seeds.jsonl"}
_ARE_SEEDS = ("h1", "h3", "h4", "h5", "h9")  # SICCK makes at least a hundred pairs of each of these
_RESULTS = "results.json"
_TOGETHER = ("function", "words", "transformer")  # runs in one report
_COLUMNS = "100"  # width of the terminal


def create_outputs(
    folder: Path, *, bert: Path, causal: Path, endpoint: str, shared: Path | None, lexicon: Any | None
) -> dict[str, str]:
    """Create all outputs in an empty folder. Returns them by name: `sets/permuted.json`, `runs/function/table.txt`, …

    `bert` and `causal` are folders of models, `shared` is that of real corpora and models, and `lexicon` is WordNet.
    """
    for name in ("pairs.jsonl", "train.jsonl"):
        (folder / name).write_bytes((HERE / name).read_bytes())
    seeds = [line for line in (HERE / "pairs.jsonl").read_text().splitlines() if json.loads(line)["id"] in _ARE_SEEDS]
    (folder / "seeds.jsonl").write_text("".join(f"{line}\n" for line in seeds))
    (folder / "words.txt").write_text(build_word_vectors(), encoding="utf-8")
    (folder / "transformer").symlink_to(bert)
    (folder / "causal").symlink_to(causal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", folder / "cache")
        patch.setenv("XDG_CACHE_HOME", str(folder / "xdg"))
        patch.chdir(folder)  # so that records contain only the names of files
        outputs = dict(_iter_outputs(folder, endpoint, shared, lexicon))
    return {name: _anonymize(text, folder, endpoint, shared) for name, text in outputs.items()}


def requests() -> dict[str, SetRequest]:
    """Return every set of the small corpus, and some of them with other options, by name."""
    cs = {"train_data": ("train.jsonl",), "pipeline": "all"}
    return {
        "breaking_nli": SetRequest("breaking_nli", options=_OWN | {"train_data": ("train.jsonl", "pairs.jsonl")}),
        "breaking_nli-similarity": SetRequest("breaking_nli", options=_OWN | {"q": 9, "embeddings": "words.txt"}),
        "cs_lambda": SetRequest("cs_lambda", options=_OWN | cs),
        "cs_lambda-misleading": SetRequest("cs_lambda", options=_OWN | cs | {"min_lms": 0.6}),
        "cs_lambda-crossed": SetRequest("cs_lambda", options={"data": "train.jsonl"} | cs | {"folds": 2}),
        "permuted": SetRequest("permuted", options=_OWN | {"q": 4}),
        "permuted-hypothesis": SetRequest("permuted", options=_OWN | {"q": 3, "mode": "hypothesis", "min_words": 5}),
        "permuted-clumped": SetRequest("permuted", options=_OWN | {"q": 2, "mode": "clumped_50", "seed": 1}),
        "permuted-drawn": SetRequest("permuted", options=_OWN | {"q": 2}, max_examples=9),
        "plain": SetRequest("plain", options=_OWN),
        "resnli": SetRequest("resnli", options={"data": "train.jsonl", "embeddings": "words.txt", "test_size": 60}),
        "resnli-default": SetRequest("resnli", options=_OWN | {"embeddings": "words.txt"}),
        "sicck": SetRequest("sicck", options=_SEEDS),
        "sicck-combinations": SetRequest("sicck", options=_SEEDS | {"combinations": True, "space": "seven_way"}),
        "swapped": SetRequest("swapped", options=_OWN),
    }


def shared_requests(shared: Path) -> dict[str, SetRequest]:
    """Return the sets that need real data or a parser, by name."""
    parser = {"pipeline": "./en_core_web_sm"}
    files = {name: {"file": str(shared / "data" / name)} for name in ("breaking_nli", "sicck")}
    return {
        "soswap_addamod": SetRequest("soswap_addamod", options=_OWN | parser | {"min_count": 1}),
        "soswap": SetRequest("soswap_addamod", options={"data": "train.jsonl", "kind": "soswap"} | parser),
        "negation": SetRequest("negation", options=_OWN | parser),
        "recombined": SetRequest("recombined", options={"data": "train.jsonl", "k": "1,4"} | parser),
        "sicck-tagged": SetRequest("sicck", options=_SEEDS | parser),
        "permuted-minitrees": SetRequest("permuted", options=_OWN | parser | {"q": 2, "minitrees": ("train.jsonl",)}),
        "breaking_nli-official": SetRequest("breaking_nli", OFFICIAL, files["breaking_nli"]),
        "sicck-official": SetRequest("sicck", OFFICIAL, files["sicck"]),
        "sicck-three_way": SetRequest("sicck", f"{OFFICIAL}-three_way", files["sicck"] | {"folding": "whole_seeds"}),
    }


def answers(premises: Sequence[str], hypotheses: Sequence[str]) -> list[list[float]]:
    """Predict from the common words, their order and a checksum of all letters."""
    rows = []
    for premise, hypothesis in zip(premises, hypotheses, strict=True):
        first, second = (re.findall(r"\w+", text.lower()) for text in (premise, hypothesis))
        common = len(set(first) & set(second)) / max(1, len(set(second)))
        jitter = zlib.crc32(f"{premise}|{hypothesis}".encode()) % 1000 / 1000
        weights = [4 * common**2 + (second[:3] == first[:3]) + jitter, 2 + 2 * jitter, 4 * (1 - common) + 6 * jitter**3]
        rows.append([weight / sum(weights) for weight in weights])
    return rows


def _iter_outputs(folder: Path, endpoint: str, shared: Path | None, lexicon: Any | None) -> Iterator[tuple[str, str]]:
    """Yield all texts by name."""
    requested = requests()
    yield "sets/all.json", _command("sets", "--json")
    for name in challenge_sets.list_set_names():
        yield f"sets/options/{name}.json", _command("sets", name, "--json")
    yield "papers.json", _command("papers", "--json")

    whole = [requested[name] for name in challenge_sets.list_set_names() if name in requested]
    few = [requested[name] for name in ("plain", "swapped")]
    training: dict[str, Any] = {"train_data": ("train.jsonl",), "pipeline": "all"}
    words = [requested[name] for name in ("plain", "cs_lambda")]
    runs = {
        "function": evaluate_all([answers], whole, output_dir=Path("function")).results,
        "words": evaluate_all(
            ["lexical", "hypothesis-only", "majority"], words, output_dir=Path("words"), **training
        ).results,
        "transformer": _evaluate_model("./transformer", whole, "transformer-run"),
        "causal": _evaluate_model("causal:./causal", few, "causal-run"),
        "endpoint": evaluate_all(["endpoint:tiny"], few, output_dir=Path("endpoint"), base_url=endpoint).results,
        **{
            name: [score_file(_write_predictions(requested[on], name), requested[on], output_dir=Path(name))]
            for name, on in (("file", "permuted"), ("names", "swapped"))
        },
    }
    folders = {name: Path(f"{name}-run" if name in _IN_A_FOLDER else name) for name in runs}
    yield from _iter_run_outputs(runs, folders)
    yield f"runs/{'-'.join(_TOGETHER)}/report.txt", _report([folders[name] for name in _TOGETHER])
    yield from _compare_runs("function", "transformer")
    yield from _compare_runs("function", "words")
    yield from _iter_set_files("", requested)
    yield from _iter_harness_tasks("", whole)
    read = {name: results.read_results(at / _RESULTS) for name, at in folders.items()}
    yield from _iter_published_files("", read["function"], read["words"])
    if lexicon is not None:
        judge = WordNetPredictor(lexicon, name=lexicon.identity)
        ran = evaluate_all([judge], [requested["breaking_nli"], requested["plain"]], output_dir=Path("wordnet")).results
        yield from _iter_run_outputs({"wordnet": ran}, {"wordnet": Path("wordnet")}, WORDNET)
    if shared is not None:
        (folder / "en_core_web_sm").symlink_to(shared / "hub/models/spacy/en_core_web_sm")
        real = shared_requests(shared)
        three = [real[name] for name in ("soswap_addamod", "breaking_nli-official", "sicck-official")]
        drawn = [real["soswap_addamod"], replace(real["breaking_nli-official"], max_examples=150)]
        runs = {
            "official": evaluate_all([answers], three, output_dir=Path("official")).results,
            "transformer-official": _evaluate_model("./transformer", drawn, "transformer-official"),
        }
        yield from _iter_run_outputs(runs, {name: Path(name) for name in runs}, SHARED)
        yield from _iter_set_files(SHARED, real)
        yield from _iter_harness_tasks(
            SHARED, [real["soswap_addamod"], *(replace(each, max_examples=150) for each in three[1:])]
        )
        yield from _iter_published_files(SHARED, results.read_results(Path("official", _RESULTS)), [])


def _evaluate_model(model: str, requested: Sequence[SetRequest], out: str) -> list[Result]:
    return evaluate_all([model], requested, output_dir=Path(out), trust_labels=True, device="cpu").results


def _iter_run_outputs(
    runs: Mapping[str, Sequence[Result]], folders: Mapping[str, Path], under: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the outputs of each run. Versions of libraries are removed from its results.json for all later readers."""
    for name, found in runs.items():
        _remove_versions(folders[name] / _RESULTS)
        seen = f"{under}runs/{name}"
        terminal.write_views(
            [*terminal.build_result_views(found), *terminal.build_summary_views(found)], Path("table.txt")
        )
        yield f"{seen}/table.txt", Path("table.txt").read_text(encoding="utf-8")
        yield f"{seen}/results.json", (folders[name] / _RESULTS).read_text(encoding="utf-8")
        shown = folders[name] / "examples.json"
        chosen = json.loads(shown.read_text(encoding="utf-8"))
        of_others = {result.set for result in found if result.data["name"] == OFFICIAL}
        told = [_hash_sentences(each) if each["set"] in of_others else each for each in chosen["selections"]]
        yield f"{seen}/shown.json", _format_lines(told)
        chosen["selections"] = [each for each in chosen["selections"] if each["set"] not in of_others]
        # so that the page contains no sentences of other corpora either
        shown.write_text(json.dumps(chosen), encoding="utf-8")
        if name not in _TOGETHER:
            yield f"{seen}/report.txt", _report([folders[name]])
    if "words" in runs:
        plain = [result for result in runs["words"] if result.set == "plain"]
        terminal.write_views(terminal.build_result_views(plain, cross_domain=True), Path("table.txt"))
        yield "runs/words/crossed.txt", Path("table.txt").read_text(encoding="utf-8")


def _hash_sentences(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return selected examples with hashes in place of sentences, since the repository must not
    contain other corpora.
    """
    examples = [
        {**example, "lines": [[name, _hash(text)[:16], marks] for name, text, marks in lines]}
        for example in chosen["examples"]
        for lines in [example["lines"]]
    ]
    return {**chosen, "examples": examples}


def _report(folders: Sequence[Path]) -> str:
    """Return the visible text of a report, one line per element."""
    html.write_report(folders, Path("report.html"))
    text = Path("report.html").read_text(encoding="utf-8")
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", "", text, flags=re.DOTALL)
    pieces = (unescape(piece) for piece in re.split(r"<[^>]*>", text))
    return "".join(f"{' '.join(piece.split())}\n" for piece in pieces if piece.strip())


def _compare_runs(one: str, two: str) -> Iterator[tuple[str, str]]:
    folders = [Path(f"{name}-run" if name in _IN_A_FOLDER else name) for name in (one, two)]
    found = comparison.compare(*folders, across_data=True, resamples=200)
    name = f"compared/{one}-{two}"
    yield f"{name}.json", json.dumps(found.to_json(), indent=1, ensure_ascii=False)
    console = Console(width=80, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(compared.build_comparison_view(found))
    yield f"{name}.txt", capture.get()


def _iter_set_files(under: str, requested: Mapping[str, SetRequest]) -> Iterator[tuple[str, str]]:
    """Yield the rows of each set's Parquet file, its cards, and the files that are stored unchanged."""
    stored = {}
    for name, request in requested.items():
        file = Path("sets", f"{name}.parquet")
        export_challenge_set(request, file)
        table = pq.read_table(file)
        rows = table.to_pylist()
        # Rows of other corpora are not stored as text.
        shown = (0, 1, len(rows) - 1) if "data" in request.options else ()
        about = {
            "schema": [f"{field.name}: {field.type}" for field in table.schema],
            **{key.decode(): json.loads(value) for key, value in (table.schema.metadata or {}).items()},
            "sha256": {name: _hash(json.dumps(table.column(name).to_pylist())) for name in table.column_names},
            **{f"row {place}": rows[place] for place in shown},
        }
        lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in about.items())
        yield f"{under}sets/{name}.json", "{{\n{}\n}}".format(",\n".join(lines))
        stored[file.as_posix()] = sha256(file.read_bytes()).hexdigest()
    for name in dict.fromkeys(request.name for request in requested.values()):
        configs = [
            replace(request, config=request.config or called)
            for called, request in requested.items()
            if request.name == name
        ]
        owned = [request for request in configs if "data" in request.options]
        for kind, some, license in (
            ("own", owned, "cc-by-4.0"),
            ("official", [request for request in configs if request not in owned], None),
        ):
            if not some:
                continue
            published = dataset.build_dataset_upload(some, f"org/{name}", Path("published", kind), license=license)
            card = published.files["README.md"]
            assert callable(card)
            yield f"{under}hub/{name}-{kind}.md", card(None).decode()
            about = [published.message, *published.owned_patterns, *published.files]
            yield f"{under}hub/{name}-{kind}.txt", "".join(f"{line}\n" for line in about)
            files = {path: file for path, file in published.files.items() if isinstance(file, Path)}
            if name != "breaking_nli":
                stored |= {f"{name}/{path}": sha256(file.read_bytes()).hexdigest() for path, file in files.items()}
    written = {library: version(library) for library in _WRITERS}
    yield f"{under}{BYTES}", json.dumps({"written with": written, "sha256": stored}, indent=1)


def _iter_harness_tasks(under: str, requested: Sequence[SetRequest]) -> Iterator[tuple[str, str]]:
    """Yield the tasks of each harness: text files unchanged, and for code the computed values."""
    for harness, files in HARNESSES.items():
        folder = Path("tasks", harness)
        exported = export_tasks(harness, requested, folder, num_fewshot=3)
        said = [f"{exported.command}\n", *(f"{path}\n" for path in exported.files)]
        for path in exported.files:
            if path.endswith((".yaml", ".md")):
                said.append(f"\n--- {path}\n{(folder / path).read_text(encoding='utf-8')}")
        yield f"{under}harness/{harness}.txt", "".join(said)
        if not under:
            on_hub = [HarnessTask(name, f"org/{name}", "snli-test", "test") for name in challenge_sets.list_set_names()]
            texts = files(on_hub, DefaultPrompt(0))
            yaml = [f"--- {path}\n{text}\n" for path, text in texts.items() if not path.endswith(".py")]
            yield f"harness/{harness}-hub.txt", "".join([*(f"{path}\n" for path in texts), *yaml])
        [code] = [path for path in exported.files if path.endswith(".py")]
        module = _execute_module((folder / code).read_text(encoding="utf-8"))
        rows = {r.name: pq.read_table(folder / "data" / r.name / "test.parquet").to_pylist() for r in requested}
        found = {name: _score_task(name, module, of_set) for name, of_set in rows.items()}
        yield f"{under}harness/{harness}-scores.json", json.dumps(found, indent=1)


def _score_task(name: str, module: Mapping[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the scores that the code of a task computes for synthetic predictions."""
    said = answers([row["premise"] for row in rows], [row["hypothesis"] for row in rows])
    predicted = [max(range(3), key=row.__getitem__) for row in said]
    predicted = [-1 if i % 41 == 40 else answer for i, answer in enumerate(predicted)]
    kept = (*module["COLUMNS"][name], "label")
    records = [
        {column: row[column] for column in kept} | {"predicted": answer}
        for row, answer in zip(rows, predicted, strict=True)
    ]
    scores = module["SCORES_OF"][name]
    found: dict[str, Any] = {"columns": kept, "higher is better": module["HIGHER_IS_BETTER"][name]}
    found["scores"] = {
        "all": _score_or_get_error(scores, records),
        "first half": _score_or_get_error(scores, records[: len(records) // 2]),
        "backwards": _score_or_get_error(scores, records[::-1]),
        "one": _score_or_get_error(scores, records[:1]),
        "none": _score_or_get_error(scores, []),
    }
    if f"{name}_results" in module:  # only in lm-evaluation-harness
        found["of a row"] = module[f"{name}_results"](rows[0], [(-3.0, False), (-1.0, True), (-2.0, False)])
        found["aggregated"] = {
            score: module[f"{name}_{score.replace('.', '_')}"](records) for score in module["HIGHER_IS_BETTER"][name]
        }
    return found


def _score_or_get_error(scores: Callable[[Any], dict[str, float]], records: Sequence[Any]) -> Any:
    try:
        return {name: "nan" if math.isnan(value) else value for name, value in scores(records).items()}
    except (ValueError, ZeroDivisionError) as error:
        return type(error).__name__


def _iter_published_files(under: str, found: Sequence[Result], beside: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Yield the files that publishing results would upload, as if they were on a corpus of the Hub."""
    model = {"name": "org/model", "kind": "transformer", "model": "org/model", "revision": "a" * 40, "dtype": "float32"}
    ours = [_with_snli_origin(replace(result, model=model)) for result in found]
    theirs = [_with_snli_origin(result) for result in beside]
    by_default = [replace(result, config={}) for result in ours]
    files = {path: content.decode() for path, content in eval_results.build_eval_results(by_default, "org").items()}
    yield f"{under}hub/eval_results.txt", "".join(f"--- {path}\n{text}\n" for path, text in files.items())
    yield (
        f"{under}hub/eval_results-as_asked.txt",
        "".join(f"{path}\n" for path in eval_results.build_eval_results(ours, "org")),
    )
    index = eval_results.merge_model_index(None, "model", eval_results.build_model_index(ours, "org"))
    yield f"{under}hub/model_index.json", json.dumps(index, indent=1, ensure_ascii=False)
    yield f"{under}hub/results_rows.json", _format_lines(results_dataset.build_result_rows([*ours, *theirs]))
    about = model_card.ModelCardContent(
        repo="org/model",
        record=json.loads((HERE / "training.json").read_text(encoding="utf-8")),
        own=ours,
        residual=[],
        compare_with={"lexical": [result for result in theirs if result.model["name"] == "lexical"]} if theirs else {},
        organization="org",
        base_license="mit",
    )
    yield f"{under}hub/model_card.md", model_card.build_model_card(about)


def _with_snli_origin(result: Result) -> Result:
    if result.data["name"] == OFFICIAL:
        return result
    split = "train+validation+test" if result.set == "resnli" else "test"
    about = {"name": "snli", "split": split, "origin": "stanfordnlp/snli (plain_text)", "revision": "c" * 40}
    return replace(result, data={**result.data, **about})


def _write_predictions(request: SetRequest, form: str) -> Path:
    """Write predictions for the rows of a set in reverse order, as label names or as probabilities. Return the file."""
    built = Path("asked.parquet")
    export_challenge_set(request, built)
    rows = pq.read_table(built).to_pylist()[::-1]
    said = answers([row["premise"] for row in rows], [row["hypothesis"] for row in rows])
    records = [(row["id"], dict(zip(LABELS, answer, strict=True))) for row, answer in zip(rows, said, strict=True)]
    if form == "names":
        path, lines = Path("names.csv"), [f"{name},{max(each, key=each.__getitem__)}" for name, each in records]
        lines.insert(0, "id,prediction")
    else:
        path, lines = Path("probabilities.jsonl"), [json.dumps({"id": name, **each}) for name, each in records]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def build_word_vectors() -> str:
    """Return word vectors computed from checksums, for nine tenths of the words of the corpora."""
    texts = [(HERE / name).read_text(encoding="utf-8") for name in ("pairs.jsonl", "train.jsonl")]
    words = sorted({word for text in texts for word in re.findall(r"[a-z]+", text.lower())})
    lines = []
    for word in words:
        if zlib.crc32(word.encode()) % 10:
            numbers = [zlib.crc32(f"{word} {place}".encode()) % 2001 / 1000 - 1 for place in range(8)]
            lines.append(f"{word} {' '.join(f'{number:.3f}' for number in numbers)}\n")
    return "".join(lines)


def _command(*arguments: str) -> str:
    done = CliRunner(env={"COLUMNS": _COLUMNS}).invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    if arguments[-1] == "--json":
        return json.dumps(json.loads(done.stdout), indent=1, ensure_ascii=False)
    return done.stdout


def _remove_versions(path: Path) -> None:
    """Remove the versions of libraries and the hashes of model files from a results.json."""
    record = json.loads(path.read_text(encoding="utf-8"))
    for result in record["results"]:
        result["environment"] = _ENVIRONMENT
        model = result["model"]
        result["model"] = {name: value for name, value in model.items() if name not in _VERSIONS}
        if model.get("kind") in ("transformer", "causal"):
            result["model"]["revision"] = "sha256:of its files"
        if "kind" not in model:  # a function of this file
            result["model"] |= {"sha256": "of its file"}
        if "weight_layout" in model:
            result["model"]["weight_layout"] = "as this processor has it"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _anonymize(text: str, folder: Path, endpoint: str, shared: Path | None) -> str:
    """Return a text without paths of the machine and versions of libraries."""
    for found, name in ((folder.resolve(), "<tmp>"), (folder, "<tmp>"), (shared, "<shared>")):
        text = text.replace(str(found), name) if found is not None else text
    text = text.replace(endpoint, "<endpoint>")
    text = re.sub(r'"versions": \{[^}]*\}', '"versions": {}', text)
    text = re.sub(r"download_size: \d+", "download_size: <bytes>", text)  # depends on the compression of pyarrow
    text = re.sub(r"spaCy \d[\w.]*", "spaCy <version>", text)
    text = re.sub(r"report of \d{4}-\d\d-\d\d", "report of <date>", text)
    return text if text.endswith("\n") else f"{text}\n"


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _format_lines(entries: Sequence[Any]) -> str:
    """Return entries as JSON with one line per entry, so that diffs are short."""
    return "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)


def _execute_module(source: str) -> dict[str, Any]:
    """Run a module written for a harness, with stubs in place of the harness."""
    module = ModuleType("unbag_written")
    imported = {node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    with pytest.MonkeyPatch.context() as patch:
        for name in (each for each in imported if each.split(".")[0] in ("lighteval", "inspect_ai")):
            stub = ModuleType(name)
            vars(stub)["__getattr__"] = lambda _: _Stub
            patch.setitem(sys.modules, name, stub)
        patch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, module.__name__, "exec"), vars(module))
    return vars(module)


class _Stub:
    """A base class, a decorator or a config of a harness."""

    LOGPROBS = None

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *_: Any, **__: Any) -> "_Stub":
        return self
