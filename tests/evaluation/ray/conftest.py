"""A local Ray cluster with two CPUs, started and stopped per file because other tests fork processes."""

import contextlib
import logging
import time

import pytest

pytest.importorskip("ray", reason="needs unbag[ray]")
pytest.importorskip("torch", reason="needs unbag[models]")


_SECONDS_TO_START = 240


@pytest.fixture(scope="module", autouse=True)
def _use_two_processors():
    import ray
    from ray._private import services

    from unbag.evaluation.ray.cluster import restore_sigterm_handler

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # a lower priority would starve the workers while other tests run
        patch.setattr(services, "get_node", _extend_timeout(services.get_node))
        with restore_sigterm_handler():
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        yield
        ray.shutdown()


def _extend_timeout(get_node):
    """Return a version of Ray's node check that waits minutes instead of 30 seconds, since other tests are running."""

    def wait(*arguments):
        deadline = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < deadline:
            with contextlib.suppress(RuntimeError):  # raised while the node is not up yet
                return get_node(*arguments)
            time.sleep(0.2)
        return get_node(*arguments)

    return wait
