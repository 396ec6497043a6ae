"""What stands between the epochs, before the loop and behind it."""

import random

import torch
from forms import EQUAL, Training, form, loader


def score_of(training):
    training.model.eval()
    with torch.no_grad():
        score = training.model(torch.ones(3, 2)).sum().item()
    training.model.train()
    return score


@form(EQUAL)
def an_evaluation_and_a_scheduler(run, notes):
    training, source = Training(), loader()
    sched = torch.optim.lr_scheduler.StepLR(training.optim, 1, 0.5)
    run.track(model=training.model, optim=training.optim, sched=sched)
    run.restore()
    for epoch in run.epochs(3):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        notes.say(f"evaluated {epoch}", score_of(training))
        sched.step()
        notes.say(f"after {epoch}", sched.get_last_lr())
    return training.model, training.optim, sched


@form(EQUAL)
def a_save_before_the_evaluation(run, notes):
    training, source = Training(), loader()
    sched = torch.optim.lr_scheduler.StepLR(training.optim, 1, 0.5)
    run.track(model=training.model, optim=training.optim, sched=sched)
    run.restore()
    for epoch in run.epochs(3):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        run.save()
        notes.say(f"evaluated {epoch}", score_of(training))
        sched.step()
        notes.say(f"after {epoch}", sched.get_last_lr())
    return training.model, training.optim, sched


@form(EQUAL)
def a_save_behind_the_scheduler(run, notes):
    training, source = Training(), loader()
    sched = torch.optim.lr_scheduler.StepLR(training.optim, 1, 0.5)
    run.track(model=training.model, optim=training.optim, sched=sched)
    run.restore()
    for epoch in run.epochs(3):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        sched.step()
        notes.say(f"stepped {epoch}", sched.get_last_lr())
        run.save()
        notes.say(f"saved {epoch}", sched.get_last_lr())
    return training.model, training.optim, sched


@form(EQUAL)
def a_plateau_and_the_best_score(run, notes):
    training, source, values = Training(lr=0.2), loader(), {"best": None, "of": -1}
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(training.optim, patience=0)
    run.track(model=training.model, optim=training.optim, sched=sched, values=values)
    run.restore()
    for epoch in run.epochs(3):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        score = score_of(training)
        sched.step(score)
        if values["best"] is None or score < values["best"]:
            values.update(best=score, of=epoch)
            run.save()
        notes.say(f"epoch {epoch}", [score, training.optim.param_groups[0]["lr"], values["of"]])
    return training.model, training.optim, sched, values


class Patience:
    def __init__(self):
        self.best, self.bad = float("inf"), 0

    def is_over(self, score):
        self.bad = 0 if score < self.best else self.bad + 1
        self.best = min(self.best, score)
        return self.bad >= 2


@form(EQUAL)
def early_stopping(run, notes):
    training, source, patience = Training(), loader(), Patience()
    run.track(model=training.model, optim=training.optim, patience=patience)
    run.restore()
    for epoch in run.epochs(100):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        if patience.is_over(epoch):
            break
    if not run.stopped:
        run.save()
        notes.say("trained for", epoch)
    return training.model, patience.bad


@form(EQUAL)
def a_schedulers_step_at_the_epochs_beginning(run, notes):
    training, source = Training(), loader()
    sched = torch.optim.lr_scheduler.ExponentialLR(training.optim, 0.5)
    run.track(model=training.model, optim=training.optim, sched=sched)
    run.restore()
    for epoch in run.epochs(3):
        sched.step()
        notes.first(f"begins {epoch}", training.optim.param_groups[0]["lr"])
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
    return training.model, training.optim, sched


@form(EQUAL)
def numbers_drawn_at_the_epochs_beginning(run, notes):
    training, source = Training(), loader()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for epoch in run.epochs(3):
        scale = random.random() + torch.rand(1).item()
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch * scale)
        if run.stopped:
            break
    return training.model


@form(EQUAL)
def two_loops_in_an_epoch(run, notes):
    training, first, second = Training(), loader(), loader(batch_size=3)
    sched = torch.optim.lr_scheduler.ExponentialLR(training.optim, 0.5)
    run.track(model=training.model, optim=training.optim, sched=sched)
    run.restore()
    for epoch in run.epochs(2):
        for batch in run.steps(first):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        sched.step()
        notes.first(f"between {epoch}", sched.get_last_lr())
        for batch in run.steps(second):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        sched.step()
    return training.model, training.optim, sched


@form(EQUAL)
def a_validation_loop(run, notes):
    training, source, validation = Training(), loader(), loader(batch_size=3)
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for epoch in run.epochs(2):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        for at, batch in enumerate(validation):
            notes.say(f"validates {epoch} {at}", batch.tolist())
    return training.model


@form(EQUAL)
def a_validation_in_a_step(run, notes):
    training, validation = Training(), loader(batch_size=3)
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(), epochs=2):
        notes.batch(batch)
        training.step(batch)
        if run.step % 2 == 1:
            notes.say(f"validates {run.step}", [b.tolist() for b in validation])
    return training.model


@form(EQUAL)
def warm_up_and_then_epochs(run, notes):
    training, source = Training(), loader()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(batch_size=3)):
        notes.batch(batch)
        training.step(batch)
    if run.stopped:
        return None
    for group in training.optim.param_groups:
        group["lr"] *= 0.1
    for epoch in run.epochs(2):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        notes.say(f"epoch {epoch} is over", run.step)
    return training.model, training.optim


@form(EQUAL)
def epochs_in_two_parts(run, notes):
    training, source = Training(), loader()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for parameter in training.model[0].parameters():
        parameter.requires_grad_(False)
    for total in (1, 3):
        for epoch in run.epochs(total):
            for batch in run.steps(source):
                notes.batch(batch)
                training.step(batch)
            if run.stopped:
                return None
            notes.say(f"epoch {epoch} is over", run.step)
        for parameter in training.model[0].parameters():
            parameter.requires_grad_(True)
    return training.model, training.optim


@form(EQUAL)
def what_stands_before_the_loop(run, notes):
    training = Training()
    sched = torch.optim.lr_scheduler.ExponentialLR(training.optim, 0.5)
    run.track(model=training.model, optim=training.optim, sched=sched)
    run.restore()
    sched.step()
    for batch in run.steps(loader(), epochs=2):
        notes.batch(batch)
        training.step(batch)
        sched.step()
    return training.model, training.optim, sched


@form(EQUAL)
def a_save_behind_the_loop(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(), epochs=2):
        notes.batch(batch)
        training.step(batch)
    if not run.stopped:
        run.save()
        notes.say("saved", run.step)
        with torch.no_grad():
            for parameter in training.model.parameters():
                parameter.mul_(2)
        notes.say("made ready", run.step)
        run.save()
        notes.say("exported", run.step)
    return training.model
