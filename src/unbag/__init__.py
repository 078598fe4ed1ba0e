"""Challenge sets, metrics and trainers that show whether an NLI model reads sentences or counts words.

A model is a Hub id, a folder, a classifier in memory, or any function of premises and hypotheses:

>>> import unbag
>>> from unbag.data.demo import get_demo_file  # bundled pairs; use `corpus="snli"` for SNLI
>>> def model(premises, hypotheses):
...     return ["neutral" for _ in premises]
>>> options = {"max_examples": 300, "lexical_baseline": False, "progress": False}
>>> report = unbag.evaluate(model, "swapped", data=get_demo_file("validation"), **options)
>>> print(report.verdict)
Better than the baseline on 0 of 1 challenge set. No better: Swapped.
>>> report.to_pandas()[["number", "value", "n", "direction"]].round(3).head(2)
            number  value    n direction
0            score  0.000  200    higher
1  accuracy_before  0.465  200    higher
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # names that `__getattr__` imports, for type checkers and editors
    from unbag.api import evaluate, score
    from unbag.challenge_sets.loading import load
    from unbag.challenge_sets.request import SetRequest
    from unbag.challenge_sets.results import Result
    from unbag.evaluation.comparison import Comparison, compare
    from unbag.integrations.compute_metrics import compute_metrics
    from unbag.integrations.cross_encoder import CrossEncoderEvaluator
    from unbag.integrations.trainer_callback import UnbagCallback
    from unbag.reports.report import Report

    __version__: str

_MODULES: Final = {
    "Comparison": "unbag.evaluation.comparison",
    "CrossEncoderEvaluator": "unbag.integrations.cross_encoder",
    "Report": "unbag.reports.report",
    "Result": "unbag.challenge_sets.results",
    "SetRequest": "unbag.challenge_sets.request",
    "UnbagCallback": "unbag.integrations.trainer_callback",
    "compare": "unbag.evaluation.comparison",
    "compute_metrics": "unbag.integrations.compute_metrics",
    "evaluate": "unbag.api",
    "load": "unbag.challenge_sets.loading",
    "score": "unbag.api",
}
__all__ = [
    "Comparison",
    "CrossEncoderEvaluator",
    "Report",
    "Result",
    "SetRequest",
    "UnbagCallback",
    "__version__",
    "compare",
    "compute_metrics",
    "evaluate",
    "load",
    "score",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import unbag` is fast."""
    if name == "__version__":
        from importlib.metadata import version

        return version("unbag")
    if name not in _MODULES:
        raise AttributeError(f"module 'unbag' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
