"""Process group of a launcher such as `torchrun`, with collective operations.

`torchrun` and `accelerate launch` start the processes and set their environment; accelerate connects them. (On CPUs use
`torchrun --nproc_per_node 2`: `accelerate launch --cpu --num_processes 2` starts one process only.) Without a launcher,
this module imports neither torch nor accelerate, so predictors that need neither run without them.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from accelerate import PartialState  # type: ignore[import-untyped, unused-ignore]


T = TypeVar("T")

_GLOO: Final = "gloo/transport"  # gloo's errors have no type of their own, but name this source file
COLLECTIVE_TIMEOUT: Final = timedelta(days=7)
"""Timeout of a collective operation. The usual minutes are too short: a chunk of a large model on a slow machine takes
hours. If a process fails, the launcher terminates the others immediately, so no process waits that long."""


@dataclass(frozen=True)
class ProcessGroup:
    """Group of `world_size` processes that share the work. `rank` is the index of this process."""

    rank: int
    world_size: int

    def broadcast(self, value: T) -> T:
        """Send the value of process 0 to all processes. Blocks until process 0 calls this method."""
        if self.world_size == 1:
            return value
        from accelerate.utils import broadcast_object_list  # type: ignore[import-untyped, unused-ignore]

        values: list[T] = [value]
        broadcast_object_list(values, from_process=0)
        return values[0]

    def gather(self, values: list[T]) -> list[T]:
        """Concatenate the lists of all processes, in rank order. Blocks until all processes call this method."""
        if self.world_size == 1:
            return values
        from accelerate.utils import gather_object  # type: ignore[import-untyped, unused-ignore]

        gathered: list[T] = gather_object(values)
        return gathered

    def run_on_all(self, function: Callable[[], T]) -> T:
        """Run a function in every process. If it fails in one process, an error is raised in all of them.

        Otherwise, the other processes would wait forever for a process that failed.
        """
        if self.world_size == 1:
            return function()
        failure: Exception | None = None
        try:
            done = function()
        except Exception as error:
            failure = error
        reasons = self.gather([None if failure is None else f"{type(failure).__name__}: {failure}"])
        if failure is not None:
            raise failure
        for rank, reason in enumerate(reasons):
            if reason is not None:
                raise ValueError(f"process {rank} failed: {reason}")
        return done

    def main_process_first(self, function: Callable[[], T]) -> T:
        """Run a function in process 0, then in the other processes, which can reuse results that process 0 cached."""
        if self.world_size == 1:
            return function()
        first = self.run_on_all(function if self.rank == 0 else lambda: None)
        return self.run_on_all(function if self.rank else lambda: first)  # type: ignore[return-value]

    def wait(self) -> None:
        """Block until every process has called this method."""
        if self.world_size > 1:
            create_partial_state().wait_for_everyone()


def is_distributed() -> bool:
    """Check whether a launcher such as `torchrun` started several processes, including this one."""
    return "LOCAL_RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def connect_process_group() -> ProcessGroup:
    """Build the process group. If a launcher started several processes, they are connected first."""
    if not is_distributed():
        return ProcessGroup(rank=0, world_size=1)
    state = create_partial_state()
    return ProcessGroup(rank=state.process_index, world_size=state.num_processes)


def create_partial_state() -> "PartialState":
    """Create accelerate's `PartialState`. The first call connects the processes."""
    try:
        import torch
        from accelerate import PartialState
    except ImportError as error:
        raise ImportError("running several processes requires accelerate: pip install 'unbag[models]'") from error
    return PartialState(cpu=not torch.cuda.is_available(), timeout=COLLECTIVE_TIMEOUT)


def is_lost_connection(error: BaseException) -> bool:
    """Check whether an error means that another process of the group has stopped. That process reports the cause."""
    if not is_distributed() or not isinstance(error, RuntimeError):
        return False
    from torch.distributed import DistError  # type: ignore[attr-defined, unused-ignore]

    return isinstance(error, DistError) or _GLOO in str(error)


def destroy_process_group() -> None:
    """Wait for all processes to finish, then disconnect them. Does nothing if they are not connected.

    A launcher ends all processes if one exits with an error, so a process must not exit while another works. The
    threads of an open connection may also abort the process when Python exits.
    """
    if not is_distributed() or "torch" not in sys.modules:
        return
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        state = create_partial_state()
        state.wait_for_everyone()
        state.destroy_process_group()


def choose_default_device() -> str:
    """Choose the default device for a model: the GPU assigned to this process, or else the CPU."""
    if is_distributed():
        return str(create_partial_state().device)
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
