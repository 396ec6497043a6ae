"""docs/reference/training-loops.md has a row for each form that is tried, with what is promised, and no other."""

import os
import re

import forms_epochs  # noqa: F401
import forms_gradients  # noqa: F401
import forms_inside  # noqa: F401
import forms_order  # noqa: F401
import forms_parts  # noqa: F401
import forms_schedulers  # noqa: F401
import forms_sources  # noqa: F401
import forms_state  # noqa: F401
import forms_threads  # noqa: F401
import forms_while  # noqa: F401
from extension import SDK
from forms import EQUAL, FORMS

PAGE = os.path.join(SDK, "..", "..", "docs", "reference", "training-loops.md")
ROW = re.compile(r"^\| `([a-z-]+)` \| [^|]+ \| (equal|told|refused)([^|]*) \|$", re.MULTILINE)


def rows():
    with open(PAGE, encoding="utf-8") as file:
        return [match.groups() for match in ROW.finditer(file.read().split("\n## The forms\n")[1])]


def test_the_table_and_the_tests_have_the_same_forms():
    names = [name for name, _, _ in rows()]
    assert sorted(names) == sorted(FORMS) and len(names) >= 40


def test_the_table_says_what_the_tests_look_for():
    for name, promise, more in rows():
        form = FORMS[name]
        assert promise == form.promise, name
        if promise == EQUAL:
            assert ("told" in more) == bool(form.says), f"{name}: whether something is told of it"
