"""Fixtures with a Hub. One server and one client process serve the whole session.

Faults and the request log belong to the whole server, so a test filters them by its own repository.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.client_process import ClientProcess
from tests.fake_hub.running import RunningHub, running_hub

SHARED_HUB = Path(__file__).parents[3] / "shared" / "hub"  # next to the checkout, not part of it


@pytest.fixture(scope="session")
def hub() -> Iterator[RunningHub]:
    """Return an empty, writable Hub."""
    with running_hub() as running:
        yield running


@pytest.fixture(scope="session")
def shared_hub() -> Iterator[RunningHub]:
    """Return a Hub with the datasets and models of ../shared, mounted read-only."""
    if not SHARED_HUB.is_dir():
        pytest.skip("needs ../shared")
    with running_hub(mount=SHARED_HUB) as running:
        yield running


@pytest.fixture(scope="session")
def hub_client(hub: RunningHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientProcess]:
    """Return a process whose client libraries use `hub` with the write token of Alice, a member of `org`."""
    with ClientProcess(hub.env(tmp_path_factory.mktemp("hub_home"), token=ALICE)) as client:
        yield client


@pytest.fixture(scope="session")
def shared_hub_client(shared_hub: RunningHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientProcess]:
    """Return a process whose client libraries use `shared_hub`."""
    with ClientProcess(shared_hub.env(tmp_path_factory.mktemp("shared_hub_home"))) as client:
        yield client


@pytest.fixture
def repo_id(request: pytest.FixtureRequest) -> str:
    """Return the id of a repository for this test only, in an organization with Alice as a member."""
    name = re.sub(r"\W+", "_", request.node.name.removeprefix("test_"))[:40].strip("_")
    return f"org/{name}_{uuid4().hex[:8]}"
