"""Two users of one cluster: neither sees, stops or slows the other, or acts in the other's name, by any command. Who
else may what: team admins, operators, tokens of less scope; whatever is denied is in the audit trail."""

import json
import os
import secrets

import pytest

from cluster.processes import wait_until

DENIED, UNREACHABLE = 4, 8
SLEEPER = "echo of-kim; exec sleep 600"


@pytest.fixture
def job(stage, cluster, glim):
    """Of kim, with a variable and a line that are nobody else's business."""
    spec = stage.examples.make("kims", SLEEPER, env={"API_KEY": "k1m-s3cret"})
    number = glim.submit(spec, user="kim")
    cluster.wait_state(number, "running", 30)
    return number


def denied(glim, *words, user="lee", reason=None, **more):
    told = glim.run(*words, user=user, **more)
    assert told.returncode == DENIED, f"{words}: {told.returncode} {told.stdout}{told.stderr}"
    assert told.stdout == "" and "fix:" in told.stderr, told.stderr
    if reason:
        assert f"[{reason}]" in told.stderr, told.stderr
    return told


def audit(glim, **wanted):
    """The entries of the last minutes that have these values."""
    lines = glim.text("-o", "json", "admin", "audit", "--since", "10m").splitlines()
    entries = [json.loads(line) for line in lines]
    return [entry for entry in entries if all(entry[key] == value for key, value in wanted.items())]


def test_others_see_that_a_job_is_there_and_nothing_private_of_it(glim, job):
    seen = glim.json("status", job, user="lee")["job"]
    assert (seen["user"], seen["state"]) == ("kim", "running")
    everything = "".join(glim.text(*words, user="lee") for words in (("-o", "json", "status", job), ("queue",)))
    for private in ("k1m-s3cret", SLEEPER):
        assert private not in everything
    assert "k1m-s3cret" in glim.text("-o", "json", "status", job, user="kim")
    assert "of-kim" in glim.text("logs", job, user="kim")
    denied(glim, "logs", job)
    denied(glim, "events", job)


@pytest.mark.parametrize("verb", ["cancel", "suspend", "resume"])
def test_nobody_stops_anothers_job(cluster, glim, job, verb):
    denied(glim, verb, job, reason="NOT_YOURS")
    assert glim.job(job)["state"] == "running"
    (entry, *_) = audit(glim, user="lee", object=f"job {job}")
    assert entry["outcome"] == "NOT_YOURS" and entry["method"].lower().endswith("/" + verb)


def test_operators_and_admins_of_the_team_may(stage, cluster, glim):
    glim.text("admin", "team", "set", "vision", "-y")
    glim.text("admin", "user", "set", "ida", "--team", "vision", "-y")
    glim.text("admin", "user", "set", "tom", "--team", "vision", "--admin-of", "vision", "-y")
    for who in ("tom", None):
        job = glim.submit(stage.examples.make("of-ida", SLEEPER), user="ida")
        cluster.wait_state(job, "running", 30)
        assert "of-kim" in wait_until(lambda j=job, w=who: glim.run("logs", j, user=w).stdout, 20, "its first line")
        glim.text("cancel", job, user=who)
        cluster.wait_state(job, "cancelled", 30)


ADMIN_COMMANDS = [
    ("admin", "node", "revoke", "n1", "-y"),
    ("admin", "node", "invite", "n9", "-y"),
    ("admin", "node", "label", "n1", "--zone", "Z", "-y"),
    ("admin", "node", "return", "n1", "-y"),
    ("admin", "node", "remove", "n1", "-y"),
    ("admin", "outage", "resolve", "-y"),
    ("admin", "config", "reload"),
    ("admin", "ca", "rotate"),
    ("admin", "audit"),
    ("admin", "audit", "verify"),
    ("admin", "user", "set", "lee", "--role", "admin", "-y"),
    ("admin", "team", "set", "own", "--weight", "1000", "-y"),
    ("admin", "quota", "set", "user:lee", "high", "99", "-y"),
    ("admin", "token", "create", "--user", "kim"),
    ("admin", "token", "list", "--all"),
    ("admin", "token", "revoke", "--all-of", "kim", "-y"),
]


@pytest.mark.parametrize("words", ADMIN_COMMANDS, ids=" ".join)
def test_a_user_is_no_operator(glim, words):
    denied(glim, *words)


def test_nobody_acts_in_anothers_name(stage, cluster, glim, job):
    """By a flag, by a name, by a token that is made up or cut, without TLS."""
    spec = stage.examples.make("whose", "true")
    assert glim.run("--as", "kim", "cancel", job, user="lee").returncode == 2
    tokens = glim.tokens
    with open(tokens.file_of("kim", glim)) as file:
        real = file.read().strip()
    head, number, secret = real.split("_")
    forged = [
        f"{head}_{number}_{secrets.token_hex(32)}",  # the id is no secret: logs and the audit trail name it
        f"{head}_{secrets.token_hex(8)}_{secret}",
    ]
    for token in forged:
        tokens.write("mallory", token + "\n")
        denied(glim, "submit", spec, user="mallory", reason="BAD_TOKEN")
    os.unlink(os.path.join(tokens.folder, "mallory"))
    plain = glim.run("--insecure-without-identity", "--as", "kim", "cancel", job, user="lee")
    assert plain.returncode == UNREACHABLE and "TLS" in plain.stderr, plain.stderr
    mine = glim.submit(spec, user="lee")
    assert glim.job(mine)["user"] == "lee"
    assert glim.job(job)["state"] == "running"


