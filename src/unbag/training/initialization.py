"""Initialize an untrained model from corpora, ready to be trained.

The folder has a tokenizer, a config, and weights of the embeddings alone: to transformers and to `unbag train` it is a
pre-trained model without a head. The training run's seed draws all other weights, so several seeds give several models.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from unbag.baselines.lexical import embeddings
from unbag.baselines.wordnet.database import validate_installed
from unbag.data.corpora import CORPORA
from unbag.data.sources import Source, open_corpus, open_data, validate_corpus_names
from unbag.data.text import tagging as pipelines
from unbag.inference.hub_files import resolve_origin
from unbag.inference.loading import validate_shard_count
from unbag.models import Kind, kind_of
from unbag.models.config import PairConfig
from unbag.models.word_tokenizer import PAD_ID, SPECIAL, START_ID, pairs_from, vocabulary_of, word_tokenizer
from unbag.training import word_features
from unbag.training.word_features import vectors_of
from unbag.utils import locks, optional_deps
from unbag.utils.files import atomic_rename, remove_on_failure, write_json
from unbag.utils.options import parse_option
from unbag.utils.redaction import first_line

FILE: Final = "made_with.json"
_ARE_MADE: Final = frozenset(PairConfig.__annotations__) - {"hidden_size", "dropout", "train_embeddings"}
"""Fields of a config that follow from what a model is made with."""


class Parts(NamedTuple):
    """What a model is made of.

    Attributes:
        tokenizer: the tokenizer.
        config: what its config has to say of it.
        weights: of `embeddings`, by name.
        record: where it comes from.
    """

    tokenizer: PreTrainedTokenizerFast
    config: dict[str, Any]
    weights: dict[str, Tensor]
    record: dict[str, Any]


def make(
    name: str,
    corpora: Sequence[str],
    out: Path,
    *,
    vectors: str | None = None,
    dimensions: int = 300,
    encoder: str | None = None,
    least: int = 1,
    options: Mapping[str, str] | None = None,
    pipeline: str | None = None,
    seed: int = 13,
) -> dict[str, Any]:
    """Make a model that is ready to be trained, and leave it in a folder, whole or not at all.

    Args:
        name: the kind of model (`models.KINDS`).
        corpora: whose words it knows: corpora, of which the train splits are read, or files of pairs.
        out: the folder, which must not exist.
        vectors: static embeddings of words, as `baselines.lexical.embeddings.find` takes them; without any they are
            drawn. Those of word pieces are brought to the scale of word vectors (`vectors_of`).
        dimensions: of vectors that are drawn.
        encoder: a transformer of the Hub or of a folder whose outputs, frozen, stand in the place of word embeddings;
            its tokenizer is the model's, and no corpus is read.
        least: how often a word occurs that is in the vocabulary.
        options: of the model's config, as text.
        pipeline: the spaCy pipeline that tags or parses, where the model wants one; by default English's small one.
        seed: decides the vectors of words that have none.

    Returns:
        The record, as it is in the folder too: `model`, `config`, how many words there are, where all comes from.

    Raises:
        ValueError: if there is no such model, corpus or option, or the folder exists.
        ImportError: if a package is missing; the message names the extra.
    """
    kind = kind_of(name)
    _require_free(out)
    given = _options(kind, options or {})
    if encoder is not None:
        if kind.needs or vectors is not None:
            raise ValueError(f"expected no encoder with {'vectors' if vectors else name}, which are of whole words")
        parts = _of_encoder(encoder)
    else:
        _check_words(kind, corpora, vectors, pipeline)
        parts = _of_words(kind, corpora, vectors, dimensions, least, pipeline, seed)
        if vectors is None and "train_embeddings" not in given:
            given["train_embeddings"] = True  # drawn at random, they have everything to learn
    config = kind.config(**{**kind.options, **parts.config, **given})
    record = {"model": name, "config": given, "seed": seed, **parts.record}
    tmp = out.with_name(f".{out.name}.part")
    with locks.exclusive_lock(out, "making a model", wait=True):
        _require_free(out)
        with remove_on_failure(tmp):
            config.save_pretrained(tmp)
            parts.tokenizer.save_pretrained(tmp)
            weights = {f"embeddings.{key}": value for key, value in parts.weights.items()}
            save_file(weights, tmp / "model.safetensors", _PT)
            write_json(record, tmp / FILE)
            atomic_rename(tmp, out)
    return record


def _require_free(out: Path) -> None:
    if out.exists():
        raise ValueError(f"{out} exists already; name another folder with --out")


_PT: Final = {"format": "pt"}  # transformers asks for it


def own_options(kind: Kind) -> type:
    """Return a class that declares the fields of a kind's config that a user may set, with their types."""
    ours = [each for each in kind.config.__mro__ if issubclass(each, PairConfig)]
    declared = {name: hint for each in reversed(ours) for name, hint in each.__annotations__.items()}
    free = {name: hint for name, hint in declared.items() if name not in _ARE_MADE and name not in kind.options}
    return type(f"{kind.config.__name__}Options", (), {"__annotations__": free})


def _options(kind: Kind, texts: Mapping[str, str]) -> dict[str, Any]:
    known = own_options(kind)
    if unknown := sorted(set(texts) - set(known.__annotations__)):
        raise ValueError(
            f"{kind.name} has no option {', '.join(unknown)}; it has {', '.join(sorted(known.__annotations__))}"
        )
    values = {name: parse_option(known, name, text) for name, text in texts.items()}
    for name, value in values.items():
        if type(value) is int and value < 1:
            raise ValueError(f"expected {name} of at least 1, found {value}")
        if type(value) is float and not (0 <= value < 1 if "dropout" in name else 0 < value):
            raise ValueError(
                f"expected {name} {'from 0 to less than 1' if 'dropout' in name else 'above 0'}, found {value}"
            )
    return values


