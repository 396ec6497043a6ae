"""What deploy/quickstart says of the dashboard: the address that it prints serves the page, the command that it prints
signs in, and where there is no page it says what to do. The npm here is a stand-in; tests/web/run builds with the real
one."""

import json
import os
import re
import ssl
import subprocess
import urllib.error
import urllib.request

import pytest

from cluster.dashboard import Page
from cluster.local_cluster import CONFIG
from cluster.quickstart import find_page, print_ways
from conftest import own_stage

INDEX = "<!doctype html><title>Glim</title>"
NPM = """#!/bin/sh
echo "$*" >>"$NPM_CALLS"
case "$*" in
  "$NPM_FAILS") exit 1 ;;
  ci*) mkdir -p node_modules && touch node_modules/.package-lock.json ;;
  "run build") mkdir -p dist && echo '%s' >dist/index.html ;;
esac
"""


class Checkout:
    """Sources of a page, and an npm that notes what it is asked."""

    def __init__(self, folder, monkeypatch):
        self.webui, self.calls_file, self.said = os.path.join(folder, "webui"), os.path.join(folder, "calls"), []
        self.folder, self.description = folder, os.path.join(folder, "openapi.json")
        os.makedirs(os.path.join(self.webui, "src"))
        for name in ("package-lock.json", "index.html", "src/main.tsx", "../openapi.json"):
            self.write(os.path.join(self.webui, name), "{}")
        programs = os.path.join(folder, "programs")
        os.mkdir(programs)
        self.npm = os.path.join(programs, "npm")
        self.write(self.npm, NPM % INDEX)
        os.chmod(self.npm, 0o755)
        monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
        monkeypatch.setenv("NPM_CALLS", self.calls_file)
        monkeypatch.setenv("NPM_FAILS", "")

    @staticmethod
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def find(self, may_build=True):
        """(the scheduler's line, what npm was asked, what was said)"""
        self.write(self.calls_file, "")
        self.said.clear()
        line = find_page(self.folder, may_build, self.said.append, Page(self.webui, self.description))
        with open(self.calls_file) as file:
            return line, file.read().splitlines(), list(self.said)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    return Checkout(str(tmp_path), monkeypatch)


def test_the_page_is_built_when_it_is_out_of_date_alone(checkout):
    line = f'web_root: "{checkout.webui}/dist"\n'
    assert checkout.find() == (line, ["ping", "ci --ignore-scripts", "run build"], [])
    assert checkout.find() == (line, [], [])
    later = os.path.getmtime(os.path.join(checkout.webui, "dist", "index.html")) + 10
    os.utime(os.path.join(checkout.webui, "src", "main.tsx"), (later, later))
    assert checkout.find() == (line, ["run build"], []), "packages that are there are not fetched again"
    assert checkout.find(may_build=False) == (line, [], [])


@pytest.mark.parametrize(
    "fails, words",
    [
        ("ping", "npm does not reach its packages"),
        ("ci --ignore-scripts", "npm ci --ignore-scripts` says why"),
        ("run build", "npm run build` says why"),
    ],
)
def test_without_a_page_one_line_says_what_to_do(checkout, monkeypatch, fails, words):
    monkeypatch.setenv("NPM_FAILS", fails)
    line, calls, [said] = checkout.find()
    assert line == "" and calls[-1] == fails
    assert said.startswith("without the dashboard's page: ") and words in said and "\n" not in said


def test_without_npm_the_line_names_what_installs_it(checkout, monkeypatch):
    line, calls, [said] = checkout.find(may_build=False)
    assert line == "" and calls == [] and "npm run build" in said
    os.unlink(checkout.npm)
    monkeypatch.setenv("PATH", os.path.dirname(checkout.npm))
    assert checkout.find() == (
        "",
        [],
        ["without the dashboard's page: npm is not there to build it: `deploy/install-deps web` installs it"],
    )


class Browser:
    """Trusts the cluster's authority alone, and keeps its cookie."""

    def __init__(self, authority):
        context = ssl.create_default_context(cafile=authority)
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.HTTPCookieProcessor()
        )

    def ask(self, url, body=None):
        """(status, headers, text)"""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
        try:
            with self.opener.open(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()


def test_the_printed_address_serves_the_page_and_the_printed_command_signs_in(checkout, fresh_folder, capsys):
    page, _, _ = checkout.find()
    with own_stage(fresh_folder, config=page + CONFIG, nodes={"n1": ("A", "a1")}, users=("ana",)) as stage:
        capsys.readouterr()
        print_ways(stage.cluster, page)
        said = capsys.readouterr().out
        [url] = re.findall(r"^The dashboard: (https://\S+)$", said, re.MULTILINE)
        [command] = re.findall(r"^ +(GLIM_SERVER=.* login --web)$", said, re.MULTILINE)
        browser = Browser(stage.cluster.glim.tokens.authority)

        status, headers, text = browser.ask(url)
        assert (status, text.strip()) == (200, INDEX)
        rules = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
        assert rules["default-src"] in ("'none'", "'self'") and rules["frame-ancestors"] == "'none'", rules
        assert "unsafe" not in headers["Content-Security-Policy"]

        assert browser.ask(f"{url}v1/session")[0] == 401
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, env={}, cwd="/")
        assert done.returncode == 0, done.stderr
        address, code = done.stdout.strip().split("#code=")
        assert address == url
        status, _, text = browser.ask(f"{url}v1/session", {"code": code})
        assert status == 200 and json.loads(text)["csrf"], text
        assert browser.ask(f"{url}v1/session")[0] == 200
        assert browser.ask(f"{url}v1/nodes")[0] == 200
        assert browser.ask(f"{url}v1/session", {"code": code})[0] >= 400, "it counts once"
        print_ways(stage.cluster, "")
        assert "dashboard" not in capsys.readouterr().out
