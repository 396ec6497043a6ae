"""What is put into run.steps(), what is wrapped around it, and how it is left."""

import itertools

import torch
from forms import EQUAL, REFUSED, TOLD, Training, form, loader
from forms_order import train


@form(EQUAL)
def a_range(run, notes):
    return train(run, notes, range(3))


@form(EQUAL)
def a_generator_function(run, notes):
    def batches():
        for batch in loader():
            yield batch * 2

    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for _ in run.epochs(2):
        for batch in run.steps(batches()):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
    return training.model


@form(EQUAL)
def an_enumerate_of_one_epoch(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for at, batch in run.steps(enumerate(loader(batch_size=2))):
        notes.batch([at, *batch.tolist()])
        training.step(batch)
    return training.model


@form(EQUAL)
def a_zip_of_two_loaders(run, notes):
    training, first, second = Training(), loader(), loader()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for _ in run.epochs(2):
        for one, other in run.steps(zip(first, second)):
            notes.batch([*one.tolist(), *other.tolist()])
            training.step(one)
        if run.stopped:
            break
    return training.model


@form(EQUAL)
def a_map_over_a_loader(run, notes):
    return train(run, notes, map(lambda batch: batch + 1, loader(batch_size=2)), epochs=None)


@form(EQUAL)
def a_cycle_that_is_cut_off(run, notes):
    return train(run, notes, itertools.islice(itertools.cycle(loader()), 7), epochs=None)


@form(EQUAL, "run.steps() stands in a loop of the script's own")
def an_iterator_shared_by_two_loops(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    batches = itertools.cycle(loader())
    for part in (2, 4):
        for batch in run.steps(itertools.islice(batches, part)):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
    return training.model


def numbers():
    yield from range(4)


@form(REFUSED, "an enumerate can be gone over once, and epochs=3 asks for 3 times")
def an_enumerate_of_three_epochs(run, notes):
    train(run, notes, enumerate(loader()), epochs=3)


@form(REFUSED, "a zip can be gone over once")
def a_zip_of_two_epochs(run, notes):
    train(run, notes, zip(loader(), loader()), epochs=2)


@form(REFUSED, "a generator of numbers() can be gone over once")
def a_generator_of_two_epochs(run, notes):
    train(run, notes, numbers(), epochs=2)


@form(REFUSED, "has no batch in epoch 1: it is used up, or empty")
def an_iterator_in_each_epoch(run, notes):
    training = Training()
    run.track(model=training.model)
    batches = iter(loader())
    for _ in run.epochs(3):
        for batch in run.steps(batches):
            training.step(batch)


class UsedUp:
    """Its __iter__ returns itself, and does not begin anew."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        if self.at > 3:
            raise StopIteration
        return [float(self.at)]


@form(REFUSED, "a forms_sources.UsedUp has no batch in epoch 1")
def an_object_that_is_used_up(run, notes):
    train(run, notes, UsedUp(), epochs=3)


class BeginsAnew(UsedUp):
    def __iter__(self):
        self.at = 0
        return self


@form(EQUAL)
def an_object_that_begins_itself_anew(run, notes):
    return train(run, notes, BeginsAnew())


class Grows:
    """Its epochs have 2, 3 and 4 batches."""

    def __init__(self):
        self.length = 1

    def __iter__(self):
        self.length += 1
        return iter([[float(at)] for at in range(self.length)])


@form(EQUAL)
def epochs_of_different_length(run, notes):
    return train(run, notes, Grows(), epochs=3)


@form(EQUAL)
def left_by_break(run, notes):
    training, source = Training(), loader(batch_size=2)
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for epoch in run.epochs(2):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
            if run.step % 10 == 2 or run.step == 6:
                break
        if run.stopped:
            break
        notes.say(f"epoch {epoch} is over", run.step)
    return training.model


@form(EQUAL)
def left_by_break_at_a_number_of_steps(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(), epochs=100):
        notes.batch(batch)
        training.step(batch)
        if run.step == 7:
            break
    if not run.stopped:
        run.save()
        notes.say("exported", run.step)
    return training.model


@form(EQUAL, "run.steps() stands in a loop of the script's own")
def left_by_return(run, notes):
    training, source = Training(), loader()
    run.track(model=training.model, optim=training.optim)
    run.restore()

    def until(last):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
            if run.step == last:
                return

    for last in (1, 3, 6):
        until(last)
        if run.stopped:
            break
    return training.model


@form(EQUAL)
def left_by_an_exception(run, notes):
    training, source = Training(), loader()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for _ in run.epochs(3):
        try:
            for batch in run.steps(source):
                notes.batch(batch)
                if float(batch[0]) > 8:
                    raise FloatingPointError("a bad batch ends this epoch")
                training.step(batch)
        except FloatingPointError:
            pass
        if run.stopped:
            break
    return training.model


@form(EQUAL)
def steps_that_are_left_out(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(), epochs=2):
        notes.batch(batch)
        if run.step % 3 == 1:
            continue
        training.step(batch)
    return training.model


@form(EQUAL)
def a_loop_with_else(run, notes):
    training, values = Training(), {"else": 0}
    run.track(model=training.model, optim=training.optim, values=values)
    run.restore()
    for _ in run.epochs(2):
        for batch in run.steps(loader()):
            notes.batch(batch)
            training.step(batch)
        else:
            if not run.stopped:
                values["else"] += 1
        if run.stopped:
            break
    return training.model, values


@form(EQUAL)
def two_loops_in_a_row(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(), epochs=1):
        notes.batch(batch)
        training.step(batch)
    if run.stopped:
        return None
    for group in training.optim.param_groups:
        group["lr"] *= 0.5
    for batch in run.steps(loader(batch_size=3), epochs=2):
        notes.batch(batch)
        training.step(batch)
    return training.model, training.optim


@form(EQUAL, "run.steps() stands in a loop of the script's own")
def a_for_loop_of_ones_own(run, notes):
    training, source = Training(), loader()
    sched = torch.optim.lr_scheduler.StepLR(training.optim, 1, 0.5)
    run.track(model=training.model, optim=training.optim, sched=sched)
    run.restore()
    for epoch in range(3):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
        sched.step()
        notes.first(f"after epoch {epoch}", sched.get_last_lr())
    return training.model, training.optim, sched


@form(EQUAL)
def a_for_loop_that_begins_where_restore_says(run, notes):
    training, source = Training(), loader()
    run.track(model=training.model, optim=training.optim)
    for _ in range(run.restore() // len(source), 3):
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
        if run.stopped:
            break
    return training.model, training.optim


@form(EQUAL, "run.steps() stands in a loop of the script's own")
def a_while_loop_until_a_step(run, notes):
    training, source = Training(), loader()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    while run.step < 5 and not run.stopped:
        for batch in run.steps(source):
            notes.batch(batch)
            training.step(batch)
            if run.step == 4:
                break
    return training.model, training.optim


@form(EQUAL)
def next_by_hand(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    batches = run.steps(loader(), epochs=2)
    while True:
        batch = next(batches, None)
        if batch is None:
            break
        notes.batch(batch)
        training.step(batch)
    return training.model


@form(EQUAL)
def an_iterator_that_is_gone_on_with(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    batches = run.steps(loader(), epochs=2)
    for batch in batches:
        notes.batch(batch)
        training.step(batch)
        break
    for batch in batches:
        notes.batch(batch)
        training.step(batch)
    return training.model


@form(EQUAL)
def saves_in_a_step(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(loader(), epochs=2):
        notes.batch(batch)
        training.optim.zero_grad()
        training.backward(batch)
        run.save()
        training.optim.step()
        notes.say(f"behind step {run.step}", 1)
    return training.model, training.optim


class Bar:
    """A progress bar: goes over what it is given, and shows how far it is."""

    def __init__(self, inner):
        self.inner, self.shown = inner, 0

    def __iter__(self):
        for item in self.inner:
            yield item
            self.shown += 1


@form(EQUAL)
def a_progress_bar_around(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in Bar(run.steps(loader(), epochs=2)):
        notes.batch(batch)
        training.step(batch)
    return training.model


@form(TOLD, "enumerate() around run.steps() begins anew after an interrupt")
def an_enumerate_around(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    for _, batch in enumerate(run.steps(loader(), epochs=2)):
        training.step(batch)


@form(TOLD, "islice() around run.steps() begins anew after an interrupt")
def an_islice_around(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    for batch in itertools.islice(run.steps(loader(), epochs=2), 4):
        training.step(batch)


@form(TOLD, "zip() around run.steps() begins anew after an interrupt")
def a_zip_around(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    for batch, _ in zip(run.steps(loader(), epochs=2), loader(batch_size=2)):
        training.step(batch)


@form(TOLD, "batches, a torch.utils.data.dataloader._SingleProcessDataLoaderIter, is gone on with in the steps")
def steps_that_ask_an_iterator(run, notes):
    training, source = Training(), loader()
    run.track(model=training.model, optim=training.optim)
    batches = iter(source)
    for _ in run.steps(range(6)):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(source)
            batch = next(batches)
        training.step(batch)


class LooksAhead:
    """Has fetched the next batch before it hands out one."""

    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        batches = iter(self.inner)
        ahead = next(batches)
        for batch in batches:
            yield ahead
            ahead = batch
        yield ahead


@form(EQUAL)
def a_source_that_looks_ahead(run, notes):
    return train(run, notes, LooksAhead(loader()))


@form(TOLD, "the first step has changed no weights and left no gradients")
def a_reader_that_looks_ahead_around(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    for batch in LooksAhead(run.steps(loader(), epochs=2)):
        training.step(batch)


@form(REFUSED, "run.steps() was begun once more inside of a step")
def steps_inside_of_a_step(run, notes):
    training = Training()
    run.track(model=training.model, optim=training.optim)
    for batch in run.steps(loader(), epochs=2):
        training.step(batch)
        for _ in run.steps(loader()):
            pass


@form(REFUSED, "run.epochs() counts the epochs here")
def epochs_twice(run, notes):
    training = Training()
    run.track(model=training.model)
    for _ in run.epochs(2):
        for batch in run.steps(loader(), epochs=2):
            training.step(batch)
