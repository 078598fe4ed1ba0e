"""Static word embeddings, and the mean of them over a text.

A table of embeddings is the input layer of a transformer, a model2vec model, the vectors of a spaCy pipeline, or a text
file such as GloVe's; which one is told by what is found under the name that is given.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from scipy import sparse

from unbag.baselines.lexical.word_vectors import is_word_vectors, read_word_vectors
from unbag.data.text.tokens import tokenize
from unbag.utils.files import read_json_object
from unbag.utils.hashing import file_hash
from unbag.utils.hub import HubReadError, hub_read, missing_repo_message
from unbag.utils.redaction import first_line
from unbag.utils.safe_io import validate_file

DEFAULT: Final = "sentence-transformers/all-MiniLM-L6-v2@1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
"""The table for English where none is named: 30,522 word pieces, 384 dimensions, Apache-2.0. Its `model.safetensors`
has the sha256 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db."""

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
"""What the input embeddings are called, less a prefix; where two are there, the first."""

_FROM_HUB: Final = ("config.json", "tokenizer.json", "model.safetensors", "meta.json", "config.cfg", "vocab/*")
_WEIGHTS: Final = "model.safetensors"
_UNKNOWN: Final = -1
_AT_ONCE: Final = 4096  # texts: a few MB of token lists


class Found(NamedTuple):
    """A table that was found and not read yet.

    Attributes:
        kind: what it is.
        path: its file or folder.
        identity: Hub id and commit, or the sha256 of what is read of it.
    """

    kind: Kind
    path: Path
    identity: str


class Counts(NamedTuple):
    """Which embeddings the tokens of some texts have.

    Attributes:
        matrix: how often each row of the table occurs in each text, shape (n, rows), float32.
        unknown: each text's tokens without an embedding, shape (n,).
    """

    matrix: sparse.csr_matrix
    unknown: NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """Embeddings of tokens.

    Attributes:
        kind: see `Found`.
        identity: see `Found`.
        vectors: shape (rows, dimensions).
    """

    kind: Kind
    identity: str
    vectors: NDArray[np.float32] = field(repr=False)
    _rows: Callable[[Sequence[str]], Iterable[Sequence[int]]] = field(repr=False)

    def counts(self, texts: Iterable[Sequence[str]]) -> Counts:
        """Count the tokens of texts of one or several sentences.

        Special tokens do not count. A token without an embedding (a word that the table lacks, or what a tokenizer puts
        in its place) is left out, and is in `unknown`.

        Args:
            texts: each text's sentences; a pair is (premise, hypothesis).
        """
        columns: list[NDArray[np.int32]] = []
        lengths: list[NDArray[np.int64]] = []
        unknown: list[NDArray[np.int64]] = []
        stream = iter(texts)
        while some := list(islice(stream, _AT_ONCE)):
            by_sentence = list(self._rows(list(chain.from_iterable(some))))
            sizes = np.array([len(rows) for rows in by_sentence])
            text = np.repeat(np.repeat(np.arange(len(some)), [len(sentences) for sentences in some]), sizes)
            rows = np.fromiter(chain.from_iterable(by_sentence), dtype=np.int32, count=int(sizes.sum()))
            known = rows != _UNKNOWN
            columns.append(rows[known])
            lengths.append(np.bincount(text[known], minlength=len(some)))
            unknown.append(np.bincount(text[~known], minlength=len(some)))
        ends = np.concatenate([[0], *lengths]).cumsum()
        indices = np.concatenate([np.empty(0, dtype=np.int32), *columns])
        ones = np.ones(len(indices), dtype=np.float32)
        matrix = sparse.csr_matrix((ones, indices, ends), shape=(len(ends) - 1, len(self.vectors)))
        matrix.sum_duplicates()  # and sorted, so that the order of words cannot tell in any sum
        return Counts(matrix, np.concatenate([np.empty(0, dtype=np.int64), *unknown]))

    def means(self, texts: Iterable[Sequence[str]]) -> NDArray[np.float64]:
        """Return the mean embedding of each text's tokens, repeats counted, shape (n, dimensions); 0 where it has none.

        Args:
            texts: as for `counts`.
        """
        return mean_embeddings(self.counts(texts).matrix, self.vectors)


def mean_embeddings(counts: sparse.csr_matrix, vectors: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the mean embeddings of texts whose tokens are counted, shape (n, dimensions); 0 where there is no token.

    Args:
        counts: shape (n, rows).
        vectors: shape (rows, dimensions).
    """
    lengths = np.asarray(counts.sum(axis=1, dtype=np.float64))
    sums: NDArray[np.float64] = counts.astype(np.float64) @ vectors.astype(np.float64)
    sums /= np.maximum(lengths, 1)
    return sums


