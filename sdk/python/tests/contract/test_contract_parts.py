"""Tracked objects that are a part of what run.steps() goes over: as undisturbed after each step."""

import forms_parts  # noqa: F401
from check import check, parametrized


@parametrized("parts")
def test_parts(form):
    check(form)
