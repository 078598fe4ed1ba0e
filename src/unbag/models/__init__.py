"""NLI architectures before transformers, as models of the transformers library.

Importing this package registers them with the Auto classes, so that their repositories load as any other:

    import unbag.models
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained("ORG/MODEL")
    tokenizer = AutoTokenizer.from_pretrained("ORG/MODEL")  # works without unbag

unbag imports the package wherever it loads a model. `unbag models` lists the architectures, `unbag models init` makes
a model to train.
"""

try:
    import transformers  # noqa: F401
except ImportError as error:
    raise ImportError("the models need PyTorch and transformers: pip install 'unbag[models]'") from error

from unbag.models.catalogue import ARCHITECTURES, Architecture, get_architecture, register

__all__ = ["ARCHITECTURES", "Architecture", "get_architecture"]

register()
