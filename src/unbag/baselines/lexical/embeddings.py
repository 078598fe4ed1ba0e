"""Static token embeddings, and mean embeddings of texts.

An embedding table is the input layer of a transformer, a model2vec model, the vectors of a spaCy pipeline, or a text
file such as GloVe. The files in the given location determine the type of the table.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from unbag.baselines.lexical.word_vectors import is_word_vector_file, read_word_vectors
from unbag.data.downloads import MissingFileError
from unbag.data.text.tokens import tokenize
from unbag.utils.files import read_json_object
from unbag.utils.hashing import hash_named_files
from unbag.utils.hub import HubReadError, describe_missing_repo, read_from_hub
from unbag.utils.redaction import extract_first_line
from unbag.utils.safe_io import validate_file

DEFAULT: Final = "sentence-transformers/all-MiniLM-L6-v2@1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
"""Default table for English: 30,522 word pieces, 384 dimensions, Apache-2.0 license. The SHA-256 of its
`model.safetensors` is 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db."""

Kind = Literal["transformer", "model2vec", "spacy", "words"]

_INPUT_LAYERS: Final = (
    "word_embeddings.weight",  # BERT, RoBERTa, ELECTRA, DeBERTa, ALBERT, DistilBERT, BLOOM
    "tok_embeddings.weight",  # ModernBERT
    "shared.weight",  # T5, BART
    "embed_tokens.weight",  # Llama and most decoders
    "wte.weight",  # GPT-2
    "embed_in.weight",  # GPT-NeoX
    "word_embedding.weight",  # XLNet
    "embedding.weight",
    "embeddings.weight",  # XLM
)
"""Suffixes of the tensor names of input embeddings, in order of preference."""

_FROM_HUB: Final = ("config.json", "tokenizer.json", "model.safetensors", "meta.json", "config.cfg", "vocab/*")
_WEIGHTS: Final = "model.safetensors"
_DTYPES: Final = frozenset({"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8"})  # of safetensors
_BATCH_SIZE: Final = 4096  # texts; their token lists take a few MB


class EmbeddingTableLocation(NamedTuple):
    """Location and identity of an embedding table that has not been loaded yet."""

    kind: Kind
    path: Path  # file or folder
    identity: str  # Hub id and commit, or the SHA-256 of the files with the embeddings


@dataclass(frozen=True)
class EmbeddingTable:
    """Embedding table with its tokenizer, in memory."""

    kind: Kind
    identity: str  # as in `EmbeddingTableLocation`
    vectors: NDArray[np.float32] = field(repr=False)  # shape (rows, dimensions)
    _rows: Callable[[Sequence[str]], Iterable[Sequence[int]]] = field(repr=False)

    def count_tokens(self, texts: Iterable[Sequence[str]]) -> "scipy.sparse.csr_matrix":
        """Count the occurrences of each table row in each text, float32, shape (n, rows).

        A text consists of one or more sentences; a pair is (premise, hypothesis). Special tokens and tokens without an
        embedding are not counted.
        """
        indices, ends = array("i"), [0]
        stream = iter(texts)
        while batch := list(islice(stream, _BATCH_SIZE)):
            by_sentence = iter(self._rows(list(chain.from_iterable(batch))))
            for sentences in batch:
                for rows in islice(by_sentence, len(sentences)):
                    indices.extend(rows)
                ends.append(len(indices))
        ones = np.ones(len(indices), dtype=np.float32)
        columns = np.array(indices, dtype=np.int32)
        matrix = scipy.sparse.csr_matrix((ones, columns, ends), shape=(len(ends) - 1, len(self.vectors)))
        matrix.sum_duplicates()  # also sorts the indices, so that floating-point sums do not depend on word order
        return matrix

    def compute_means(self, texts: Iterable[Sequence[str]]) -> NDArray[np.float64]:
        """Compute the mean token embedding of each text, shape (n, dimensions); zeros for a text without known tokens.

        The texts are those of `count_tokens`.
        """
        return compute_mean_embeddings(self.count_tokens(texts), self.vectors)


def compute_mean_embeddings(
    counts: "scipy.sparse.csr_matrix", vectors: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Compute mean embeddings, shape (n, dimensions), from token counts, shape (n, rows), and vectors of the rows.

    Texts without tokens get zeros.
    """
    lengths = np.asarray(counts.sum(axis=1, dtype=np.float64))
    sums: NDArray[np.float64] = counts.astype(np.float64) @ vectors.astype(np.float64)
    sums /= np.maximum(lengths, 1)
    return sums


