"""Run a command: errors become one line and an exit code, and the environment's cache settings are normalized first."""

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
from unbag.utils.errors import disk_full_message, is_disk_full, is_panic
from unbag.utils.optional_deps import install_hint
from unbag.utils.redaction import redact
from unbag.utils.terminal import escape_control_chars

_CACHES: Final = ("UNBAG_CACHE", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_XET_CACHE")


def normalize_cache_env() -> None:
    """Make empty names of cache folders absent, as their readers disagree on them; before anything imports those.

    Raises:
        ValueError: if a variable names what no folder can be.
    """
    for name in _CACHES:
        value = os.environ.get(name)
        if value is None:
            continue
        if not value.strip():
            del os.environ[name]  # else it would be the folder that one happens to be in
            continue
        path = Path(value).expanduser()
        above = next((each for each in (path, *path.parents) if each.exists()), path)
        if not above.is_dir():
            raise ValueError(f"expected {name} in the environment to be a folder, found {value!r}: {above} is a file")


FAILED: Final = 1
_LONGEST: Final = 2_000  # characters of a message, which may repeat what others wrote
_SIGNALLED: Final = 128  # and the signal's number, as shells have it
_LATER: Final = 0.05  # seconds
_INTERRUPTED: Final = _SIGNALLED + signal.SIGINT
_GO_ON: Final = (("evaluate",), ("train",), ("publish",), ("prefetch",), ("human-study", "sample"))
"""Commands that go on from where they were stopped; others begin anew."""


class _Formatter(logging.Formatter):
    """Warnings as a terminal may have them."""

    def format(self, record: logging.LogRecord) -> str:
        return escape_control_chars(redact(super().format(record)))


def run(command: typer.Typer, arguments: Sequence[str] | None = None, *, goes_on: bool | None = None) -> int:
    """Run a command with some arguments, by default those of the process, and return its exit code.

    Args:
        command: the command.
        arguments: its arguments.
        goes_on: whether it goes on from where it was stopped; by default its name tells.
    """
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    for handler in logging.getLogger().handlers:
        if type(handler.formatter) is logging.Formatter:
            handler.setFormatter(_Formatter("%(levelname)s %(message)s"))
    if goes_on is None:
        goes_on = _goes_on(sys.argv[1:] if arguments is None else arguments)
    with _terminable() as received:
        try:
            normalize_cache_env()
            command(args=arguments)
        except ImportError as error:
            return _failed(install_hint(error))
        except (ValueError, OSError) as error:  # ours, or what a disk or network says: no traceback needed
            if received:  # its processes were told to end too, and it complains of that
                return _stopped(received, goes_on=goes_on)
            return _failed(disk_full_message(error) if is_disk_full(error) else str(error))
        except MemoryError as error:
            return _failed(f"no memory left ({error}); give it fewer examples, or a machine with more")
        except KeyboardInterrupt:
            return _stopped(received, goes_on=goes_on)
        except SystemExit as done:  # how click ends a command, well or not
            if received or done.code == _INTERRUPTED:
                return _stopped(received, goes_on=goes_on)
            # Looked up, not imported: a command of one process need not wait for it.
            if connected := sys.modules.get("unbag.inference.distributed"):
                connected.destroy_process_group()  # not above: where one failed, the others may wait for it elsewhere
            return done.code if isinstance(done.code, int) else FAILED
        except Exception as error:
            if is_disk_full(error):
                return _failed(disk_full_message(error))
            if (connected := sys.modules.get("unbag.inference.distributed")) and connected.is_lost_connection(error):
                return _failed(f"another process of this run has ended, and says why{_again(goes_on=goes_on)}")
            raise
        except BaseException as error:
            if not is_panic(error):
                raise
            return _failed(f"a library that reads a file has come to an end ({error}); is one of those given damaged?")
    return 0


def _failed(reason: str) -> int:
    line = " ".join(f"unbag: {reason}".splitlines())
    echo(line if len(line) <= _LONGEST else f"{redact(line)[:_LONGEST]}…", err=True, fg="red")
    return FAILED


def _stopped(received: Sequence[int], *, goes_on: bool) -> int:
    """Say that the command was stopped, and return the exit code that tells by which signal."""
    number = received[0] if received else signal.SIGINT
    how = "interrupted" if number == signal.SIGINT else "terminated"
    echo(f"unbag: {how}{_again(goes_on=goes_on)}", err=True)
    return _SIGNALLED + number


def _again(*, goes_on: bool) -> str:
    return "; rerun the same command to resume" if goes_on else ""


def _goes_on(arguments: Sequence[str]) -> bool:
    return any(tuple(arguments[: len(names)]) == names for names in _GO_ON)


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """Let SIGTERM end a command as Ctrl-C does, so that nothing is left half done; give the signals that came.

    Not under a launcher, whose processes may wait for each other where no signal wakes them.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread() or "LOCAL_RANK" in os.environ:
        yield received
        return

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        if _is_forking:  # where what is raised is lost: once more, a little later
            threading.Timer(_LATER, os.kill, (os.getpid(), number)).start()
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
"""Those that `_terminable` has set."""

_is_forking = False


def _hold_signal() -> None:
    global _is_forking
    if _handlers:
        _is_forking = True
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _let_signal_through() -> None:
    global _is_forking
    if _handlers:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        _is_forking = False


def _end_at_signal() -> None:
    """Have a forked process end at SIGTERM as by default, without a word, and leave Ctrl-C to who forked it."""
    if _handlers:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


if hasattr(os, "register_at_fork"):
    # Held back till then: Python forgets a signal that a process gets before it first runs, and who ends a pool of
    # processes and waits for them would wait for ever for one that had just been started.
    os.register_at_fork(before=_hold_signal, after_in_parent=_let_signal_through, after_in_child=_end_at_signal)