def load(name: str, *, language: str = "en") -> Table:
    """Find and read a table; see `find` for what can be named.

    Args:
        name: the table.
        language: of the texts, one of `data.corpora.LANGUAGES`: how they are cut (`data.text.tokens`) where the table
            is one of words.

    Raises:
        ImportError: if it takes a package that is not there, saying which.
        ValueError: if there is no such table, or it cannot be read.
    """
    found = find(name)
    try:
        return _read(found, language)
    except (LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, RuntimeError, EOFError) as error:
        raise ValueError(f"{found.path}: cannot be read as embeddings, it is damaged ({first_line(error)})") from error


def _read(found: Found, language: str) -> Table:
    kind, path, identity = found
    if kind == "words":
        rows, vectors = read_word_vectors(path)
        return Table(kind, identity, vectors, _words(rows.get, language))
    if kind == "spacy":
        keys, vectors = _read_spacy(path)
        from spacy.strings import get_string_id as spelt  # spaCy's keys are hashes of words

        return Table(kind, identity, vectors, _words(lambda word: keys.get(spelt(word)), language))
    try:
        vectors = _read_model2vec(path) if kind == "model2vec" else _read_input_layer(path)
    except SafetensorError as error:
        raise ValueError(f"{path / _WEIGHTS}: not a safetensors file ({error})") from error
    except ValueError as error:  # numpy's, of shapes that do not go together
        if str(path) in str(error):
            raise
        raise ValueError(f"{path / _WEIGHTS}: cannot be read as embeddings ({first_line(error)})") from error
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise ValueError(f"{path / _WEIGHTS}: expected a table of finite numbers, found shape {vectors.shape}")
    return Table(kind, identity, vectors, _pieces(path / "tokenizer.json", len(vectors)))


def find(name: str) -> Found:
    """Find a table of embeddings.

    Args:
        name: one of

            - a Hub repository of a transformer, a model2vec model or a spaCy pipeline, at its latest commit or at one
              that is named (`org/name@commit`), or a folder with the files of one;
            - an installed spaCy pipeline with vectors;
            - a text file of words and their numbers (`.txt`, `.vec`; also `.gz`, or `.zip` with one file).

    Raises:
        ImportError: if it takes a package that is not there, saying which.
        ValueError: if there is no such table, or it is of no known kind.
    """
    require(name)
    path = Path(name).expanduser()
    if path.is_file():
        return Found("words", path, _sha256(path))
    if path.is_dir():
        kind, folder = _kind(path)
        return Found(kind, folder, _sha256(*_read_of(kind, folder)))
    if name.isidentifier() and find_spec(name) is not None:
        from spacy.util import get_package_path

        kind, folder = _kind(get_package_path(name))
        return Found(kind, folder, _sha256(*_read_of(kind, folder)))
    repository, _, revision = name.partition("@")
    kind, folder = _kind(_fetch(repository, revision or None))
    return Found(kind, folder, f"{repository}@{folder.name}")


