"""What protocols of many models leave no choice of; nothing heavy is imported here, for the help pages' sake."""

from dataclasses import dataclass, field
from typing import Literal

from unbag.training.config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class ProtocolConfig(TrainConfig):
    """The config of a recipe with a `recipe.Protocol`: it says itself what is trained on, and where each model lies.

    Fields that are no arguments say what the protocol leaves no choice of, and are no options of the command.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    validation: tuple[str, ...] = field(init=False, default=())
    language: Literal["en"] = field(init=False, default="en")
    columns: tuple[str, ...] = field(init=False, default=())
    labels: tuple[str, ...] = field(init=False, default=())
    order: Literal["natural"] = field(init=False, default="natural")
    hypothesis_only: bool = field(init=False, default=False)
    augment: tuple[str, ...] = field(init=False, default=())
    augment_pairs: int = field(init=False, default=TrainConfig.augment_pairs)
    augment_words: Literal["training"] = field(init=False, default="training")
    trackers: tuple[str, ...] = field(init=False, default=())  # a model's folder goes once it has answered
    resume: None = field(init=False, default=None)  # each model finds its own
    push_checkpoints: None = field(init=False, default=None)
