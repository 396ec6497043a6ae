"""What is wrong with the pages: each check gives complaints, in words that say where and how to mend it."""

import ast
import json
import re
import textwrap
import tomllib
from pathlib import Path

from . import flow, reference, sources
from .page import ROOT, TABLE, about, all_pages, find_page, target_of

CONTRIBUTORS = ("sdk/", "tests/", "webui/", "nodeagent/", "scheduler/", "cli/", "deploy/", "proto/")
TERMS = tomllib.loads((Path(__file__).resolve().parent / "terms.toml").read_text(encoding="utf-8"))
# A line that somebody types: a program of ours with what it does, or what one types around it.
TYPED = re.compile(
    r"^\$? ?(?:sudo )?(?:glim [a-z]+|glim-(?:scheduler|agent|replica|sim|task|health|validate) [-a-z]|deploy/[\w-]+|"
    r"tests/[\w/]+|docs/[\w/]+|cmake -|cmake --|ctest |npm |npx |curl |python3? |pip |git |apt(?:-get)? |systemctl |"
    r"openssl |export |cd )(?!.*---)"
)
OF_THE_TREE = re.compile(r"(?:deploy|docs|scheduler|tests)/")
TYPED_IN = ("", "sh", "shell", "console", "text")


def for_users(page):
    return not page.name.startswith(CONTRIBUTORS) and "decisions/" not in page.name


# Links


def broken_links(pages=None):
    """A link or picture leads to a file that is there, and to a heading that is there."""
    pages = pages or all_pages()
    by_path, found = {page.path: page for page in pages}, []
    for page in pages:
        for line, link, picture in page.links():
            target = target_of(page, link)
            if target is None:
                continue
            path, anchor = target
            where = f"{page.name}:{line}"
            if path != page.path and not path.exists():
                found.append(f"{where}: {'picture' if picture else 'link'} {link}: there is no such file")
            elif anchor and path.suffix == ".md" and path in by_path and anchor not in by_path[path].anchors():
                near = flow_near(anchor, by_path[path].anchors())
                found.append(f"{where}: link {link}: the page has no heading for #{anchor}{near}")
    return found


def flow_near(word, words):
    parts = set(word.split("-"))
    best = max(words, key=lambda one: len(parts & set(one.split("-"))), default="")
    return f"; #{best}?" if parts & set(best.split("-")) else ""


# Blocks


def unmarked_blocks(pages=None):
    """(page, line, first typed line) of blocks with commands that no test runs and no mark explains."""
    found = []
    for page in pages or all_pages():
        if not for_users(page) or page.name in TABLE["generated"].values():
            continue
        taken_over = TABLE["run_by"].get(page.name) or TABLE["run_by"].get(page.path.name)
        for block in page.blocks:
            typed = [line for line in block.text.splitlines() if TYPED.match(line)]
            if block.language in TYPED_IN and typed and not block.mark and not taken_over:
                found.append((page.name, block.line, typed[0]))
    return found


def bad_marks(pages=None):
    """A mark names a test that is there and that names the page, or says why nobody can run the block."""
    found = []
    for page in pages or all_pages():
        for block in page.blocks:
            if block.mark and block.mark[0] == "run by":
                where = f"{page.name}:{block.line}: run by {block.mark[1]}"
                found += [f"{where}: {what}" for what in bad_runner(block.mark[1], page.path.name)]
    for name, test in TABLE["run_by"].items():
        find_page(name)
        found += [f"pages.toml: {name} is run by {test}: {what}" for what in bad_runner(test, Path(name).name)]
    return found


def bad_runner(test, page):
    if not (ROOT / test).is_file():
        return ["there is no such file"]
    stem = page.removesuffix(".md")
    text = (ROOT / test).read_text(encoding="utf-8")
    return [] if page in text or f'"{stem}"' in text else [f"it does not name {page}"]


def unknown_names_of_excused_blocks(pages=None):
    """What nobody runs names files that are there, and targets and tests that some CMakeLists.txt makes."""
    found = []
    for page in pages or all_pages():
        for block in page.blocks:
            if block.mark[:1] != ("not run:",):
                continue
            for line in re.split(r"\n|&&", block.text):
                words = line.partition(" #")[0].split()
                unknown = [word for word in words if OF_THE_TREE.match(word) and not (ROOT / word).exists()]
                targets = [word.rpartition("/")[2] for word in words if re.match(r"build/\w+/test/", word)]
                targets += words[words.index("--target") + 1 :] if "--target" in words else []
                unknown += [name for name in targets if not sources.is_target(name)]
                found += [f"{page.name}:{block.line}: there is no {name}" for name in unknown]
    return found


def bad_snippets(pages=None):
    """Python compiles, JSON and YAML read. An ellipsis on a line of its own, or as a value, leaves something out."""
    import yaml

    found = []
    for page in pages or all_pages():
        for block in page.blocks:
            where = f"{page.name}:{block.line}: {block.language}"
            try:
                if block.language in ("python", "py"):
                    ast.parse(textwrap.dedent(block.text))  # some are a part of a function
                elif block.language == "json":
                    json.loads(block.text)
                elif block.language in ("yaml", "yml"):
                    list(yaml.safe_load_all(block.text))
            except (SyntaxError, ValueError, yaml.YAMLError) as error:
                found.append(f"{where}: {str(error).splitlines()[0]}")
    return found


