"""docs/operations/install.md, "Three machines, on one": the lines of the document, as they stand there, bring up a
scheduler and two nodes with TLS, and do what they say. For root."""

import glob
import os
import re
import shutil
import signal
import subprocess

import pytest

from cluster.network import remove_control_groups
from cluster.processes import SLOWER
from conftest import ROOT

HOSTS = ("head", "n1", "n2")


def lines_of_the_document():
    with open(os.path.join(ROOT, "docs", "operations", "install.md")) as file:
        section = file.read().split("## Three machines, on one\n")[1]
    return re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]


def clear_up():
    for host in HOSTS:
        subprocess.run(["ip", "netns", "del", f"glim-{host}"], capture_output=True)
    subprocess.run(["ip", "link", "del", "glim-demo"], capture_output=True)
    for folder in glob.glob("/tmp/glim-demo-????"):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces of networks are root's to make")
def test_the_lines_of_the_document_do_what_they_say(tmp_path):
    script = "set -euo pipefail\n" + lines_of_the_document()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GLIM_", "XDG_"))}
    clear_up()
    with open(tmp_path / "said", "w+") as said:
        shell = subprocess.Popen(
            ["/bin/bash", "-c", script],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = shell.wait(180 * SLOWER)
        finally:
            os.killpg(shell.pid, signal.SIGTERM)
            clear_up()
            remove_control_groups("/glim-demo")
        said.seek(0)
        told = said.read()
    assert code == 0, told
    assert "lee may not: exit code 4" in told and "[NOT_YOURS]" in told, told
    assert "job 1 was cancelled" in told or "is cancelling" in told, told
    assert "node n2: its certificate counts no more" in told, told
    assert re.search(r"kim \([0-9a-f]{16}\) from (?:ipv4:)?10\.99\.71\.2  Cancel job 1", told), told
    assert re.search(r"lee \([0-9a-f]{16}\) from (?:ipv4:)?10\.99\.71\.2  Cancel job 1.*NOT_YOURS", told), told
    assert "and the chain holds" in told, told
