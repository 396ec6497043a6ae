"""What a step hands on to the next is told from what it makes anew by the bytecode of the loop alone."""

import contextlib
import sys
import types

import torch

from glim import liveness, script_code


class Asked:
    """Goes over items as run.steps() does, and notes where whoever goes over it stands."""

    def __init__(self, *names, owner=None):
        self.owner = owner
        self.names, self.dead, self.place, self.epoch, self.used = names, set(), None, None, None

    def __iter__(self):
        for item in range(2):
            frame = sys._getframe(1)
            self.place = liveness.of_step(frame.f_code, frame.f_lasti)
            self.epoch = liveness.of_epoch(frame.f_code, frame.f_lasti)
            script = script_code.Script([vars(sys.modules[__name__])], [frame])
            self.dead = {name for name in self.names if script.writes_before_reading(name, self.owner)}
            self.used = liveness.used([frame])
            yield item


def test_what_is_read_before_it_is_written_is_handed_on():
    asked = Asked()
    total, best, ahead, late = 0, None, (0, 0), None
    for item in asked:
        with contextlib.nullcontext():
            loss = item * 2
        try:
            double = loss + 1
        except ValueError:
            double = None
        now, ahead = ahead, (item, double)
        rows = [each for each in now]
        total += len(rows)
        best = loss if best is None else min(best, loss)
        if item == 1:
            late = loss
    assert (total, late) == (4, 2)
    for name in ("total", "best", "ahead", "late"):
        assert not asked.place.is_dead(name), name
    for name in ("item", "loss", "double", "now", "rows"):
        assert asked.place.is_dead(name), name


def test_what_is_not_written_in_the_loop_is_no_matter_of_it():
    asked, held = Asked(), []
    for item in asked:
        held.append(item)
    assert not asked.place.is_dead("held") and not asked.place.is_dead("nothing")


def test_what_an_epoch_begins_with_is_handed_on_by_its_steps_and_not_by_epochs():
    asked, kept = Asked(), 0
    for epoch in range(2):
        total = epoch
        for item in asked:
            total += item
        kept += total
    assert not asked.place.is_dead("total") and asked.epoch.is_dead("total")
    assert asked.epoch.is_dead("epoch") and not asked.epoch.is_dead("kept")


def test_a_loop_that_stands_in_no_other_has_no_epochs():
    asked = Asked()
    for _ in asked:
        pass
    assert asked.epoch is None


def test_a_loop_that_asks_by_next_is_seen_as_well():
    asked, total = Asked(), 0
    items = iter(asked)
    while True:
        item = next(items, None)
        if item is None:
            break
        total += item
    assert not asked.place.is_dead("total") and asked.place.is_dead("item")


class Trainer:
    def __init__(self):
        self.shown = self.added = self.given = self.handed = 0

    def train(self, item, before=0):
        self.shown = item
        self.added += item
        self.given = item + before

    def swap(self, item):
        before, self.handed = self.handed, item
        return before


def test_an_attribute_that_a_called_method_writes_before_the_loop_reads_it_is_dead():
    asked, trainer, seen = Asked(".shown", ".added", ".given", ".handed"), Trainer(), []
    for item in asked:
        trainer.train(item, trainer.given)
        seen.append(trainer.shown)
        trainer.swap(item)
    assert asked.dead == {".shown"}, "given is an argument of the call that writes it"


def test_an_attribute_that_is_read_in_the_line_of_the_call_and_behind_it_is_dead():
    asked, trainer, seen = Asked(".shown", ".given"), Trainer(), []
    for item in asked:
        trainer.train(item, trainer.given), seen.append(trainer.shown)
    assert asked.dead == {".shown"}


def test_an_attribute_that_is_read_before_the_call_is_handed_on():
    asked, trainer, seen = Asked(".shown"), Trainer(), []
    for item in asked:
        seen.append(trainer.shown)
        trainer.train(item)
    assert asked.dead == set()


class Part(torch.nn.Module):
    def forward(self, item):
        self.weights = item + 1
        self.calls = self.calls + 1 if hasattr(self, "calls") else 0
        return self.weights


