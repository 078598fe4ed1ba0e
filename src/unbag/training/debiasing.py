"""What the recipes beside a biased model are made of, from their configs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from unbag.training import bias, data, regimes
from unbag.training.debias_options import SELF, WORDS, ConfidenceConfig, DebiasConfig
from unbag.training.known import FromModels

if TYPE_CHECKING:
    from unbag.training.data import TrainingData

_ANSWERS = "answers"  # beside a model's folder, until the run is finished


def known(config: DebiasConfig, pairs: "TrainingData", models: Mapping[str, Path]) -> FromModels:
    """Return what biased models and a teacher say of the training pairs.

    Args:
        config: of the recipe.
        pairs: as they were read.
        models: the folders of the models that were trained first: `weak`, `teacher`.

    Raises:
        ValueError: if the bias cannot be had.
    """
    teacher = None
    if isinstance(config, ConfidenceConfig):
        teacher = _network(config, Path(config.teacher) if config.teacher else models["teacher"])
    return FromModels(_bias(config, pairs, models), teacher, balanced=config.balance > 0)


def _bias(config: DebiasConfig, pairs: "TrainingData", models: Mapping[str, Path]) -> bias.Bias:
    if config.bias in WORDS:
        examples = [example for part in pairs.training for example in part.examples]
        return bias.of_words(config.bias, examples, language=pairs.language)
    if config.bias == SELF:
        seen = data.drawn(pairs.training, config.weak_examples, config.seed)
        if config.order == "permuted":  # as they were trained on, and as the epochs have them
            seen = [regimes.permuted(part, seed=config.seed) for part in seen]
        return bias.Unseen(_network(config, models["weak"]), [example for part in seen for example in part.examples])
    if config.reads_predictions:
        return bias.Stored(Path(config.bias))
    return _network(config, Path(config.bias))


def _network(config: DebiasConfig, folder: Path) -> bias.Bias:
    from unbag.training.published import work_folder

    return bias.Remembered(bias.Network(folder, work_folder(config.out) / _ANSWERS, max_length=config.max_length))
