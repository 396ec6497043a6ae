"""Sources that read in threads, and threads that are nothing to the source: as undisturbed after each step."""

import forms_threads  # noqa: F401
from check import check, parametrized


@parametrized("threads")
def test_threads(form):
    check(form)
