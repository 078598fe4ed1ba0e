"""Base corpora: repositories, columns, labels, licenses and citations.

Each corpus is pinned to a commit of its Hub repository. Corpora without a stable commit are pinned by the hash of their
rows.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL, NOT_ENTAILMENT, TWO_WAY
from unbag.utils.options import OptionError, suggest_name

SNLI: Final = """@inproceedings{bowman-etal-2015-large,
  title = {A large annotated corpus for learning natural language inference},
  author = {Bowman, Samuel R. and Angeli, Gabor and Potts, Christopher and Manning, Christopher D.},
  booktitle = {Proceedings of EMNLP}, year = {2015}, url = {https://aclanthology.org/D15-1075},
  eprint = {1508.05326}, archivePrefix = {arXiv}}"""
MNLI: Final = """@inproceedings{williams-etal-2018-broad,
  title = {A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference},
  author = {Williams, Adina and Nangia, Nikita and Bowman, Samuel},
  booktitle = {Proceedings of NAACL}, year = {2018}, url = {https://aclanthology.org/N18-1101},
  eprint = {1704.05426}, archivePrefix = {arXiv}}"""
ANLI: Final = """@inproceedings{nie-etal-2020-adversarial,
  title = {Adversarial {NLI}: A New Benchmark for Natural Language Understanding},
  author = {Nie, Yixin and Williams, Adina and Dinan, Emily and Bansal, Mohit and Weston, Jason and Kiela, Douwe},
  booktitle = {Proceedings of ACL}, year = {2020}, url = {https://aclanthology.org/2020.acl-main.441},
  eprint = {1910.14599}, archivePrefix = {arXiv}}"""
SICK: Final = """@inproceedings{marelli-etal-2014-sick,
  title = {A {SICK} cure for the evaluation of compositional distributional semantic models},
  author = {Marelli, Marco and Menini, Stefano and Baroni, Marco and Bentivogli, Luisa and Bernardi, Raffaella and
    Zamparelli, Roberto},
  booktitle = {Proceedings of LREC}, year = {2014}, url = {https://aclanthology.org/L14-1314}}"""
OCNLI: Final = """@inproceedings{hu-etal-2020-ocnli,
  title = {{OCNLI}: Original {C}hinese Natural Language Inference},
  author = {Hu, Hai and Richardson, Kyle and Xu, Liang and Li, Lu and K{\\"u}bler, Sandra and Moss, Lawrence},
  booktitle = {Findings of EMNLP}, year = {2020}, url = {https://aclanthology.org/2020.findings-emnlp.314},
  eprint = {2010.05444}, archivePrefix = {arXiv}}"""
XNLI: Final = """@inproceedings{conneau-etal-2018-xnli,
  title = {{XNLI}: Evaluating Cross-lingual Sentence Representations},
  author = {Conneau, Alexis and Rinott, Ruty and Lample, Guillaume and Williams, Adina and Bowman, Samuel R. and
    Schwenk, Holger and Stoyanov, Veselin},
  booktitle = {Proceedings of EMNLP}, year = {2018}, url = {https://aclanthology.org/D18-1269},
  eprint = {1809.05053}, archivePrefix = {arXiv}}"""
GLUE: Final = """@inproceedings{wang-etal-2018-glue,
  title = {{GLUE}: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding},
  author = {Wang, Alex and Singh, Amanpreet and Michael, Julian and Hill, Felix and Levy, Omer and Bowman, Samuel R.},
  booktitle = {Proceedings of BlackboxNLP}, year = {2018}, url = {https://aclanthology.org/W18-5446},
  eprint = {1804.07461}, archivePrefix = {arXiv}}"""
SCITAIL: Final = """@inproceedings{khot-etal-2018-scitail,
  title = {{SciTaiL}: A Textual Entailment Dataset from Science Question Answering},
  author = {Khot, Tushar and Sabharwal, Ashish and Clark, Peter},
  booktitle = {Proceedings of AAAI}, year = {2018}}"""
PAWS: Final = """@inproceedings{zhang-etal-2019-paws,
  title = {{PAWS}: Paraphrase Adversaries from Word Scrambling},
  author = {Zhang, Yuan and Baldridge, Jason and He, Luheng},
  booktitle = {Proceedings of NAACL}, year = {2019}, url = {https://aclanthology.org/N19-1131},
  eprint = {1904.01130}, archivePrefix = {arXiv}}"""
FEVER: Final = """@inproceedings{nie-etal-2019-combining,
  title = {Combining Fact Extraction and Verification with Neural Semantic Matching Networks},
  author = {Nie, Yixin and Chen, Haonan and Bansal, Mohit},
  booktitle = {Proceedings of AAAI}, year = {2019}}"""


LANGUAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "en": "English",
        "zh": "Chinese",
        **{"ar": "Arabic", "bg": "Bulgarian", "de": "German", "el": "Greek", "es": "Spanish", "fr": "French"},
        **{"hi": "Hindi", "ru": "Russian", "sw": "Swahili", "th": "Thai", "tr": "Turkish", "ur": "Urdu"},
        "vi": "Vietnamese",
    }
)
"""Languages of corpora by code, as in XNLI. User-provided pairs may have other languages."""

_LANGUAGE_CODE: Final = re.compile(r"[a-z]{2,3}")
_NO_LANGUAGE: Final = ("xx", "mul", "und", "zxx")  # several, unknown or no languages


def validate_language_code(code: str) -> None:
    """Validate that a text has the form of a language code (ISO 639) without a region, such as `nl`."""
    if not isinstance(code, str) or not _LANGUAGE_CODE.fullmatch(code) or code in _NO_LANGUAGE:
        raise OptionError(
            f"expected a language code such as {', '.join(sorted(LANGUAGES))} or nl, got {code!r}; use a "
            "code of two or three letters, without a region"
        )


@dataclass(frozen=True)
class Corpus:
    """Published NLI corpus.

    Its splits are grouped into training, validation and test data. The test splits of MNLI and OCNLI have no labels, so
    MNLI uses its mismatched pairs as test data. OCNLI uses its validation pairs as test data and has no validation
    data. The three rounds of ANLI are one corpus.
    """

    name: str  # value of `--corpus`
    hub_id: str  # dataset repository on the Hub
    revision: str  # commit, or a ref if `row_hashes` pins the rows
    splits: tuple[str, ...]  # the first one is evaluated by default
    license: str  # SPDX id, or the Hub's name of the license; challenge sets inherit it
    citation: str  # BibTeX
    config: str = "default"
    train: tuple[str, ...] = ("train",)
    validation: tuple[str, ...] = ("validation",)
    test: tuple[str, ...] = ("test",)
    premise: str = "premise"
    hypothesis: str = "hypothesis"
    label: str = "label"
    labels: tuple[str, ...] = LABELS  # names of the label ids 0, 1, …; two for a corpus with two labels
    # Labels whose text has a special meaning in this corpus, such as "neutral" in SciTail.
    label_meanings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    language: str = "en"  # one of `LANGUAGES`
    license_link: str = ""  # URL of the license text, if the Hub has no name for the license
    label_creators: tuple[str, ...] = ("crowdsourced",)  # with the Hub's values for dataset cards
    sentence_creators: tuple[str, ...] = ("crowdsourced",)
    # The sha256 of the rows of each split (`unbag.utils.hashing`), for a corpus without a stable commit.
    row_hashes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def is_two_way(self) -> bool:
        """Whether the gold labels are `entailment` and `not_entailment` (neutral or contradiction)."""
        return NOT_ENTAILMENT in self.labels

    def resolve_split(self, name: str | None) -> str:
        """Validate the name of a split; None resolves to the default split."""
        if name is None:
            return self.splits[0]
        if name not in self.splits:
            raise OptionError(f"expected a split of {self.name}, got {name!r}; use one of {', '.join(self.splits)}")
        return name


_ALL: Final = (
    Corpus(
        name="snli",
        hub_id="stanfordnlp/snli",
        config="plain_text",
        revision="cdb5c3d5eed6ead6e5a341c8e56e669bb666725b",
        splits=("validation", "test", "train"),
        license="cc-by-sa-4.0",
        citation=SNLI,
    ),
    Corpus(
        name="mnli",
        hub_id="nyu-mll/multi_nli",
        revision="da70db2af9d09693783c3320c4249840212ee221",
        splits=("validation_matched", "validation_mismatched", "train"),
        validation=("validation_matched",),
        test=("validation_mismatched",),
        license="other",  # OANC, CC BY 3.0, CC BY-SA 3.0 and MIT, by genre
        license_link="https://huggingface.co/datasets/nyu-mll/multi_nli#licensing-information",
        citation=MNLI,
        sentence_creators=("found", "crowdsourced"),
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
        license="cc-by-nc-4.0",
        citation=ANLI,
        sentence_creators=("found", "crowdsourced"),
    ),
    Corpus(
        name="sick",
        hub_id="RobZamp/sick",
        revision="refs/convert/parquet",  # The Hub's automatic conversion is a moving ref; `row_hashes` pins the rows.
        splits=("test", "validation", "train"),
        premise="sentence_A",
        hypothesis="sentence_B",
        license="cc-by-nc-sa-3.0",
        citation=SICK,
        row_hashes=MappingProxyType(
            {
                "test": "00ab2fcceff82950387143d24b58dc82d997df4ff7ddc8663d300ffec2fb887c",
                "validation": "2996f5035f15b443f3469f33ca9b3022ea441cfb81de0d8c6b44ba948e5e8240",
                "train": "52e6d6a253b400c525d8750436e059f43716052034f8117671cea77b4f069869",
            }
        ),
    ),
    Corpus(
        name="ocnli",
        hub_id="clue/clue",
        config="ocnli",
        revision="28178267a609dd08bdc703dd6c931dfc2c2f4431",
        splits=("validation", "train"),  # The test split is unlabelled.
        validation=(),
        test=("validation",),
        premise="sentence1",
        hypothesis="sentence2",
        labels=(NEUTRAL, ENTAILMENT, CONTRADICTION),
        language="zh",
        license="cc-by-nc-2.0",
        citation=OCNLI,
        label_creators=("other",),  # language students
        sentence_creators=("found", "other"),
    ),
    Corpus(
        name="fever",  # each claim with its evidence (Nie et al. 2019); the test split is unlabelled
        hub_id="pietrolesci/nli_fever",
        revision="1eddac63112eee1fdf1966e0bca27a5ff248c772",
        splits=("dev", "train"),
        validation=(),
        test=("dev",),
        premise="hypothesis",  # the repository swaps the sentences: its premise is the claim
        hypothesis="premise",
        license="unknown",  # The card names no license.
        citation=FEVER,
    ),
    *(
        Corpus(
            name=name,
            hub_id="nyu-mll/glue",
            config=name,
            revision="bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c",
            splits=("validation", "train"),  # the test split has no labels
            validation=(),
            test=("validation",),
            premise=premise,
            hypothesis=hypothesis,
            labels=TWO_WAY,
            license="other",  # each task has a separate license
            license_link="https://huggingface.co/datasets/nyu-mll/glue#licensing-information",
            citation=GLUE,
        )
        # QNLI labels whether the sentence answers the question.
        for name, premise, hypothesis in (("rte", "sentence1", "sentence2"), ("qnli", "sentence", "question"))
    ),
    Corpus(
        name="scitail",
        hub_id="allenai/scitail",
        config="snli_format",
        revision="0cc4353235b289165dfde1c7c5d1be983f99ce44",
        splits=("test", "validation", "train"),
        premise="sentence1",
        hypothesis="sentence2",
        label="gold_label",
        labels=TWO_WAY,
        # "neutral" includes all pairs without support, since the annotators did not label contradictions.
        label_meanings=MappingProxyType({"entailment": ENTAILMENT, "entails": ENTAILMENT, "neutral": NOT_ENTAILMENT}),
        license="unknown",  # The card names no license.
        citation=SCITAIL,
    ),
    Corpus(
        name="paws",  # paraphrases are entailment; all other pairs are not_entailment
        hub_id="google-research-datasets/paws",
        config="labeled_final",
        revision="161ece9501cf0a11f3e48bd356eaa82de46d6a09",
        splits=("test", "validation", "train"),
        premise="sentence1",
        hypothesis="sentence2",
        labels=(NOT_ENTAILMENT, ENTAILMENT),
        license="other",  # any use, with an acknowledgment of Google
        license_link="https://github.com/google-research-datasets/paws/blob/master/LICENSE",
        citation=PAWS,
    ),
    *(
        Corpus(
            name=f"xnli_{language}",
            hub_id="facebook/xnli",
            config=language,
            revision="b8dd5d7af51114dbda02c0e3f6133f332186418e",
            splits=("validation", "test", "train"),
            language=language,
            license="cc-by-nc-4.0",
            citation=XNLI,
        )
        for language in sorted(LANGUAGES)
    ),
)
CORPORA: Final[Mapping[str, Corpus]] = MappingProxyType({corpus.name: corpus for corpus in _ALL})
"""Base corpora by name."""

PAPER_CORPORA: Final = ("snli", "mnli", "anli", "sick", "ocnli")
"""Corpora on which the papers evaluate, selected by `--corpus all`."""

OFFICIAL: Final = "official"
"""Config name for the authors' original pairs of a set, instead of a corpus. Variants are named `official-…`."""


def get_corpus(name: str) -> Corpus:
    """Look up a corpus by name."""
    if name not in CORPORA:
        raise OptionError(
            f"expected a corpus ({', '.join(CORPORA)}), got {name!r}{suggest_name(name, CORPORA)}"
            "; use data (--data) for user-provided pairs"
        )
    return CORPORA[name]
