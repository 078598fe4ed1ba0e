"""The models of the papers before transformers, as models of transformers.

Importing this makes them known to the Auto classes, so that a repository with one loads as any other:

    import unbag.models
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained("ORG/MODEL")
    tokenizer = AutoTokenizer.from_pretrained("ORG/MODEL")  # this one needs nothing of ours

unbag does so itself wherever it loads a model. `unbag models` lists them, `unbag models init` makes one to train.
"""

try:
    import transformers  # noqa: F401
except ImportError as error:
    raise ImportError("the models need PyTorch and transformers: pip install 'unbag[models]'") from error

from unbag.models.catalogue import KINDS, Kind, kind_of, register

__all__ = ["KINDS", "Kind", "kind_of"]

register()
