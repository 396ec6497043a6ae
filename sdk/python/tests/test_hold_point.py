"""The hold point: a table of its answers, then many seeded interleavings of several ranks."""

import random
import threading

import pytest
from bounds import BOUND_S, wait_until

from glim.hold_point import HOLD_STEPS_MAX, HoldPoint


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def run_steps(hold, clock, steps, step_s):
    for step in steps:
        assert hold.begin_step(step)
        clock.now += step_s


@pytest.mark.parametrize(
    "step_s, ahead", [(None, 1), (10.0, 1), (0.25, 1), (0.2, 2), (0.1, 3), (0.001, 250), (0.0, HOLD_STEPS_MAX)]
)
def test_the_hold_lies_250_ms_ahead_and_at_least_one_step(step_s, ahead):
    clock = Clock()
    hold = HoldPoint(clock=clock)
    hold.join(0)
    if step_s is not None:
        run_steps(hold, clock, range(5), step_s)
    assert hold.interrupt(1) == hold.started + ahead


def test_a_median_is_not_moved_by_one_slow_step():
    clock = Clock()
    hold = HoldPoint(clock=clock)
    run_steps(hold, clock, range(1), 30.0)
    run_steps(hold, clock, range(1, 8), 0.05)
    assert hold.step_ms() == 50
    assert hold.interrupt(1) == 7 + 5


def test_time_at_the_hold_or_in_a_save_is_not_step_time():
    clock = Clock()
    hold = HoldPoint(clock=clock)
    for step in range(4):
        assert hold.begin_step(step)
        clock.now += 0.1
        hold.pause_timing()
        clock.now += 100.0
    assert hold.step_ms() == 100


def test_who_never_begins_a_step_gives_no_hold():
    hold = HoldPoint()
    assert hold.interrupt(1) is None
    hold.join(40)  # now it has boundaries: the pending flag can be answered
    assert hold.interrupt(1) == 40


def test_a_process_that_cannot_speak_for_its_rank_gives_no_hold():
    hold = HoldPoint(may_agree=False)
    assert hold.begin_step(0)
    assert hold.interrupt(1) is None


def test_a_repeat_gives_the_same_hold_and_an_older_agreement_none():
    clock = Clock()
    hold = HoldPoint(clock=clock)
    hold.begin_step(0)
    assert hold.interrupt(2) == 1
    clock.now += 1.0
    hold.begin_step(1)
    assert hold.interrupt(2) == 1
    assert hold.interrupt(1) is None
    assert hold.interrupt(3) == 2  # a new agreement is a new agreement


def test_runs_through_s_and_stays_stopped():
    hold = HoldPoint()
    hold.begin_step(0)
    hold.interrupt(1)
    hold.stop_at(1, 3)
    hold.stop_at(1, 7)  # S never changes
    assert [hold.begin_step(i) for i in (1, 2, 3, 4, 4)] == [True, True, True, False, False]
    assert hold.stopped and hold.stop_step == 3 and not hold.no_agreement
    assert not hold.withdrawn(1)  # too late


def test_messages_of_another_agreement_change_nothing():
    hold = HoldPoint()
    hold.begin_step(0)
    hold.stop_at(1, 0)
    hold.stop_now(1)
    assert hold.begin_step(1)
    hold.interrupt(2)
    hold.stop_at(1, 1)
    assert not hold.withdrawn(1)
    hold.stop_at(2, 2)
    assert hold.begin_step(2) and not hold.begin_step(3)


@pytest.mark.parametrize(
    "end, goes_on",
    [(lambda h: h.stop_at(1, 2), True), (lambda h: h.withdrawn(1), True), (lambda h: h.stop_now(1), False)],
)
def test_waits_at_the_hold_until_it_is_told(end, goes_on):
    hold = HoldPoint()
    hold.begin_step(0)
    assert hold.interrupt(1) == 1
    assert hold.begin_step(1)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(hold.begin_step(2)))
    thread.start()
    wait_until(lambda: hold.waiting, what="the hold")
    assert answers == []
    end(hold)
    thread.join(BOUND_S)
    assert answers == [goes_on]


def test_withdrawn_lifts_the_hold():
    hold = HoldPoint()
    hold.begin_step(0)
    hold.interrupt(1)
    assert hold.withdrawn(1)
    assert all(hold.begin_step(i) for i in range(1, 9))


