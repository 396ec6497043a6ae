#!/usr/bin/env python3
"""Seeded requests to a real scheduler, made from docs/openapi.json: right ones, whose answers have to be as it says,
and wrong ones of each kind for each route, which have to be refused in words. By hand, for longer:

    tests/e2e/http_requests.py [--requests N] [--seed S] [--bin FOLDER]      ends with 1 when a promise is broken
"""

import argparse
import collections
import http.client
import json
import os
import ssl
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy"))
sys.dont_write_bytecode = True

from http_kinds import Requests  # noqa: E402
from http_schema import Description  # noqa: E402

DESCRIPTION = os.path.join(ROOT, "docs", "openapi.json")
ONE_NODE = {"n1": ("A", "a1")}
PATIENCE = 30  # s: an answer that does not come until then is a hang
GROWTH_MAX = 256 << 20  # of the scheduler's memory, over all requests
CODES = {
    "ABORTED", "ALREADY_EXISTS", "DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "INVALID_ARGUMENT", "NOT_FOUND",
    "OUT_OF_RANGE", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "UNAUTHENTICATED", "UNAVAILABLE", "UNIMPLEMENTED",
}  # fmt: skip


class Runner:
    """Sends them, one after the other, and looks at the answers. `tokens`: {user: token}."""

    def __init__(self, cluster, tokens, description):
        self.cluster, self.tokens, self.description = cluster, tokens, description
        self.context = ssl.create_default_context(cafile=cluster.glim.tokens.authority)
        self.connection, self.faults, self.counts = None, [], collections.Counter()
        self.memory_before = self.memory()

    def run(self, requests):
        for request in requests:
            try:
                status, headers, body = self.send(request)
                wrong = self.look(request, status, headers, body)
            except (OSError, http.client.HTTPException) as error:  # a hang is a timeout
                self.close()
                wrong = [f"no answer: {error!r}"]
            except ValueError as error:
                wrong = [f"what came is no JSON: {error}"]
            self.faults += [f"{request}: {fault}" for fault in wrong]
        self.close()
        return self.faults

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def send(self, request):
        headers = dict(request.headers)
        if request.user:
            headers["Authorization"] = "Bearer " + self.tokens[request.user]
        if request.kind:
            headers["Content-Type"] = request.kind
        if request.body and "Content-Length" not in headers:
            headers["Content-Length"] = str(len(request.body))
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(
                self.cluster.host, self.cluster.http_port, context=self.context, timeout=PATIENCE
            )
        self.connection.putrequest(request.verb, request.target, skip_accept_encoding=True)
        for name, value in headers.items():
            self.connection.putheader(name, value)
        self.connection.endheaders(request.body or None)
        answer = self.connection.getresponse()
        stream = answer.headers.get_content_type() == "text/event-stream"
        body = answer.readline() if stream else answer.read()
        if stream or answer.will_close:
            self.close()
        return answer.status, answer.headers, body

    def look(self, request, status, headers, body):
        operation = request.operation
        self.counts[request.what, status] += 1
        if status in (500, 501) or (request.statuses and status not in request.statuses):
            return [f"{status} instead of {request.statuses or 'what is described'}: {body[:300]!r}"]
        if status == 200:
            return self.look_at_document(operation, headers, body)
        if str(status) not in operation.node["responses"] and request.what == "right":
            return [f"the description has no {status}"]
        return self.look_at_refusal(request, headers, body)

    def look_at_document(self, operation, headers, body):
        if headers.get_content_type() != operation.answer_type:
            return [f"{headers.get_content_type()} instead of {operation.answer_type}"]
        if operation.answer_type == "application/x-ndjson":
            lines = [json.loads(line) for line in body.splitlines()]
            return [f for line in lines if "error" not in line for f in self.description.faults(line, operation.answer)]
        return self.description.faults(json.loads(body), operation.answer) if operation.is_document else []

    def look_at_refusal(self, request, headers, body):
        if headers.get_content_type() != "application/json":
            return [f"a refusal as {headers.get_content_type()}"]
        document = json.loads(body)
        faults = self.description.faults(document, {"$ref": "#/components/schemas/Error"})
        if faults:
            return faults
        error = document["error"]
        if error["code"] not in CODES or not error["reason"] or not error["message"]:
            faults.append(f"a refusal without a code, a reason or words: {error}")
        if request.statuses and not error["fix"]:
            faults.append(f"a refusal that does not say how to mend it: {error}")
        if request.reason and error["reason"] != request.reason:
            faults.append(f"{error['reason']} instead of {request.reason}: {error}")
        if request.field and not error["field"].startswith(request.field):
            faults.append(f"the field is {error['field']!r} instead of {request.field!r}: {error}")
        return faults

    def memory(self):
        with open(f"/proc/{self.cluster.scheduler.process.pid}/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS:"))

    def look_at_scheduler(self):
        """Alive, and no larger than it may be."""
        self.cluster.scheduler.check()
        grown = self.memory() - self.memory_before
        return [] if grown <= GROWTH_MAX else [f"the scheduler's memory grew by {grown >> 20} MiB"]


def load_description():
    with open(DESCRIPTION) as file:
        return Description(json.load(file))


def start_runner(cluster):
    """The runner, and a function that makes requests for it from a seed. Of three jobs the first runs, the others wait
    for its node."""
    job_file = f"{{name: waits, nodes: 1, run: exec sleep 3600, workdir: {cluster.jobs}}}\n"
    path = os.path.join(cluster.jobs, "job.yaml")
    with open(path, "w") as file:
        file.write(job_file)
    jobs = [int(word) for _ in range(3) for word in cluster.glim.json("submit", path, user="kim")["job_ids"]]
    cluster.wait_state(jobs[0], "running", 30)
    tokens = {}
    for name, user in (("operator", None), ("kim", "kim")):
        with open(cluster.glim.tokens.file_of(user, cluster.glim)) as file:
            tokens[name] = file.read().strip()
    runner = Runner(cluster, tokens, load_description())
    return runner, lambda seed: Requests(runner.description, seed, jobs, job_file)


def main():
    from cluster.folders import make_folder, remove_folder
    from cluster.local_cluster import LocalCluster

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    args = parser.parse_args()
    folder = make_folder("glim-http-")
    cluster = LocalCluster(args.bin, folder, nodes=ONE_NODE, runtime="process")
    began = time.monotonic()
    try:
        cluster.start()
        runner, requests = start_runner(cluster)
        made = requests(args.seed).endless()
        faults = runner.run(next(made) for _ in range(args.requests)) + runner.look_at_scheduler()
        statuses = collections.Counter()
        for (_, status), count in runner.counts.items():
            statuses[status] += count
        print(f"{args.requests} requests in {time.monotonic() - began:.0f} s: {dict(sorted(statuses.items()))}")
        print(f"the scheduler's memory: {runner.memory_before >> 20} MiB, then {runner.memory() >> 20} MiB")
        print("\n".join(faults[:50]) or "no promise is broken")
        return 1 if faults else 0
    finally:
        cluster.stop(cancel=False)
        remove_folder(folder)


if __name__ == "__main__":
    sys.exit(main())
