"""A tiny transformer."""

from tests.inference.conftest import make_model, tiny_bert  # noqa: F401  (fixtures)
