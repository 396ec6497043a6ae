"""The dashboard's room, webui/: small files, a README in each folder, packages that `npm ci` takes anywhere, nothing
built. (eslint measures functions, and the build checks licences.)"""

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from source_tree import ROOT, Offence

SOURCES = (".ts", ".tsx", ".css", ".mjs", ".js", ".html", ".py")
READ = (*SOURCES, ".json", ".md", ".svg", ".npmrc", ".gitignore")
LINES_MAX, COLUMNS_MAX, README_LINES_MAX = 400, 120, 40
# Made by programs, and ignored by git: webui/.gitignore.
MADE = ("node_modules", "dist", "e2e/.out", "src/api/schema.gen.ts")
PAGE = ("page.ts", "queries.ts", "words.en.json", "words.zh.json", "README.md")
# Pages that read the stream, and what all pages ask, alone.
NO_QUERIES = ("cluster", "queue")
# Who may import whom below src; pages may all of them.
USES: dict[str, tuple[str, ...]] = {
    "api": (),
    "i18n": (),
    "theme": (),
    "live": ("api",),
    "ui": ("api", "i18n", "theme"),
    "shell": ("api", "i18n", "live", "theme", "ui"),
}
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*['"](\.\.?/[^'"]+)['"]""")
MACHINES_PATH = re.compile(r"(?<![\w.$])/(?:work|root|tmp/\w+)/")

Files = dict[str, str]


def read(root: Path = ROOT / "webui") -> Files:
    """By path from webui/: what is written by hand, and package-lock.json."""
    found: Files = {}
    pending = [root]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            name = path.relative_to(root).as_posix()
            if name in MADE or path.name in ("__pycache__", "node_modules"):
                continue
            if path.is_dir():
                pending.append(path)
            elif path.name.endswith(READ):
                found[name] = path.read_text(encoding="utf-8")
    return found


def offence(rule: str, path: str, line: int, what: str, mend: str) -> Offence:
    return Offence(rule, f"webui/{path}", line, what, mend)


def lengths(files: Files) -> Iterator[Offence]:
    for path, text in files.items():
        if not path.endswith(SOURCES):
            continue
        lines = text.split("\n")
        if len(lines) > LINES_MAX + 1:
            mend = "it has two subjects: give the second a file of its own"
            yield offence("file length", path, len(lines), f"has {len(lines)} lines, more than {LINES_MAX}", mend)
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS_MAX and "://" not in line:
                mend = f"break it: {COLUMNS_MAX} at most"
                yield offence("columns", path, number, f"a line of {len(line)} columns: {line.strip()[:60]}", mend)


def readmes(files: Files) -> Iterator[Offence]:
    """A folder of src says what lives there."""
    folders = {posixpath.dirname(path) for path in files if path.endswith(SOURCES)}
    folders |= {posixpath.dirname(folder) for folder in folders}
    for folder in sorted(folder for folder in folders if folder.split("/")[0] == "src"):
        path = f"{folder}/README.md"
        if path not in files:
            yield offence(
                "readme", path, 1, "is not there", "write ten lines: what lives here, who uses it, where to begin"
            )
        elif files[path].count("\n") > README_LINES_MAX:
            mend = "move the rest into docs/"
            yield offence("readme", path, 1, f"has more than {README_LINES_MAX} lines", mend)


def edges(files: Files) -> Iterator[Offence]:
    """A folder of src imports from those alone that stand below it."""
    for path, text in files.items():
        folder = path.split("/")[1] if path.startswith("src/") else ""
        if folder not in USES or not path.endswith((".ts", ".tsx")):
            continue
        for match in IMPORT.finditer(text):
            used = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1]))
            other = used.split("/")[1]
            if used.startswith("src/") and other not in (folder, *USES[folder]):
                mend = f"move what both need into a folder below: USES in tests/house/{Path(__file__).name}"
                line = text.count("\n", 0, match.start()) + 1
                yield offence("edge", path, line, f"imports {used}: src/{folder} may not use src/{other}", mend)


def pages(files: Files) -> Iterator[Offence]:
    """A page has its path, its queries, its words in both languages, a README, a test, and a test in a browser."""
    names = {path.split("/")[2] for path in files if path.startswith("src/pages/") and path.count("/") > 2}
    for name in sorted(names):
        folder = f"src/pages/{name}"
        for part in PAGE:
            if f"{folder}/{part}" not in files and not (part == "queries.ts" and name in NO_QUERIES):
                yield offence("page", f"{folder}/{part}", 1, "is not there", "webui/README.md says what a page has")
        if not any(path.startswith(folder) and re.search(r"\.test\.tsx?$", path) for path in files):
            yield offence("page", folder, 1, "has no test", f"write {folder}/NAME.test.tsx for its logic")
        if f"e2e/{name}.spec.ts" not in files:
            yield offence("page", folder, 1, "has no test in a browser", f"write webui/e2e/{name}.spec.ts")


def packages(files: Files) -> Iterator[Offence]:
    """What `npm ci` needs to do the same anywhere."""
    for kind in ("dependencies", "devDependencies", "overrides"):
        for name, version in json.loads(files["package.json"]).get(kind, {}).items():
            if not re.fullmatch(r"\d+\.\d+\.\d+", version):
                yield offence("packages", "package.json", 1, f"{name}: {version} is a range", "write one version")
    locked = json.loads(files["package-lock.json"])["packages"]
    for path, package in locked.items():
        if "resolved" in package:
            mend = "npm install --package-lock-only, with webui/.npmrc as it is"
            yield offence("packages", "package-lock.json", 1, f"{path} names the host that it came from", mend)
        for other in package.get("optionalDependencies", {}):
            if not any(
                place == f"node_modules/{other}" or place.endswith(f"/node_modules/{other}") for place in locked
            ):
                mend = "`npm ci` refuses that: take a version that all of them have, in `overrides`"
                yield offence("packages", "package-lock.json", 1, f"{path} wants {other}, which is not there", mend)


def ignored(files: Files) -> Iterator[Offence]:
    said = set(files[".gitignore"].splitlines()) | {"node_modules"}  # the latter in the root's
    for made in MADE:
        if not said & {made, f"/{made}", f"/{made}/"}:
            yield offence("made", ".gitignore", 1, f"does not name {made}", "what programs make is not committed")


def machines_paths(files: Files) -> Iterator[Offence]:
    for path, text in files.items():
        for number, line in enumerate(text.split("\n"), 1):
            if path.endswith(SOURCES) and MACHINES_PATH.search(line):
                yield offence(
                    "path", path, number, f"names a folder of one machine: {line.strip()[:60]}", "leave it out"
                )


RULES = (lengths, readmes, edges, pages, packages, ignored, machines_paths)
