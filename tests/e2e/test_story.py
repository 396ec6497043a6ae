"""The main job, end to end: a training job is interrupted for a more urgent one at a random step and comes back there.
Its weights and every batch of every rank are, bit for bit, those of the same job left alone. Ten seeds in
tests/nightly, four in every run."""

import os
from dataclasses import replace

import pytest

from cluster.story import Training, random_step
from cluster.verdict import problems_of_interrupt

SEEDS = range(1, 1 + int(os.environ.get("GLIM_TEST_STORIES", "2")))
# Long enough that an interrupt finds it in the middle of an epoch and another epoch follows; ten of them, each with its
# reference, have to fit into some minutes on two cores.
EPOCHS = 3


@pytest.mark.parametrize("seed", SEEDS)
def test_an_interrupted_training_ends_as_if_left_alone(stage, seed):
    training = Training(seed=seed, epochs=EPOCHS, later_step_ms=0)
    reference = stage.reference("reference", replace(training, step_ms=0))
    step = random_step(seed, training, reference["steps"])
    story = stage.interrupted("digits", training, step, "reference", urgent_steps=20)
    assert problems_of_interrupt(story, accuracy_min=None) == []


def test_six_epochs_reach_the_accuracy(stage):
    """The length of training that the story is told with, through an interrupt."""
    training = Training(seed=1, epochs=6, later_step_ms=0)
    reference = stage.reference("reference", replace(training, step_ms=0))
    step = random_step(1, training, reference["steps"])
    story = stage.interrupted("digits", training, step, "reference")
    assert problems_of_interrupt(story, accuracy_min=0.95) == []
