"""Loops that do not go over run.steps(): as undisturbed after each step."""

import forms_while  # noqa: F401
from check import check, parametrized


@parametrized("while")
def test_while(form):
    check(form)
