"""What tracked dicts and objects hold: as undisturbed after each step, or refused by name."""

import forms_inside  # noqa: F401
from check import check, parametrized


@parametrized("inside")
def test_inside(form):
    check(form)
