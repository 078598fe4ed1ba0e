"""Exported sequence classifiers, ONNX (onnxruntime) and OpenVINO (openvino): their files, and the predictor."""

import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import numpy as np
import tokenizers
import torch
import transformers
from huggingface_hub import HfApi, get_cached_repo_tree, is_offline_mode, snapshot_download
from huggingface_hub.errors import CachedRepoTreeNotFoundError, HfHubHTTPError
from numpy.typing import NDArray
from transformers import AutoModelForSequenceClassification

from unbag.inference.hub_files import ModelOrigin, combine_hashes, resolve_origin
from unbag.inference.loading import Classifier, build_classifier, is_causal_lm, load_config, load_tokenizer
from unbag.inference.pair_classifier import PairClassifier
from unbag.inference.predictor import ModelError
from unbag.inference.single_output import Threshold
from unbag.inference.tokenization import CPU_BATCH_TOKENS, BatchPadding, EncodedPairs
from unbag.utils.hashing import hash_file
from unbag.utils.hub import HubReadError, is_model_name, read_from_hub
from unbag.utils.offline import use_cache_if_unreachable
from unbag.utils.redaction import extract_first_line

if TYPE_CHECKING:
    import openvino


_FOLDERS: Final = (".", "onnx", "openvino")  # where optimum and sentence-transformers write
_SUFFIXES: Final = (".onnx", ".xml")
_DATA_SUFFIXES: Final = ("_data", ".data")  # weights of an ONNX file above 2 GB
_TORCH_WEIGHTS: Final = ("*.safetensors", "pytorch_model*.bin")


def find_exported_models(names: Sequence[str]) -> list[str]:
    """Find the paths of exported models in a list of repository files.

    >>> find_exported_models(["config.json", "onnx/model.onnx", "openvino/openvino_model.xml", "test/model.onnx"])
    ['onnx/model.onnx', 'openvino/openvino_model.xml']
    """
    paths = map(PurePosixPath, names)
    return sorted(str(path) for path in paths if str(path.parent) in _FOLDERS and path.suffix in _SUFFIXES)


def list_exported_models(folder: Path) -> list[str]:
    """List the exported models in a folder."""
    return find_exported_models(_list_folder(folder))


def has_only_exported_models(model: str | Path, revision: str | None = None) -> bool:
    """Check whether a folder or Hub repository has exported models but no PyTorch weights.

    False if neither exists: loading it as another kind of model then reports the error.

    Raises:
        HubReadError: If the network fails or the Hub has a server error.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        names = _list_folder(folder)
    elif isinstance(model, Path) or not is_model_name(model):
        return False
    else:
        try:
            names = _list_hub(model, revision)
        except HubReadError:
            raise
        except (CachedRepoTreeNotFoundError, OSError, ValueError):
            return False
    top = [name for name in names if "/" not in name]
    has_weights = any(fnmatchcase(name, pattern) for name in top for pattern in _TORCH_WEIGHTS)
    return not has_weights and bool(find_exported_models(names))


def select_exported_model(available: Sequence[str], model_file: str | None, source: str) -> str:
    """Select the exported model to run: `model_file` if given, otherwise the only exported model.

    Raises:
        ModelError: If it does not exist, or several exist and none is named.
    """
    listed = ", ".join(available) or "none"
    if model_file is not None:
        if model_file not in available:
            raise ModelError(
                f"{source}: expected an exported model {model_file}, got {listed}; select a file with --model-file"
            )
        return model_file
    if len(available) != 1:
        raise ModelError(f"{source}: expected one exported model, got {listed}; select a file with --model-file")
    return available[0]


def fetch_exported_model(origin: ModelOrigin, model_file: str | None) -> tuple[str, Path]:
    """Locate an exported model. Hub models are downloaded, or read from the cache in offline mode.

    Returns:
        The name of the exported model in the repository, and its path on this machine.

    Raises:
        ModelError: If there is no such file, several exist and none is named, or the download fails.
    """
    folder = origin.download()
    if origin.commit is None:
        file = select_exported_model(list_exported_models(folder), model_file, origin.source)
        return file, folder / file
    what = f"the model {origin}"
    try:
        with use_cache_if_unreachable():
            listed = _list_hub(origin.source, origin.commit)
            file = select_exported_model(find_exported_models(listed), model_file, origin.source)
            wanted = [name for name in (file, *_data_names(file)) if name in listed]
            read_from_hub(what, lambda: snapshot_download(origin.source, revision=origin.commit, allow_patterns=wanted))
    except HubReadError as error:
        raise ModelError(str(error)) from error
    except CachedRepoTreeNotFoundError as error:
        raise ModelError(
            f"{origin} is not in the local cache; run `unbag prefetch {origin}` with network access"
        ) from error
    except (HfHubHTTPError, OSError) as error:
        raise ModelError(
            f"cannot download {origin} from the Hub: {extract_first_line(error)}; check the name and the network"
        ) from error
    return file, folder / file


def hash_exported_model(path: Path) -> str:
    """Compute a hash of an exported model and its external weight files."""
    files = [path, *(each for name in _data_names(path.name) if (each := path.with_name(name)).is_file())]
    return combine_hashes({each.name: hash_file(each) for each in files})


def _list_folder(folder: Path) -> list[str]:
    files = [*folder.glob("*"), *(path for name in _FOLDERS[1:] for path in (folder / name).glob("*"))]
    return [path.relative_to(folder).as_posix() for path in files if path.is_file()]


def _list_hub(repo: str, revision: str | None) -> list[str]:
    """List the files of a Hub repository. In offline mode, the listing comes from the client's cache."""
    with use_cache_if_unreachable():
        if not is_offline_mode():
            return read_from_hub(f"the model {repo}", lambda: HfApi().list_repo_files(repo, revision=revision))
        return [entry.path for entry in get_cached_repo_tree(repo, revision=revision)]


