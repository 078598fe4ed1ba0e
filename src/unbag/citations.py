"""What to cite for each base corpus, as BibTeX."""

from typing import Final

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
