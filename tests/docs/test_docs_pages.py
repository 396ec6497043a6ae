"""Every page: links and pictures lead somewhere, blocks are run, snippets read, prose has 120 columns and the words
of today. docs/check says the same at the terminal."""

import pytest

from doctools import checks, flow, reference
from doctools.page import TABLE, all_pages, slug_of

CLUSTERS = {
    "INFEASIBLE",
    "NO_SUCH_JOB",
    "NO_SUCH_SECRET",
    "NOT_IN_TEAM",
    "NO_SUCH_POOL",
}  # of nodes and rows, not the spec


def test_links_anchors_and_pictures_are_there():
    assert checks.broken_links() == []


@pytest.mark.parametrize(
    "text, words",
    [
        ("[a](nowhere.md)", "no such file"),
        ("![a](pictures/nowhere.svg)", "picture pictures/nowhere.svg"),
        ('<picture><source srcset="pictures/nowhere.svg"></picture>', "no such file"),
        ("[![a](nowhere.svg)](glossary.md)", "no such file"),
        ("[a link of\ntwo lines](#no-heading)", "no heading for #no-heading"),
        ("# A `b` c-d, e\n\n[a](#a-b-c-d-f)", "#a-b-c-d-e?"),
    ],
)
def test_a_link_to_nothing_is_found(page, text, words):
    (found,) = checks.broken_links([page(text)])
    assert words in found


@pytest.mark.parametrize(
    "text",
    [
        "# A `b` c-d, e\n\n[a](#a-b-c-d-e) [b](https://example.org/x#y) [c](architecture.md) `[d](nowhere.md)`",
        "# Twice\n\n# Twice\n\n[a](#twice-1)",
        "```\n[a](nowhere.md)\n```",
    ],
)
def test_a_link_to_something_is_fine(page, text):
    assert checks.broken_links([page(text)]) == []


def test_headings_have_the_anchors_of_github():
    assert slug_of("What `why` and `plan` say") == "what-why-and-plan-say"
    assert slug_of("Who is asked, and why?") == "who-is-asked-and-why"
    assert slug_of("3FS / 中文 [a](b.md)") == "3fs--中文-a"


def test_no_more_blocks_than_known_are_run_by_nobody():
    found = checks.unmarked_blocks()
    most = TABLE["not_run"]["at_most"]
    assert len(found) <= most, f"mark them bash, or say who runs them (<!-- run by tests/... -->): {found}"
    assert len(found) == most, f"lower at_most in docs/doctools/pages.toml to {len(found)}"


@pytest.mark.parametrize(
    "text, count",
    [
        ("```\nglim queue\n```", 1),
        ("```\n$ glim queue\n```", 1),
        ("```\nglim queue\n```", 1),
        ("```sh\ndeploy/quickstart\n```", 1),
        ("```bash\nglim queue\n```", 0),
        ("```\njob 17 is queued\nglim (cli) ----> glim-scheduler\n```", 0),
        ("<!-- not run: it takes a week -->\n```\nglim queue\n```", 0),
    ],
)
def test_a_block_with_commands_is_run_or_says_why_not(page, text, count):
    assert len(checks.unmarked_blocks([page(text)])) == count


def test_who_is_said_to_run_a_block_names_its_page():
    assert checks.bad_marks() == []


@pytest.mark.parametrize("test", ["tests/e2e/test_nowhere.py", "tests/e2e/test_clocks.py"])
def test_a_mark_of_a_test_that_does_not_know_the_page_is_found(page, test):
    assert len(checks.bad_marks([page(f"<!-- run by {test} -->\n```bash\nglim queue\n```")])) == 1


def test_what_a_block_names_that_nobody_runs_is_there():
    assert checks.unknown_names_of_excused_blocks() == []


@pytest.mark.parametrize(
    "line",
    ["docs/generat", "cmake --build build/dev --target cli_tset && docs/check", "x && build/release/test/cli_tset"],
)
def test_a_name_in_it_that_is_not_there_is_found(page, line):
    (found,) = checks.unknown_names_of_excused_blocks([page(f"<!-- not run: it takes a week -->\n```\n{line}\n```")])
    assert found.startswith("docs/planted.md:2: there is no ")


def test_no_page_has_an_operator_trust_every_nodes_root():
    """docs/security.md asks for root_squash."""
    typed = [(page.name, block.line) for page in all_pages() for block in page.blocks if "no_root_squash" in block.text]
    assert typed == []


