"""docs/tutorials/three-machines.md: its lines, typed on three machines (machines.py) by those whom the page names. What
is not the page's: packages and the build are there already, and systemctl is a stand-in. For root."""

import os
import re
import shutil

import pytest

from conftest import ROOT
from machines import machines

PAGE = os.path.join(ROOT, "docs", "tutorials", "three-machines.md")
MACHINES = {"head": "192.168.70.1", "n1": "192.168.70.11", "n2": "192.168.70.12"}
WHO = re.compile(r"\bOn\s+(head|n1|n2|all\s+three\s+machines),\s+as\s+(root|ana|ben):\s*\Z")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IS_THERE = """\
deploy_install_deps() { :; }
cmake() { if [ "$1" = --install ]; then command cmake "$@"; fi; }
"""


def steps():
    """(machines, who, lines) of each block that somebody types, in the page's order."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    found, end = [], 0
    for block in BLOCK.finditer(text):
        said = WHO.search(text[end : block.start()])
        end = block.end()
        if block[1] != "sh":
            continue
        assert said, f"nobody is said to type:\n{block[2]}"
        machines = list(MACHINES) if said[1].startswith("all") else [said[1]]
        found.append((machines, said[2], block[2]))
    return found


def typed(user, block):
    return IS_THERE + block.replace("deploy/install-deps", "deploy_install_deps") if user == "root" else block


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces are root's to make")
def test_the_lines_of_the_page_do_what_they_say():
    said, enrol = [], {}
    with machines("three", MACHINES) as up:
        for names, user, block in steps():
            for name in names:
                if "glim-agent enrol" in block:
                    command, token = enrol[name]
                    told = up[name].type_in(user, command, token + "\n")
                else:
                    pin = enrol.get("pin", "FINGERPRINT")
                    told = up[name].type_in(user, typed(user, block.replace("FINGERPRINT", pin)))
                said.append(f"--- {user}@{name}\n{block}\n>>>\n{told}")
                print(said[-1], flush=True)
                for command, node, token in re.findall(
                    r"^ *(glim-agent enrol .*--name (\w+).*)\n+ *(\S+)$", told, re.MULTILINE
                ):
                    enrol[node] = (command, token)
                    enrol["pin"] = re.search(r"--ca-fingerprint (\S+)", command)[1]
                if "token create" in block:
                    for who, where in (("ana", "n1"), ("ben", "n2")):  # "carry them over"
                        at, there = (up[m].path(f"/home/{who}/token") for m in ("head", where))
                        shutil.copy(at, there)
                        os.chmod(there, 0o644)
    told = "".join(said)
    assert "saved, 0 steps lost" in told and "job 1 succeeded" in told and "job 2 succeeded" in told
    assert "rank 0 runs on 192.168.70.11,192.168.70.12" in told, "addresses as the page has them"
    assert "[NOT_YOURS]" in told and "exit code 4" in told
