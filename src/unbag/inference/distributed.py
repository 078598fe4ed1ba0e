"""Which process this is among those that a launcher started.

`torchrun` and `accelerate launch` say it in the environment and start the others; accelerate connects them. (On CPUs
use `torchrun --nproc_per_node 2`: `accelerate launch --cpu --num_processes 2` starts one process only.) Without a
launcher neither torch nor accelerate is touched here, so predictors that need neither run without them.

Before anything is computed, the processes of a group check that they see the same folder.
"""

import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from unbag.utils.storage import Folder

if TYPE_CHECKING:
    from accelerate import PartialState  # type: ignore[import-untyped, unused-ignore]


T = TypeVar("T")

_GLOO: Final = "gloo/transport"  # a file of gloo's, which its errors name: they have no type of their own
_COLLECTIVE_TIMEOUT: Final = timedelta(days=7)
"""How long a process waits for the others. Not the usual minutes: chunks of a large model on a slow machine take long,
and where a process fails it is the launcher that ends the others, at once."""


@dataclass(frozen=True)
class ProcessGroup:
    """The rank of this process among the `world` processes that share the work."""

    rank: int
    world: int

    def broadcast(self, value: T) -> T:
        """Return the value that process 0 passed; waits until process 0 has passed it."""
        if self.world == 1:
            return value
        from accelerate.utils import broadcast_object_list  # type: ignore[import-untyped, unused-ignore]

        values: list[Any] = [value]
        broadcast_object_list(values, from_process=0)
        from_main: T = values[0]
        return from_main

    def gather(self, values: list[T]) -> list[T]:
        """Return what the lists of all processes hold, in the order of the processes; waits for them."""
        if self.world == 1:
            return values
        from accelerate.utils import gather_object  # type: ignore[import-untyped, unused-ignore]

        gathered: list[T] = gather_object(values)
        return gathered

    def run_on_all(self, work: Callable[[], T]) -> T:
        """Return what some work gives here, when every process has done its own; failed in one, it has failed in all.

        Else a process whose work failed, and that went on to something else, would leave the others waiting.

        Raises:
            ValueError: if the work failed in another process only. What it raised here goes on.
        """
        if self.world == 1:
            return work()
        failure: Exception | None = None
        try:
            done = work()
        except Exception as error:
            failure = error
        reasons = self.gather([None if failure is None else f"{type(failure).__name__}: {failure}"])
        if failure is not None:
            raise failure
        for rank, reason in enumerate(reasons):
            if reason is not None:
                raise ValueError(f"process {rank} failed: {reason}")
        return done

    def main_process_first(self, work: Callable[[], T]) -> T:
        """Return what some work gives, done by process 0 alone first: the others then find what it left in a cache.

        Raises:
            ValueError: as `run_on_all`.
        """
        if self.world == 1:
            return work()
        first = self.run_on_all(work if self.rank == 0 else lambda: None)
        return self.run_on_all(work if self.rank else lambda: first)  # type: ignore[return-value]

    def wait(self) -> None:
        """Return when every process has come here."""
        if self.world > 1:
            partial_state().wait_for_everyone()


def is_distributed() -> bool:
    """Tell whether a launcher started this process together with others."""
    return "LOCAL_RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def process_group() -> ProcessGroup:
    """Return this process's group and rank; under a launcher, connect it to the others first.

    Raises:
        ImportError: under a launcher without the `models` extra.
    """
    if not is_distributed():
        return ProcessGroup(rank=0, world=1)
    state = partial_state()
    return ProcessGroup(rank=state.process_index, world=state.num_processes)


def partial_state() -> "PartialState":
    """Return accelerate's view of the launched processes, connecting them at the first call."""
    try:
        import torch
        from accelerate import PartialState
    except ImportError as error:
        raise ImportError("several processes need accelerate: pip install 'unbag[models]'") from error
    return PartialState(cpu=not torch.cuda.is_available(), timeout=_COLLECTIVE_TIMEOUT)


def is_lost_connection(error: BaseException) -> bool:
    """Tell whether an error means that another process of the group has ended; that one says why."""
    if not is_distributed() or not isinstance(error, RuntimeError):
        return False
    from torch.distributed import DistError  # type: ignore[attr-defined, unused-ignore]

    return isinstance(error, DistError) or _GLOO in str(error)


def destroy_process_group() -> None:
    """Wait until every process has come to its end, and disconnect; nothing where none was connected.

    A process that left while another still worked would take that one with it: a launcher ends the rest when one leaves
    with an error. And the threads of a connection that is open when Python ends may abort the process.
    """
    if not is_distributed() or "torch" not in sys.modules:
        return
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        state = partial_state()
        state.wait_for_everyone()
        state.destroy_process_group()


def default_device() -> str:
    """Return the device this process should run a model on: its own GPU where there is one, else the CPU."""
    if is_distributed():
        return str(partial_state().device)
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


_FOLDER_TIMEOUT: Final = 10.0
"""Seconds: what another machine has just written may take a moment to show."""


def validate_shared_folder(folder: Folder, group: ProcessGroup) -> None:
    """Let each process write a file and look for those of the others; all of them call this at once.

    Raises:
        ValueError: in every process, if one of them does not see what another writes.
    """
    if group.world == 1:
        return
    token = group.broadcast(uuid4().hex)

    def name(rank: int) -> str:
        return f"seen-{token}-{rank}"

    group.run_on_all(lambda: folder.write(name(group.rank), b""))
    hosts = group.gather([socket.gethostname()])

    def look() -> None:
        deadline = time.monotonic() + _FOLDER_TIMEOUT
        while unseen := [rank for rank in range(group.world) if not folder.has(name(rank))]:
            if time.monotonic() > deadline:
                raise ValueError(
                    f"process {group.rank} on {hosts[group.rank]} does not see what process {unseen[0]} on "
                    f"{hosts[unseen[0]]} writes to {folder}; name a folder that all processes see, or an address such "
                    "as s3://… (--output-dir)"
                )
            time.sleep(0.2)

    try:
        group.run_on_all(look)
    finally:
        folder.remove(name(group.rank))
