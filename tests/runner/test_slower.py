"""The factor by which the bounds of waits are multiplied."""

import pytest

from runner import slower


@pytest.mark.parametrize(
    "computing, starts, others, factor",
    [
        (1, 1, 0, 1),
        (0.3, 0.5, 0, 1),  # a fast machine keeps the bounds
        (1.15, 1, 0, 1),
        (1.5, 1, 0, 1.5),
        (1, 2.3, 0, 2.5),
        (1, 1, 2, 2),  # two busy processes on two cores
        (40, 1, 0, 4),
    ],
)
def test_the_worst_figure_counts_rounded_up_to_a_half(computing, starts, others, factor):
    assert slower.factor_of(computing * slower.COMPUTING_S, starts * slower.STARTS_S, others, 2) == factor


def test_this_machine_can_be_measured():
    factor, words = slower.measure()
    assert 1 <= factor <= slower.MOST and factor * 2 == int(factor * 2)
    assert "times as long as on a quiet machine" in words
