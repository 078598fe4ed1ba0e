"""Catalog of all model architectures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from transformers import AutoConfig, AutoModelForSequenceClassification

from unbag.models.convnet import ConvNetForSequenceClassification
from unbag.models.dam import DamForSequenceClassification
from unbag.models.dan import DanForSequenceClassification
from unbag.models.diin import DiinForSequenceClassification
from unbag.models.dr_bilstm import DrBiLstmForSequenceClassification
from unbag.models.esim import EsimForSequenceClassification
from unbag.models.g_tlstm import GTlstmForSequenceClassification
from unbag.models.infersent import (
    BiLstmLastForSequenceClassification,
    HypothesisOnlyForSequenceClassification,
    InferSentForSequenceClassification,
)
from unbag.models.kim import KimForSequenceClassification
from unbag.models.network import PairConfig, PairNetwork
from unbag.models.rse import RseForSequenceClassification
from unbag.models.s_tlstm import STlstmForSequenceClassification


@dataclass(frozen=True)
class Architecture:
    """Model architecture: name, network class, paper and properties."""

    name: str
    network: type[PairNetwork]
    paper: str  # authors and year
    url: str
    input_description: str
    published: int | None = None  # number of parameters in the paper, without fixed embeddings
    # Whether this number was looked up in the copy of the SNLI leaderboard on Papers with Code. Otherwise it was
    # written from memory.
    is_verified: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)  # config values that differ from the defaults
    needs: frozenset[str] = frozenset()  # tables of `WordEmbeddings` that the network requires

    @property
    def config(self) -> type[PairConfig]:
        """Config class of the network."""
        config: type[PairConfig] = self.network.config_class
        return config


_IYYER_2015: Final = "Iyyer et al. 2015", "https://aclanthology.org/P15-1162"
_PARIKH_2016: Final = "Parikh et al. 2016", "https://aclanthology.org/D16-1244"
_CHEN_2017: Final = "Chen et al. 2017", "https://aclanthology.org/P17-1152"
_CONNEAU_2017: Final = "Conneau et al. 2017", "https://aclanthology.org/D17-1070"
_NIE_2017: Final = "Nie & Bansal 2017", "https://aclanthology.org/W17-5308"
_CHEN_2018: Final = "Chen et al. 2018", "https://aclanthology.org/P18-1224"
_CHOI_2018: Final = "Choi, Yoo & Lee 2018", "https://arxiv.org/abs/1707.02786"
_GHAEINI_2018: Final = "Ghaeini et al. 2018", "https://aclanthology.org/N18-1132"
_GONG_2018: Final = "Gong, Luo & Zhang 2018", "https://arxiv.org/abs/1709.04348"
_POLIAK_2018: Final = "Poliak et al. 2018", "https://aclanthology.org/S18-2023"
_NIE_2019: Final = "Nie, Wang & Bansal 2019", "https://arxiv.org/abs/1811.07033"
_IN_ORDER: Final = "each sentence in order, separately"
_BAG: Final[Mapping[str, Any]] = {"bag_of_words": True}
_ALL: Final = (
    Architecture("dan", DanForSequenceClassification, *_IYYER_2015, "the words of each sentence, averaged"),
    Architecture(
        "hypothesis-only", HypothesisOnlyForSequenceClassification, *_POLIAK_2018, "the hypothesis alone, in order"
    ),
    Architecture("infersent", InferSentForSequenceClassification, *_CONNEAU_2017, _IN_ORDER, 40_000_000),
    Architecture("bilstm-last", BiLstmLastForSequenceClassification, *_CONNEAU_2017, _IN_ORDER),
    Architecture(
        "convnet", ConvNetForSequenceClassification, *_CONNEAU_2017, "windows of words of each sentence, separately"
    ),
    Architecture("rse", RseForSequenceClassification, *_NIE_2017, _IN_ORDER, 29_000_000),
    Architecture(
        "rse-bow", RseForSequenceClassification, *_NIE_2019, "the words of each sentence, separately", options=_BAG
    ),
    Architecture(
        "dam",
        DamForSequenceClassification,
        *_PARIKH_2016,
        "the words of both sentences, aligned",
        380_000,
        is_verified=True,
    ),
    Architecture(
        "dam-intra",
        DamForSequenceClassification,
        *_PARIKH_2016,
        "the words of both sentences, each with nearby words, aligned",
        580_000,
        is_verified=True,
        options={"intra_attention": True},
    ),
    Architecture("esim", EsimForSequenceClassification, *_CHEN_2017, "both sentences in order, aligned", 4_300_000),
    Architecture(
        "esim-bow", EsimForSequenceClassification, *_NIE_2019, "the words of both sentences, aligned", options=_BAG
    ),
    Architecture(
        "dr-bilstm",
        DrBiLstmForSequenceClassification,
        *_GHAEINI_2018,
        "both sentences in order, each read after the other, aligned",
        7_500_000,
        is_verified=True,
    ),
    Architecture(
        "dr-bilstm-bow",
        DrBiLstmForSequenceClassification,
        *_NIE_2019,
        "the words of both sentences, aligned",
        options=_BAG,
    ),
    Architecture(
        "kim",
        KimForSequenceClassification,
        *_CHEN_2018,
        "both sentences in order, aligned, with WordNet relations between words",
        4_300_000,
        needs=frozenset({"relations"}),
    ),
    Architecture(
        "diin",
        DiinForSequenceClassification,
        *_GONG_2018,
        "all pairs of words, in order, with spelling, part of speech and stem",
        4_400_000,
        is_verified=True,
        needs=frozenset({"spelling", "tags", "stems"}),
    ),
    Architecture(
        "s-tlstm",
        STlstmForSequenceClassification,
        *_CHEN_2017,
        "the parse trees of both sentences, aligned",
        3_400_000,  # the hybrid's 7.7 million (looked up) minus ESIM's 4.3 million
        needs=frozenset({"spelling"}),
    ),
    Architecture(
        "g-tlstm",
        GTlstmForSequenceClassification,
        *_CHOI_2018,
        "each sentence in order, separately, in induced trees",
        2_900_000,
        is_verified=True,
    ),
)
ARCHITECTURES: Final[Mapping[str, Architecture]] = {kind.name: kind for kind in _ALL}
"""All architectures by name."""


def get_architecture(name: str) -> Architecture:
    """Get an architecture by name.

    >>> get_architecture("esim").paper
    'Chen et al. 2017'
    """
    if name not in ARCHITECTURES:
        raise ValueError(f"model: expected one of {', '.join(ARCHITECTURES)}, got {name!r}")
    return ARCHITECTURES[name]


def register_architectures() -> None:
    """Register all models with the Auto classes of transformers."""
    for network in {kind.network for kind in _ALL}:
        config: Any = network.config_class
        AutoConfig.register(config.model_type, config, exist_ok=True)
        AutoModelForSequenceClassification.register(config, network, exist_ok=True)
