"""The reference that docs/generate writes is what the programs and sources say, and pages that are written by hand
leave nothing out."""

import json
import shutil
import subprocess

import pytest

from doctools import checks, command_pages, help_text, reference, sources
from doctools.page import ROOT, TABLE

HELP = """\
Do a thing
Usage: /build/bin/glim thing [OPTIONS] FILE

Positionals:
  FILE TEXT REQUIRED          what to read

Options:
  -h,--help                   Print this help message and exit
  -f,--follow                 go on
  --pool TEXT=default         where
  --gpus UINT:INT in [0 - 64]=0
                              how many
  --insecure-without-identity without TLS

Subcommands:
  queue, ps                   List jobs

Example:
  glim thing a.yaml
  glim thing -f b.yaml

What is left to say.
"""


def test_the_reference_is_what_the_programs_say(programs):
    behind = [
        path.name
        for path, text in reference.pages(programs).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    assert behind == [], "run docs/generate and commit what it writes"


def test_help_is_read_whole():
    command, below = help_text.read_help("glim thing", HELP)
    assert (command.about, command.usage) == ("Do a thing", "glim thing [OPTIONS] FILE")
    assert [(one.names, one.takes, one.help) for one in command.options] == [
        (["-f", "--follow"], "", "go on"),
        (["--pool"], "POOL", "where (default)"),
        (["--gpus"], "N", "how many; 0 to 64 (0)"),
        (["--insecure-without-identity"], "", "without TLS"),
    ]
    assert [(one.names, one.help) for one in command.positionals] == [(["FILE"], "what to read")]
    assert below == [("queue", ["ps"])]
    assert command.examples == ["glim thing a.yaml", "glim thing -f b.yaml"]
    assert command.notes == "What is left to say."


def test_every_command_is_in_the_reference_with_an_example(commands):
    leaves = [one for one in commands.walk() if not one.commands]
    assert len(leaves) > 60
    assert [one.words for one in leaves if not one.examples] == []
    text = command_pages.markdown("Commands", "everybody", "All.", [commands])
    assert [one.words for one in leaves if f"| [`{one.words}`](#" not in text] == []


def lint(path):
    """What a manual's linter says; of man-db where mandoc is not there."""
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], capture_output=True, text=True)
        return [line for line in done.stdout.splitlines() if "missing date" not in line]
    if shutil.which("man"):
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}
        done = subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True, env=env)
        return done.stderr.splitlines()
    return []  # no linter: what is written is looked at in the test, whoever runs it


def test_manual_pages_are_good_ones(programs, tmp_path):
    files = reference.manuals(programs, tmp_path)
    assert [path.name for path in files] == [
        "glim.1",
        "glim-task.1",
        "glim-sim.1",
        "glim-scheduler.8",
        "glim-agent.8",
        "glim-replica.8",
    ]
    for path, text in files.items():
        assert text.startswith('.\\"') and "\n.SH NAME\n" in text and "\n.SH SYNOPSIS\n" in text
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        assert lint(path) == [], path.name


def test_pages_tell_every_key_word_and_reason():
    assert checks.incomplete() == []


def test_what_a_page_leaves_out_is_found():
    (found,) = checks.missing_words([*sources.spec_keys(), "placement.colour"], "spec")
    assert found == f"{', '.join(TABLE['about']['spec'])} (spec): placement.colour is missing"


@pytest.mark.parametrize("enum", sorted(reference.ENUMS))
def test_enumerations_have_their_words(enum):
    words = sources.enum_words(enum)
    assert len(words) >= 3 and len(set(words)) == len(words)


@pytest.mark.parametrize(
    ("enum", "shown"), [("BlockerKind", "blockers"), ("JobState", "jobStates"), ("AttemptState", "attemptStates")]
)
def test_the_dashboard_has_words_for_each(enum, shown):
    english = json.loads((ROOT / "webui/src/i18n/words.en.json").read_text(encoding="utf-8"))
    assert set(sources.enum_words(enum)) <= set(english[shown])


def test_sources_are_read():
    keys = sources.policy_keys()
    assert {"quantum_min", "checkpoint_retention", "webhooks", "allow_uids", "avoid_times", "zone_a"} <= set(keys)
    assert {"run", "placement.node", "mounts.read_only", "limits.time", "notify.to"} <= set(sources.spec_keys())
    assert "services" not in sources.spec_keys(), "a name that is kept for later is refused"
    there = sources.reasons()
    assert {"INFEASIBLE", "NO_SUCH_POOL", "NO_SUCH_ZONE", "ROLE", "WRONG_NODE", "BAD_VERB"} <= set(there)
    assert there["ROLE"] == ["scheduler"]
