"""Job C says that it cooperates and never answers: killed at its deadline, resumed from its last durable save."""

from cluster.processes import wait_until
from cluster.story import ranges_by_attempt, steps_done
from cluster.verdict import problems_of_deaf


def test_killed_at_the_deadline_and_resumed_from_the_last_save(stage, cluster, glim):
    c = stage.submit_deaf("deaf")
    wait_until(lambda: steps_done(stage.path("deaf")) >= 45, 60, "the deaf job did step 45")
    told = glim.job(c)["attempts"][0]
    e = stage.submit_visitor("visitor", [c])
    e_job = cluster.wait_state(e, "succeeded", 60)
    c_job = cluster.wait_state(c, "succeeded", 60)
    story = {
        "c": c_job,
        "e": e_job,
        "seen": stage.seen("visitor", 4),
        "told_of_c": told,
        "steps_of_c": ranges_by_attempt(stage.path("deaf")),
    }
    assert problems_of_deaf(story) == []

    first = c_job["attempts"][0]
    lost = first["steps_lost"]
    assert first["durable_step"] % 20 == 19, "it saves after every 20 steps"
    assert f"{lost} step{'' if lost == 1 else 's'} lost" in glim.text("status", c)
    assert "killed" in glim.text("status", c)


def test_a_deaf_job_without_any_save_starts_again_from_the_beginning(stage, cluster):
    c = stage.submit_deaf("deaf", steps=160, grace="500ms", save_every=1000)
    wait_until(lambda: steps_done(stage.path("deaf")) >= 3, 60, "the deaf job did step 3")
    e = stage.submit_visitor("visitor", [c])
    cluster.wait_state(e, "succeeded", 60)
    c_job = cluster.wait_state(c, "succeeded", 60)
    first, second = c_job["attempts"]
    assert (first["outcome"], first["save"], first["durable_step"]) == ("interrupted", "killed", -1)
    assert first["steps_lost"] == first["last_step"] + 1
    assert second["base_step"] == -1
    assert ranges_by_attempt(stage.path("deaf"))[2] == (0, 159)
