"""What lives between two steps of an optimizer: gradients, sums, averages."""

import collections
import copy

import torch
from forms import EQUAL, TOLD, Training, form, loader


@form(EQUAL)
def plain_step(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        run.progress(loss=training.step(batch))
    return training.model, training.optim


def accumulate(run, notes, training, is_due, epochs=2, before=lambda: None, **tracked):
    run.track(model=training.model, optim=training.optim, **tracked)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=epochs):
        notes.batch(batch)
        training.backward(batch)
        if is_due(batch):
            before()
            training.optim.step()
            training.optim.zero_grad()
    return training.model, training.optim


@form(EQUAL)
def accumulate_each_kth_step(run, notes):
    return accumulate(run, notes, Training(), lambda batch: (run.step + 1) % 4 == 0)


@form(EQUAL)
def accumulate_to_the_epochs_end(run, notes):
    return accumulate(run, notes, Training(), lambda batch: run.step % 3 in (1, 2))


@form(EQUAL)
def accumulate_beyond_the_epoch(run, notes):
    training = Training()
    result = accumulate(run, notes, training, lambda batch: run.step % 2 == 1 and run.step < 5)
    training.optim.step()  # the rest
    return result


@form(EQUAL)
def accumulate_by_tokens(run, notes):
    seen = {"tokens": 0}

    def is_due(batch):
        seen["tokens"] += int(batch.sum())
        if seen["tokens"] < 30:
            return False
        seen["tokens"] = 0
        return True

    return *accumulate(run, notes, Training(), is_due, seen=seen), seen


@form(EQUAL)
def accumulate_with_clipping(run, notes):
    training = Training()
    clip = torch.nn.utils.clip_grad_norm_
    parameters = list(training.model.parameters())
    return accumulate(run, notes, training, lambda batch: run.step % 2 == 1, before=lambda: clip(parameters, 0.1))


@form(EQUAL)
def accumulate_with_a_gradient_scaler(run, notes):
    training = Training()
    scaler = torch.cuda.amp.GradScaler(enabled=torch.cuda.is_available())
    run.track(model=training.model, optim=training.optim, scaler=scaler)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        training.backward(batch)
        if run.step % 2 == 1:
            scaler.step(training.optim)
            scaler.update()
            training.optim.zero_grad(set_to_none=True)
    return training.model, training.optim


@form(EQUAL)
def two_optimizers_of_different_pace(run, notes):
    training = Training()
    slow = torch.optim.Adam(training.model[2].parameters(), lr=0.01)
    fast = torch.optim.SGD(training.model[0].parameters(), lr=0.05)
    run.track(model=training.model, slow=slow, fast=fast)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        training.backward(batch)
        fast.step()
        fast.zero_grad()
        if run.step % 2 == 1:
            slow.step()
            slow.zero_grad()
    return training.model, slow, fast