def load_embeddings(name: str, *, language: str = "en") -> EmbeddingTable:
    """Locate and load an embedding table (`find_embeddings`). The language selects the tokenizer of words."""
    kind, path, identity = find_embeddings(name)
    if kind == "words":
        rows, vectors = read_word_vectors(path)
        return EmbeddingTable(kind, identity, vectors, _words(rows.get, language))
    if kind == "spacy":
        keys, vectors = _read_spacy(path)
        from spacy.strings import get_string_id  # spaCy's keys are hashes of words

        return EmbeddingTable(kind, identity, vectors, _words(lambda word: keys.get(get_string_id(word)), language))
    vectors = _read_safetensors(path / _WEIGHTS, kind)
    return EmbeddingTable(kind, identity, vectors, _pieces(path / "tokenizer.json", len(vectors)))


def find_embeddings(name: str) -> EmbeddingTableLocation:
    """Locate an embedding table, and download it if necessary.

    The name is a Hub repository of a transformer, a model2vec model or a spaCy pipeline, at its latest or a given
    commit (`org/name@commit`), or a folder with the same files; an installed spaCy pipeline with vectors; or a text
    file of word vectors (`.txt`, `.vec`; also `.gz`, or `.zip` with one file).
    """
    if (local := _find_local(name)) is not None:
        kind, path = local
        files = [(file.name, file) for file in _table_files(kind, path)]
        return EmbeddingTableLocation(kind, path, f"sha256:{hash_named_files(files)}")
    repository, _, revision = name.partition("@")
    kind, path = _kind(_fetch(repository, revision or None))
    return EmbeddingTableLocation(kind, path, f"{repository}@{path.name}")


def validate_embedding_table_name(name: str) -> None:
    """Validate the name of an embedding table without reading its vectors or accessing the Hub."""
    _find_local(name)


def _find_local(name: str) -> tuple[Kind, Path] | None:
    """Locate an embedding table on this machine. Returns None for a Hub id, and raises an error for other names."""
    path = Path(name).expanduser()
    if path.is_dir():
        return _kind(path)
    if path.exists():
        if not is_word_vector_file(validate_file(path)):
            raise ValueError(
                f"{name}: expected a text file of word vectors (.txt, .vec; also .gz, .zip), got another file name"
            )
        return "words", path
    if name.isidentifier() and find_spec(name) is not None:
        from spacy.util import get_package_path

        return _kind(get_package_path(name))
    if name.startswith((".", "/", "~")) or name.partition("@")[0].count("/") != 1:
        raise ValueError(
            f"embeddings: expected a Hub id (org/name), a folder, an installed spaCy pipeline or a file of word "
            f"vectors, got {name!r}"
        )
    return None


def pin_embedding_table_name(name: str) -> str:
    """Add the current commit to the Hub id of an embedding table. Paths and ids with a commit are unchanged."""
    if has_pinned_commit(name):
        return name
    table = find_embeddings(name)
    return table.identity if has_pinned_commit(table.identity) else str(table.path)


def compute_embedding_table_identity(name: str) -> str:
    """Compute the identity of an embedding table: the Hub id and commit, or the SHA-256 of its files."""
    return name if has_pinned_commit(name) else find_embeddings(name).identity


def has_pinned_commit(name: str) -> bool:
    """Check whether the name of an embedding table is a Hub id with a commit.

    >>> has_pinned_commit(DEFAULT), has_pinned_commit("org/name"), has_pinned_commit("glove.6B.50d.txt")
    (True, False, False)
    """
    repository, _, revision = name.partition("@")
    is_commit = len(revision) == 40 and not set(revision) - set("0123456789abcdef")
    return is_commit and repository.count("/") == 1 and not Path(name).exists()


