"""The base corpora: where they come from, and their pairs as premise, hypothesis and label.

Each corpus of the Hub is pinned: to a commit, or where its repository has no fixed one to the content of its rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from unbag.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL


@dataclass(frozen=True)
class Corpus:
    """A published NLI corpus.

    Attributes:
        name: what `--corpus` calls it.
        hub_id: its data set repository on the Hub.
        config: the repository's config.
        revision: the commit (or, where `contents` pins the rows, the ref) that is read.
        splits: the splits it has; the first is the one evaluated by default.
        train, validation, test: which of them are its training, validation and test data. MNLI and OCNLI have no test
            labels: MNLI's mismatched pairs are taken for its test data, and OCNLI's validation pairs, which leaves it
            no validation data. ANLI's three rounds are one corpus.
        premise, hypothesis, label: its columns.
        labels: our names of its label ids 0, 1, 2.
        language: `en` or `zh`.
        licence: SPDX id, or the Hub's name for it; a challenge set made from it inherits it.
        citation: BibTeX.
        contents: sha256 of a split's rows (`unbag.fingerprint`), for a corpus that no commit pins.
    """

    name: str
    hub_id: str
    config: str
    revision: str
    splits: tuple[str, ...]
    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    licence: str
    citation: str
    premise: str = "premise"
    hypothesis: str = "hypothesis"
    label: str = "label"
    labels: tuple[str, ...] = LABELS
    language: str = "en"
    contents: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def split(self, name: str | None) -> str:
        """Return the split of that name, or the default one for None.

        Raises:
            ValueError: if the corpus has no such split.
        """
        if name is None:
            return self.splits[0]
        if name not in self.splits:
            raise ValueError(f"expected a split of {self.name} ({', '.join(self.splits)}), found {name!r}")
        return name


_SNLI: Final = """@inproceedings{bowman-etal-2015-large,
  title = {A large annotated corpus for learning natural language inference},
  author = {Bowman, Samuel R. and Angeli, Gabor and Potts, Christopher and Manning, Christopher D.},
  booktitle = {Proceedings of EMNLP}, year = {2015}, url = {https://aclanthology.org/D15-1075}}"""
_MNLI: Final = """@inproceedings{williams-etal-2018-broad,
  title = {A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference},
  author = {Williams, Adina and Nangia, Nikita and Bowman, Samuel},
  booktitle = {Proceedings of NAACL}, year = {2018}, url = {https://aclanthology.org/N18-1101}}"""
_ANLI: Final = """@inproceedings{nie-etal-2020-adversarial,
  title = {Adversarial {NLI}: A New Benchmark for Natural Language Understanding},
  author = {Nie, Yixin and Williams, Adina and Dinan, Emily and Bansal, Mohit and Weston, Jason and Kiela, Douwe},
  booktitle = {Proceedings of ACL}, year = {2020}, url = {https://aclanthology.org/2020.acl-main.441}}"""
_SICK: Final = """@inproceedings{marelli-etal-2014-sick,
  title = {A {SICK} cure for the evaluation of compositional distributional semantic models},
  author = {Marelli, Marco and Menini, Stefano and Baroni, Marco and Bentivogli, Luisa and Bernardi, Raffaella and
    Zamparelli, Roberto},
  booktitle = {Proceedings of LREC}, year = {2014}, url = {https://aclanthology.org/L14-1314}}"""
_OCNLI: Final = """@inproceedings{hu-etal-2020-ocnli,
  title = {{OCNLI}: Original {C}hinese Natural Language Inference},
  author = {Hu, Hai and Richardson, Kyle and Xu, Liang and Li, Lu and K{\\"u}bler, Sandra and Moss, Lawrence},
  booktitle = {Findings of EMNLP}, year = {2020}, url = {https://aclanthology.org/2020.findings-emnlp.314}}"""

_ALL: Final = (
    Corpus(
        name="snli",
        hub_id="stanfordnlp/snli",
        config="plain_text",
        revision="cdb5c3d5eed6ead6e5a341c8e56e669bb666725b",
        splits=("validation", "test", "train"),
        train=("train",),
        validation=("validation",),
        test=("test",),
        licence="cc-by-sa-4.0",
        citation=_SNLI,
    ),
    Corpus(
        name="mnli",
        hub_id="nyu-mll/multi_nli",
        config="default",
        revision="da70db2af9d09693783c3320c4249840212ee221",
        splits=("validation_matched", "validation_mismatched", "train"),
        train=("train",),
        validation=("validation_matched",),
        test=("validation_mismatched",),
        licence="other",  # OANC, CC BY 3.0, CC BY-SA 3.0 and MIT, by genre
        citation=_MNLI,
    ),
    Corpus(
        name="anli",
        hub_id="facebook/anli",
        config="plain_text",
        revision="8e4813d81f46d313dac7892e1c28076917cfcdf9",
        splits=tuple(f"{part}_r{number}" for part in ("dev", "test", "train") for number in (1, 2, 3)),
        train=("train_r1", "train_r2", "train_r3"),
        validation=("dev_r1", "dev_r2", "dev_r3"),
        test=("test_r1", "test_r2", "test_r3"),
        licence="cc-by-nc-4.0",
        citation=_ANLI,
    ),
    Corpus(
        name="sick",
        hub_id="RobZamp/sick",
        config="default",
        revision="refs/convert/parquet",  # the Hub's own conversion, a moving ref: hence `contents`
        splits=("test", "validation", "train"),
        train=("train",),
        validation=("validation",),
        test=("test",),
        premise="sentence_A",
        hypothesis="sentence_B",
        licence="cc-by-nc-sa-3.0",
        citation=_SICK,
        contents=MappingProxyType(
            {
                "test": "1637584c0431599350478c51e8aa1fa6712a27c9bcb97a72c93273c808ddf7e0",
                "validation": "e1e398a9e5e8105d444328c2d7fb97b896ee0328e851b62126ccd68f4029e9f5",
                "train": "eabd33a547c2f1de546d53e4a4eb14def2ba156af66e0cb7bc79fda3b1e0d9c4",
            }
        ),
    ),
    Corpus(
        name="ocnli",
        hub_id="clue/clue",
        config="ocnli",
        revision="28178267a609dd08bdc703dd6c931dfc2c2f4431",
        splits=("validation", "train"),  # its test split has no labels
        train=("train",),
        validation=(),
        test=("validation",),
        premise="sentence1",
        hypothesis="sentence2",
        labels=(NEUTRAL, ENTAILMENT, CONTRADICTION),
        language="zh",
        licence="cc-by-nc-2.0",
        citation=_OCNLI,
    ),
)
CORPORA: Final[Mapping[str, Corpus]] = MappingProxyType({corpus.name: corpus for corpus in _ALL})
"""The base corpora by name."""

OFFICIAL: Final = "official"
"""What stands for a corpus where a set holds its authors' own pairs; further configs of theirs are `official-…`."""


def corpus(name: str) -> Corpus:
    """Return the corpus of that name.

    Raises:
        ValueError: if there is none.
    """
    if name not in CORPORA:
        raise ValueError(f"expected a corpus ({', '.join(CORPORA)}), found {name!r}; pass data of your own with --data")
    return CORPORA[name]
