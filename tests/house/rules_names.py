"""Where a reader finds things: a header for every source, a README for every part of the house."""

import re
from collections.abc import Iterator

from floor_plan import FloorPlan
from source_tree import Offence, SourceFile, Tree

# A header whose class is defined in more than the source of its name says so in its first comment:
#   // Sources: pass.cc, supply.cc
SOURCES = re.compile(r"^// Sources: (.*(?:\n// .*)*)", re.MULTILINE)
# A program's own source needs no header: nobody includes it.
PROGRAMS = re.compile(r"(^|_)(main|test|bench|fuzz)\.cc$")
README_SAYS = ("lives here", "may be touched", "may use", "where to begin")


def named_sources(file: SourceFile) -> list[str]:
    return [name for match in SOURCES.finditer(file.text) for name in re.findall(r"[\w/]+\.cc", match[1])]


def headers_of_their_name(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """Every source has a header of its name, or a header in its folder names it as a part of its class."""
    named: set[str] = set()
    for file in tree.cpp:
        for name in named_sources(file):
            path = f"{file.folder}/{name}"
            named.add(path)
            if path not in tree.files:
                mend = "correct the line `// Sources:` of the header"
                yield Offence("header", file.path, 1, f"names the source {name}, which is not there", mend)
    for file in tree.cpp:
        if not file.name.endswith(".cc") or PROGRAMS.search(file.name) or file.path in named:
            continue
        if file.path in plan.table["no_header"]:
            continue
        if file.unit + ".h" not in tree.files:
            mend = (
                f"make {file.unit + '.h'} for what others use of it; or, if it is a part of a class, let the class's "
                f"header say `// Sources: ..., {file.name}` in its first comment"
            )
            yield Offence("header", file.path, 1, "is a source without a header of its name", mend)


def readmes(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """A top room has a README that a newcomer reads in a minute, and that has a line on each of its rooms."""
    most = plan.table["sizes"]["readme_lines_max"]
    for room in plan.table["readmes"]["rooms"]:
        path = f"{room}/README.md"
        if path not in tree.files:
            mend = "write ten lines: " + ", ".join(README_SAYS)
            yield Offence("readme", path, 1, "is not there", mend)
            continue
        text = tree.text(path)
        lower = text.lower()
        for words in README_SAYS:
            if words not in lower:
                yield Offence("readme", path, 1, f"does not say '{words}'", "say it, in a line or two")
        if text.count("\n") > most:
            yield Offence("readme", path, 1, f"has more than {most} lines", "move the rest into docs/")
        for inner in plan.rooms:
            if inner.startswith(room + "/") and not inner.endswith("/testing"):
                name = inner.removeprefix(room + "/")
                if f"`{name}/`" not in text:
                    yield Offence("readme", path, 1, f"has no line on `{name}/`", "say what lives there")


def python_imports(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """Modules import the standard library, each other without circles, and what the table allows where it allows it."""
    import ast
    import sys

    from source_tree import circles

    for package, row in plan.table.get("python", {}).items():
        graph: dict[str, set[str]] = {}
        modules = {f.name.removesuffix(".py"): f for f in tree.files.values() if f.folder == package}
        modules = {name: file for name, file in modules.items() if file.name.endswith(".py")}
        for name, file in modules.items():
            graph[name] = set()
            parsed = ast.parse(file.text, file.path)
            at_top = {id(node) for node in parsed.body}
            for node in ast.walk(parsed):
                for imported in _imported(node):
                    first = imported.removeprefix(".").split(".")[0]
                    own = imported.startswith(".") or first == package.rsplit("/", 1)[-1]
                    if own and id(node) in at_top:
                        graph[name] |= {first} & set(modules) - {name, "__init__"}
                    if own or first in sys.stdlib_module_names:
                        continue
                    allowed = row["at_the_top"].get(name, ()) if id(node) in at_top else row["libraries"]
                    if first not in allowed:
                        where = "at the top of the module" if id(node) in at_top else "here"
                        mend = "import it inside the function that needs it, or do without"
                        what = f"{name} may not import {first} {where}"
                        yield Offence("python", file.path, getattr(node, "lineno", 1), what, mend)
        for circle in circles(graph):
            mend = "move what both need into a module of its own"
            what = f"these modules form a circle: {' '.join(circle)}"
            yield Offence("circle", modules[circle[0]].path, 1, what, mend)


def _imported(node: object) -> list[str]:
    import ast

    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level and not node.module:
            return ["." + alias.name for alias in node.names]
        return ["." * node.level + (node.module or "")]
    return []


RULES = (headers_of_their_name, readmes, python_imports)
