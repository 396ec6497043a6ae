"""The stream of events over HTTP, of a real cluster: what docs/protocols/stream.md promises to a page."""

import base64
import json

import pytest
from test_http import Http, job_file


@pytest.fixture
def web(cluster, glim):
    return Http(cluster, glim)


class Stream:
    """One reader. `until` reads on until what has come is enough; the connection's time-out bounds it."""

    def __init__(self, web, topics, user="kim", last_id=None):
        with open(web.glim.tokens.file_of(user, web.glim)) as file:
            headers = {"Authorization": "Bearer " + file.read().strip()}
        if last_id:
            headers["Last-Event-ID"] = last_id
        self.connection = web.connect()
        self.connection.request("GET", "/v1/stream?topics=" + topics, headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        self.last_id, self.jobs, self.nodes, self.events, self.documents, self.resets = last_id, {}, {}, [], {}, 0

    def close(self):
        self.connection.close()

    def until(self, enough):
        while not enough(self):
            self.take(self.read_frame())

    def read_frame(self):
        frame = {}
        for line in iter(self.answer.readline, b"\n"):
            assert line, "the stream has ended"
            name, _, value = line.decode().rstrip("\n").partition(": ")
            frame[name] = value
        return frame

    def take(self, frame):
        self.last_id = frame.get("id", self.last_id)
        if "data" not in frame:
            return
        topic, data = frame["event"], json.loads(frame["data"])
        assert data["version"] == 2
        self.documents[topic] = data
        if topic in ("queue", "nodes"):
            key, rows = ("id", self.jobs) if topic == "queue" else ("name", self.nodes)
            if data.get("reset"):
                rows.clear()
                self.resets += 1
            for removed in data.get("removed", []):
                rows.pop(removed, None)
            for row in data["jobs" if topic == "queue" else "nodes"]:
                rows.setdefault(row[key], {}).update(row)
        if topic == "events":
            self.events += data["events"]


@pytest.fixture
def follow(web):
    opened = []

    def open_one(*args, **keywords):
        opened.append(Stream(web, *args, **keywords))
        return opened[-1]

    yield open_one
    for stream in opened:
        stream.close()


def submit(web, stage, **keywords):
    return web.json("POST", "/v1/jobs", body=job_file(stage, **keywords), kind="application/yaml")["job_ids"][0]


def test_a_page_sees_a_job_come_run_and_go(stage, cluster, web, follow):
    stream = follow("queue,nodes,events")
    stream.until(lambda s: s.resets == 2)
    number = submit(web, stage)
    stream.until(lambda s: s.jobs.get(number, {}).get("state") == "running")
    holders = [node["name"] for node in stream.nodes.values() if (node["holder"] or {}).get("job_id") == number]
    assert len(holders) == 1, "its node says so"
    web.json("POST", f"/v1/jobs/{number}/cancel", body={})
    stream.until(lambda s: number not in s.jobs)
    stream.until(lambda s: any(e["kind"] == "job_cancelled" and e["job_id"] == number for e in s.events))
    assert stream.resets == 2, "changes alone came after the first state"


def test_who_was_cut_off_goes_on_and_gets_each_event_once(stage, cluster, web, follow):
    stream = follow("queue,events")
    first = submit(web, stage)
    stream.until(lambda s: first in s.jobs and any(e["job_id"] == first for e in s.events))
    stream.until(lambda s: s.last_id)
    stream.close()
    second = submit(web, stage)
    again = follow("queue,events", last_id=stream.last_id)
    again.until(lambda s: second in s.jobs and any(e["job_id"] == second for e in s.events))
    assert again.resets == 0
    seqs = [event["seq"] for event in again.events]
    assert seqs == sorted(set(seqs))


def test_a_log_comes_as_it_is_written(stage, cluster, web, follow):
    number = submit(web, stage, run="echo first; sleep 1; echo second; exec sleep 600")
    topic = f"log:{number}:0"
    stream, text = follow(topic), b""
    while b"second" not in text:
        frame = stream.read_frame()
        if "data" in frame:
            assert frame["event"] == topic
            text += base64.b64decode(json.loads(frame["data"]).get("data", ""))
    assert text.index(b"first") < text.index(b"second")


def test_others_see_of_a_job_what_everybody_may(stage, cluster, web, follow):
    number = submit(web, stage)
    topic = f"job:{number}"
    for user, whole in (("kim", True), ("lee", False)):
        stream = follow(topic, user=user)
        # The stream may have begun with a snapshot from before the job, which it shows as null.
        stream.until(lambda s: topic in s.documents and s.documents[topic]["job"])
        assert bool(stream.documents[topic]["job"]["spec"]["run"]) == whole, user
