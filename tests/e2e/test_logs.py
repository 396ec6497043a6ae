"""glim logs: each rank's output, attempt by attempt, also while it is being written."""

from cluster.processes import SLOWER, wait_until


def read(path):
    with open(path) as file:
        return file.read()


def finish(process, seconds=30):
    try:
        return process.wait(seconds * SLOWER)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_each_rank_has_its_own_log(stage, cluster, glim):
    spec = stage.examples.make(
        "ranks",
        "echo rank $GLIM_RANK of $WORLD_SIZE on $GLIM_NODE_RANK; echo error >&2",
        nodes=2,
        gpus_per_node=2,
        launcher="per-gpu",
    )
    job = glim.submit(spec)
    cluster.wait_state(job, "succeeded", 30)
    for rank in range(4):
        assert glim.text("logs", job, "--rank", rank) == f"rank {rank} of 4 on {rank // 2}\nerror\n"
    refused = glim.run("logs", job, "--rank", 4)
    assert refused.returncode != 0 and "rank" in refused.stderr

    # The same logs, searched where they lie.
    found = glim.text("logs", job, "--grep", "OF 4", "-i")
    assert found == "".join(f"rank {rank}: rank {rank} of 4 on {rank // 2}\n" for rank in range(4))
    assert glim.text("logs", job, "--grep", "error", "--rank", 3, "-C", 1) == "rank 3 of 4 on 1\nerror\n"
    assert glim.text("logs", job, "--grep", "error", "-m", 2) == "rank 0: error\nrank 1: error\n"
    nothing = glim.run("logs", job, "--grep", "e.r")
    assert nothing.returncode == 0 and nothing.stdout == "" and "no line holds" in nothing.stderr


def test_follow_shows_lines_as_they_come_and_ends_with_the_job(stage, cluster, glim):
    gate = stage.path("gate")
    spec = stage.examples.make("slow", f"echo first; until [ -e {gate} ]; do sleep 0.05; done; echo last")
    job = glim.submit(spec)
    out = stage.path("followed")
    follower = glim.follow("logs", "-f", job, out=out)
    try:
        wait_until(lambda: "first\n" in read(out), 30, lambda: f"the first line: {read(out)!r}")
        assert follower.poll() is None and "last" not in read(out)
        open(gate, "w").close()
        assert finish(follower) == 0
    finally:
        finish(follower, 0.1) if follower.poll() is None else None
    assert read(out) == "first\nlast\n"


def test_follow_goes_on_through_an_interrupt(stage, cluster, glim):
    c = stage.submit_deaf("deaf", grace="500ms")
    out = stage.path("followed")
    follower = glim.follow("logs", "-f", c, "--rank", 1, out=out)
    try:
        wait_until(lambda: "rank 1 of 2 begins with step 0" in read(out), 30, lambda: f"attempt 1: {read(out)!r}")
        cluster.wait_state(c, "running", 30)
        e = stage.submit_visitor("visitor", [c])
        cluster.wait_state(e, "succeeded", 60)
        cluster.wait_state(c, "succeeded", 60)
        assert finish(follower) == 0, read(out + ".err")
    finally:
        finish(follower, 0.1) if follower.poll() is None else None
    text = read(out)
    assert text.count("begins with step") == 2 and "rank 1 done" in text
    first = glim.text("logs", c, "--rank", 1, "--attempt", 1)
    second = glim.text("logs", c, "--rank", 1, "--attempt", 2)
    assert "done" not in first and first.count("begins with step") == 1
    assert "rank 1 done" in second and second.count("begins with step") == 1


def test_a_large_log_comes_whole(stage, cluster, glim):
    job = glim.submit(stage.examples.make("large", "seq 1 200000"))
    cluster.wait_state(job, "succeeded", 30)
    assert glim.text("logs", job).split() == [str(n) for n in range(1, 200001)]
    with_99 = [str(n) for n in range(1, 200001) if "99" in str(n)]
    assert glim.text("logs", job, "--grep", "99", "--rank", 0).split() == with_99, "several pages"
    newest = glim.text("logs", job, "--grep", "99", "--rank", 0, "--newest-first")
    assert newest.split() == with_99[::-1]