def yaml_blocks(pages=None):
    """{"job": job specs, "policy": policy files}, told by their keys: each as (page, line, text)."""
    import yaml

    keys = set(sources.policy_keys())
    found = {"job": [], "policy": []}
    for page in pages or all_pages():
        for block in page.blocks:
            if block.language not in ("yaml", "yml") or block.mark or not for_users(page):
                continue
            documents = [one for one in yaml.safe_load_all(block.text) if isinstance(one, dict)]
            if documents and all({"name", "run"} <= set(one) for one in documents):
                found["job"].append((page.name, block.line, block.text))
            elif documents and all(set(one) <= keys and not has_rows(one) for one in documents):
                found["policy"].append((page.name, block.line, block.text))
    return found


def has_rows(document):
    """A file of rows (`glim admin pool set --file`) has lists of mappings where a policy has names."""
    return any(isinstance(row, dict) for key in ("pools", "zones") for row in document.get(key) or ())


def unknown_commands(tree, pages=None, program="build/release/bin/glim"):
    """Each `glim ...` of a sentence is a command of `tree` (help_text.Command) with these options."""
    found, hint = [], f"is {program} built from this source?"
    everywhere = {name for one in tree.options for name in one.names} | {"--help", "-h"}
    by_words = {}
    for one in tree.walk():
        by_words[one.words] = one
        parent = one.words.rpartition(" ")[0]
        by_words.update({f"{parent} {alias}": one for alias in one.aliases})
    for page in pages or all_pages():
        if not for_users(page) or "/protocols/" in page.name:
            continue
        for code in page.code():
            words = code.split()
            if words[:1] != ["glim"] or len(words) < 2 or not re.fullmatch(r"[a-z]+", words[1]):
                continue
            words = words[: words.index("--")] if "--" in words else words
            at, command = 1, by_words["glim"]
            while at < len(words) and command.commands and " ".join([command.words, words[at]]) in by_words:
                command = by_words[" ".join([command.words, words[at]])]
                at += 1
            if command.commands and at < len(words) and re.fullmatch(r"[a-z]+", words[at]):
                found.append(f"{page.name}: `{code}`: {command.words} has no command {words[at]}; {hint}")
                continue
            known = everywhere | {name for name in command.names_of_options()}
            for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", " ".join(words[at:])):
                if option not in known:
                    found.append(f"{page.name}: `{code}`: {command.words} has no {option}; {hint}")
    return found


# Completeness


def missing_words(words, subject):
    """Those that the pages about the subject do not have in code, in a table's code or in a block."""
    there = reference.names_in(about(subject))
    allowed = set(TABLE["missing"].get(subject, ()))
    pages = ", ".join(TABLE["about"][subject])
    found = []
    for word in words:
        if word.rpartition(".")[2] not in there and word not in allowed:
            found.append(f"{pages} ({subject}): {word} is missing")
    for word in sorted(allowed):
        if word not in words:
            found.append(f"pages.toml: [missing] {subject}: {word} is not there any more: take it out")
        elif word.rpartition(".")[2] in there:
            found.append(f"pages.toml: [missing] {subject}: {word} is on the page now: take it out")
    return found


def incomplete():
    found = missing_words(sources.policy_keys(), "policy") + missing_words(sources.spec_keys(), "spec")
    return found + reference.complaints_of_words() + reference.complaints_of_reasons()


# Columns, words


def long_lines(pages=None):
    found = []
    for page in pages or all_pages():
        found += [f"{page.name}:{line}: {columns} columns: docs/reflow" for line, columns in flow.too_long(page)]
    return found


def pattern_of(term):
    """Its words may stand on two lines."""
    return re.compile(rf"\b(?:{term['old'].replace(' ', chr(92) + 's+')})\b", re.IGNORECASE)


def old_words_in_pages(term, pages=None):
    found = []
    for page in pages or all_pages():
        if "decisions/" in page.name or page.name in ("CHANGELOG.md", *TABLE["generated"].values()):
            continue
        text = "\n".join(line for _, line in page.sentences())
        for old in pattern_of(term).finditer(text):
            line = text.count("\n", 0, old.start()) + 1
            found.append(f"{page.name}:{line}: '{' '.join(old[0].split())}': say {term['now']}")
    return found


MESSAGE = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def old_words_in_messages(term, texts=None):
    """Texts with two words or more: what is shown to people."""
    pattern, found = pattern_of(term), []
    for name, text in texts or sources.production():
        for message in MESSAGE.finditer(text):
            if " " in message[1].strip() and (old := pattern.search(message[1])):
                line = text.count("\n", 0, message.start()) + 1
                found.append(f"{name}:{line}: '{old[0]}': say {term['now']}")
    return found


def old_words():
    """Complaints about terms that are said more often than terms.toml knows; or less often."""
    found = []
    pages, texts = all_pages(), list(sources.production())
    for term in TERMS["term"]:
        for kind, there in (
            ("pages", old_words_in_pages(term, pages)),
            ("messages", old_words_in_messages(term, texts)),
        ):
            most = term.get(kind, 0)
            if len(there) > most:
                found += [f"{len(there)} {kind} say '{term['old']}', {most} are known:", *there]
            elif len(there) < most:
                found.append(f"terms.toml: '{term['old']}': {kind} = {len(there)} now: lower the number")
    return found
