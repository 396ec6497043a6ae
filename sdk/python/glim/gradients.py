"""The gradients that a save has to hold: those that were added up since the optimizer last used them.

Most scripts' gradients are of no use between two steps: the optimizer has used them, and the next step sets them to
zero. Saving them would double what a save of SGD costs. So step() of each tracked optimizer leaves a mark on the
gradients that it has used: the version of the tensor, which every change in place raises. A gradient without a valid
mark has been added up since then, and is kept; of the others a save says only that they are there.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Dict, Iterator, List, Tuple

_MARK = "_glim_used"
_ZERO = "zero"
_PROBED = 2  # steps of an optimizer until it is known whether the script sets its gradients to zero


class _Watched:
    """One optimizer. `is_own_of_torch`: its step() uses the gradients whenever it is called; that of another class may
    only count (an optimizer that adds up by itself), so there a change of weights or state is asked for."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.steps = 0
        self.keeps = False  # the script never sets gradients to zero: what was used is added to
        self._hooks: List[Any] = []
        self._is_own_of_torch = type(optimizer).__module__.startswith("torch.optim")
        inner = optimizer.step

        def step(this: Any, *args: Any, **kwargs: Any) -> Any:
            before = None if self._is_own_of_torch else _versions(this)
            result = inner(*args, **kwargs)
            if before is None or before != _versions(this):
                self._used()
            return result

        # As a method, and with the attributes of what was there: torch's schedulers wrap step() in their turn.
        functools.update_wrapper(step, getattr(inner, "__func__", inner))
        optimizer.step = types.MethodType(step, optimizer)

    @property
    def parameters(self) -> Iterator[Any]:
        for group in self.optimizer.param_groups:
            yield from group["params"]

    @property
    def is_sure(self) -> bool:
        return self.steps >= _PROBED

    def _used(self) -> None:
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None:
                    setattr(gradient, _MARK, gradient._version)
        self.steps += 1
        if self.steps == 1:
            self._hooks = [p.register_hook(functools.partial(self._arrives, p)) for p in self.parameters if _learns(p)]
        elif self._hooks and self.is_sure:
            for hook in self._hooks:
                hook.remove()
            self._hooks = []

    def _arrives(self, parameter: Any, _gradient: Any) -> None:
        """Before a gradient is added. One that was used and not touched since then is added to."""
        old = parameter.grad
        if old is not None and is_used(old):
            self.keeps = True


class Gradients:
    """Of everything tracked. Used by the training thread only."""

    def __init__(self) -> None:
        self._modules: Dict[str, Any] = {}
        self._watched: Dict[str, _Watched] = {}

    def watch(self, name: str, value: Any) -> None:
        import torch

        if isinstance(value, torch.nn.Module):
            self._modules[name] = value
            return
        for at, optimizer in enumerate(_optimizers_in(value)):
            if not any(known.optimizer is optimizer for known in self._watched.values()):
                self._watched[f"{name}.{at}"] = _Watched(optimizer)

    @property
    def steps(self) -> int:
        """Of all optimizers together."""
        return sum(watched.steps for watched in self._watched.values())

    @property
    def has_optimizers(self) -> bool:
        return bool(self._watched)

    @property
    def any_there(self) -> bool:
        return any(parameter.grad is not None for _, parameter in self._parameters())

    def are_added_up(self) -> bool:
        """Whether a tracked optimizer has gradients that it has not used yet."""
        for watched in self._watched.values():
            for parameter in watched.parameters:
                gradient = parameter.grad
                if gradient is not None and not is_used(gradient) and not _is_zero(gradient):
                    return True
        return False

    def state(self) -> Dict[str, Any]:
        """By the parameter's name: the gradient, or "zero" for one that is there and of which only that matters."""
        owners = {id(p): watched for watched in self._watched.values() for p in watched.parameters}
        found: Dict[str, Any] = {}
        for name, parameter in self._parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            owner = owners.get(id(parameter))
            is_spent = owner is not None and owner.is_sure and not owner.keeps and is_used(gradient)
            found[name] = _ZERO if is_spent or _is_zero(gradient) else _packed(gradient.detach())
        return found

    def put_back(self, state: Dict[str, Any]) -> None:
        import torch

        for name, parameter in self._parameters():
            value = state.get(name)
            if value is None:
                parameter.grad = None
            elif isinstance(value, str):
                parameter.grad = torch.zeros_like(parameter, requires_grad=False)
            else:
                parameter.grad = _unpacked(value).to(device=parameter.device, dtype=parameter.dtype, copy=True)

    def _parameters(self) -> Iterator[Tuple[str, Any]]:
        seen = set()
        for name, module in self._modules.items():
            for key, parameter in module.named_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{name}.{key}", parameter
        for name, watched in self._watched.items():
            for at, parameter in enumerate(watched.parameters):
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{name}.{at}", parameter


def is_used(gradient: Any) -> bool:
    try:
        return bool(getattr(gradient, _MARK, None) == gradient._version)
    except RuntimeError:  # made under inference_mode(): has no version
        return False


def _learns(parameter: Any) -> bool:
    return bool(parameter.requires_grad)


def _is_zero(gradient: Any) -> bool:
    plain = gradient.coalesce().values() if gradient.is_sparse else gradient
    return not bool(plain.any())


def _packed(gradient: Any) -> Any:
    if not gradient.is_sparse:
        return gradient
    return (gradient._indices(), gradient._values(), list(gradient.shape), gradient.is_coalesced())


def _unpacked(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    import torch

    indices, values, shape, is_coalesced = value
    return torch.sparse_coo_tensor(indices, values, shape)._coalesced_(is_coalesced)


def _versions(optimizer: Any) -> int:
    """Another number when weights or state have changed."""
    total = 0
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            total += parameter._version
            for value in getattr(optimizer, "state", {}).get(parameter, {}).values():
                total += getattr(value, "_version", value if isinstance(value, int) else 0)
    return total


def _optimizers_in(value: Any) -> List[Any]:
    """The optimizers that really step: those that a wrapper holds, not the wrapper, which may leave out steps."""
    import torch

    base = torch.optim.Optimizer
    if not (isinstance(value, base) or hasattr(value, "param_groups") and callable(getattr(value, "step", None))):
        return []
    inner = [held for held in getattr(value, "__dict__", {}).values() if isinstance(held, base) and held is not value]
    return [found for held in inner for found in _optimizers_in(held)] if inner else [value]