def _data_names(file: str) -> list[str]:
    """List the names that the file of an exported model's weights may have."""
    return [file[:-4] + ".bin"] if file.endswith(".xml") else [file + suffix for suffix in _DATA_SUFFIXES]


Run = Callable[[dict[str, NDArray[np.int64]]], NDArray[np.float32]]
"""Function from the model's arguments to the logits, shape (b, outputs)."""

_SINGLE_PAIRS: Final = 1  # tokens per batch; a longer pair is a batch of its own
_DYNAMIC_OPERATORS: Final = (b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul", b"DynamicQuantizeLSTM")


class ExportedPredictor(PairClassifier):
    """Predictor that runs an exported (ONNX or OpenVINO) sequence classifier on the CPU. Build it with `load`.

    A dynamically quantized ONNX model computes the range of its activations over a batch, so that the probabilities of
    a pair depend on the other pairs of the batch. Such a model runs one pair at a time, unless `batch_tokens` is given.
    """

    def __init__(
        self, classifier: Classifier, path: Path, file: str, max_length: int | None, batch_tokens: int | None
    ) -> None:
        super().__init__(classifier, max_length)
        open_file = _open_onnx if path.suffix == ".onnx" else _open_openvino
        self._run, inputs, engine = open_file(path)
        single = path.suffix == ".onnx" and is_dynamically_quantized(path)
        self.batch_tokens = batch_tokens or (_SINGLE_PAIRS if single else CPU_BATCH_TOKENS)
        takes_types = "token_type_ids" in inputs
        self._padding = replace(BatchPadding.from_model(self.tokenizer, self._network), takes_types=takes_types)
        if unknown := sorted(inputs - {"input_ids", "attention_mask", "token_type_ids"}):
            raise ModelError(
                f"{file}: expected the inputs input_ids, attention_mask and token_type_ids, got {', '.join(unknown)}; "
                "export the model for text classification"
            )
        self._inputs = inputs
        self.identity: Mapping[str, str] = {
            "kind": "onnx" if path.suffix == ".onnx" else "openvino",
            "model": classifier.name,
            "revision": classifier.revision,
            "model_file": file,
            "file_hash": hash_exported_model(path),
            "label_order": ",".join(self.order),
            "max_length": str(self.max_length),
            "batch_tokens": str(self.batch_tokens),
            **engine,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
            **({} if self.threshold is None else {"threshold": str(self.threshold)}),
        }

    @classmethod
    def load(
        cls,
        model: str | Path,
        *,
        revision: str | None = None,
        label_map: Mapping[str, str] | None = None,
        max_length: int | None = None,
        batch_tokens: int | None = None,
        threshold: Threshold | None = None,
        model_file: str | None = None,
    ) -> "ExportedPredictor":
        """Load an exported model from the Hub or a folder.

        Args:
            model: Hub id such as `org/name`, or folder with config, tokenizer and the exported model.
            revision: Branch, tag or commit of a Hub model (default: the main branch).
            label_map: Label of each output, as in `data.labels.resolve_output_labels`, if the config does not define
                it.
            max_length: Maximum tokens per pair (default, and upper limit: what the model and its tokenizer can read).
            batch_tokens: Maximum tokens per batch, padding included (default: 1,024; one pair per batch for a
                dynamically quantized ONNX model).
            threshold: As for `TransformerPredictor.load`.
            model_file: Path of the exported model in the repository (default: the only one).

        Raises:
            ModelError: If there is no such model, several exist and none is named, or it cannot be run.
            labels.LabelError: If its config does not define the label of each output.
        """
        origin = resolve_origin(model, revision)
        config = load_config(origin)
        if is_causal_lm(config):
            raise ModelError(
                f"{origin}: expected a sequence classifier, got a causal language model; export a sequence classifier"
            )
        file, path = fetch_exported_model(origin, model_file)
        with torch.device("meta"):  # the architecture without weights: it has the limits of length and vocabulary
            skeleton = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
        name, commit = origin.get_identity()
        tokenizer = load_tokenizer(origin)
        classifier = build_classifier(
            skeleton,
            tokenizer,
            name=name,
            revision=commit,
            source=origin.source,
            label_map=label_map,
            threshold=threshold,
        )
        return cls(classifier, path, file, max_length, batch_tokens)

    def _logits(self, pairs: EncodedPairs, rows: Sequence[int]) -> torch.Tensor:
        arrays = self._padding.build_pair_arrays(pairs, rows)
        arrays = {name: array for name, array in arrays.items() if name in self._inputs}
        if "token_type_ids" in self._inputs:  # an exported graph has no default for it
            arrays.setdefault("token_type_ids", np.zeros_like(arrays["input_ids"]))
        try:
            logits = torch.tensor(self._run(arrays), dtype=torch.float32)
        except Exception as error:  # the errors of the engines have no common type
            raise ModelError(
                f"exported model: cannot run a batch ({extract_first_line(error)}); export the model again"
            ) from error
        if logits.shape != (len(rows), self._n_outputs):
            raise ModelError(
                f"exported model: expected logits of shape {(len(rows), self._n_outputs)}, got {tuple(logits.shape)}; "
                "export the model for text classification, with the labels of its config.json"
            )
        return logits


def is_dynamically_quantized(path: Path) -> bool:
    """Check whether an ONNX model is dynamically quantized, which means input ranges are computed at run time."""
    # In the protocol buffer, an operator is field 4 of a node: its key, the length and the text. A node's name has
    # another key. The package onnx, which parses the file, is no dependency.
    fields = [bytes([4 << 3 | 2, len(operator)]) + operator for operator in _DYNAMIC_OPERATORS]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(field) >= 0 for field in fields)


