"""Commands in separate processes, forked from a process that has done the slow imports.

    done = PYTHON.run("-m", "unbag", "sets", env=hub.env(home), cwd=folder)

It replaces `subprocess` with `sys.executable`. The client libraries of the Hub read the environment at import, so they
are preloaded only for an environment that several processes share. No module of unbag is preloaded.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

_WARM = (
    *("numpy", "pandas", "pyarrow.parquet", "scipy.stats", "sklearn.linear_model", "spacy"),
    *("torch", "torch._dynamo", "torch.distributed.fsdp"),
)
_CLIENTS = ("datasets", "evaluate", "accelerate", "transformers.models.bert.modeling_bert")
_WORTH_IT = 3  # the number of processes with the same environment from which on the clients are preloaded
_ROOT = Path(__file__).parents[1]
_SECONDS_BETWEEN_LOOKS = 0.01
_SECONDS_AT_MOST = 600


class Forked:
    """A started process with the interface of `subprocess.Popen` in text mode."""

    def __init__(self, server: ForkServer, pid: int, out: Path, err: Path) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server, self._out, self._err = server, out, err

    def poll(self) -> int | None:
        """Return the exit code, or None if the process is running."""
        if self.returncode is None:
            self.returncode = self._server.ask(look_after=self.pid)
        return self.returncode

    def wait(self, timeout: float = _SECONDS_AT_MOST) -> int:
        """Wait for the end of the process, and return the exit code."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                self.kill()
                raise TimeoutError(f"still running after {timeout} s: {self._err.read_text()}")
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        return code

    def communicate(self, timeout: float = _SECONDS_AT_MOST) -> tuple[str, str]:
        """Wait for the end of the process, and return the output and the error output."""
        self.wait(timeout)
        return self._out.read_text(), self._err.read_text()

    def kill(self) -> None:
        """Kill the process and its children with SIGKILL, since a worker without parent may loop forever."""
        if self.returncode is None:
            # the process is not reaped yet, so the id cannot belong to another process
            os.killpg(self.pid, signal.SIGKILL)


