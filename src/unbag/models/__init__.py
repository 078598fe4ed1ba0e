"""Pre-transformer NLI architectures, implemented as models of the transformers library.

Importing this package registers them with the Auto classes, so that they load like any other model:

    import unbag.models
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained("ORG/MODEL")
    tokenizer = AutoTokenizer.from_pretrained("ORG/MODEL")  # works without unbag

unbag imports this package before it loads a model. `unbag models` lists the architectures, and `unbag models init`
creates an untrained model.
"""

try:
    import transformers  # noqa: F401
except ImportError as error:
    raise ImportError(
        "unbag.models: expected PyTorch and transformers, got none; install them: pip install 'unbag[models]'"
    ) from error

from unbag.models.catalogue import ARCHITECTURES, Architecture, get_architecture, register_architectures

__all__ = ["ARCHITECTURES", "Architecture", "get_architecture"]

register_architectures()