def _fetch(repository: str, revision: str | None) -> Path:
    """Download the required files of a Hub repository. The folder is named after the commit."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    what = f"the embeddings {repository}"
    try:
        download = partial(snapshot_download, repository, revision=revision, allow_patterns=list(_FROM_HUB))
        return Path(read_from_hub(what, download))
    except HubReadError:
        raise
    except (HfHubHTTPError, OSError, ValueError) as error:
        absent = describe_missing_repo(error, "embeddings", repository)
        # A table that does not exist is a mistake of the user, a table that cannot be reached is not.
        is_unreachable = isinstance(error, LocalEntryNotFoundError | OfflineModeIsEnabled)
        raise (MissingFileError if is_unreachable else ValueError)(
            absent or f"{what}: expected a download from the Hub, got an error ({extract_first_line(error)})"
        ) from error


def _kind(folder: Path) -> tuple[Kind, Path]:
    """Determine the type and the folder of a table. The pipeline of a spaCy package is in a subfolder."""
    if (folder / "config.json").is_file():
        config = read_json_object(folder / "config.json")
        kind: Kind = "model2vec" if config.get("model_type") == "model2vec" else "transformer"
        if all(path.is_file() for path in _table_files(kind, folder)):
            return kind, folder
    for pipeline in (folder, *sorted(folder.glob("*-*"))):
        if (pipeline / "config.cfg").is_file():
            return "spacy", pipeline
    raise ValueError(
        f"{folder}: expected a transformer or a model2vec model (config.json, tokenizer.json, model.safetensors) or a "
        f"spaCy pipeline (config.cfg, vocab), got {sorted(entry.name for entry in folder.iterdir())[:10]}"
    )


def _table_files(kind: Kind, folder: Path) -> list[Path]:
    """List the files that determine the embeddings. A table of words is a single file."""
    if kind == "words":
        return [folder]
    if kind == "spacy":
        return sorted(path for path in (folder / "vocab").glob("*") if path.name in ("key2row", "vectors"))
    return [folder / "model.safetensors", folder / "tokenizer.json"]


def _words(row: Callable[[str], int | None], language: str) -> Callable[[Sequence[str]], Iterable[Sequence[int]]]:
    """Build a function from sentences to table rows, which looks up each word as written, then in lowercase."""

    def look_up(word: str) -> int | None:
        index = row(word)
        return row(word.lower()) if index is None else index

    def rows(sentences: Sequence[str]) -> Iterable[Sequence[int]]:
        for sentence in sentences:
            found = map(look_up, tokenize(sentence, language).texts)
            yield [index for index in found if index is not None and index >= 0]  # spaCy has -1 for words without row

    return rows


def _pieces(path: Path, n_vectors: int) -> Callable[[Sequence[str]], Iterable[Sequence[int]]]:
    """Build a function from sentences to table rows, based on the tokenizer of the table."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain `Exception`
        raise ValueError(f"{path}: expected a tokenizer, got an unreadable file ({error})") from error
    if (last := max(tokenizer.get_vocab().values(), default=-1)) >= n_vectors:
        raise ValueError(f"{path}: expected at most {n_vectors:,} tokens, one per embedding, got {last + 1:,}")
    tokenizer.no_truncation()  # the file may configure truncation and padding to the input length of the model
    tokenizer.no_padding()
    excluded = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    model = read_json_object(path)["model"]
    unknown = model.get("unk_id")  # Unigram models store the id of the unknown token, other models the token
    if unknown is None and isinstance(model.get("unk_token"), str):
        unknown = tokenizer.token_to_id(model["unk_token"])
    if isinstance(unknown, int):
        excluded.add(unknown)

    def rows(sentences: Sequence[str]) -> Iterable[Sequence[int]]:
        for encoded in tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False):
            yield [i for i in encoded.ids if i not in excluded]

    return rows