def test_snippets_read():
    assert checks.bad_snippets() == []


@pytest.mark.parametrize("block", ["python\nif run.stopped\n    pass", "yaml\na: [b", "json\n{a: 1}"])
def test_a_broken_snippet_is_found(page, block):
    assert len(checks.bad_snippets([page(f"```{block}\n```")])) == 1


def test_specs_and_policies_are_ones_that_the_programs_take(programs):
    blocks, wrong = checks.yaml_blocks(), []
    assert blocks["job"] and blocks["policy"]
    with reference.scheduler(programs) as glim:
        for page, line, text in blocks["job"]:
            told = glim("submit", "-", "--dry-run", text=text)
            if told.returncode and not any(f"[{reason}]" in told.stderr for reason in CLUSTERS):
                wrong.append(f"{page}:{line}: {told.stderr}")
        for page, line, text in blocks["policy"]:
            told = glim("admin", "config", "check", "/dev/stdin", text=text)
            if told.returncode:
                wrong.append(f"{page}:{line}: {told.stderr}")
        assert "[INVALID_SPEC]" in glim("submit", "-", "--dry-run", text="name: a\nrun: b\nnoodles: 1\n").stderr
    assert wrong == []


def test_commands_in_sentences_are_there(commands):
    assert checks.unknown_commands(commands) == []


@pytest.mark.parametrize("code", ["glim admin nodes", "glim queue --pools a", "glim admin node ls --cordonned"])
def test_a_command_that_is_not_there_is_found(page, commands, code):
    (found,) = checks.unknown_commands(commands, [page(f"Say `{code}`.")])
    assert found.endswith("; is build/release/bin/glim built from this source?")


@pytest.mark.parametrize("code", ["glim ps --pool a", "glim submit -- tar --no-such-option", "glim COMMAND --help"])
def test_a_command_that_is_there_is_fine(page, commands, code):
    assert checks.unknown_commands(commands, [page(f"Say `{code}`.")]) == []


def test_prose_has_120_columns():
    assert checks.long_lines() == []


LONG = "word " * 30


@pytest.mark.parametrize(
    "before",
    [
        LONG,
        f"- {LONG}\n  {LONG}\n  - {LONG}",
        f"12. {LONG}\n\n    {LONG}",
        f"See [a link of {LONG}](a.md) and `code {LONG}` too.",
        "A sentence of Chinese: " + "作业被中断后会保存并离开，然后从停下的那一步继续。" * 6,
        f"a  \nline {LONG}\\\nend",
        f"> kept {LONG}",
    ],
)
def test_flowing_keeps_the_words_and_is_done_once(page, before):
    after = flow.flow(before)
    assert flow.flow(after) == after
    assert [column for _, column in flow.too_long(page(after))] == []
    wide = "".join(before.split()) == "".join(after.split())
    assert wide, "no word is lost"


@pytest.mark.parametrize(
    "kept",
    [
        f"| a | {LONG} |\n| --- | --- |\n| b | {LONG} |",
        f"```\n{LONG}\n```",
        f"- a\n\n  ```\n  {LONG}\n  ```",
        f"# {LONG}",
        f"<!-- {LONG} -->",
        f"<picture>\n{LONG}\n</picture>".replace(LONG, f'<source srcset="{LONG}">'),
        "- one\n- two\n\n1. three\n2. four",
        "Terms end with two spaces.  \nThe next line.",
    ],
)
def test_tables_blocks_and_headings_stay(kept):
    assert flow.flow(kept) == kept


def test_no_line_begins_with_what_would_be_another_thing():
    words = "word " * 23
    assert not any(
        line.startswith(("- ", "1. ", "# ")) for line in flow.flow(f"{words}- a 1. b {words}# c").split("\n")
    )


def test_old_words_are_not_said_more_often():
    assert checks.old_words() == []


def test_an_old_word_is_found(page):
    term = {"old": "gives way|debts?", "now": "something else"}
    text = "A job gives\nway. `debt` is code.\n\n```\ndebt\n```\n\n| debts |\n"
    assert [line.split(": ")[0] for line in checks.old_words_in_pages(term, [page(text)])] == [
        "docs/planted.md:1",
        "docs/planted.md:8",
    ]
    source = 'Note("job 1 gives way");  F("debt"); F("its debt")'
    assert len(checks.old_words_in_messages(term, [("a.cc", source)])) == 2
