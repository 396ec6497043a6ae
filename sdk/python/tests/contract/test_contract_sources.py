"""What is put into run.steps(), around it, and how it is left: as undisturbed, refused, or told by name."""

import forms_sources  # noqa: F401
from check import check, parametrized


@parametrized("sources")
def test_sources(form):
    check(form)