def _read_safetensors(path: Path, kind: Kind) -> NDArray[np.float32]:
    """Load the input layer of a transformer, or the embeddings of a model2vec model with its row mapping and weights.

    The vectors are float32, which is lossless for float16 and bfloat16.
    """
    try:
        with safe_open(validate_file(path), framework="numpy") as file:
            names = sorted(file.keys())
        if kind == "model2vec":
            vectors, rows, weights = (_read_tensor(path, name) for name in ("embeddings", "mapping", "weights"))
        else:
            layers = [name for layer in _INPUT_LAYERS for name in names if f".{name}".endswith(f".{layer}")]
            vectors, rows, weights = _read_tensor(path, layers[0] if layers else ""), None, None
    except SafetensorError as error:
        raise ValueError(f"{path}: expected a safetensors file, got another format ({error})") from error
    if vectors is None:
        expected = "'embeddings'" if kind == "model2vec" else f"name ending in one of {', '.join(_INPUT_LAYERS)}"
        raise ValueError(
            f"{path}: expected the tensor {expected}, got {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
        )
    if rows is not None:
        if not ((rows >= 0) & (rows < len(vectors))).all():
            raise ValueError(f"{path}: expected rows of the {len(vectors):,} embeddings in 'mapping', got other rows")
        vectors = vectors[rows.astype(np.int64)]
    if weights is not None:
        if len(weights) != len(vectors):
            raise ValueError(f"{path}: expected {len(vectors):,} weights, one per embedding, got {len(weights):,}")
        vectors = vectors * weights[:, None]
    if not np.isfinite(vectors).all():
        raise ValueError(f"{path}: expected finite values, got NaN or infinity")
    return vectors


def _read_tensor(path: Path, name: str) -> NDArray[np.float32] | None:
    """Load a tensor as float32, or return None if the file has no such tensor."""
    with safe_open(path, framework="numpy") as file:
        if name not in file.keys():
            return None
        stored = file.get_slice(name)
        dtype, shape, n_dims = stored.get_dtype(), stored.get_shape(), 1 if name in ("mapping", "weights") else 2
        if dtype not in _DTYPES or len(shape) != n_dims:
            raise ValueError(f"{path}: expected numbers with {n_dims} dimensions in {name!r}, got {dtype} {shape}")
        if dtype != "BF16":
            tensor: NDArray[np.float32] = file.get_tensor(name).astype(np.float32)
            return tensor
    # NumPy does not support bfloat16.
    try:
        with safe_open(path, framework="pt") as file:
            return np.asarray(file.get_tensor(name).float().numpy())
    except ImportError as error:
        raise ImportError(f"{path}: bfloat16 requires PyTorch; run pip install 'unbag[models]'") from error


def _read_spacy(folder: Path) -> tuple[Mapping[int, int], NDArray[np.float32]]:
    """Load the vectors of a spaCy pipeline and the row of each key, without its other components."""
    from spacy.vectors import Vectors

    table = Vectors()
    if (folder / "vocab" / "vectors").is_file():
        try:
            table.from_disk(folder / "vocab")
        except Exception as error:  # spaCy documents no exceptions; NumPy, msgpack and Cython raise different ones
            raise ValueError(
                f"{folder}: expected the vectors of a spaCy pipeline, got unreadable files "
                f"({extract_first_line(error)}); download it again"
            ) from error
    if not table.data.size or table.mode != "default":
        raise ValueError(f"{folder}: expected a spaCy pipeline with word vectors (such as en_core_web_md), got none")
    rows = table.key2row
    # SciPy does not check columns, and reads outside the vectors for others.
    if (
        table.data.ndim != 2
        or table.data.dtype.kind != "f"
        or not all(isinstance(row, int) and -1 <= row < len(table.data) for row in rows.values())
    ):
        raise ValueError(f"{folder}: expected a row of the vectors for each key, got other numbers; download it again")
    return rows, np.asarray(table.data, dtype=np.float32)
