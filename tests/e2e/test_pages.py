"""What docs/operations has operators type is typed: each page's blocks run on a real cluster, and each command that its
sentences name is there, with its options. A page that needs more than a node and a job is run where WITH_MORE says."""

import itertools
import re

import pytest

from cluster import pages
from cluster.processes import wait_until

WITH_MORE = {"notifications.md": "test_notify"}  # page: the module of this folder that runs it, with what it needs


@pytest.mark.parametrize("page", [name for name in pages.names() if name not in WITH_MORE])
def test_what_the_page_shows_runs(page, stage, cluster, glim):
    """The blocks see NODE, which has JOB, which is NAME's and runs, and POOL; they give back what they take."""
    job = glim.submit(stage.examples.make("runs", "exec sleep 600", nodes=1), user="ana")
    node = cluster.wait_state(job, "running", 60)["attempts"][-1]["tasks"][0]["node"]
    pool = glim.nodes()[node]["labels"]["pool"]
    try:
        pages.run(page, glim, stage.folder, NODE=node, JOB=job, NAME="ana", POOL=pool)
        out = [name for name, row in glim.nodes().items() if row.get("cordon")]
        assert out == [], f"{page} gives back the nodes that it takes out"
    finally:
        for name, row in glim.nodes().items():
            if row.get("cordon"):
                glim.text("admin", "node", "uncordon", name, "-y")
    wait_until(lambda: all(row["state"] == "ready" for row in glim.nodes().values()), 60, "all nodes are back")


@pytest.mark.parametrize("page", pages.names())
def test_the_commands_that_the_page_names_are_there(page, glim):
    everywhere = glim.text("--help")
    for words in pages.inline_commands(page):
        shown = " ".join(words)
        told = glim.run(*itertools.takewhile(re.compile(r"[a-z]+").fullmatch, words), "--help")
        assert told.returncode == 0, f"{page}: glim {shown}: {told.stderr}"
        group = re.search(r"^Usage: glim ([a-z -]*)\[OPTIONS\].* SUBCOMMAND$", told.stdout, re.MULTILINE)
        rest = words[len(group[1].split()) :] if group else []
        assert not rest or not re.fullmatch(r"[a-z]+", rest[0]), f"{page}: there is no 'glim {shown}'"
        for option in re.findall(r"(?<!\S)--[a-z-]+", shown):
            assert f"{option} " in told.stdout + everywhere, f"{page}: glim {shown}: no {option}"
