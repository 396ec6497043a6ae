"""What does not fit is refused clearly, with the field named and a way out, and everything else goes on."""

import json

import pytest

from cluster import raw_http2 as h2
from cluster.folders import make_folder, remove_folder
from conftest import own_stage

USAGE, NOT_FOUND, INFEASIBLE, UNREACHABLE = 2, 3, 6, 8

# name: (fields of the spec, exit code, the field that is named, a word of the fix)
BAD_FIELDS = {
    "wrong type": ({"nodes": "many"}, USAGE, "nodes", ""),
    "a list for a text": ({"run": ["a", "b"]}, USAGE, "run", ""),
    "no node": ({"nodes": 0}, USAGE, "nodes", ""),
    "negative nodes": ({"nodes": -1}, USAGE, "nodes", ""),
    "absurdly many nodes": ({"nodes": 10**12}, USAGE, "nodes", ""),
    "more nodes than the pool has": ({"nodes": 5}, INFEASIBLE, "nodes", "at most 4"),
    "more GPUs than a node has": ({"gpus_per_node": 16}, INFEASIBLE, "gpus_per_node", "at most 8"),
    "larger than a zone, and not to cross": (
        {"nodes": 3, "placement": {"cross_zone": "never"}},
        INFEASIBLE,
        "nodes",
        "at most 2",
    ),
    "a GPU type that is not there": ({"placement": {"gpu_type": "h800"}}, INFEASIBLE, "placement", ""),
    "a zone that is not there": ({"placement": {"zones": ["Z"]}}, INFEASIBLE, "placement", ""),
    "a name of 10,000 characters": ({"name": "x" * 10_000}, USAGE, "name", "at most 128"),
    "control characters in the name": ({"name": "a\x1b[31mb"}, USAGE, "name", ""),
    "control characters in the command": ({"run": "echo \x07"}, USAGE, "run", "remove"),
    "control characters in a variable": ({"env": {"A": "b\x00c"}}, USAGE, "env.A", ""),
    "a negative grace": ({"interrupt": {"grace": "-5s"}}, USAGE, "interrupt.grace", ""),
    "a grace longer than the longest": (
        {"interrupt": {"grace": "60s", "max_grace": "10s"}},
        USAGE,
        "interrupt.max_grace",
        "at least as long",
    ),
    "an unknown pool": ({"pool": "a100"}, INFEASIBLE, "pool", "default"),
    "an unknown class": ({"priority": "hihg"}, USAGE, "priority", "high"),
    "an unknown key": ({"nodez": 2}, USAGE, "nodez", "nodes"),
    "an unknown key in a section": ({"interrupt": {"grase": "5s"}}, USAGE, "interrupt.grase", "grace"),
    "a variable of Glim": ({"env": {"GLIM_ATTEMPT": "7"}}, USAGE, "env.GLIM_ATTEMPT", "another name"),
    "an unknown launcher": ({"launcher": "per-gpus"}, USAGE, "launcher", "per-gpu"),
    "a relative checkpoint folder": ({"checkpoint": {"dir": "ckpt"}}, USAGE, "checkpoint.dir", "/data/set"),
}


@pytest.mark.parametrize("case", BAD_FIELDS)
def test_a_bad_spec_is_refused(stage, glim, case):
    fields, code, field, fix = BAD_FIELDS[case]
    spec = {"name": "bad", "run": "true", **fields}
    path = stage.examples.write("bad", "".join(f"{key}: {json.dumps(value)}\n" for key, value in spec.items()))
    jobs = len(glim.json("queue", "--all")["jobs"])

    told = glim.run("submit", path)
    assert told.returncode == code, told.stderr
    assert told.stderr.startswith("error: ") and told.stdout == ""
    assert field in told.stderr and fix in told.stderr, told.stderr
    assert "\x1b" not in told.stderr and "\x07" not in told.stderr and len(told.stderr) < 2000

    error = json.loads(glim.run("-o", "json", "submit", path).stderr)["error"]
    assert (error["exit_code"], error["field"]) == (code, field)
    assert error["fix"], f"no way out is told: {error}"
    assert len(glim.json("queue", "--all")["jobs"]) == jobs


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nodes: [1, 2\n",
        "- a\n- b\n",
        "just words\n",
        "name: a\nname: b\nrun: x\n",
        "name: &a b\nrun: *nobody\n",
        "\x00\x01\x02",
        "a: " + "[" * 20_000,
    ],
)
def test_what_is_no_spec_is_refused(stage, glim, text):
    result = glim.run("submit", stage.examples.write("bad", text))
    assert result.returncode == USAGE and result.stderr.startswith("error: "), result.stderr


