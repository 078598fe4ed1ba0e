"""What a training took, for its card: kept beside the record, which is the same however long it took and where."""

import platform
import time
from typing import Any, Final

import torch

FILE: Final = "hardware.json"


class Effort:
    """Measures a run from now on; what came before a kill is not in it."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def record(self, device: torch.device, processes: int) -> dict[str, Any]:
        """Return `hardware`, `processes` and `seconds`."""
        names = torch.get_device_module(device) if device.type != "cpu" else None
        of_device = getattr(names, "get_device_name", None)
        hardware = of_device(device) if of_device else f"{device.type.upper()}, {platform.machine()}"
        return {"hardware": hardware, "processes": processes, "seconds": round(time.monotonic() - self._began, 1)}
