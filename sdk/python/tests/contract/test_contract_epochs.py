"""What stands between the epochs, before the loop and behind it: as undisturbed after each step."""

import forms_epochs  # noqa: F401
from check import check, parametrized


@parametrized("epochs")
def test_epochs(form):
    check(form)
