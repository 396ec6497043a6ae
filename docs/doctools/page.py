"""The pages as data: which there are, and what stands in one: blocks, headings, links, pictures, prose."""

import os
import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((Path(__file__).resolve().parent / "pages.toml").read_text(encoding="utf-8"))
SKIPPED = {".git", "build", "node_modules", "site-packages", "__pycache__", ".pytest_cache", "dist"}

FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^\n`]*)$")
HEADING = re.compile(r"^(#{1,6}) +(.*?)(?: +#+)?$")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(<?([^()\s>]+(?:\([^()\s]*\)[^()\s]*)?)>?(?: +\"[^\"]*\")?\)")
SOURCE = re.compile(r"<(?:img|source)\b[^>]*?\b(?:src|srcset)=\"([^\"]+)\"")
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
MARK = re.compile(r"^<!-- (run by|not run:) (.+?) -->$")


@dataclass(frozen=True)
class Block:
    """A fenced block. `mark` is the comment above it: ("run by", a test) or ("not run:", why)."""

    line: int
    language: str
    text: str
    mark: tuple


class Page:
    def __init__(self, path, root=ROOT, text=None):
        self.path = Path(path)
        self.name = self.path.relative_to(root).as_posix()
        self.text = self.path.read_text(encoding="utf-8") if text is None else text
        self.lines = self.text.split("\n")
        self.blocks, self.prose = self._split()

    def _split(self):
        """The fenced blocks, and the page's lines with those of blocks left empty."""
        blocks, prose, held, fence = [], list(self.lines), [], None
        for at, line in enumerate(self.lines):
            match = FENCE.match(line)
            if fence is None:
                if match:
                    fence, begin, held = match, at, []
                    prose[at] = ""
                continue
            prose[at] = ""
            if match and match[2][0] == fence[2][0] and len(match[2]) >= len(fence[2]) and not match[3].strip():
                inside = len(fence[1])
                above = MARK.match(self.lines[begin - 1].strip()) if begin else None
                language = (fence[3].split() or [""])[0]
                text = "".join(row[inside:] + "\n" for row in held)
                blocks.append(Block(begin + 1, language, text, above.groups() if above else ()))
                fence = None
            else:
                held.append(line)
        assert fence is None, f"{self.name}: a block is not closed"
        return blocks, prose

    def fenced(self):
        """(begin, end) of the fenced blocks in the page's text."""
        at, found = 0, []
        for line, prose in zip(self.lines, self.prose):
            if line and not prose:
                found.append((at, at + len(line) + 1))
            at += len(line) + 1
        return found

    def blanked(self):
        """The text with blocks as blanks: what is found in it lies at the same place of the text."""
        return "\n".join(prose or " " * len(line) for line, prose in zip(self.lines, self.prose))

    def sentences(self):
        """(line, text) of prose and tables, with inline code left out."""
        text = CODE.sub(lambda found: "\n" * found[0].count("\n") + "`", "\n".join(self.prose))
        text = re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
        return list(enumerate(text.split("\n"), 1))

    def headings(self):
        return [(at, found[2]) for at, line in enumerate(self.prose, 1) if (found := HEADING.match(line))]

    @lru_cache(maxsize=None)
    def anchors(self):
        """As GitHub makes them; the static site's are made the same way."""
        found, seen = set(), {}
        for _, heading in self.headings():
            slug = slug_of(heading)
            found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
            seen[slug] = seen.get(slug, 0) + 1
        return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", self.text))

    def links(self):
        """(line, target, whether it is a picture). A link's words may go on in the next line."""
        text, found = CODE.sub(_as_long, "\n".join(self.prose)), []
        for link in LINK.finditer(text):
            line = text.count("\n", 0, link.start()) + 1
            found.append((line, link[3], bool(link[1])))
            found += [(line, one[2], True) for one in LINK.findall(link[2])]
        for source in SOURCE.finditer(text):
            found.append((text.count("\n", 0, source.start()) + 1, source[1], True))
        return sorted(found)

    def cells(self):
        """The cells of the page's tables, a row a list."""
        rows = [line for line in self.prose if line.startswith("|") and not re.fullmatch(r"[|: -]+", line)]
        return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))] for row in rows]

    def code(self):
        """All inline code of prose and tables."""
        return [found[1] for found in CODE.findall("\n".join(self.prose))]


def _as_long(found):
    return "".join("\n" if sign == "\n" else "x" for sign in found[0])


def slug_of(heading):
    text = LINK.sub(lambda found: found[2], heading)
    text = re.sub(r"[`*]", "", text).strip().lower()
    kept = [sign for sign in text if sign in " -_" or unicodedata.category(sign)[0] in "LN"]
    return "".join(kept).replace(" ", "-")


def slug_for_site(heading, separator):
    return slug_of(heading)


@lru_cache(maxsize=None)
def all_pages(root=ROOT):
    """Every Markdown file of the repository, by path, as it was at the first call."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        found += [Page(Path(folder) / name, root) for name in files if name.endswith(".md")]
    return sorted(found, key=lambda page: page.name)


def find_page(name, root=ROOT):
    """The page of pages.toml's words: a path, or a file's name somewhere in docs/."""
    if (root / name).is_file():
        return Page(root / name, root)
    found = [path for path in sorted((root / "docs").rglob(name)) if "decisions" not in path.parts]
    assert (
        len(found) == 1
    ), f"docs/doctools/pages.toml: {name}: {len(found)} files of docs/ have this name; it takes one"
    return Page(found[0], root)


def about(subject, root=ROOT):
    return [find_page(name, root) for name in TABLE["about"][subject]]


def target_of(page, link):
    """(the file, the anchor) that a link of the page leads to; None: it leads out of the repository."""
    if re.match(r"[a-z][a-z+.-]*:|//", link):
        return None
    path, _, anchor = link.partition("#")
    return ((page.path.parent / unquote(path)).resolve() if path else page.path), unquote(anchor)
