"""The pages that docs/generate writes, each from its source."""

import contextlib
import os
import re
import subprocess
import tempfile
import time
import tomllib

from . import command_pages, help_text, sources
from .command_pages import escape, head
from .page import ROOT, TABLE

# Program: section of its manual page. What nobody starts by hand (glim-init, glim-paths, glim-shim ...) has no page.
PROGRAMS = {"glim-task": 1, "glim-sim": 1, "glim-scheduler": 8, "glim-agent": 8, "glim-replica": 8}
WORDS = ROOT / "docs" / "doctools" / "words.toml"
ENUMS = {  # of the core: title, what the table's words are
    "JobState": ("States of a job", "A job is in one of these, as `glim queue` and `glim status` show it."),
    "AttemptState": ("States of an attempt", "An attempt is one run of a job on its nodes."),
    "Outcome": (
        "How an attempt ended",
        "JSON and metrics have these words; `glim status` writes blanks in them (`node failure`) and says four "
        "otherwise.",
    ),
    "SaveResult": (
        "How an interrupted attempt left",
        "JSON, metrics and the store have these words; a receipt of `glim status` says two of them otherwise.",
    ),
    "TaskPhase": ("Phases of a task", "The column PHASE of `glim status`. A task is the job's part on one node."),
    "Use": (
        "What GPU-time went to",
        "The line `gpu time` of `glim status` and the columns of the ledger (`glim admin report`) have these words.",
    ),
    "NodeState": ("States of a node", "`glim nodes` shows them; no job starts on a node that is not ready."),
    "BlockerKind": (
        "Why a job waits",
        "`glim why` names these with amounts; the metric `glim_pending_jobs` counts them.",
    ),
    "HistoryKind": ("Events", "Kinds of the entries of `glim events`, of `/v1/stream` and of the store's history."),
}
REASONS = ROOT / "docs" / "doctools" / "error_reasons.toml"
TITLES = {
    "calls": "Calls and specs",
    "jobs": "Jobs",
    "logs": "Logs",
    "identity": "Who may do what",
    "operators": "Operators' commands",
    "servers": "The scheduler and the agents",
    "http": "HTTP",
    "store": "The store",
    "notifications": "Notifications",
    "checkpoints": "Checkpoints and replicas",
}


def pages(programs):
    """{path: text} of docs/."""
    texts = {
        "commands": commands_page(programs),
        "programs": programs_page(programs),
        "reasons": reasons_page(),
        "words": words_page(),
        "policy": policy_page(programs),
    }
    return {ROOT / TABLE["generated"][name]: text for name, text in texts.items()}


def commands_page(programs):
    intro = (
        "Every command of `glim` with its arguments and examples, as `glim COMMAND --help` says them. Options of "
        "`glim` itself may stand behind a command, too."
    )
    return command_pages.markdown("Commands", "everybody", intro, [help_text.ask(programs / "glim")])


def programs_page(programs):
    intro = "The other programs with their options, as `PROGRAM --help` says them."
    return command_pages.markdown("Programs", "operators", intro, [help_text.ask(programs / name) for name in PROGRAMS])


def manuals(programs, folder):
    """{path: text} of the programs that are there: glim-replica needs UCX."""
    sections = {"glim": 1, **PROGRAMS}
    sections = {name: number for name, number in sections.items() if (programs / name).exists()}
    found = {}
    for name, section in sections.items():
        others = [(other, number) for other, number in sections.items() if other != name]
        text = command_pages.manual(help_text.ask(programs / name), section, others)
        found[folder / f"man{section}" / f"{name}.{section}"] = text
    return found


def page(title, reader, intro, lines):
    return "\n".join([*head(title, reader, intro), *lines]).rstrip() + "\n"


def meanings():
    """{reason: (section, meaning)}; each once."""
    found = {}
    for section, rows in tomllib.loads(REASONS.read_text(encoding="utf-8")).items():
        for reason, meaning in rows.items():
            assert reason not in found, f"{REASONS.name}: {reason} is there twice"
            found[reason] = (section, meaning)
    return found


def complaints_of_reasons():
    known, there = meanings(), sources.reasons()
    missing = [f"{REASONS.name}: write what {reason} means" for reason in there if reason not in known]
    return missing + [
        f"{REASONS.name}: {reason} is in no source: take it out" for reason in known if reason not in there
    ]