def require(name: str) -> None:
    """Refuse what is surely no table, before anything is hashed or fetched; what is on the Hub, `find` sees.

    Raises:
        ValueError: if there is nothing of that name, or a file or folder of another kind.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        _kind(path)
    elif path.exists():
        if not is_word_vectors(validate_file(path)):
            raise ValueError(f"{name}: expected a text file of word vectors (.txt, .vec; also .gz, .zip)")
    elif not (name.isidentifier() and find_spec(name) is not None) and (
        name.startswith((".", "/", "~")) or name.partition("@")[0].count("/") != 1
    ):
        raise ValueError(
            f"expected embeddings as a Hub id (org/name), a folder, an installed spaCy pipeline or a file of word "
            f"vectors, found nothing under {name!r}"
        )


def fixed_name(name: str) -> str:
    """Return a name whose content does not change for what a name stands for now: a Hub id with a commit, or a path.

    Raises:
        ValueError: as `find` does.
    """
    if is_pinned(name):
        return name
    table = find(name)
    return table.identity if is_pinned(table.identity) else str(table.path)


def identity_of(name: str) -> str:
    """Return the identity of what a name stands for (`Found.identity`), looking it up where it is not the name.

    Raises:
        ValueError: as `find` does.
    """
    return name if is_pinned(name) else find(name).identity


def is_pinned(name: str) -> bool:
    """Tell whether a name is a Hub id with a commit, whose content never changes and which is its identity.

    >>> is_pinned(DEFAULT), is_pinned("org/name"), is_pinned("glove.6B.50d.txt")
    (True, False, False)
    """
    repository, _, revision = name.partition("@")
    is_commit = len(revision) == 40 and not set(revision) - set("0123456789abcdef")
    return is_commit and repository.count("/") == 1 and not Path(name).exists()


def _fetch(repository: str, revision: str | None) -> Path:
    """Return the folder, named by the commit, with what is read of a Hub repository."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return Path(
            hub_read(
                f"the embeddings {repository}",
                lambda: snapshot_download(repository, revision=revision, allow_patterns=list(_FROM_HUB)),
            )
        )
    except HubReadError:
        raise
    except (HfHubHTTPError, OSError, ValueError) as error:
        at = f" at {revision}" if revision else ""
        reason = first_line(error)
        absent = missing_repo_message(error, "embeddings", repository)
        raise ValueError(absent or f"cannot fetch the embeddings {repository}{at} from the Hub: {reason}") from error


def _kind(folder: Path) -> tuple[Kind, Path]:
    """Return what a folder holds, and the folder that holds it: a spaCy package has its pipeline one level down."""
    if (folder / "config.json").is_file():
        config = read_json_object(folder / "config.json")
        kind: Kind = "model2vec" if config.get("model_type") == "model2vec" else "transformer"
        if all(path.is_file() for path in _read_of(kind, folder)):
            return kind, folder
    for pipeline in (folder, *sorted(folder.glob("*-*"))):
        if (pipeline / "config.cfg").is_file():
            return "spacy", pipeline
    raise ValueError(
        f"{folder}: expected a transformer or a model2vec model (config.json, tokenizer.json, model.safetensors) or a "
        f"spaCy pipeline (config.cfg, vocab), found {sorted(entry.name for entry in folder.iterdir())[:10]}"
    )


def _read_of(kind: Kind, folder: Path) -> list[Path]:
    """Return the files of a folder that decide an embedding."""
    if kind == "spacy":
        return sorted(path for path in (folder / "vocab").glob("*") if path.name in ("key2row", "vectors"))
    return [folder / "model.safetensors", folder / "tokenizer.json"]


def _sha256(*paths: Path) -> str:
    if len(paths) == 1:  # the plain hash of the file, as others give it
        return f"sha256:{file_hash(paths[0])}"
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.name}\0{file_hash(path)}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _words(row: Callable[[str], int | None], language: str) -> Callable[[Sequence[str]], Iterable[Sequence[int]]]:
    """Return what looks up the words of sentences: as they are written, or else in lower case."""

    def look_up(word: str) -> int:
        index = row(word)
        if index is None:
            index = row(word.lower())
        return _UNKNOWN if index is None else index

    def rows(sentences: Sequence[str]) -> Iterable[Sequence[int]]:
        return [[look_up(word) for word in tokenize(sentence, language).texts] for sentence in sentences]

    return rows


