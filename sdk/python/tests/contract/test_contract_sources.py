"""What is put into run.steps(), around it, and how it is left: as undisturbed, refused, or told by name."""

import functools
import os

import forms_sources  # noqa: F401
from attempts import STOP, attempt, told
from check import check, parametrized, small_folder
from forms import REFUSED, Form, Training


@parametrized("sources")
def test_sources(form):
    check(form)


def goes_on_by_itself(run, notes, path):
    """Keeps in a file of its own what it has given."""

    def batches():
        while (done := os.path.getsize(path)) < 6:
            with open(path, "a") as file:
                file.write(".")
            yield [float(done)]

    training = Training()
    run.track(model=training.model, optim=training.optim)
    run.restore()
    for batch in run.steps(batches()):
        notes.batch(batch)
        training.step(batch)


def test_a_source_that_goes_on_by_itself_and_has_too_few_batches_left_is_refused():
    with small_folder() as folder:
        open(f"{folder}/given", "w").close()
        one = Form("by-itself", REFUSED, functools.partial(goes_on_by_itself, path=f"{folder}/given"))
        assert attempt(one, folder, 1, 3, STOP), told(one, folder, 1)
        assert not attempt(one, folder, 2)
        said = told(one, folder, 2)
        assert "a generator of batches() has " in said and "and 4 of it were done before the interrupt" in said