@form(EQUAL)
def step_at_the_next_steps_beginning(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        if run.step:
            training.optim.step()
        training.optim.zero_grad()
        training.backward(batch)
    return training.model, training.optim


@form(EQUAL)
def gradients_that_fade(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        training.backward(batch)
        training.optim.step()
        for parameter in training.model.parameters():
            parameter.grad.mul_(0.5)
    return training.model, training.optim


@form(EQUAL)
def gradients_never_set_to_zero(run, notes):
    training = Training(lr=0.01)
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        training.backward(batch)
        training.optim.step()
    return training.model, training.optim


@form(EQUAL)
def a_part_of_the_model_at_a_time(run, notes):
    training = Training(optimizer=torch.optim.Adam, weight_decay=0.1)
    other = torch.nn.Linear(1, 1)
    training.optim.add_param_group({"params": other.parameters()})
    run.track(model=training.model, other=other, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        training.optim.zero_grad(set_to_none=False)
        training.backward(batch)
        if run.step % 2 == 0:
            other(batch[:1].reshape(1, 1)).sum().backward()
        training.optim.step()
    return training.model, other, training.optim


@form(EQUAL)
def sparse_gradients(run, notes):
    torch.manual_seed(1)
    table = torch.nn.Embedding(12, 3, sparse=True)
    optim = torch.optim.SGD(table.parameters(), lr=0.1)
    run.track(table=table, optim=optim)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        table(batch.long()).pow(2).sum().backward()
        if run.step % 2 == 1:
            optim.step()
            optim.zero_grad()
    return table, optim


@form(EQUAL)
def lbfgs_with_a_closure(run, notes):
    training = Training()
    training.model[1].p = 0.0
    optim = torch.optim.LBFGS(training.model.parameters(), lr=0.1, max_iter=2)
    run.track(model=training.model, optim=optim)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        fixed = torch.rand(4)

        def closure():
            optim.zero_grad()
            loss = (training.model(torch.stack([batch.float(), fixed], 1)) - 1).pow(2).mean()
            loss.backward()
            return loss

        optim.step(closure)
    return training.model, optim


class SlowSgd(torch.optim.Optimizer):
    """A class of the script's own: it adds up by itself, and steps at each second call."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr, "calls": 0})

    def step(self, closure=None):
        for group in self.param_groups:
            group["calls"] += 1
            if group["calls"] % 2 == 0:
                for parameter in group["params"]:
                    parameter.data.add_(parameter.grad, alpha=-group["lr"])

    def zero_grad(self, set_to_none=False):
        if self.param_groups[0]["calls"] % 2 == 0:
            super().zero_grad(set_to_none)


@form(EQUAL)
def an_optimizer_that_adds_up_itself(run, notes):
    training = Training()
    training.optim = SlowSgd(training.model.parameters(), 0.05)
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        training.backward(batch)
        training.optim.step()
        training.optim.zero_grad()
    return training.model, training.optim


@form(EQUAL)
def two_models_against_each_other(run, notes):
    torch.manual_seed(1)
    makes, judges = torch.nn.Linear(2, 1), torch.nn.Linear(1, 1)
    of_makes, of_judges = (torch.optim.Adam(m.parameters(), lr=0.01) for m in (makes, judges))
    run.track(makes=makes, judges=judges, of_makes=of_makes, of_judges=of_judges)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        made = makes(torch.randn(3, 2))
        of_judges.zero_grad()
        (judges(made.detach()).mean() - judges(batch.float().reshape(-1, 1)).mean()).backward()
        of_judges.step()
        of_makes.zero_grad()
        (-judges(made).mean()).backward()
        of_makes.step()
    return makes, judges, of_makes, of_judges


@form(EQUAL)
def sums_in_a_tracked_dict(run, notes):
    training = Training()
    values = {"sum": 0.0, "best": float("inf"), "seen": set()}
    window = collections.deque(maxlen=3)
    run.track(model=training.model, optim=training.optim, values=values, window=window)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        loss = training.step(batch)
        values["sum"] += loss
        values["best"] = min(values["best"], loss)
        values["seen"].add(run.step)
        window.append(loss)
    return training.model, values["sum"], values["best"], sorted(values["seen"]), list(window)


class Ema:
    """As scripts have it: no state_dict()."""

    def __init__(self, model):
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.updates = 0

    def update(self, model):
        self.updates += 1
        for name, parameter in model.named_parameters():
            self.shadow[name].mul_(0.9).add_(parameter.detach(), alpha=0.1)


@form(EQUAL)
def an_average_of_ones_own(run, notes):
    training = Training()
    ema = Ema(training.model)
    run.track(model=training.model, optim=training.optim, ema=ema)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        training.step(batch)
        ema.update(training.model)
    return training.model, ema.shadow, ema.updates


@form(EQUAL)
def an_averaged_model_of_torch(run, notes):
    training = Training()
    average = torch.optim.swa_utils.AveragedModel(training.model)
    run.track(model=training.model, optim=training.optim, average=average)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        notes.batch(batch)
        training.step(batch)
        average.update_parameters(training.model)
    return training.model, average


@form(TOLD, "the steps change best, losses, total: no save has that")
def sums_in_variables(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    total, best, losses, unchanged = 0.0, None, [], {"a": 1}
    for batch in run.steps(loader(batch_size=4), epochs=2):
        loss = training.step(batch)
        total += loss
        best = loss if best is None else min(best, loss)
        losses.append(loss)
    return unchanged


@form(TOLD, "sched, a torch.optim.lr_scheduler.StepLR, is not tracked")
def a_scheduler_that_is_not_tracked(run, notes):
    training = Training()
    sched = torch.optim.lr_scheduler.StepLR(training.optim, 2)
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(batch_size=4), epochs=2):
        training.step(batch)
        sched.step()


def ranks(run, notes, is_synced_alone):
    torch.manual_seed(1)
    plain = torch.nn.Linear(2, 1)
    model = torch.nn.parallel.DistributedDataParallel(plain)
    optim = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    run.track(model=model, optim=optim)
    run.restore()
    for step in run.steps(range(6)):
        notes.batch(step)
        loss = model(torch.rand(2, 2)).pow(2).mean()
        if step % 3 == 2:
            loss.backward()
            optim.step()
            optim.zero_grad()
        elif is_synced_alone:
            with model.no_sync():
                model(torch.rand(2, 2)).pow(2).mean().backward()
        else:
            loss.backward()
    return plain, optim


@form(EQUAL, ranks=2)
def ranks_accumulate_under_no_sync(run, notes):
    return ranks(run, notes, True)


@form(EQUAL, ranks=2)
def ranks_accumulate_in_step(run, notes):
    return ranks(run, notes, False)


@form(EQUAL, ranks=2)
def ranks_that_reduce_by_themselves(run, notes):
    torch.manual_seed(1)
    model = torch.nn.Linear(2, 1)
    other = copy.deepcopy(model)
    optim = torch.optim.Adam(model.parameters(), lr=0.1)
    run.track(model=model, optim=optim)
    run.restore()
    for step in run.steps(range(6)):
        notes.batch(step)
        model(torch.rand(2, 2)).pow(2).mean().backward()
        if step % 3 == 2:
            for parameter in model.parameters():
                torch.distributed.all_reduce(parameter.grad)
            optim.step()
            optim.zero_grad(set_to_none=True)
    return model, optim, other
