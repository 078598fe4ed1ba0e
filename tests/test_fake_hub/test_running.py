"""Tests of starting and stopping a server."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fake_hub.accounts import Account
from tests.fake_hub.running import RunningHub, running_hub
from tests.test_fake_hub.plain_http import get

REPO_ROOT = Path(__file__).parents[2]


def _answers(hub: RunningHub) -> bool:
    try:
        return get(f"{hub.endpoint}/api/telemetry/a").status == 200
    except ConnectionError:
        return False


def test_hub_runs_until_block_ends() -> None:
    with running_hub() as hub, running_hub() as other:
        assert hub.endpoint != other.endpoint
        assert _answers(hub)
        assert _answers(other)
    assert not _answers(hub)
    assert not _answers(other)


def test_hub_stops_when_block_raises() -> None:
    with pytest.raises(ZeroDivisionError), running_hub() as hub:
        1 / 0  # noqa: B018
    assert not _answers(hub)


def test_hub_stops_when_parent_is_killed(tmp_path: Path) -> None:
    program = """
import os
from tests.fake_hub.running import running_hub
with running_hub() as hub:
    print(hub.endpoint, flush=True)
    os.kill(os.getpid(), 9)
"""
    environment = os.environ | {"TMPDIR": str(tmp_path)}  # the killed process cannot remove the temporary folder
    parent = subprocess.run(
        [sys.executable, "-c", program], cwd=REPO_ROOT, env=environment, capture_output=True, text=True
    )
    hub = RunningHub(parent.stdout.strip())
    assert hub.endpoint.startswith("http://127.0.0.1:")
    for _ in range(50):
        if not _answers(hub):
            break
        time.sleep(0.1)
    assert not _answers(hub)


def test_failed_start_reports_reason(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="models/org/none is pinned or has refs, but it is no folder"),
        running_hub(mount=tmp_path, pins={("model", "org/none"): "0" * 40}),
    ):
        pass


def test_hub_accepts_given_tokens() -> None:
    with running_hub(tokens={"hf_carol": Account("carol", role="write")}) as hub:
        answer = get(f"{hub.endpoint}/api/whoami-v2", headers={"Authorization": "Bearer hf_carol"})
    assert b'"name":"carol"' in answer.body


def test_command_prints_shell_settings() -> None:
    command = [sys.executable, "-m", "tests.fake_hub", "--port=0", "--until-stdin-closes"]
    printed = subprocess.run(command, cwd=REPO_ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    assert "export HF_ENDPOINT=http://127.0.0.1:" in printed
    assert "HF_TOKEN=hf_write_alice" in printed


def test_client_environment_ignores_user_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "https_proxy", "UNRELATED"):
        monkeypatch.setenv(name, "the user's")
    environment = RunningHub("http://127.0.0.1:1").env(tmp_path, xet=False)
    assert [name for name, value in environment.items() if value == "the user's"] == ["UNRELATED"]
    assert environment["HF_ENDPOINT"] == "http://127.0.0.1:1"
    assert environment["HF_HUB_DISABLE_XET"] == "1"
