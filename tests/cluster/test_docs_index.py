"""docs/README.md has every page, and each page of the folders by kind says of which kind it is and for whom."""

import os
import re

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DOCS = os.path.join(ROOT, "docs")
KINDS = {"tutorials": "Tutorial", "howto": "How-to", "reference": "Reference", "explanation": "Explanation"}


def read(page):
    with open(os.path.join(DOCS, page), encoding="utf-8") as file:
        return file.read()


def pages():
    for folder, _, names in os.walk(DOCS):
        for name in names:
            page = os.path.relpath(os.path.join(folder, name), DOCS)
            if name.endswith(".md") and page != "README.md" and not page.startswith("decisions" + os.sep + "0"):
                yield page


@pytest.mark.parametrize("page", sorted(pages()))
def test_the_index_has_the_page(page):
    links = {os.path.normpath(link.split("#")[0]) for link in re.findall(r"\]\(([^)]+)\)", read("README.md"))}
    assert page in links, f"docs/README.md has no line about {page}"


@pytest.mark.parametrize("page", sorted(page for page in pages() if page.split(os.sep)[0] in KINDS))
def test_a_page_says_its_kind_and_its_reader(page):
    title, _, first = read(page).split("\n")[:3]
    assert title.startswith("# "), page
    assert re.fullmatch(rf"\*{KINDS[page.split(os.sep)[0]]}, for .*\*", first), f"{page} begins with {first!r}"
