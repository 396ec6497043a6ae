"""State of the steps beside what is tracked: told by its name, wherever it is."""

import forms_state  # noqa: F401
from check import check, parametrized


@parametrized("state")
def test_state_of_the_steps(form):
    check(form)
