from tests.inference.llm.conftest import _endpoint, endpoint  # noqa: F401