class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.parts, self.of_parts, self.out = Part(), torch.nn.ModuleList([Part()]), 0, 0

    def forward(self, item):
        self.out = self.part(item)
        self.of_parts = self.part.weights
        for each in self.parts:
            self.out = each(self.out)
        return self.out

    def shown(self):
        return self.of_parts + self.out + self.part.weights


ATTRIBUTES = (".weights", ".of_parts", ".out", ".calls")
WHOLE = Whole()


def shows(item):
    return WHOLE.out + item


def test_an_attribute_that_forward_writes_before_the_loop_reads_it_is_dead():
    asked, model, seen = Asked(*ATTRIBUTES), Whole(), []
    for item in asked:
        model(item)
        seen.append(model.shown() + model.out)
    assert asked.dead == set(ATTRIBUTES) - {".calls"}


def test_the_same_of_a_model_of_the_module_and_a_function_that_looks_at_it():
    asked, seen = Asked(*ATTRIBUTES), []
    for item in asked:
        WHOLE(item)
        seen.append(shows(item))
    assert asked.dead == set(ATTRIBUTES) - {".calls"}


def test_the_same_of_a_model_that_an_object_has_and_of_one_in_a_list():
    asked, held, seen = Asked(*ATTRIBUTES), types.SimpleNamespace(), []
    held.models = [Whole()]
    for item in asked:
        seen.append(held.models[0](item) + held.models[0].shown())
    assert asked.dead == set(ATTRIBUTES) - {".calls"}


def test_an_attribute_of_a_model_that_is_read_before_its_forward_is_handed_on():
    asked, model, seen = Asked(*ATTRIBUTES), Whole(), []
    for item in asked:
        model.train()
        seen.append(model.out)
        model(item)
    assert ".out" not in asked.dead and ".calls" not in asked.dead


def test_an_attribute_that_is_an_argument_of_forward_is_handed_on():
    asked, model = Asked(*ATTRIBUTES), Whole()
    for _ in asked:
        model(model.out)
    assert ".out" not in asked.dead


class Looked(torch.nn.Module):
    def forward(self, item):
        self.hand = item
        return self.hand


class Clock:
    """Of another class, with an attribute of the same name."""

    def __init__(self):
        self.hand = 0

    def tick(self):
        self.hand = self.hand + 1
        return self.hand


def test_an_attribute_of_the_same_name_of_another_class_is_another():
    asked, model, clock = Asked(".hand", owner=Looked), Looked(), Clock()
    for item in asked:
        clock.tick()
        model(torch.ones(1)).sum()
        assert model.hand is not None
    assert asked.dead == {".hand"}
    asked = Asked(".hand", owner=Clock)
    for item in asked:
        model(torch.ones(1)).sum()
        clock.tick()
    assert asked.dead == set()


def test_an_attribute_that_no_code_of_the_scripts_has_is_handed_on():
    asked = Asked(".nowhere")
    for _ in asked:
        pass
    assert asked.dead == set()


CALLS = LAST = 0


def count():
    global CALLS, LAST
    CALLS += 1
    LAST = CALLS


def test_a_variable_of_the_module_that_functions_change():
    asked = Asked("CALLS", "LAST")
    for _ in asked:
        count()
    assert asked.dead == {"LAST"}


def test_what_the_steps_use_is_found_through_the_functions_that_they_call():
    asked, held = Asked(), []

    def add(item):
        held.append(item)

    other = [1]
    for item in asked:
        add(item)
        count()
    assert {"add", "held", "count", "CALLS"} <= asked.used and other and "other" not in asked.used


def test_a_function_too_long_to_look_into_hands_on_everything():
    lines = "".join(f"a{at} = {at}\n" for at in range(liveness._INSTRUCTIONS_MAX))
    code = compile(lines, "long", "exec")
    assert isinstance(code, types.CodeType)
    place = liveness.of_step(code, 0)
    assert not place.is_known and not place.is_dead("a1")
    assert "a1" in liveness.live_at_entry(code)
