"""Breaks prose at 120 columns. Tables, blocks, headings, HTML and link definitions stay as they are: they have no
lines of their own to break. A line that ends in two spaces or a backslash keeps its end."""

import re
import unicodedata

COLUMNS = 120
ITEM = re.compile(r"^(?P<indent> *)(?P<mark>[-*+]|\d{1,3}[.)]) +(?=\S)")
FENCE = re.compile(r"^ *(`{3,}|~{3,})")
# What may not begin a line, for it would be something else there: a list, a heading, a quotation, a rule.
BEGINS = re.compile(r"^(?:(?:[-*+]|#{1,6}|\d{1,9}[.)]|=+|-+)$|[>|]|`{3,}|~{3,}|<[a-zA-Z/!?])")
KEPT = re.compile(r"^\s*(?:\||#{1,6} |<|>|\[[^\]]+\]: |(?:[-*_] ?){3,}$|!\[[^\]]*\]\([^)]*\)$|---$|===+$)")


def width(text):
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def words_of(text):
    """What a line may be broken between: inline code and links' targets are whole, links' words are not."""
    found, word, ticks, at = [], "", 0, 0
    while at < len(text):
        run = re.match(r"`+", text[at:])
        if run:
            ticks = len(run[0]) if not ticks else 0 if ticks == len(run[0]) else ticks
            word, at = word + run[0], at + len(run[0])
        elif text[at] == " " and not ticks:
            if word:
                found.append(word)
            word, at = "", at + 1
        else:
            word, at = word + text[at], at + 1
    return found + ([word] if word else [])


def pieces_of(word):
    """Chinese has no spaces: a line ends behind its signs."""
    if not any(unicodedata.east_asian_width(sign) in "WF" for sign in word):
        return [word]
    found, kept = [], ""
    for at, sign in enumerate(word):
        kept += sign
        wide = unicodedata.east_asian_width(sign) in "WF"
        nxt = word[at + 1 : at + 2]
        if wide and nxt and nxt not in "，。、；：？！）》」』】”’" and sign not in "（《「『【“‘":
            found.append(kept)
            kept = ""
    return found + ([kept] if kept else [])


def glued(words):
    """A word that may not begin a line stays with the one before it."""
    found = []
    for word in words:
        if found and BEGINS.match(word):
            found[-1] += " " + word
        else:
            found.append(word)
    return found


def fill(words, first, rest, columns=COLUMNS):
    """Lines of these words: `first` begins the first, `rest` the others."""
    lines, line, empty = [], first, True
    for word in glued(words):
        for at, piece in enumerate(pieces_of(word)):
            gap = "" if empty or at else " "
            fits = width(line) + len(gap) + width(piece) <= columns
            if empty or fits:
                line += gap + piece
            else:
                lines.append(line)
                line = rest + piece
            empty = False
    return lines + [line]


def flow(text, columns=COLUMNS):
    """The page with its paragraphs and list items filled. Flowing twice changes nothing."""
    out, held, first, rest, fence, front = [], [], "", "", None, False
    inside = 0  # columns of the list item that we are in

    def close():
        nonlocal held
        if held:
            words = words_of(" ".join(line.strip() for line in held))
            out.extend(fill(words, first, rest, columns))
        held = []

    comment = False
    for number, line in enumerate(text.split("\n")):
        mark = FENCE.match(line)
        if number == 0 and line == "---":
            front = True
        if front:
            out.append(line)
            front = number == 0 or line != "---"
        elif fence:
            out.append(line)
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = None
        elif mark:
            close()
            fence = mark[1]
            out.append(line)
        elif comment or line.lstrip().startswith("<!--"):
            close()
            comment = "-->" not in line
            out.append(line)
        elif not line.strip():
            close()
            first = rest = ""
            out.append(line)
        elif KEPT.match(line) or (line.startswith(" " * (inside + 4)) and not held):  # the latter is code
            close()
            first = rest = ""
            out.append(line)
        elif item := ITEM.match(line):
            close()
            first, rest = item[0], " " * len(item[0])
            inside = len(rest)
            held = [line[len(item[0]) :]]
        else:
            if not held:
                first = rest = line[: len(line) - len(line.lstrip())]
                inside = min(inside, len(rest))
            held.append(line)
        if held and re.search(r"(?: {2,}|\\)$", line) and line.strip():
            ending = "\\" if line.endswith("\\") else "  "
            held[-1] = held[-1].rstrip(" \\")
            close()
            out[-1] += ending
            first = rest
    close()
    return "\n".join(out)


def too_long(page, columns=COLUMNS):
    """(line, columns) of prose that is longer. A word that is longer itself is nobody's to break."""
    found = []
    for at, line in enumerate(page.prose, 1):
        if width(line) > columns and not KEPT.match(line) and len(glued(words_of(line.strip()))) > 1:
            found.append((at, width(line)))
    return found