def _pieces(path: Path, n_vectors: int) -> Callable[[Sequence[str]], Iterable[Sequence[int]]]:
    """Return what cuts sentences into the pieces of a table's own tokenizer."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise ValueError(f"{path}: expected a tokenizer, but {error}") from error
    if (last := max(tokenizer.get_vocab().values(), default=-1)) >= n_vectors:
        raise ValueError(f"{path}: has {last + 1:,} tokens, but the table {n_vectors:,} embeddings")
    tokenizer.no_truncation()  # the file may ask for a model's longest input, and for padding to it
    tokenizer.no_padding()
    left_out = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    left_out |= _unknown_token(read_json_object(path)["model"], tokenizer)

    def rows(sentences: Sequence[str]) -> Iterable[Sequence[int]]:
        for encoded in tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False):
            ids = encoded.ids
            yield ids if left_out.isdisjoint(ids) else [_UNKNOWN if i in left_out else i for i in ids]

    return rows


def _unknown_token(model: Mapping[str, Any], tokenizer: Any) -> set[int]:
    """Return the id that stands for what a tokenizer does not know, if it has one."""
    number = model.get("unk_id")  # of a Unigram model; others name the token
    if number is None and model.get("unk_token") is not None:
        number = tokenizer.token_to_id(model["unk_token"])
    return set() if number is None else {number}


def _read_input_layer(folder: Path) -> NDArray[np.float32]:
    path = folder / "model.safetensors"
    names = sorted(_tensor_names(path))
    for layer in _INPUT_LAYERS:
        for name in names:
            if f".{name}".endswith(f".{layer}"):
                return _tensor(path, name)
    raise ValueError(
        f"{path}: expected the input embeddings under a name that ends in one of {', '.join(_INPUT_LAYERS)}, found "
        f"{', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
    )


def _read_model2vec(folder: Path) -> NDArray[np.float32]:
    """Return a model2vec model's embedding of each token: shared between tokens and weighted, where it says so."""
    path = folder / "model.safetensors"
    names = _tensor_names(path)
    if "embeddings" not in names:
        raise ValueError(f"{path}: expected the tensor 'embeddings', found {', '.join(sorted(names)[:20])}")
    vectors = _tensor(path, "embeddings")
    if "mapping" in names:
        vectors = vectors[_tensor(path, "mapping").astype(np.int64)]
    if "weights" in names:
        vectors = vectors * _tensor(path, "weights")[:, None]
    return vectors


def _tensor_names(path: Path) -> set[str]:
    with safe_open(validate_file(path), framework="numpy") as file:
        return set(file.keys())


def _tensor(path: Path, name: str) -> NDArray[np.float32]:
    """Read one tensor as float32; float16 and bfloat16 lose nothing."""
    with safe_open(path, framework="numpy") as file:
        if file.get_slice(name).get_dtype() != "BF16":
            tensor: NDArray[np.float32] = file.get_tensor(name).astype(np.float32)
            return tensor
    # NumPy has no bfloat16: its bits are the upper half of a float32's. The file begins with its header's length.
    with path.open("rb") as raw:
        header = json.loads(raw.read(int.from_bytes(raw.read(8), "little")))
        begin, end = header[name]["data_offsets"]
        raw.seek(begin, 1)
        halves = np.frombuffer(raw.read(end - begin), dtype="<u2")
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(header[name]["shape"])


def _read_spacy(folder: Path) -> tuple[Mapping[int, int], NDArray[np.float32]]:
    """Return a pipeline's vectors, and the row of each key, without loading the rest of it."""
    from spacy.vectors import Vectors

    table = Vectors()
    if (folder / "vocab" / "vectors").is_file():
        table.from_disk(folder / "vocab")
    if not table.data.size or table.mode != "default":
        raise ValueError(f"{folder}: expected a spaCy pipeline with word vectors (such as en_core_web_md), found none")
    vectors: NDArray[np.float32] = np.asarray(table.data, dtype=np.float32)
    return table.key2row, vectors
