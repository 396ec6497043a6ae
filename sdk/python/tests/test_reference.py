"""docs/reference/sdk.md has every public name of the package, with its arguments, and no other."""

import ast
import os
import re

import pytest

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(SDK, "..", "..", "docs", "reference", "sdk.md")
CLASSES = {  # as the page calls what they make
    "session.py": {"Session": "run"},
    "checkpoint.py": {name: name for name in ("Checkpointer", "SaveHandle", "Checkpoint", "ArrayInfo")},
    "hfreduce.py": {"Communicator": "group"},
    "replica.py": {"ReplicaSource": "ReplicaSource"},
}
MADE = {  # classes that a user makes, and functions
    "session.py": {"session": "glim.session"},
    "atomic_file.py": {"atomic_write": "glim.atomic_write"},
    "checkpoint.py": {},
    "hfreduce.py": {"init": "hfreduce.init"},
    "replica.py": {name: name for name in ("Access", "Replica", "ReplicaSource")},
}


def text():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def tree(module):
    with open(os.path.join(SDK, "glim", module), encoding="utf-8") as file:
        return ast.parse(file.read())


def arguments(function):
    """Names of its arguments, `self` left out."""
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name != "self"] + ([given.kwarg.arg] if given.kwarg else [])


def fields(body):
    """Names and types that a class declares: of a dataclass or a named tuple, its arguments."""
    return [n.target.id for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]


def is_property(function):
    return any(getattr(decorator, "id", "") == "property" for decorator in function.decorator_list)


def set_in_init(made):
    """Public attributes that __init__ gives an object."""
    for init in (n for n in made.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"):
        for node in ast.walk(init):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr[0] != "_":
                if isinstance(node.value, ast.Name) and node.value.id == "self":
                    yield node.attr


def public():
    """(as the page calls it, its arguments; None: it is no call)"""
    for module, classes in CLASSES.items():
        for node in tree(module).body:
            if isinstance(node, ast.ClassDef) and node.name in classes:
                shown = classes[node.name]
                functions = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"]
                for function in functions:
                    yield f"{shown}.{function.name}", None if is_property(function) else arguments(function)
                for name in {*set_in_init(node), *fields(node.body)}:
                    yield f"{shown}.{name}", None
    for module, made in MADE.items():
        of_checkpoint = module == "checkpoint.py"
        for node in tree(module).body:
            name = getattr(node, "name", "_")
            if name[0] == "_" or not (of_checkpoint or name in made):
                continue
            if isinstance(node, ast.FunctionDef):
                yield made.get(name, name), arguments(node)
            elif isinstance(node, ast.ClassDef) and name not in ("SaveHandle", "Checkpoint", "ArrayInfo"):
                init = [n for n in node.body if getattr(n, "name", "") == "__init__"]
                yield made.get(name, name), arguments(init[0]) if init else fields(node.body)


NAMES = sorted(public(), key=lambda name: name[0])


@pytest.mark.parametrize("name, wanted", NAMES, ids=[name for name, _ in NAMES])
def test_the_page_has_the_name_and_its_arguments(name, wanted):
    if wanted is None:
        assert f"`{name}`" in text(), f"docs/reference/sdk.md does not say `{name}`"
        return
    calls = re.findall(rf"`(?:with )?{re.escape(name)}\(([^`]*)\):?`", text())
    said = [re.findall(r"(?:^|, )\*{0,2}([a-z_]+)", call) for call in calls]
    assert wanted in said, f"docs/reference/sdk.md says of `{name}` the arguments {said}"


def test_the_page_has_what_the_package_exports():
    [exported] = [node.value for node in tree("__init__.py").body if isinstance(node, ast.Assign)]
    for name in ast.literal_eval(exported):
        assert re.search(rf"`glim\.{name}[`(]", text()), f"docs/reference/sdk.md does not say `glim.{name}`"


def test_the_page_has_the_fields_of_an_interrupt_and_of_an_error():
    [interrupt] = [node for node in tree("interrupt.py").body if isinstance(node, ast.ClassDef)]
    more = [node.name for node in interrupt.body if isinstance(node, ast.FunctionDef)]
    section = text().split("### Interrupt\n")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == {*fields(interrupt.body), *more}
    error = next(node for node in tree("errors.py").body if getattr(node, "name", "") == "CheckpointError")
    for name in (*set_in_init(error), "is_corrupt"):
        assert f"`{name}`" in text()


def test_the_page_says_nothing_that_is_not_there():
    there = {name for name, _ in NAMES}
    for name in re.findall(r"`((?:run|group)\.[a-z_]+)", text()):
        assert name in there, f"docs/reference/sdk.md says `{name}`"