def test_a_revoked_token_counts_no_more_and_its_streams_end(cluster, glim, job, fresh_folder):
    token = glim.json("admin", "token", "create", "--user", "kim")
    glim.tokens.write("kim-too", token["token"] + "\n")
    try:
        log = os.path.join(fresh_folder, "log")
        follower = glim.follow("logs", job, "-f", out=log, user="kim-too")
        wait_until(lambda: "of-kim" in open(log).read(), 20, "it follows")
        glim.text("admin", "token", "revoke", token["row"]["id"], "-y")
        denied(glim, "queue", user="kim-too")
        wait_until(lambda: follower.poll() is not None, 30, "its stream ends")
        assert follower.returncode == DENIED, open(log + ".err").read()
    finally:
        os.unlink(os.path.join(glim.tokens.folder, "kim-too"))
    assert glim.run("queue", user="kim").returncode == 0, "the other token of the same user counts on"


def test_a_token_of_less_scope_may_less(stage, glim, job):
    spec = stage.examples.make("scoped", "true")
    for scope in ("read", "submit"):
        glim.tokens.write("scoped", glim.text("admin", "token", "create", "--user", "kim", "--scope", scope))
        assert glim.run("queue", user="scoped").returncode == 0
        if scope == "read":
            denied(glim, "submit", spec, user="scoped", reason="SCOPE")
            denied(glim, "cancel", job, user="scoped", reason="SCOPE")
        else:
            glim.submit(spec, user="scoped")
        denied(glim, "admin", "token", "create", user="scoped", reason="SCOPE")
        denied(glim, "secret", "set", "x", user="scoped", reason="SCOPE", stdin="y")
    os.unlink(os.path.join(glim.tokens.folder, "scoped"))


def test_a_disabled_users_token_does_not_count_and_their_jobs_wait(stage, cluster, glim):
    spec = stage.examples.make("of-zed", "true", nodes=4)
    blocker = glim.submit(stage.examples.make("first", "exec sleep 600", nodes=4), user="kim")
    cluster.wait_state(blocker, "running", 30)
    waiting = glim.submit(spec, user="zed")
    glim.text("admin", "user", "set", "zed", "--disable", "-y")
    denied(glim, "queue", user="zed", reason="USER_DISABLED")
    glim.text("cancel", blocker)
    cluster.wait_job(
        waiting, lambda j: any(b["kind"] == "user_disabled" for b in j["blockers"]), 30, "it waits for that"
    )
    glim.text("admin", "user", "set", "zed", "--enable", "-y")
    cluster.wait_state(waiting, "succeeded", 30)
    assert glim.run("queue", user="zed").returncode == 0


def test_secrets_are_their_owners_alone(glim):
    glim.text("secret", "set", "wandb", user="kim", stdin="k1m-w4ndb")
    assert [s["name"] for s in glim.json("secret", "list", user="kim")["secrets"]] == ["wandb"]
    assert glim.json("secret", "list", user="lee")["secrets"] == []
    assert glim.json("secret", "list")["secrets"] == [], "nor the operator's"
    assert glim.run("secret", "rm", "wandb", user="lee").returncode == 3
    glim.text("secret", "rm", "wandb", user="kim")


def test_what_was_done_is_in_the_audit_trail_and_its_chain_holds(glim, job):
    glim.text("cancel", job)
    (cancelled, *_) = audit(glim, object=f"job {job}", outcome="ok", method="/glim.v1.ClientApi/Cancel")
    assert cancelled["user"] and cancelled["token"] and cancelled["peer"]
    everything = glim.text("-o", "json", "admin", "audit", "--since", "1h")
    assert "k1m-s3cret" not in everything and "k1m-w4ndb" not in everything
    verified = glim.json("admin", "audit", "verify")
    assert verified["broken_at"] == 0 and verified["entries"] > 0


def test_no_log_has_a_token(cluster, glim, job):
    """Neither the secret part nor the whole, after calls that were let in, denied and torn."""
    glim.text("queue", user="kim")
    denied(glim, "logs", job)
    folders = (glim.tokens.folder, glim.tokens.operator)
    paths = [os.path.join(folder, name) for folder in folders for name in os.listdir(folder) if name != "ca.pem"]
    parts = [open(path).read().strip().split("_")[2] for path in paths]
    assert len(parts) > 2
    glim.tokens.write("torn", f"glim_{'0' * 16}_{parts[0]}\n")
    denied(glim, "queue", user="torn", reason="BAD_TOKEN")
    os.unlink(os.path.join(glim.tokens.folder, "torn"))
    logs = cluster.log_files()
    assert any(path.endswith("scheduler.log") for path in logs)
    for path in logs:
        with open(path, errors="replace") as file:
            text = file.read()
        assert not [part for part in parts if part in text], path


def test_whoami_tells_who_one_is(glim):
    assert glim.json("whoami", user="lee")["user"] == "lee"
    assert glim.json("whoami")["role"] == "admin"
