"""The tests of the forms, for the modules test_contract_*.py, one a group: the files run beside each other."""

import contextlib
import gc
import os
import shutil
import sys
import tempfile

import pytest
import torch
from attempts import Undisturbed, attempt, killed_again_and_again, stopped_at, told
from forms import EQUAL, REFUSED, of_group

from glim import checkpoint  # noqa: F401
from glim import torch as glim_torch


def parametrized(group):
    forms = of_group(group)
    assert forms
    return pytest.mark.parametrize("form", forms, ids=[one.name for one in forms])


def check(form):
    torch.set_num_threads(1)
    glim_torch.TorchState().look_around(sys._getframe())  # what is found once, the children need not find anew
    gc.collect()
    gc.freeze()  # the children look for nothing among what was there before
    with small_folder() as folder:
        if form.promise == EQUAL:
            _check_equal(form, folder)
        else:
            _check_said(form, folder)


@contextlib.contextmanager
def small_folder():
    """In memory, where there is such a place."""
    folder = tempfile.mkdtemp(prefix="glim-contract-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _check_equal(form, folder):
    whole = Undisturbed(form, os.path.join(folder, "whole"))
    assert whole.batches >= 4, "too few steps to show anything"
    assert form.says in whole.told
    if not form.says:
        assert whole.told == "", f"nothing is to be told of a form that is equal without more: {whole.told}"
    faults = {}
    for at in range(whole.batches):
        found = stopped_at(form, whole, os.path.join(folder, f"stopped-{at}"), at)
        if found:
            faults[f"stopped at {at}"] = found[:3]
    found = killed_again_and_again(form, whole, os.path.join(folder, "killed"))
    if found:
        faults["killed"] = found[:3]
    assert not faults, f"{form.name}, {len(faults)} of {whole.batches + 1}: {faults}"


def _check_said(form, folder):
    os.makedirs(folder, exist_ok=True)
    well = attempt(form, folder, 1)
    assert form.says in told(form, folder, 1), told(form, folder, 1)
    assert well == (form.promise != REFUSED), told(form, folder, 1)