def _check_words(kind: Kind, corpora: Sequence[str], vectors: str | None, pipeline: str | None) -> None:
    """Refuse what no vocabulary can be made of, before any of it is read to its end."""
    if not corpora:
        raise ValueError("expected a corpus or a file whose words the model shall know, found none")
    validate_corpus_names(corpora)
    if "stems" in kind.needs:
        optional_deps.validate_dependency("nltk")
    if "relations" in kind.needs:
        validate_installed()
    for name in corpora:
        if name in CORPORA and CORPORA[name].language != "en":
            raise ValueError(f"expected pairs in English, whose words the tokenizer knows to cut; found {name}")
    if vectors is not None:
        embeddings.require(vectors)
    if pipeline is not None:
        pipelines.require(pipeline)


def _of_words(
    kind: Kind,
    corpora: Sequence[str],
    vectors: str | None,
    dimensions: int,
    least: int,
    pipeline: str | None,
    seed: int,
) -> Parts:
    sources = [source for name in corpora for source in _sources(name)]
    sentences = list(dict.fromkeys(chain.from_iterable(map(_sentences, sources))))
    words = vocabulary_of(sentences, least=least)
    if not words:
        raise ValueError(f"expected words that occur at least {least} times in {', '.join(corpora)}, found none")
    table = None if vectors is None else embeddings.load(vectors)
    try:
        made = vectors_of(words, table, dimensions=dimensions, seed=seed)
    except ValueError as error:
        raise ValueError(f"{vectors}: {error}") from None
    facts: word_features.Tables = {}
    config: dict[str, Any] = {}
    if "spelling" in kind.needs:
        facts |= word_features.spelling(words)
        config["spelling"] = facts["spelling"].shape[1]
    if "stems" in kind.needs:
        facts |= word_features.stems(words)
        config["stems"] = True
    if "tags" in kind.needs:
        from unbag.data.text.tagging import Tagger

        tagged, config["tags"] = word_features.tags(words, sentences, Tagger(*([pipeline] if pipeline else [])))
        facts |= tagged
    if "relations" in kind.needs:
        facts |= word_features.relations(words)
        config["relations"] = len(facts["related"])
    if pipeline and "parser" in kind.config.__annotations__:
        config["parser"] = pipeline
    size, width = made.table.shape
    return Parts(
        word_tokenizer(words),
        {**config, "vocab_size": size, "embedding_size": width, "bos_token_id": START_ID, "pad_token_id": PAD_ID},
        {"words.weight": torch.from_numpy(made.table)} | {key: torch.from_numpy(each) for key, each in facts.items()},
        {
            "words": len(words),
            "special_tokens": list(SPECIAL),
            "least": least,
            "corpora": [{"origin": each.origin, "split": each.split, "revision": each.revision} for each in sources],
            "vectors": None if table is None else table.identity,
            "words_with_vectors": made.found,
            "vectors_multiplied_by": made.scale,
        },
    )


def _of_encoder(name: str) -> Parts:
    origin = resolve_origin(name, None)
    files = origin.download(weights=True)
    validate_shard_count(files / "config.json")
    try:
        network: Any = AutoModel.from_pretrained(files, trust_remote_code=False, dtype=torch.float32)
        tokenizer: Any = AutoTokenizer.from_pretrained(files, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot load {name} as an encoder: {first_line(error)}") from error
    start, end = tokenizer.cls_token or tokenizer.bos_token, tokenizer.sep_token or tokenizer.eos_token
    if None in (start, tokenizer.pad_token) or not hasattr(tokenizer, "backend_tokenizer"):
        raise ValueError(f"expected a fast tokenizer that begins sentences with a token and pads, found {name}")
    made = pairs_from(
        tokenizer.backend_tokenizer, start=start, end=end, pad=tokenizer.pad_token, unknown=tokenizer.unk_token
    )
    config = network.config
    return Parts(
        made,
        {
            "encoder": {
                key: value
                for key, value in config.to_diff_dict().items()
                if key not in ("architectures", "_name_or_path")
            },
            "vocab_size": config.vocab_size,
            "embedding_size": config.hidden_size,
            "bos_token_id": made.bos_token_id,
            "pad_token_id": made.pad_token_id,
            "max_position_embeddings": getattr(config, "max_position_embeddings", None),
        },
        {f"encoder.{key}": value.contiguous() for key, value in network.state_dict().items()},
        {
            "encoder": files.resolve().name if origin.commit is None else name,
            "encoder_revision": origin.commit,
        },
    )


def _sources(name: str) -> Iterator[Source]:
    if name in CORPORA:
        yield from (open_corpus(CORPORA[name], split) for split in CORPORA[name].train)
    else:
        yield open_data(name)


def _sentences(source: Source) -> Iterator[str]:
    for example in source.examples():
        yield example.premise
        yield example.hypothesis


_TAGS: Final = 51  # of spaCy's small English pipeline, and one for no tag
_TABLES: Final = {"spelling": 24, "tags": _TAGS, "stems": True, "relations": 1}


def parameters(kind: Kind, **options: Any) -> int:
    """Return the parameters of a kind of model above its word embeddings of 300 dimensions.

    Args:
        kind: the kind.
        options: of its config, where not as its authors have them.
    """
    tables = {name: value for name, value in _TABLES.items() if name in kind.needs}
    config: Any = kind.config
    with torch.device("meta"):  # nothing is drawn, nothing is held
        network: Any = kind.network(config(num_labels=3, **{**kind.options, **tables, **options}))
    total = sum(int(each.numel()) for each in network.parameters())
    return total - int(network.embeddings.table.weight.numel())