class ForkServer:
    """The process to fork from, started on first use and stopped with this process."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="forked-")
        self._started = 0
        self._pipes: tuple[TextIO, TextIO] | None = None
        self._with_clients: dict[tuple[str | None, ...], ForkServer] = {}
        self._request_counts: Counter[tuple[str | None, ...]] = Counter()

    def start(
        self, *arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None, stdin: str = ""
    ) -> Forked:
        """Start a process like `python` with these arguments: -m and a module, -c and code, or a script.

        `env` is the whole environment, by default that of this process.
        """
        environment = dict(os.environ if env is None else env)
        request = {"arguments": list(map(str, arguments)), "env": environment, "cwd": str(cwd or Path.cwd())}
        return self._get_server(environment)._fork(request, stdin)

    def _fork(self, request: dict[str, Any], stdin: str) -> Forked:
        files = self._files()
        files[0].write_text(stdin)
        return Forked(self, self.ask(**request, files=list(map(str, files))), *files[1:])

    def _files(self) -> list[Path]:
        self._started += 1
        return [Path(self._folder.name) / f"{self._started}.{name}" for name in ("in", "out", "err")]

    def _get_server(self, environment: Mapping[str, str]) -> ForkServer:
        """Return the server to fork from, with preloaded clients if the environment was used before."""
        client_environment = _get_client_environment(environment)
        self._request_counts[client_environment] += 1
        if self._request_counts[client_environment] < _WORTH_IT:
            return self
        if client_environment not in self._with_clients:
            files = self._files()
            for path in files[:2]:
                os.mkfifo(path)
            arguments = ["-m", "tests.fork_server", *_CLIENTS]
            request = {"arguments": arguments, "env": dict(environment), "cwd": str(_ROOT)}
            self.ask(**request, files=list(map(str, files)))
            server = self._with_clients[client_environment] = ForkServer()
            server._pipes = files[0].open("w"), files[1].open()
        return self._with_clients[client_environment]

    def start_group(
        self, n: int, *arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> list[Forked]:
        """Start communicating processes with the variables of `torchrun`. A single process gets none."""
        if n == 1:
            return [self.start(*arguments, env=env, cwd=cwd)]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
        variables = {
            **(os.environ if env is None else env),
            **address,
            "WORLD_SIZE": str(n),
            "LOCAL_WORLD_SIZE": str(n),
        }
        ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(n)]
        return [self.start(*arguments, env={**variables, **rank}, cwd=cwd) for rank in ranks]

    def run(self, *arguments: object, check: bool = False, **more: Any) -> subprocess.CompletedProcess[str]:
        """Call `start` and wait for the end. With `check`, a nonzero exit code raises an error."""
        process = self.start(*arguments, **more)
        done = subprocess.CompletedProcess(arguments, process.wait(), *process.communicate())
        assert done.returncode == 0 or not check, done.stderr
        return done

    def ask(self, **request: Any) -> Any:
        """Send a request to the server process."""
        if self._pipes is None:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", *_WARM],
                cwd=_ROOT,
                env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(list_import_path())},
                stdin=subprocess.PIPE,  # closes when this process ends for any reason
                stdout=subprocess.PIPE,
                text=True,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            self._pipes = process.stdin, process.stdout
            atexit.register(process.communicate)  # closes the input and waits for the end
        there, back = self._pipes
        there.write(json.dumps(request) + "\n")
        there.flush()
        return json.loads(back.readline())


def list_import_path() -> list[str]:
    """List sys.path without the folder of modules that `evaluate` downloaded, which differs between processes."""
    return [entry for entry in sys.path if not (Path(entry) / "evaluate_modules").is_dir()]


def _get_client_environment(environment: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the environment variables that the client libraries read at import."""
    names = sorted(name for name in environment if name.startswith(("HF_", "HUGGING", "TRANSFORMERS_")))
    # Tokens are read on use. Without HF_HOME, it is a subfolder of the cache folder.
    variables = [f"{name}={environment[name]}" for name in names if name != "HF_TOKEN"]
    return (*variables, None if "HF_HOME" in environment else environment.get("XDG_CACHE_HOME"))


PYTHON: Final = ForkServer()


def wait_until(done: Callable[[], Any], *processes: Forked, every: float = 0.01) -> Any:
    """Return the result of a function once it is true. Fail if one of the processes ends before."""
    deadline = time.monotonic() + _SECONDS_AT_MOST
    while not (found := done()):
        for process in processes:
            assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"waited for {_SECONDS_AT_MOST} s"
        time.sleep(every)
    return found


def _serve() -> dict[str, Any] | None:
    """Fork on request until the input closes. In the forked process, return the request."""
    running = set()
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        if (pid := request.get("look_after")) is not None:
            ended, status = os.waitpid(pid, os.WNOHANG)
            running -= {ended}
            answer = os.waitstatus_to_exitcode(status) if ended else None
        elif answer := os.fork():
            _lead_process_group(answer)
            running.add(answer)
        else:
            return request
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    for pid in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    return None


def _lead_process_group(pid: int = 0) -> None:
    """Make a process the leader of a new group. Called on both sides of a fork, because either can be first."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.setpgid(pid, 0)


def _run_request(request: dict[str, Any]) -> None:
    """Set up the process like a fresh interpreter, and run the request."""
    _lead_process_group()
    # background jobs of a shell inherit that SIGINT is ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    flags = (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT] * 2)
    for number, (path, flag) in enumerate(zip(request["files"], flags, strict=True)):
        os.dup2(os.open(path, flag), number)
    sys.stdin = open(0, closefd=False)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    first, *rest = request["arguments"]
    sys.path[0] = os.getcwd()
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *rest]
        sys.path[0] = str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    for _name in sys.argv[1:]:
        with contextlib.suppress(ImportError):  # the extra is not installed
            importlib.import_module(_name)
    gc.freeze()  # keeps the imported modules in memory shared with the parent
    if (_request := _serve()) is not None:
        _run_request(_request)