def test_all_or_none_of_a_file(stage, glim):
    before = len(glim.json("queue", "--all")["jobs"])
    path = stage.examples.write("two", "name: good\nrun: 'true'\n---\nname: bad\nrun: 'true'\nnodes: 99\n")
    assert glim.run("submit", path).returncode == INFEASIBLE
    assert len(glim.json("queue", "--all")["jobs"]) == before


@pytest.mark.parametrize("command", ["status", "why", "cancel", "logs", "wait", "suspend", "resume"])
def test_an_unknown_job_is_not_found(glim, command):
    result = glim.run(command, 987654321)
    assert result.returncode == NOT_FOUND and "987654321" in result.stderr, result.stderr


@pytest.mark.parametrize("word", ["abc", "0", "-1", "99999999999999999999999", ""])
def test_what_is_no_job_number_is_a_usage_error(glim, word):
    assert glim.run("status", word).returncode == USAGE


def test_a_server_that_is_not_there(glim):
    result = glim.run("--server", "127.0.0.1:1", "queue")
    assert result.returncode == UNREACHABLE and "127.0.0.1:1" in result.stderr, result.stderr


OPENING = h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0, b"")
SUBMIT, SYNC = h2.call_headers("/glim.v1.ClientApi/Submit"), h2.call_headers("/glim.v1.AgentApi/Sync")

TORN = {
    "not HTTP": b"\x00\xffGET / HTTP/1.1\r\n\r\n" * 50,
    "half a preface": h2.PREFACE[:11],
    "a preface and noise": h2.PREFACE + bytes(range(256)) * 20,
    "a frame that is cut": OPENING + SUBMIT[:20],
    "a message that is cut": OPENING + SUBMIT + h2.frame(h2.DATA, 0, 1, h2.message(b"\x0a\x05abc", claimed=5000)),
    "an agent's message that is cut": OPENING + SYNC + h2.frame(h2.DATA, 0, 1, h2.message(b"\x0a\x7f", claimed=900)),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Without TLS, so that what is written by hand gets as far as gRPC."""
    folder = make_folder("glim-own-")
    with own_stage(folder, nodes={"n1": ("A", "a1")}, secure=False) as stage:
        yield stage
    remove_folder(folder)


def ports_of(cluster):
    return (cluster.port, cluster.agents_port)


@pytest.mark.parametrize("case", TORN)
def test_torn_bytes_and_a_hang_up_harm_nobody(stage, plain, case):
    for where in (stage, plain):
        for port in ports_of(where.cluster):
            for _ in range(5):
                h2.drop(where.cluster.host, port, TORN[case])
        job = where.glim.submit(where.examples.make("after", "true"))
        where.cluster.wait_state(job, "succeeded", 30)


@pytest.mark.parametrize(
    "path",
    [
        "/glim.v1.ClientApi/Submit",
        "/glim.v1.ClientApi/GetJob",
        "/glim.v1.AgentApi/Sync",
        "/glim.v1.AgentApi/ServeLogs",
        "/glim.v1.ClientApi/NoSuchCall",
    ],
)
def test_a_message_that_is_no_protobuf_is_answered(plain, path):
    """Field 1 says that 127 bytes follow; two do."""
    cluster, port = plain.cluster, ports_of(plain.cluster)["AgentApi" in path]
    sent = OPENING + h2.call_headers(path) + h2.frame(h2.DATA, h2.END_STREAM, 1, h2.message(b"\x0a\x7fab"))
    answers = [(kind, flags) for kind, flags, stream, _ in h2.exchange(cluster.host, port, sent) if stream == 1]
    assert any(kind == h2.HEADERS and flags & h2.END_STREAM for kind, flags in answers), answers
    cluster.check()
    job = plain.glim.submit(plain.examples.make("after", "true"))
    cluster.wait_state(job, "succeeded", 30)
