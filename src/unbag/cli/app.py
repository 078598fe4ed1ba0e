"""Entry point of all commands: cache settings, signal handling, and one-line errors with an exit code."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import typer

from unbag.cli.output import echo
from unbag.utils.errors import build_disk_full_message, is_disk_full, is_rust_panic
from unbag.utils.optional_deps import build_install_hint
from unbag.utils.redaction import redact
from unbag.utils.terminal import escape_control_chars

_CACHES: Final = ("UNBAG_CACHE", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_XET_CACHE")


def normalize_cache_env() -> None:
    """Remove empty variables for cache folders from the environment.

    Libraries interpret empty values in different ways and read the variables at import. Therefore, call this function
    first.
    """
    for name in _CACHES:
        value = os.environ.get(name)
        if value is None:
            continue
        if not value.strip():
            del os.environ[name]  # Path("") is the current folder.
            continue
        path = Path(value).expanduser()
        above = next((each for each in (path, *path.parents) if each.exists()), path)
        if not above.is_dir():
            raise ValueError(
                f"environment variable {name}: expected a folder, got {value!r} below the file {above}; change it"
            )


EXIT_FAILURE: Final = 1
_MAX_LENGTH: Final = 2_000  # characters of a message, because it may quote a user's file
_SIGNAL_EXIT: Final = 128  # plus the signal number, as in shells
_LOG_FORMAT: Final = "%(levelname)s %(message)s"
_LOGGING_LIBRARIES: Final = ("huggingface_hub", "datasets", "transformers")
_RETRY_DELAY: Final = 0.05  # seconds
_INTERRUPTED: Final = _SIGNAL_EXIT + signal.SIGINT
_RESUMABLE: Final = ("evaluate", "train", "publish", "prefetch", "human-study sample")
"""Commands that resume after an interruption. Other commands start again."""


class _Formatter(logging.Formatter):
    """Formatter that redacts credentials and escapes control characters."""

    def format(self, record: logging.LogRecord) -> str:
        return escape_control_chars(redact(super().format(record)))


class _Logger(logging.Logger):
    """Logger whose messages are redacted and printed once, although Hub libraries add handlers of their own."""

    def addHandler(self, hdlr: logging.Handler) -> None:
        if self.name in _LOGGING_LIBRARIES:
            hdlr.setFormatter(_Formatter(_LOG_FORMAT))
            self.propagate = False
        super().addHandler(hdlr)


def run(command: typer.Typer, arguments: Sequence[str] | None = None, *, is_resumable: bool | None = None) -> int:
    """Run a command and return its exit code. By default, its name determines whether it can resume."""
    logging.basicConfig(format=_LOG_FORMAT, level=logging.WARNING)
    logging.setLoggerClass(_Logger)
    for handler in logging.getLogger().handlers:
        # Handlers of a host program with their own class of formatter are not changed.
        if type(handler.formatter) is logging.Formatter:
            handler.setFormatter(_Formatter(_LOG_FORMAT))
    if is_resumable is None:
        given = f"{' '.join(sys.argv[1:] if arguments is None else arguments)} "
        is_resumable = given.startswith(tuple(f"{name} " for name in _RESUMABLE))
    hint = "; rerun the same command to resume" if is_resumable else ""
    with _sigterm_as_interrupt() as received:
        try:
            normalize_cache_env()
            command(args=arguments)
        except ImportError as error:
            return _report_failure(build_install_hint(error))
        except (ValueError, OSError) as error:  # Errors of user, disk or network need no traceback.
            if received:  # worker processes received the signal too; the error reports that they stopped
                return _report_stop(received, hint)
            return _report_failure(build_disk_full_message(error) if is_disk_full(error) else str(error))
        except MemoryError as error:
            return _report_failure(f"out of memory ({error}); use fewer examples or a machine with more memory")
        except KeyboardInterrupt:
            return _report_stop(received, hint)
        except SystemExit as done:  # click ends every command this way
            if received or done.code == _INTERRUPTED:
                return _report_stop(received, hint)
            # Looked up instead of imported: only a run with several processes has loaded the module.
            if connected := sys.modules.get("unbag.inference.distributed"):
                # Not after a failure, because other ranks may wait in a collective operation.
                connected.destroy_process_group()
            return done.code if isinstance(done.code, int) else EXIT_FAILURE
        except Exception as error:
            if is_disk_full(error):
                return _report_failure(build_disk_full_message(error))
            if (connected := sys.modules.get("unbag.inference.distributed")) and connected.is_lost_connection(error):
                return _report_failure(f"another process of this run failed; see the error of that process{hint}")
            raise
        except BaseException as error:
            if not is_rust_panic(error):
                raise
            return _report_failure(
                f"a library crashed while reading a file ({error}); check whether your files are corrupted"
            )
    return 0


def _report_failure(reason: str) -> int:
    line = " ".join(f"unbag: {reason}".splitlines())
    echo(line if len(line) <= _MAX_LENGTH else f"{redact(line)[:_MAX_LENGTH]}…", err=True, fg="red")
    return EXIT_FAILURE


def _report_stop(received: Sequence[int], hint: str) -> int:
    """Report that the command was stopped, and compute the exit code for the signal."""
    number = received[0] if received else signal.SIGINT
    how = "interrupted" if number == signal.SIGINT else "terminated"
    echo(f"unbag: {how}{hint}", err=True)
    return _SIGNAL_EXIT + number


@contextmanager
def _sigterm_as_interrupt() -> Iterator[list[int]]:
    """Handle SIGTERM like Ctrl-C, so that cleanup runs. Yields the list of received signals."""
    # Disabled under a launcher: its processes may block in collective calls that Python signal handlers cannot
    # interrupt.
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread() or "LOCAL_RANK" in os.environ:
        yield received
        return

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        if _is_forking:  # an exception here would be lost: send the signal again after the fork
            threading.Timer(_RETRY_DELAY, os.kill, (os.getpid(), number)).start()
            return
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    _handlers.append(stop)
    try:
        yield received
    finally:
        _handlers.remove(stop)
        signal.signal(signal.SIGTERM, before)


_handlers: Final[list[Any]] = []
"""Handlers that `_sigterm_as_interrupt` has installed."""

_is_forking = False


def _block_sigterm() -> None:
    global _is_forking
    if _handlers:
        _is_forking = True
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _unblock_sigterm() -> None:
    global _is_forking
    if _handlers:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        _is_forking = False


def _ignore_lost_parent(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
    """Print an uncaught error of a forked process, except for a connection that the parent has closed."""
    # A thread of multiprocessing sends tensors to the parent. If a signal interrupts the parent while it receives one,
    # the parent reports the signal, and this error would only add a traceback.
    if not isinstance(error, ConnectionError | EOFError):
        sys.__excepthook__(kind, error, traceback)


def _reset_signals_in_child() -> None:
    """Restore the default SIGTERM in a forked process, and leave Ctrl-C and its report to the parent."""
    if _handlers:
        sys.excepthook = _ignore_lost_parent
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


if hasattr(os, "register_at_fork"):
    # Blocked during the fork: Python drops a signal that arrives before the child runs its first instruction. A parent
    # that terminates and joins a process pool would wait forever for a child that had just been forked.
    os.register_at_fork(before=_block_sigterm, after_in_parent=_unblock_sigterm, after_in_child=_reset_signals_in_child)