def complaints_of_words():
    found, known = [], tomllib.loads(WORDS.read_text(encoding="utf-8"))
    for enum in sorted(set(known) | set(ENUMS)):
        there, told = set(sources.enum_words(enum)), set(known.get(enum, {}))
        found += [f"{WORDS.name}: [{enum}]: write what {word} means" for word in sorted(there - told)]
        found += [f"{WORDS.name}: [{enum}]: {word} is no word of it: take it out" for word in sorted(told - there)]
    return found


def words_page():
    wrong = complaints_of_words()
    assert not wrong, "\n".join(wrong)
    known = tomllib.loads(WORDS.read_text(encoding="utf-8"))
    intro = (
        "The words for states, outcomes, reasons to wait and events, as commands, JSON, metrics and the store use them."
    )
    lines = []
    for enum, (title, about) in ENUMS.items():
        rows = [f"| `{word}` | {escape(known[enum][word])} |" for word in sources.enum_words(enum)]
        lines += [f"## {title}", "", about, "", "| word | meaning |", "| --- | --- |", *rows, ""]
    return page("States and events", "everybody", intro, lines)


def reasons_page():
    wrong = complaints_of_reasons()
    assert not wrong, "\n".join(wrong)
    known, there = meanings(), sources.reasons()
    intro = (
        "A refusal has a reason for programs: `[REASON]` at the end of an error's first line, `reason` in JSON. It "
        "does not change its meaning. The message says what happened this time, and the line `fix` what to do."
    )
    lines = []
    for section, title in TITLES.items():
        lines += [f"## {title}", "", "| reason | meaning | from |", "| --- | --- | --- |"]
        for reason in sorted(reason for reason, (where, _) in known.items() if where == section):
            lines.append(f"| `{reason}` | {escape(known[reason][1])} | {', '.join(there[reason])} |")
        lines.append("")
    return page("Reasons of refusals", "everybody", intro, lines)


@contextlib.contextmanager
def scheduler(programs):
    """A scheduler of its own on a store in memory, without nodes: gives what runs `glim` words against it."""
    with tempfile.TemporaryDirectory(prefix="glim-docs-", dir="/tmp") as folder:
        port_file = os.path.join(folder, "port")
        argv = [programs / "glim-scheduler", "--insecure-without-identity", "--store", "memory", "--state-dir", folder]
        argv += ["--listen", "127.0.0.1:0", "--listen-agents", "127.0.0.1:0", "--metrics", "none"]
        argv += ["--listen-http", "none", "--key-file", os.path.join(folder, "key"), "--port-file", port_file]
        with open(os.path.join(folder, "log"), "w+b") as log:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
            try:
                until = time.monotonic() + 30
                while not os.path.exists(port_file):
                    log.seek(0)
                    assert process.poll() is None and time.monotonic() < until, log.read().decode()
                    time.sleep(0.02)
                with open(port_file) as file:
                    server = f"127.0.0.1:{file.read().strip()}"

                def run(*words, text=""):
                    return subprocess.run(
                        [programs / "glim", "--insecure-without-identity", "--server", server, *words],
                        env={"PATH": os.environ["PATH"], "HOME": folder},
                        cwd=folder,
                        input=text,
                        capture_output=True,
                        text=True,
                        timeout=30,
                    )

                yield run
            finally:
                process.terminate()
                process.wait(30)


def defaults(programs):
    """The policy file that a scheduler without one prints."""
    with scheduler(programs) as glim:
        done = glim("admin", "config", "show")
        assert done.returncode == 0, done.stderr
        return done.stdout


def policy_page(programs):
    intro = (
        "The policy of a scheduler that has no policy file, as `glim admin config show` prints it. A policy file has "
        "any of these keys, and says what is to be otherwise."
    )
    blocks, title = [], ""
    for line in defaults(programs).splitlines():
        if line.startswith("# "):
            title = line[2:]
        elif line.strip():
            if not blocks or blocks[-1][0] != title:
                blocks.append((title, []))
            blocks[-1][1].append(line)
    lines = []
    for name, rows in blocks:
        lines += [f"## {name}", "", "```yaml", *rows, "```", ""]
    return page("The policy's defaults", "operators", intro, lines)


def names_in(pages_of_subject):
    """Every word that the pages' inline code and tables have: completeness is looked up in it."""
    text = "\n".join(code for one in pages_of_subject for code in one.code())
    blocks = "\n".join(block.text for one in pages_of_subject for block in one.blocks)
    return set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text + "\n" + blocks))
