"""What the static site is made of: copies of the pages, with their links turned to where things are there."""

import posixpath
import re
import shutil

from .page import CODE, LINK, ROOT, SOURCE, all_pages, target_of

# The kinds of pages, in the order of the menu: a folder of docs/, its title. Pages beside them come first.
KINDS = {
    "tutorials": "Tutorials",
    "howto": "How to",
    "operations": "Operations",
    "explanation": "Explanation",
    "reference": "Reference",
    "protocols": "Protocols",
    "decisions": "Decisions",
}
FRONT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
PICTURES = (".svg", ".webp", ".png", ".jpg")


def place_of(name):
    """Where a page or picture of the repository lies in the site; None: it is not part of it."""
    if name == "README.md":
        return "index.md"
    if name in FRONT:
        return name
    if name.startswith("docs/") and name.endswith((".md", ".json", *PICTURES)):
        return name.removeprefix("docs/")
    if name.endswith("README.md") and not name.startswith("webui/"):
        return f"sources/{name}"
    return None


def stage(folder, sources=""):
    for page in all_pages():
        place = place_of(page.name)
        if place:
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(turned(page, place, sources), encoding="utf-8")
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in (*PICTURES, ".json") and path.is_file():
            target = folder / path.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def turned(page, place, sources):
    """The page's text with links that are right at its place in the site."""
    text, out, at = page.text, [], 0
    outside = page.fenced() + [found.span() for found in CODE.finditer(page.blanked())]
    for found in sorted([*LINK.finditer(text), *SOURCE.finditer(text)], key=lambda one: one.start()):
        if found.start() < at or any(begin <= found.start() < end for begin, end in outside):
            continue
        link = found[3] if found.re is LINK else found[1]
        new = turn(page, place, link, sources)
        whole = found[0]
        if new is None:
            whole = found[2] if not found[1] else ""  # a link without an aim is its words
        elif found.re is LINK:
            inner = LINK.sub(
                lambda one: one[0].replace(f"({one[3]}", f"({turn(page, place, one[3], sources)}"), found[2]
            )
            whole = f"{found[1]}[{inner}]({new})"
        else:
            whole = found[0].replace(link, new)
        out += [text[at : found.start()], whole]
        at = found.end()
    return "".join(out) + text[at:]


def turn(page, place, link, sources):
    target = target_of(page, link)
    if target is None:
        return link
    path, anchor = target
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    mark = f"#{anchor}" if anchor else ""
    if path == page.path:
        return mark or posixpath.basename(place)
    there = (
        place_of(name) if path.is_file() else place_of(f"{name}/README.md") if (path / "README.md").is_file() else None
    )
    if there:
        return posixpath.relpath(there, posixpath.dirname(place) or ".") + mark
    return f"{sources.rstrip('/')}/{name}{mark}" if sources else None


def title_of(path):
    found = re.search(r"^# +(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return re.sub(r"[`*]", "", found[1]) if found else path.stem


def with_navigation(config, pages):
    """The menu: the front page, what lies beside the kinds, then each kind."""
    lines = [config.rstrip(), "nav:", "  - Glim: index.md"]
    for path in sorted(pages.glob("*.md")):
        if path.name not in ("index.md", "CONTRIBUTING.md", "CHANGELOG.md"):
            lines.append(f"  - {quoted(title_of(path))}: {path.name}")
    for kind, title in KINDS.items():
        inside = sorted((pages / kind).rglob("*.md"))
        if inside:
            lines.append(f"  - {title}:")
            lines += [f"      - {quoted(title_of(path))}: {path.relative_to(pages).as_posix()}" for path in inside]
    lines.append("  - For contributors:")
    lines += ["      - Contributing: CONTRIBUTING.md", "      - Changes: CHANGELOG.md"]
    for path in sorted((pages / "sources").rglob("*.md")):
        lines.append(f"      - {quoted(title_of(path))}: {path.relative_to(pages).as_posix()}")
    return "\n".join(lines) + "\n"


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
