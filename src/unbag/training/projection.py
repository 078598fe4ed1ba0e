"""What one set of outputs does not explain of another: least squares over a batch, of all processes together."""

from typing import Any, Final, cast

import torch
from torch import Tensor
from torch import distributed as dist

_RIDGE: Final = 1e-6
"""Relative to the mean eigenvalue of F_GᵀF_G, whatever the scale of F_G. A direction in which the columns of F_G have a
singular value of s times their root mean square is removed up to a share of 1e-6 / (s² + 1e-6): all but a millionth at
s = 1, all but 1 % at s = 0.01, half at 0.001, and nothing where float32 leaves only rounding (1e-7). It bounds the
gradient, too: a projection's grows with 1 / s, and a pseudo-inverse's has no bound where the rank changes."""
_FLOOR: Final = 1e-12
"""Added so that F_G = 0 explains nothing. F_G of 1e-6 is nothing beside logits of the order of 1."""


def exact_dtype(device: torch.device) -> torch.dtype:
    """Return the type that sums over a batch are made in: float64, or float32 where the device has no other.

    The products are k × k, so it costs nothing; float32 would square the error of F_G into the ridge's size.
    """
    return torch.float32 if device.type == "mps" else torch.float64


def coefficients(gram: Tensor, cross: Tensor) -> Tensor:
    """Return ω = (F_GᵀF_G)⁻¹ F_GᵀF_B, equation 1 of the HEX paper, section 3, with a ridge of 1e-6.

    Args:
        gram: F_GᵀF_G, shape (k, k), of any rank.
        cross: F_GᵀF_B, shape (k, m).

    Returns:
        Shape (k, m); finite, as are its gradients.
    """
    identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    ridge = _RIDGE * gram.diagonal().mean() + _FLOOR
    # solve_ex does not wait for the device to tell whether the matrix is singular: it is not.
    solution: Tensor = torch.linalg.solve_ex(gram + ridge * identity, cross).result
    return solution


def project_out(explained: Tensor, explaining: Tensor) -> Tensor:
    """Return F_L = (I − F_G (F_GᵀF_G)⁻¹ F_Gᵀ) F_B, what `explaining` does not explain of `explained`.

    Under several processes the rows are the batches of all of them together: F_GᵀF_G and F_GᵀF_B are summed over the
    processes. Then every process's gradient holds its part of all processes' losses, so that the mean over processes
    (what DDP leaves) is the gradient of one process with all the rows.

    Args:
        explained: F_B, shape (b, m).
        explaining: F_G, shape (b, k). Collinear, zero, or more columns than rows: all are well defined.

    Returns:
        Shape (b, m), in the type of `explained`.
    """
    exact = exact_dtype(explained.device)
    f_b, f_g = explained.to(exact), explaining.to(exact)
    products = sum_over_processes(f_g.T @ torch.cat([f_g, f_b], dim=1))  # (k, k + m), in one go
    k = f_g.shape[1]
    return (f_b - f_g @ coefficients(products[:, :k], products[:, k:])).to(explained.dtype)


def sum_over_processes(value: Tensor) -> Tensor:
    """Return the sum of the processes' values, in each of them; its gradient is the sum of theirs."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return value
    return cast(Tensor, _AllReduce.apply(value))  # type: ignore[no-untyped-call]


class _AllReduce(torch.autograd.Function):
    """The differentiable sum. That of `torch.distributed.nn` is deprecated, its successor in a private module."""

    @staticmethod
    def forward(_: Any, value: Tensor) -> Tensor:
        total = value.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tensor:
        # Each process's loss depends on the sum, and the sum on this process's value.
        return _AllReduce.forward(_, gradient)
