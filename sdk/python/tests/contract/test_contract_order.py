"""Where order and random numbers come from: as undisturbed after each step, or told by name."""

import forms_order  # noqa: F401
from check import check, parametrized


@parametrized("order")
def test_order_and_random_numbers(form):
    check(form)
