"""Initialization of an untrained model from corpora.

The folder has a tokenizer, a config, and weights of the embeddings alone: for transformers and `unbag train` it is a
pre-trained model without a head. The seed of the training run initializes all other weights, so that several seeds give
several models. Lexical features of the words (spelling, stems, part-of-speech tags, WordNet relations) are stored with
the embeddings.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from unbag.baselines.lexical import embeddings
from unbag.baselines.lexical.embeddings import EmbeddingTable
from unbag.baselines.wordnet.database import validate_wordnet
from unbag.baselines.wordnet.relations import Lexicon, compute_ancestor_distances
from unbag.data.corpora import CORPORA
from unbag.data.sources import open_training_sources, validate_corpus_names
from unbag.data.text import tagging as pipelines
from unbag.inference.hub_files import resolve_origin
from unbag.models import Architecture, get_architecture
from unbag.models.network import SPREAD, PairConfig
from unbag.models.word_tokenizer import (
    PAD_ID,
    SPECIAL,
    START_ID,
    build_pair_tokenizer,
    build_vocabulary,
    build_word_tokenizer,
    split_words,
)
from unbag.training.output import create_output_folder, validate_new_folder
from unbag.utils import optional_deps, rng
from unbag.utils.files import write_json
from unbag.utils.options import OptionError, PositiveFloat, PositiveInt, ProperFraction, parse_text

FILE: Final = "made_with.json"
_ARE_MADE: Final = frozenset(PairConfig.__annotations__) - {"hidden_size", "dropout", "train_embeddings"}
"""Config fields that follow from vocabulary, vectors or encoder, and are not options."""

_Tables = dict[str, NDArray[Any]]
"""Buffers of `models.network.WordEmbeddings` by name."""


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


def collect_architecture_options(architecture: Architecture) -> dict[str, Any]:
    """Collect the type hints of the config fields that users can set, by name."""
    ours = [each for each in architecture.config.__mro__ if issubclass(each, PairConfig)]
    declared = {name: hint for each in reversed(ours) for name, hint in each.__annotations__.items()}
    ranges: dict[Any, Any] = {int: PositiveInt, float: PositiveFloat}
    return {
        name: ProperFraction if "dropout" in name else ranges.get(hint, hint)
        for name, hint in declared.items()
        if name not in _ARE_MADE and name not in architecture.options
    }


def _options(kind: Architecture, texts: Mapping[str, str]) -> dict[str, Any]:
    declared = collect_architecture_options(kind)
    if unknown := sorted(set(texts) - set(declared)):
        options = ", ".join(sorted(declared))
        raise OptionError(f"expected an option of {kind.name} ({options}), got {', '.join(unknown)}")
    return {name: parse_text(name, declared[name], text) for name, text in texts.items()}


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
    sources = open_training_sources(corpora)
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
    facts: _Tables = {}
    config: dict[str, Any] = {}
    if "spelling" in kind.needs:
        facts |= build_spelling_table(words)
        config["spelling"] = facts["spelling"].shape[1]
    if "stems" in kind.needs:
        facts |= build_stem_table(words)
        config["stems"] = True
    if "tags" in kind.needs:
        tagger = pipelines.Tagger(pipeline or pipelines.PIPELINE)
        tagged, config["tags"] = build_tag_table(words, sentences, tagger)
        facts |= tagged
    if "relations" in kind.needs:
        facts |= build_relation_table(words)
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
            "corpora": [source.record for source in sources],
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


_OF_WORD_PIECES: Final = frozenset({"transformer", "model2vec"})
"""Kinds of tables with the scale of transformer embeddings, far below the scale of word vectors. With MiniLM's at their
original scale, a standard deviation of 0.06, ESIM's accuracy on SNLI was 62.5 % after one epoch; scaled to 0.3, 69.8
%."""


class VocabularyEmbeddings(NamedTuple):
    """Embedding table of a vocabulary. Special tokens come first."""

    table: NDArray[np.float32]  # shape (vocabulary, dimensions); zeros for padding
    n_matched: int  # words in the table of embeddings; 0 without one
    scale: float  # factor of the vectors from the table


def build_vocabulary_embeddings(
    words: Sequence[str], embeddings: EmbeddingTable | None, *, dimensions: int, seed: int
) -> VocabularyEmbeddings:
    """Build the embedding table of a vocabulary. Words without a vector in `embeddings` get a random one.

    Random vectors have the same standard deviation. Word vectors stay unscaled. A table of word pieces gives the mean
    of a word's pieces, and one factor scales all its vectors to the standard deviation `SPREAD`.
    """
    width = dimensions if embeddings is None else embeddings.vectors.shape[1]
    generator = np.random.default_rng(int(rng.compute_key(seed, "vectors")))
    # Drawn for all words, so that a word's random vector does not depend on which words have a vector.
    table = generator.standard_normal((len(SPECIAL) + len(words), width)).astype(np.float32) * np.float32(SPREAD)
    has_vector = np.zeros(len(words), dtype=bool)
    scale = 1.0
    if embeddings is not None:
        texts = [(word,) for word in words]
        has_vector = embeddings.count_tokens(texts).getnnz(axis=1) > 0
        if not has_vector.any():
            raise ValueError(
                f"expected embeddings for at least one of the {len(words):,} words of the vocabulary, got none; check "
                "the language of the embeddings"
            )
        matched_texts = [text for text, has in zip(texts, has_vector, strict=True) if has]
        matched = embeddings.compute_means(matched_texts).astype(np.float32)
        if embeddings.kind in _OF_WORD_PIECES:
            scale = SPREAD / float(matched.std())
            matched *= np.float32(scale)
        # Random vectors get the standard deviation of those from the table.
        table *= matched.std() / np.float32(SPREAD)
        table[np.concatenate([np.zeros(len(SPECIAL), dtype=bool), has_vector])] = matched
    table[PAD_ID] = 0
    return VocabularyEmbeddings(table, int(has_vector.sum()), scale)


SYNONYM, ANTONYM, HYPERNYM, HYPONYM, CO_HYPONYM = range(5)
_FURTHEST: Final = 8
"""Number of edges from which on a hypernym's feature 1 − n/8 is 0."""


