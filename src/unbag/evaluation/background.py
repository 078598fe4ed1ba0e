"""Second process that fits the lexical baseline and builds sets while the model predicts.

Fitting and building use one core and no model. The process fills the caches in which `fit_or_load_lexical_model` and
`challenge_sets.request.build_requested_set` look first, so it changes the time of a run but no result. If the process
dies, the first process does the remaining work.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from unbag.baselines.lexical.fitting import LexicalTrainingOptions, Progress, fit_or_load_lexical_model
from unbag.challenge_sets.request import SetRequest, prebuild_sets

_POLL: Final = 0.1  # seconds between two looks at the progress of the fit


class BackgroundBuild:
    """Background process that fits the lexical baseline, then builds the challenge sets in reverse order.

    The first process builds its sets from the first to the last, so that both rarely need the same set. `datasets`
    locks a set that is being built. The process ends with the first process, even if that is killed.

    Attributes:
        recipe: Recipe of the lexical baseline.
        stop: Function that ends the process; called at the latest when this object is deleted.
    """

    def __init__(self, recipe: LexicalTrainingOptions, requests: Sequence[SetRequest]) -> None:
        """Start the process.

        Args:
            recipe: Recipe of the lexical baseline.
            requests: Sets in evaluation order.

        Raises:
            OSError: If the process cannot be started.
        """
        import datasets

        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "HF_DATASETS_CACHE": str(datasets.config.HF_DATASETS_CACHE),
        }
        # A new interpreter and no fork: the first process may have threads that hold locks.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the first process repeats what fails, and shows the error
        )
        self.recipe = recipe
        self.stop = weakref.finalize(self, _stop, process)
        self._fit = _Fit()
        threading.Thread(target=_follow, args=(process.stdout, self._fit), daemon=True).start()
        assert process.stdin is not None
        with suppress(OSError):  # the process has died already
            pickle.dump((recipe, list(requests)), process.stdin)
            process.stdin.flush()  # not closed, because the process ends when its standard input does

    @property
    def is_fitting(self) -> bool:
        """Whether the lexical baseline is still being fitted."""
        return self._fit.is_running

    def wait_until_fitted(self, progress: Progress | None = None) -> Path | None:
        """Wait until the lexical baseline is fitted or the process has ended.

        Args:
            progress: Callback with the number of processed training pairs and the total.

        Returns:
            Folder of the model; None if it could not be fitted.
        """
        shown = None
        while self._fit.is_running:
            done = self._fit.done
            if progress is not None and done is not None and done != shown:
                progress(*done)
                shown = done
            time.sleep(_POLL)
        return self._fit.folder


@dataclass
class _Fit:
    """State of the fit: whether it is running, the numbers of processed pairs and of all pairs, and the result."""

    is_running: bool = True
    done: tuple[int, int] | None = None
    folder: Path | None = None


def _follow(lines: IO[bytes], fit: _Fit) -> None:
    """Read the reports of the process until it ends."""
    with lines:
        for line in lines:
            with suppress(ValueError):  # packages may print other lines
                report = json.loads(line)
                if isinstance(report, list):
                    fit.done = (int(report[0]), int(report[1]))
                elif isinstance(report, dict):
                    fit.folder = None if report["folder"] is None else Path(report["folder"])
                    fit.is_running = False
    fit.is_running = False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):  # of unsent bytes to a process that has ended
            process.stdin.close()


def _exit_with_parent() -> None:
    """End this process when its parent ends, which closes the pipe. Killing it is safe, as for any run."""
    sys.stdin.buffer.read()
    os._exit(0)


def _report(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Fit the lexical baseline and build the sets that the parent process requests on standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    recipe, requests = pickle.load(sys.stdin.buffer)  # written by our own parent
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    folder = None
    with suppress(Exception):  # repeated by the parent
        folder = str(fit_or_load_lexical_model(recipe, progress=lambda done, total: _report([done, total])))
    _report({"folder": folder})
    prebuild_sets(list(reversed(requests)))


if __name__ == "__main__":
    main()
