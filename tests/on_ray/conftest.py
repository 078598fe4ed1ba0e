"""A Ray cluster of two processors on this machine, begun once a file and ended with it: other tests fork processes."""

import logging

import pytest

pytest.importorskip("ray", reason="needs unbag[ray]")
pytest.importorskip("torch", reason="needs unbag[models]")

from tests.inference.conftest import make_model, tiny_bert  # noqa: F401  (fixtures)


@pytest.fixture(scope="module", autouse=True)
def _two_processors():
    import ray

    from unbag.on_ray.cluster import signals_kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # or other tests would leave its processes no time
        for left in (2, 1, 0):
            try:
                with signals_kept():
                    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
                break
            except Exception:  # Ray's, where other tests keep the machine busy for half a minute
                ray.shutdown()
                if not left:
                    raise
        yield
        ray.shutdown()