def _open_onnx(path: Path) -> tuple[Run, frozenset[str], dict[str, str]]:
    """Open an ONNX file. Returns a function that runs it, the input names, and the identity of the engine."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("running an ONNX model requires onnxruntime: pip install 'unbag[onnx]'") from error
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # the errors of onnxruntime derive from Exception directly
        raise ModelError(
            f"{path.name}: expected an ONNX model, got an error ({extract_first_line(error)}); export the model again"
        ) from error
    types = {each.name: np.int32 if each.type == "tensor(int32)" else np.int64 for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    wanted = ["logits" if "logits" in names else names[0]]

    def run(arrays: dict[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        logits: NDArray[np.float32] = session.run(wanted, {k: v.astype(types[k]) for k, v in arrays.items()})[0]
        return logits

    return run, frozenset(types), {"onnxruntime": onnxruntime.__version__}


@cache
def _openvino_core() -> "openvino.Core":
    """Return the only core of this process, which is never freed.

    The first model of a core installs an alternate signal stack; freeing the core unmaps it and restores the previous
    one. Of two cores freed in the order of their creation, the second restores the unmapped stack of the first, and the
    next signal (Ctrl-C, the end of a child process) is a segmentation fault. Seen with openvino 2026.4.
    """
    import openvino

    return openvino.Core()


def _open_openvino(path: Path) -> tuple[Run, frozenset[str], dict[str, str]]:
    """Open an OpenVINO model, as `_open_onnx`."""
    try:
        import openvino
    except ImportError as error:
        raise ImportError("running an OpenVINO model requires openvino: pip install 'unbag[openvino]'") from error
    try:
        # Without the hint, openvino computes in bfloat16 on processors that have it.
        compiled = _openvino_core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    except Exception as error:
        raise ModelError(
            f"{path.name}: expected an OpenVINO model, got an error ({extract_first_line(error)}); export the "
            "model again"
        ) from error
    outputs = [each for each in compiled.outputs if "logits" in each.get_names()] or list(compiled.outputs)

    def run(arrays: dict[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        logits: NDArray[np.float32] = compiled(arrays)[outputs[0]]
        return logits

    return run, frozenset(each.get_any_name() for each in compiled.inputs), {"openvino": openvino.__version__}