def test_without_an_agreement_rank_zero_stops_at_once_and_the_others_give_it_a_step():
    for is_rank_zero, last in ((True, 5), (False, 6)):
        hold = HoldPoint(is_rank_zero=is_rank_zero)
        hold.begin_step(5)
        hold.interrupt(1)
        hold.stop_now(1)
        hold.stop_at(1, 90)  # too late
        assert [i for i in range(6, 10) if hold.begin_step(i)] == list(range(6, last + 1))
        assert hold.no_agreement and hold.stop_step is None


def test_a_finished_rank_gives_no_hold():
    hold = HoldPoint()
    hold.begin_step(0)
    hold.finish()
    assert hold.interrupt(1) is None and hold.finished


def test_critical_defers_the_answer_and_a_stop_without_agreement():
    hold = HoldPoint()
    hold.begin_step(0)
    hold.enter_critical()
    hold.enter_critical()
    assert hold.interrupt(1) is None
    assert hold.begin_step(1)
    hold.stop_now(1)
    assert hold.no_agreement and hold.begin_step(2)
    assert not hold.leave_critical()
    assert hold.begin_step(3)
    assert hold.leave_critical()
    assert not hold.begin_step(4)


def test_an_agreement_made_before_a_critical_section_stands():
    hold = HoldPoint()
    hold.begin_step(0)
    hold.interrupt(1)
    hold.enter_critical()
    hold.stop_at(1, 1)
    assert hold.begin_step(1) and not hold.begin_step(2)


def test_yield_ends_the_loop_after_the_current_step():
    hold = HoldPoint()
    hold.begin_step(0)
    hold.yield_after_this_step()
    assert not hold.begin_step(1) and hold.stopped


def test_step_numbers_must_grow():
    hold = HoldPoint()
    hold.begin_step(5)
    assert hold.begin_step(5)
    with pytest.raises(ValueError, match="step 4"):
        hold.begin_step(4)


@pytest.mark.parametrize("seed", range(200))
def test_any_interleaving_stops_every_rank_after_the_same_step(seed):
    """Ranks in lockstep (none may be a step ahead of a peer that has not started the last one), with messages delayed
    at random: no rank starts a step beyond S, all run through S, and nobody gets stuck."""
    rng = random.Random(seed)
    world, total = rng.randint(1, 6), 400
    clocks = [Clock() for _ in range(world)]
    ranks = [HoldPoint(is_rank_zero=r == 0, clock=clocks[r]) for r in range(world)]
    step_s = rng.choice([0.01, 0.06, 0.3])
    asked = [threading.Event() for _ in range(world)]
    begun = [-1] * world
    allowed = [None] * world

    def ask(r):  # the training thread: a step is asked for, the answer noted
        allowed[r] = ranks[r].begin_step(begun[r] + 1)
        asked[r].set()

    def may_advance(r):
        return not ranks[r].stopped and begun[r] < total - 1 and all(begun[r] <= b for b in begun)

    threads = [None] * world
    acks, pending_ack, pending_stop = {}, set(), set()
    stop = None
    interrupt_at = rng.randint(0, 40)
    for tick in range(20_000):
        if tick == interrupt_at:
            pending_ack = set(range(world))
        r = rng.randrange(world)
        choice = rng.random()
        if choice < 0.6 and threads[r] is None and may_advance(r):
            if rng.random() < 0.7 or ranks[r].started >= 0:
                asked[r].clear()
                threads[r] = threading.Thread(target=ask, args=(r,))
                threads[r].start()
                wait_until(lambda: asked[r].is_set() or ranks[r].waiting, what=f"rank {r}, seed {seed}")
        elif choice < 0.8 and r in pending_ack:
            hold = ranks[r].interrupt(1)
            if hold is not None:
                pending_ack.discard(r)
                acks[r] = hold
                assert hold > begun[r]
                if len(acks) == world:
                    stop = max(acks.values())
                    pending_stop = set(range(world))
        elif choice < 1.0 and r in pending_stop:
            pending_stop.discard(r)
            ranks[r].stop_at(1, stop)
            wait_until(lambda: threads[r] is None or asked[r].is_set(), what=f"rank {r} after S, seed {seed}")
        for n in range(world):
            if threads[n] is not None and asked[n].is_set():
                threads[n].join(BOUND_S)
                threads[n] = None
                if allowed[n]:
                    begun[n] += 1
                    clocks[n].now += step_s
                    assert stop is not None or n not in acks or begun[n] <= acks[n], f"seed {seed}: beyond its hold"
                    assert stop is None or begun[n] <= stop, f"seed {seed}: beyond S"
        if all(rank.stopped for rank in ranks):
            break
    assert stop is not None and begun == [stop] * world, f"seed {seed}: {begun} {stop}"
