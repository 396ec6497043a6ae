"""Jobs that know nothing of Glim but a signal: told once, any exit afterwards is an interrupt; who stays is killed at
the end of the grace."""

import os

import pytest

from cluster.processes import processes_of, wait_until
from cluster.verdict import Findings, check_gang_preemption

# Counts to 100; after the signal it writes how far it came and exits with a code of its own, as programs do. The trap
# only notes the signal: it may come in the middle of a count. Its first attempt waits for it at 60.
COUNTER = """\
state={state}
count=0
[ ! -e "$state" ] || count=$(cat "$state")
stop=
trap 'stop=yes' {signal}
echo "attempt $GLIM_ATTEMPT begins with $count, resume $GLIM_RESUME_STEP"
while [ "$count" -lt 100 ]; do
  count=$((count + 1))
  echo "$GLIM_ATTEMPT $count" >>"{log}"
  {each}
  sleep 0.03
  while [ "$GLIM_ATTEMPT $count" = "1 60" ] && [ -z "$stop" ]; do sleep 0.03; done
  if [ -n "$stop" ]; then
    echo "$count" >"$state.part" && mv "$state.part" "$state"
    {on_stop}
    exit {code}
  fi
done
"""


class Counter:
    def __init__(self, stage, name):
        self.stage, self.name = stage, name
        self.log = stage.path(f"{name}.log")

    def submit(self, signal, grace="20s", code=3, on_stop=":", each=":", mode="signal"):
        script = self.stage.path(f"{self.name}.sh")
        with open(script, "w") as file:
            file.write(
                COUNTER.format(
                    state=self.stage.path(f"{self.name}.state"),
                    log=self.log,
                    signal=signal,
                    code=code,
                    on_stop=on_stop,
                    each=each,
                )
            )
        spec = self.stage.examples.make(
            self.name,
            f"exec bash {script}",
            interrupt={"mode": mode, "signal": signal, "grace": grace} if mode else {"grace": grace},
            checkpoint={"dir": self.stage.path("ckpt", "$GLIM_JOB_ID")},
        )
        return self.stage.glim.submit(spec, user="ana")

    def lines(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return [tuple(map(int, line.split())) for line in file.read().split("\n")[:-1]]

    def wait_count(self, count):
        wait_until(
            lambda: self.stage.cluster.check() or len(self.lines()) >= count,
            60,
            f"{self.name} counted to {count}",
            every=0.02,
        )


@pytest.mark.parametrize("signal", ["USR1", "TERM", "INT", "USR2"])
def test_it_writes_its_state_leaves_and_goes_on(stage, cluster, glim, signal):
    counter = Counter(stage, f"counter-{signal.lower()}")
    job_id = counter.submit(signal)
    counter.wait_count(10)
    urgent_id = stage.submit_visitor("visitor", [job_id])
    urgent = cluster.wait_state(urgent_id, "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)

    assert [count for _, count in counter.lines()] == list(range(1, 101)), "counted on, nothing twice"
    assert {attempt for attempt, _ in counter.lines()} == {1, 2}
    first, second = job["attempts"]
    # It told Glim of no save, so Glim claims none; it reported no steps, so none are lost.
    assert (first["outcome"], first["save"], first["steps_lost"]) == ("interrupted", "left_unsaved", 0)
    assert (second["outcome"], job["attempt_count"], job["interrupts"]) == ("succeeded", 2, 1)
    (agreement,) = first["agreements"]
    assert agreement["stop_step"] == -1 and 0 <= agreement["grace_used_ms"] < 20000
    found = Findings()
    check_gang_preemption(found, signal, job, urgent, stage.seen("visitor", 4))
    assert found == []
    assert f"SIG{signal}" in glim.text("events", job_id)


def test_with_glim_task_its_save_counts(stage, cluster):
    """Steps and saves may be told in signal mode, too."""
    counter = Counter(stage, "teller")
    job_id = counter.submit(
        "USR1", code=0, each='glim-task progress "$count"', on_stop='glim-task saved --step "$count" --path "$state"'
    )
    counter.wait_count(10)
    cluster.wait_state(stage.submit_visitor("visitor", [job_id]), "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)
    first, second = job["attempts"]
    assert (first["outcome"], first["save"], first["steps_lost"]) == ("interrupted", "saved", 0)
    last = max(count for attempt, count in counter.lines() if attempt == 1)
    assert (first["durable_step"], second["base_step"]) == (last, last)
    assert f"attempt 2 begins with {last}, resume {last}" in stage.glim.text("logs", job_id, "--attempt", "2")


def test_who_ignores_the_signal_is_killed_at_the_end_of_its_grace(stage, cluster, glim):
    ready = stage.path("deaf.ready")
    spec = stage.examples.make(
        "deaf",
        f"trap '' USR1 TERM; touch {ready}.$GLIM_ATTEMPT; " "[ $GLIM_ATTEMPT -gt 1 ] || while :; do sleep 0.05; done",
        interrupt={"mode": "signal", "signal": "USR1", "grace": "1s"},
    )
    job_id = glim.submit(spec, user="ana")
    wait_until(lambda: cluster.check() or os.path.exists(f"{ready}.1"), 60, "the deaf job runs")
    urgent_id = stage.submit_visitor("visitor", [job_id])
    urgent = cluster.wait_state(urgent_id, "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)
    first, second = job["attempts"]
    assert (first["outcome"], first["save"]) == ("interrupted", "killed")
    assert "killed" in first["message"]
    assert first["agreements"][0]["grace_used_ms"] >= 1000, "nobody is killed before"
    assert second["outcome"] == "succeeded" and job["interrupts"] == 1
    assert "killed at the end of its grace" in glim.text("status", job_id)
    assert "did not leave within its grace" in glim.text("events", job_id)
    found = Findings()
    check_gang_preemption(found, "deaf", job, urgent, stage.seen("visitor", 4))
    assert found == [] and processes_of(cluster.folder, job_id) == []


def test_without_a_trap_the_signal_itself_ends_it(stage, cluster):
    """What a program that was never told of interrupts does with USR1: it dies, which is an answer."""
    started = stage.path("plain.started")
    spec = stage.examples.make(
        "plain",
        f"touch {started}.$GLIM_ATTEMPT; [ $GLIM_ATTEMPT -gt 1 ] || exec sleep 600",
        interrupt={"mode": "signal", "signal": "USR1", "grace": "20s"},
    )
    job_id = stage.glim.submit(spec, user="ana")
    cluster.wait_state(job_id, "running", 30)
    wait_until(lambda: os.path.exists(f"{started}.1"), 30, "it has started")
    cluster.wait_state(stage.submit_visitor("visitor", [job_id]), "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)
    assert [a["outcome"] for a in job["attempts"]] == ["interrupted", "succeeded"]
    assert job["attempts"][0]["save"] == "left_unsaved"


def test_a_job_that_never_said_hello_gets_its_signal_at_once(stage, cluster, glim):
    """Nothing is said about the mode: the default finds out."""
    counter = Counter(stage, "unsaid")
    job_id = counter.submit("TERM", grace="60s", mode=None)
    counter.wait_count(10)
    assert "SIGTERM, until the SDK or glim-task says hello" in glim.text("status", job_id)
    urgent_id = stage.submit_visitor("visitor", [job_id])
    urgent = cluster.wait_state(urgent_id, "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)
    assert [count for _, count in counter.lines()] == list(range(1, 101)), "counted on, nothing twice"
    first, second = job["attempts"]
    assert (first["outcome"], second["outcome"], job["interrupts"]) == ("interrupted", "succeeded", 1)
    assert first["agreements"][0]["grace_used_ms"] < 20000, "it did not wait for the end of its grace"
    found = Findings()
    check_gang_preemption(found, "unsaid", job, urgent, stage.seen("visitor", 4))
    assert found == []


def test_a_job_that_said_hello_is_asked_by_the_flag(stage, cluster, glim):
    """One word of glim-task is enough, and TERM would kill this one: it has no trap."""
    done = stage.path("speaks.done")
    spec = stage.examples.make(
        "speaks",
        "glim-task progress 0; [ $GLIM_ATTEMPT -eq 1 ] || exit 0; "
        f"until glim-task interrupted; do sleep 0.05; done; glim-task leave; echo left >>{done}",
        interrupt={"grace": "20s"},
    )
    job_id = glim.submit(spec, user="ana")
    cluster.wait_job(job_id, lambda j: "which has said hello" in j["asked_by"], 30, "it has said hello")
    assert "the SDK or glim-task, which has said hello" in glim.text("status", job_id)
    cluster.wait_state(stage.submit_visitor("visitor", [job_id]), "succeeded", 60)
    job = cluster.wait_state(job_id, "succeeded", 60)
    assert job["attempts"][0]["agreements"][0]["stop_step"] >= 0, "its step was agreed on"
    assert os.path.exists(done), "no signal came"
