"""An OpenAI-compatible endpoint for tests, over HTTP, with configurable answers and faults.

    with running_endpoint() as endpoint:
        endpoint.answers = lambda question: "Yes"
        endpoint.arm({"status": 429, "headers": {"Retry-After": "0.1"}})
        EndpointPredictor("tiny", base_url=endpoint.base_url)
        assert endpoint.requests[0].body["model"] == "tiny"

It runs in a thread of the test process, so tests can inspect and change it while it runs.
"""

from tests.fake_llm.app import Endpoint, answer_by_letters, running_endpoint

__all__ = ["Endpoint", "answer_by_letters", "running_endpoint"]
