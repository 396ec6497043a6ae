"""Schedulers of torch, and what a state may be made of: as undisturbed, refused, or told by name."""

import forms_schedulers  # noqa: F401
from check import check, parametrized


@parametrized("schedulers")
def test_schedulers(form):
    check(form)
