"""What the pages have readers type is typed: each page's blocks run on a real cluster. A page that needs more than a
node and a job is run where docs/doctools/pages.toml says; tests/docs looks the commands of sentences up."""

import pytest

from cluster import pages
from cluster.processes import wait_until


@pytest.mark.parametrize("page", pages.names())
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
