"""What of torch's is in no save: optimizers and their like that track() does not name, and modules beside them."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple

from . import walk


class Covered:
    """The modules and tensors that a save has, by way of what is tracked."""

    def __init__(self, tracked: Dict[str, Any]) -> None:
        import torch

        self.tensors: Dict[int, Any] = {}
        self.modules: Dict[int, Any] = {}
        self._skipped = (torch.optim.Optimizer, scheduler_class(torch))  # they have the weights, and save none
        for name, value in tracked.items():
            if not isinstance(value, self._skipped):
                self._cover(name, value)

    def _cover(self, name: str, value: Any) -> None:
        without = [held for held in _inside(value) if isinstance(held, self._skipped)]
        for _, held in walk.walk({name: value}, without):
            if walk.is_module(held):
                for module in held.modules():
                    self.modules[id(module)] = module
                for tensor in _tensors(held):
                    self.tensors[id(tensor)] = tensor
            elif walk.is_tensor(held):
                self.tensors[id(held)] = held

    def not_of(self, module: Any) -> List[Any]:
        """The tensors of a module that no save has."""
        if id(module) in self.modules:
            return []
        return [tensor for tensor in _tensors(module) if id(tensor) not in self.tensors]


def lines(variables: Dict[str, Any], tracked: Dict[str, Any], covered: Covered) -> Iterable[Tuple[str, List[Any]]]:
    """What to say of optimizers, schedulers and the like, tracked or not, and of the modules whose weights they change;
    with the modules that are named."""
    import torch

    known = {id(value) for value in tracked.values()} | {id(held) for one in tracked.values() for held in _inside(one)}
    kinds: Tuple[type, ...] = (torch.optim.Optimizer, torch.optim.lr_scheduler.ReduceLROnPlateau)
    kinds += (scheduler_class(torch), torch.cuda.amp.GradScaler)
    modules = {name: value for name, value in variables.items() if walk.is_module(value) and covered.not_of(value)}
    for name, value in {**tracked, **variables}.items():
        if name == "_":
            continue
        is_average = walk.is_module(value) and type(value).__name__ == "AveragedModel" and id(value) not in known
        if not isinstance(value, kinds) and not is_average:
            continue
        changed = _of_optimizer(value, modules, covered) if isinstance(value, torch.optim.Optimizer) else {}
        calls = ", ".join(f"{each}={each}" for each in changed)
        named = " and ".join(f"{each}, {walk.name_of(module)}" for each, module in changed.items())
        if id(value) not in known:
            calls = f"{name}={name}" + (f", {calls}" if calls else "")
            also, are, them = (
                (f", and {named}, whose weights it changes,", "are", "them") if changed else ("", "is", "it")
            )
            yield (
                f"{name}, {walk.name_of(value)}{also or ','} {are} not tracked: no save has {them}. Name {them}, "
                f"run.track({calls}, ...)",
                [*changed.values(), *([value] if is_average else [])],
            )
        elif changed:
            yield (
                f"{named}, whose weights {name} changes, is not tracked: no save has it. Name it, run.track({calls}, "
                "...)",
                list(changed.values()),
            )
        elif isinstance(value, torch.optim.Optimizer) and _is_apart(value, covered):
            yield (
                f"{name}, {walk.name_of(value)}, changes weights that nothing has that is tracked: no save has them. "
                f"Name what they are of: run.track({name}={name}, model=model, ...)",
                [],
            )


def _of_optimizer(optimizer: Any, modules: Dict[str, Any], covered: Covered) -> Dict[str, Any]:
    """The modules that it changes, by name, the whole ones first, so that each weight is named once."""
    left = {id(p) for group in optimizer.param_groups for p in group["params"] if id(p) not in covered.tensors}
    found: Dict[str, Any] = {}
    for name, module in sorted(modules.items(), key=lambda item: -len(_tensors(item[1]))):
        own = {id(tensor) for tensor in _tensors(module)}
        if own & left:
            found[name] = module
            left -= own
    return found


def _is_apart(optimizer: Any, covered: Covered) -> bool:
    return any(id(p) not in covered.tensors for group in optimizer.param_groups for p in group["params"])


def _tensors(module: Any) -> List[Any]:
    return [*module.parameters(), *module.buffers()]


def _inside(value: Any) -> List[Any]:
    """What a tracked object holds itself: a SequentialLR its schedulers, a wrapper its optimizer."""
    found: List[Any] = []
    for held in getattr(value, "__dict__", {}).values():
        found += list(held) if isinstance(held, (list, tuple)) else [held]
    return found


def scheduler_class(torch: Any) -> type:
    schedulers = torch.optim.lr_scheduler
    found: type = getattr(schedulers, "LRScheduler", None) or schedulers._LRScheduler
    return found