def compute_word_relations(words: Sequence[str], lexicon: Lexicon) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Compute the WordNet relations between the words of a vocabulary (Chen et al. 2018, section 3.1).

    The features of a pair (w, v), each the best over their senses:

    - synonym: 1 if they share a sense; a word with an entry is a synonym of itself;
    - antonym: 1 if v is an antonym of w, for adjectives also an indirect one (`baselines.wordnet.database`);
    - hypernym: 1 − n/8 if v is n < 8 edges above w;
    - hyponym: 1 − n/8 if v is n < 8 edges below w;
    - co-hyponym: 1 if they share a direct hypernym, but no sense.

    Returns:
        Positions of both words of each pair, shape (n, 2), in ascending order, and features, shape (n, 5).
    """
    senses = [frozenset(lexicon.senses(word)) for word in words]
    with_sense: dict[Hashable, list[int]] = defaultdict(list)
    right_below: dict[Hashable, list[int]] = defaultdict(list)
    for number, own in enumerate(senses):
        for sense in own:
            with_sense[sense].append(number)
        for above in {above for sense in own for above in lexicon.hypernyms(sense)}:
            right_below[above].append(number)
    by_pair: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0] * 5)
    with_form: dict[str, list[int]] = defaultdict(list)
    for number, word in enumerate(words):
        for form in lexicon.base_forms(word):
            with_form[form].append(number)
    for w, word in enumerate(words):
        for sense, edges in compute_ancestor_distances(lexicon, senses[w], _FURTHEST - 1).items():
            for v in with_sense.get(sense, ()):
                # `compute_ancestor_distances` returns the senses themselves at distance 0.
                if edges == 0:
                    by_pair[w, v][SYNONYM] = 1.0
                    continue
                value = 1 - edges / _FURTHEST
                by_pair[w, v][HYPERNYM] = max(by_pair[w, v][HYPERNYM], value)
                by_pair[v, w][HYPONYM] = max(by_pair[v, w][HYPONYM], value)
        for antonym in lexicon.antonyms(word):
            for v in with_form.get(antonym, ()):
                by_pair[w, v][ANTONYM] = 1.0
        for above in {above for sense in senses[w] for above in lexicon.hypernyms(sense)}:
            for v in right_below[above]:
                if senses[w].isdisjoint(senses[v]):
                    by_pair[w, v][CO_HYPONYM] = 1.0
    pairs = sorted(by_pair)
    features = [by_pair[pair] for pair in pairs]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(features, dtype=np.float32).reshape(-1, 5)


_LONGEST: Final = 24  # bytes per word; all but 2 of the 11,671 words of 22,590 pairs of SNLI are shorter


def build_spelling_table(words: Sequence[str]) -> _Tables:
    """Build a table with the UTF-8 bytes of each word. Long words are truncated, and special tokens get zeros."""
    table = np.zeros((len(SPECIAL) + len(words), _LONGEST), dtype=np.uint8)
    for row, word in zip(table[len(SPECIAL) :], words, strict=True):
        letters = word.encode()[:_LONGEST].decode(errors="ignore").encode()  # drops a truncated last character
        row[: len(letters)] = np.frombuffer(letters, dtype=np.uint8)
    return {"spelling": table}


def build_stem_table(words: Sequence[str]) -> _Tables:
    """Assign a stem id to each word, with Snowball's English stemmer. Requires NLTK."""
    from nltk.stem.snowball import SnowballStemmer

    stem = SnowballStemmer("english").stem
    numbers: dict[str, int] = {}
    word_stems = [len(SPECIAL) + numbers.setdefault(stem(word), len(numbers)) for word in words]
    return {"stem": np.array([*range(len(SPECIAL)), *word_stems], dtype=np.int64)}


def build_tag_table(words: Sequence[str], sentences: Iterable[str], tagger: pipelines.Tagger) -> tuple[_Tables, int]:
    """Find the most frequent part-of-speech tag of each word. Returns a table of tag ids and the number of tags.

    Special tokens and words that are in no sentence have tag 0. Of equally frequent tags, the first in alphabetical
    order counts.
    """
    names = {name: number for number, name in enumerate(sorted(tagger.fine), start=1)}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for tagged in tagger.tag(sentences, is_fine=True).values():
        for token, tag in tagged:
            for word in split_words(token):
                counts[word][tag] += 1
    table = np.zeros(len(SPECIAL) + len(words), dtype=np.int64)
    for number, word in enumerate(words, start=len(SPECIAL)):
        if word in counts:
            most = min(counts[word], key=lambda tag: (-counts[word][tag], tag))
            table[number] = names.get(most, 0)
    return {"tag": table}, 1 + len(names)


def build_relation_table(words: Sequence[str]) -> _Tables:
    """Build the table of WordNet relations between words (`compute_word_relations`). Requires NLTK."""
    from unbag.baselines.wordnet.database import open_wordnet

    size = len(SPECIAL) + len(words)
    pairs, features = compute_word_relations(words, open_wordnet())
    first, second = (pairs + len(SPECIAL)).T
    # A first entry that relates no words keeps the tables from being empty.
    none = np.zeros(1, dtype=np.int64), np.zeros((1, features.shape[1]), dtype=np.float32)
    return {
        "related": np.concatenate([none[0], first * size + second]),
        "relation": np.concatenate([none[1], features]),
    }
