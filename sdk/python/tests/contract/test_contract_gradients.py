"""What lives between two steps of an optimizer: as undisturbed after each step, or told by name."""

import forms_gradients  # noqa: F401
from check import check, parametrized


@parametrized("gradients")
def test_what_lives_between_steps(form):
    check(form)
