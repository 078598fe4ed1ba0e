"""A bundled corpus, so that the whole flow can be tried offline: a small grammar of ours and its own semantics.

`generate` yields captions-like NLI pairs whose labels are computed from the meanings behind the sentences;
`unbag.demo.baseline` fits a bag of words to them. Neither needs a download, a parser or torch.
"""

from unbag.demo.corpus import SPLITS, DemoPair, generate

__all__ = ["SPLITS", "DemoPair", "generate"]
