"""Initialization of an untrained model from corpora.

The folder has a tokenizer, a config, and weights of the embeddings alone: for transformers and `unbag train` it is a
pre-trained model without a head. The seed of the training run initializes all other weights, so that several seeds give
several models.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from unbag.baselines.lexical import embeddings
from unbag.baselines.wordnet.database import validate_wordnet
from unbag.data.corpora import CORPORA
from unbag.data.sources import PairSource, open_corpus, open_data, validate_corpus_names
from unbag.data.text import tagging as pipelines
from unbag.inference.hub_files import resolve_origin
from unbag.models import Architecture, get_architecture
from unbag.models.network import PairConfig
from unbag.models.word_tokenizer import (
    PAD_ID,
    SPECIAL,
    START_ID,
    build_pair_tokenizer,
    build_vocabulary,
    build_word_tokenizer,
)
from unbag.training import word_features
from unbag.training.output import create_output_folder, validate_new_folder
from unbag.training.word_features import build_vocabulary_embeddings
from unbag.utils import optional_deps
from unbag.utils.files import write_json
from unbag.utils.options import parse_option

FILE: Final = "made_with.json"
_ARE_MADE: Final = frozenset(PairConfig.__annotations__) - {"hidden_size", "dropout", "train_embeddings"}
"""Config fields that follow from vocabulary, vectors or encoder, and are not options."""


class _Components(NamedTuple):
    tokenizer: PreTrainedTokenizerFast
    config: dict[str, Any]  # fields that follow from the other components
    weights: dict[str, Tensor]  # weights and buffers of `embeddings`, by name
    record: dict[str, Any]  # sources of the components


def initialize_model(
    name: str,
    corpora: Sequence[str],
    output_dir: Path,
    *,
    vectors: str | None = None,
    dimensions: int = 300,
    encoder: str | None = None,
    min_count: int = 1,
    options: Mapping[str, str] | None = None,
    pipeline: str | None = None,
    seed: int = 13,
) -> dict[str, Any]:
    """Initialize an untrained model, and write it to a folder.

    Args:
        name: Kind of model (`models.ARCHITECTURES`).
        corpora: Corpora (train splits) or files of pairs, whose words become the vocabulary.
        vectors: Static word embeddings, as for `baselines.lexical.embeddings.find_embeddings`; by default the vectors
            are random. Those of word pieces are scaled to the size of word vectors (`build_vocabulary_embeddings`).
        encoder: Hub id or folder of a transformer whose frozen outputs replace word embeddings. The model has its
            tokenizer, and no corpus is read.
        pipeline: spaCy pipeline that tags or parses, for models that need one; by default the small English one.
        seed: Random seed for the vectors of words without one.

    Returns:
        The record, which is in the folder too: `model`, `config`, number of words, and sources.
    """
    kind = get_architecture(name)
    validate_new_folder(output_dir)
    given = _options(kind, options or {})
    if encoder is not None:
        if kind.needs or vectors is not None:
            other = "--vectors" if vectors else name
            raise ValueError(
                f"--encoder: not supported with {other}, which requires whole words, got {encoder}; omit --encoder"
            )
        parts = _of_encoder(encoder)
    else:
        parts = _of_words(kind, corpora, vectors, dimensions, min_count, pipeline, seed)
        if vectors is None and "train_embeddings" not in given:
            given["train_embeddings"] = True  # random vectors carry no information until they are trained
    config = kind.config(**{**kind.options, **parts.config, **given})
    record = {"model": name, "config": given, "seed": seed, **parts.record}
    with create_output_folder(output_dir, "making a model") as tmp:
        config.save_pretrained(tmp)
        parts.tokenizer.save_pretrained(tmp)
        weights = {f"embeddings.{key}": value for key, value in parts.weights.items()}
        save_file(weights, tmp / "model.safetensors", {"format": "pt"})  # transformers requires this metadata
        write_json(record, tmp / FILE)
    return record


def build_options_class(architecture: Architecture) -> type:
    """Build a class whose annotations are the config fields that users can set, with their types."""
    ours = [each for each in architecture.config.__mro__ if issubclass(each, PairConfig)]
    declared = {name: hint for each in reversed(ours) for name, hint in each.__annotations__.items()}
    free = {name: hint for name, hint in declared.items() if name not in _ARE_MADE and name not in architecture.options}
    return type(f"{architecture.config.__name__}Options", (), {"__annotations__": free})


def _options(kind: Architecture, texts: Mapping[str, str]) -> dict[str, Any]:
    declared = build_options_class(kind)
    if unknown := sorted(set(texts) - set(declared.__annotations__)):
        options = ", ".join(sorted(declared.__annotations__))
        raise ValueError(f"expected an option of {kind.name} ({options}), got {', '.join(unknown)}")
    values = {name: parse_option(declared, name, text) for name, text in texts.items()}
    for name, value in values.items():
        if type(value) is int and value < 1:  # not isinstance: bool is a subclass of int
            raise ValueError(f"{name}: expected at least 1, got {value}")
        if type(value) is float and not (0 <= value < 1 if "dropout" in name else 0 < value):
            expected = "from 0 to less than 1" if "dropout" in name else "above 0"
            raise ValueError(f"{name}: expected a number {expected}, got {value}")
    return values


def _of_words(
    kind: Architecture,
    corpora: Sequence[str],
    vectors: str | None,
    dimensions: int,
    least: int,
    pipeline: str | None,
    seed: int,
) -> _Components:
    # All sources are validated before any is read completely.
    if not corpora:
        raise ValueError("--corpus: expected a corpus or a file for the vocabulary, got none; pass one")
    validate_corpus_names(corpora)
    if "stems" in kind.needs:
        optional_deps.validate_dependency("nltk")
    if "relations" in kind.needs:
        validate_wordnet()
    for name in corpora:
        if name in CORPORA and CORPORA[name].language != "en":
            raise ValueError(
                "--corpus: expected English pairs, because the tokenizer splits only English text into words, got "
                f"{name}"
            )
    if vectors is not None:
        embeddings.validate_embedding_table_name(vectors)
    if pipeline is not None:
        pipelines.validate_pipeline(pipeline)
    sources: list[PairSource] = []
    for name in corpora:
        if name in CORPORA:
            sources += [open_corpus(CORPORA[name], split) for split in CORPORA[name].train]
        else:
            sources.append(open_data(name, has_options=False))
    examples = chain.from_iterable(source.iter_examples() for source in sources)
    sentences = list(dict.fromkeys(text for example in examples for text in (example.premise, example.hypothesis)))
    words = build_vocabulary(sentences, min_count=least)
    if not words:
        raise ValueError(
            f"--min-count: expected words that occur at least {least} times in {', '.join(corpora)}, got none; "
            "decrease --min-count"
        )
    table = None if vectors is None else embeddings.load_embeddings(vectors)
    made = build_vocabulary_embeddings(words, table, dimensions=dimensions, seed=seed)
    facts: word_features.Tables = {}
    config: dict[str, Any] = {}
    if "spelling" in kind.needs:
        facts |= word_features.build_spelling_table(words)
        config["spelling"] = facts["spelling"].shape[1]
    if "stems" in kind.needs:
        facts |= word_features.build_stem_table(words)
        config["stems"] = True
    if "tags" in kind.needs:
        tagger = pipelines.Tagger(pipeline or pipelines.PIPELINE)
        tagged, config["tags"] = word_features.build_tag_table(words, sentences, tagger)
        facts |= tagged
    if "relations" in kind.needs:
        facts |= word_features.build_relation_table(words)
        config["relations"] = len(facts["related"])
    if pipeline and "parser" in kind.config.__annotations__:
        config["parser"] = pipeline
    size, width = made.table.shape
    return _Components(
        build_word_tokenizer(words),
        {**config, "vocab_size": size, "embedding_size": width, "bos_token_id": START_ID, "pad_token_id": PAD_ID},
        {"words.weight": torch.from_numpy(made.table)} | {key: torch.from_numpy(each) for key, each in facts.items()},
        {
            "words": len(words),
            "special_tokens": list(SPECIAL),
            "least": least,
            "corpora": [{"origin": each.origin, "split": each.split, "revision": each.revision} for each in sources],
            "vectors": None if table is None else table.identity,
            "words_with_vectors": made.n_matched,
            "vectors_multiplied_by": made.scale,
        },
    )


def _of_encoder(name: str) -> _Components:
    origin = resolve_origin(name, None)
    files = origin.download(weights=True)
    network: Any = AutoModel.from_pretrained(files, trust_remote_code=False, dtype=torch.float32)
    tokenizer: Any = AutoTokenizer.from_pretrained(files, trust_remote_code=False)
    start, end = tokenizer.cls_token or tokenizer.bos_token, tokenizer.sep_token or tokenizer.eos_token
    if None in (start, tokenizer.pad_token) or not hasattr(tokenizer, "backend_tokenizer"):
        raise ValueError(
            "--encoder: expected a fast tokenizer with a start token and a padding token, got the tokenizer of "
            f"{name}; use another encoder"
        )
    made = build_pair_tokenizer(
        tokenizer.backend_tokenizer,
        start_token=start,
        end_token=end,
        pad_token=tokenizer.pad_token,
        unknown_token=tokenizer.unk_token,
    )
    config = network.config
    # Another class uses this config, and paths of a machine do not belong into it.
    dropped = ("architectures", "_name_or_path")
    encoder_config = {key: value for key, value in config.to_diff_dict().items() if key not in dropped}
    return _Components(
        made,
        {
            "encoder": encoder_config,
            "vocab_size": config.vocab_size,
            "embedding_size": config.hidden_size,
            "bos_token_id": made.bos_token_id,
            "pad_token_id": made.pad_token_id,
            "max_position_embeddings": getattr(config, "max_position_embeddings", None),
        },
        # safetensors rejects tensors that are not contiguous.
        {f"encoder.{key}": value.contiguous() for key, value in network.state_dict().items()},
        {
            "encoder": files.resolve().name if origin.commit is None else name,
            "encoder_revision": origin.commit,
        },
    )


_TABLES: Final = {"spelling": 24, "tags": 51, "stems": True, "relations": 1}
"""Sizes of lexical tables. spaCy's small English pipeline has 50 tags; words without a tag get one more."""


def count_parameters(architecture: Architecture, **options: Any) -> int:
    """Count the parameters of a model architecture, excluding its word embeddings of 300 dimensions.

    The model has the options of its authors, except for `options`.
    """
    tables = {name: value for name, value in _TABLES.items() if name in architecture.needs}
    config: Any = architecture.config
    with torch.device("meta"):  # allocates no memory and draws no random numbers
        network: Any = architecture.network(config(num_labels=3, **{**architecture.options, **tables, **options}))
    total = sum(int(each.numel()) for each in network.parameters())
    return total - int(network.embeddings.table.weight.numel())
