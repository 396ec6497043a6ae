"""Pictures are what their sources draw, in both themes, and a page shows a picture in both."""

import importlib.util
import re
import shutil
import subprocess
import xml.dom.minidom
from importlib.machinery import SourceFileLoader

import pytest

from cluster.processes import SLOWER
from doctools.page import ROOT, all_pages

FOLDER = ROOT / "docs" / "pictures"


def load_render():
    loader = SourceFileLoader("pictures_render", str(FOLDER / "render"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


render = load_render()
TOOLS = shutil.which("dot") and importlib.util.find_spec("matplotlib")  # of deploy/install-deps docs


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", render.NAMES)
def test_a_picture_is_of_its_source_as_it_is_now(name, theme):
    """A digest of the source, the colours and docs/pictures/render stands in the picture: no tool is needed for it."""
    text = (FOLDER / f"{name}-{theme}.svg").read_text(encoding="utf-8")
    assert render.MARK.search(text)[1] == render.digest(
        name, theme
    ), "run docs/pictures/render and commit what it draws"
    xml.dom.minidom.parseString(text)


def test_drawing_again_changes_nothing():
    if TOOLS:
        done = subprocess.run([FOLDER / "render", "--check"], capture_output=True, text=True, timeout=120 * SLOWER)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_drawing_has_a_source():
    drawn = {re.sub(r"-(light|dark)$", "", path.stem) for path in FOLDER.glob("*.svg")}
    assert drawn == set(render.NAMES)


def test_the_colours_are_the_dashboards():
    light, dark = render.colours("light"), render.colours("dark")
    assert set(light) == set(dark) >= {"bg", "text", "weak", "run", "good", "bad", "held", "line_strong", "sunken"}
    assert light["bg"] == "#ffffff" and light["bg"] != dark["bg"]


@pytest.mark.parametrize("name", render.NAMES)
def test_a_page_that_shows_a_picture_shows_it_in_both_themes(name):
    for page in all_pages():
        shown = [target for _, target, _ in page.links() if re.search(rf"/{name}-(light|dark)\.svg$", target)]
        themes = {re.search(r"-(light|dark)\.svg$", target)[1] for target in shown}
        assert themes in (set(), {"light", "dark"}), f"{page.name}: use <picture> with prefers-color-scheme"
