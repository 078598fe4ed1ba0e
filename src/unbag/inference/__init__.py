"""Inference: run an NLI model on any number of rows, and store its probabilities.

Modules that need torch are imported on first use, so that reading and scoring predictions needs neither torch nor
transformers.
"""

from typing import TYPE_CHECKING, Any

from unbag.inference.function import CallablePredictor
from unbag.inference.label_probe import MislabelledError, ProbeReport, run_label_probe
from unbag.inference.prediction_store import StoredPredictions, StoreError, load_predictions
from unbag.inference.predictor import BatchPredictor, Predictor
from unbag.inference.runner import predict_rows

if TYPE_CHECKING:
    from unbag.inference.predictor import ModelError
    from unbag.inference.transformer import TransformerPredictor

__all__ = [
    "BatchPredictor",
    "CallablePredictor",
    "MislabelledError",
    "ModelError",
    "Predictor",
    "ProbeReport",
    "StoreError",
    "StoredPredictions",
    "TransformerPredictor",
    "load_predictions",
    "predict_rows",
    "run_label_probe",
]


def __getattr__(name: str) -> Any:
    if name in ("ModelError", "TransformerPredictor"):
        from unbag.inference import transformer  # its ImportError names the missing extra

        return getattr(transformer, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
