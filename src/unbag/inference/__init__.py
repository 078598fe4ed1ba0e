"""Inference: run an NLI model on any number of rows, and store its probabilities.

The names are imported on first use: the command line reads `inference.options` at every start, and reading and scoring
predictions needs neither torch nor transformers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from unbag.inference.function import CallablePredictor
    from unbag.inference.label_probe import MislabelledError, ProbeReport, run_label_probe
    from unbag.inference.prediction_store import StoredPredictions, StoreError, load_predictions
    from unbag.inference.predictor import BatchPredictor, ModelError, Predictor
    from unbag.inference.runner import predict_rows
    from unbag.inference.transformer import TransformerPredictor

_MODULES: Final = {
    "BatchPredictor": "predictor",
    "CallablePredictor": "function",
    "MislabelledError": "label_probe",
    "ModelError": "predictor",
    "Predictor": "predictor",
    "ProbeReport": "label_probe",
    "StoreError": "prediction_store",
    "StoredPredictions": "prediction_store",
    "TransformerPredictor": "transformer",  # its ImportError names the missing extra
    "load_predictions": "prediction_store",
    "predict_rows": "runner",
    "run_label_probe": "label_probe",
}

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
    if name in _MODULES:
        return getattr(import_module(f"unbag.inference.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
