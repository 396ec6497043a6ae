"""What a task of one user tries at the rendezvous of another's running job, whose whole environment it has: about.json
has that, and where the job's ranks meet. A line of JSON for each try: what it got, or what kept it out."""

import json
import os
import socket
import struct
import sys

GET, SET = 2, 1
CROWD = 300


def request(kind, key, value=b"", wait_ms=1000):
    """As a rank without a secret says it (sdk/hfreduce/rendezvous/store_message.h)."""
    return b"GHS1" + struct.pack("<B3xIII", kind, wait_ms, len(key), len(value)) + key + value


def connect(about):
    one = socket.create_connection((about["host"], about["port"]), timeout=10)
    one.settimeout(10)
    return one


def ask(about, said):
    """What is answered, until the other side ends the connection."""
    with connect(about) as one:
        one.sendall(said)
        heard = b""
        while part := one.recv(4096):
            heard += part
        return heard


def read_where_its_ranks_are(about):
    heard = ask(about, request(GET, about["key"].encode()))
    return heard.hex() if len(heard) > 20 else None  # a head alone: a refusal, without a value


def write_itself_down_as_a_rank(about):
    heard = ask(about, request(SET, about["key"].encode(), b"6.6.6.6:6"))
    return heard.hex() if heard[4:5] == b"\0" else None


def be_heard_with_noise(about):
    return ask(about, b"GET / HTTP/1.1\r\n\r\n").hex() or None


def be_a_rank(about, secret_file):
    from glim import hfreduce

    os.environ.update(about["environment"])
    if secret_file:
        os.environ["GLIM_ATTEMPT_SECRET_FILE"] = secret_file
    else:
        os.environ.pop("GLIM_ATTEMPT_SECRET_FILE", None)
    with hfreduce.init(timeout=3.0) as group:
        return f"rank {group.rank} of {group.size}"


def main():
    with open(sys.argv[1]) as file:
        about = json.load(file)
    own = os.environ["GLIM_ATTEMPT_SECRET_FILE"]
    crowd = [connect(about) for _ in range(CROWD)]  # kept to the end, and silent
    for name, attempt in (
        ("read", read_where_its_ranks_are),
        ("write", write_itself_down_as_a_rank),
        ("noise", be_heard_with_noise),
        ("rank with its own secret", lambda about: be_a_rank(about, own)),
        ("rank without a secret", lambda about: be_a_rank(about, None)),
    ):
        got, why = None, ""
        try:
            got = attempt(about)
        except Exception as error:  # each refusal has its own
            why = f"{type(error).__name__}: {error}"
        print(json.dumps({"try": name, "got": got, "why": why}), flush=True)
    print(json.dumps({"try": "over", "got": len(crowd), "why": ""}), flush=True)


main()
