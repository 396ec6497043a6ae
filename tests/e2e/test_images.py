"""Jobs in container images: of a registry on loopback, of an image layout, of docker-archive and squashfs files. The
image is a small system of this machine's programs, with a tool of its own."""

import contextlib
import fcntl
import glob
import os
import re
import signal
import subprocess

import pytest

from cluster import oci_images, pages
from cluster.agent_commands import CONTAINERS
from cluster.folders import make_folder, remove_folder
from cluster.local_cluster import default_runtime
from cluster.processes import wait_until
from cluster.registry import Registry, skopeo
from cluster.small_root import make_small_root
from conftest import own_stage

pytestmark = pytest.mark.skipif(default_runtime() not in CONTAINERS, reason="only root's agents make containers")

NODES = {"n1": ("A", "a1"), "n2": ("A", "a1")}
ENV = ["FLAVOUR=small", "PATH=/opt/tool/bin:/usr/local/bin:/usr/bin:/bin", "GLIM_JOB_ID=0"]
TOOL = [
    oci_images.folder("opt/tool/bin"),
    oci_images.file("opt/tool/bin/tool", b"#!/bin/sh\necho the tool of the image\n", mode=0o755),
    oci_images.file("etc/flavour", b"an image\n", mode=0o600),
]
TELL = "cat /etc/flavour; echo $FLAVOUR job $GLIM_JOB_ID of $(id -un); tool; touch /opt/tool/mine && echo writable"


class World:
    """A cluster of two nodes, a registry, and the image in each form in which people bring it."""

    def __init__(self, folder, registry, stage):
        self.registry, self.stage, self.cluster, self.glim = registry, stage, stage.cluster, stage.glim
        os.mkdir(folder)
        root = make_small_root(os.path.join(folder, "root"))
        self.layout = oci_images.ImageFolder(os.path.join(folder, "layout"))
        self.digest = oci_images.add_system(self.layout, "small", root, [TOOL], Env=ENV, WorkingDir="/opt/tool",
                                            Entrypoint=["/bin/false"], User="nobody")  # fmt: skip
        self.archive, self.sqsh = os.path.join(folder, "small.tar"), os.path.join(folder, "small.sqsh")
        skopeo("copy", self.layout.address("small"), f"docker-archive:{self.archive}")
        subprocess.run(["mksquashfs", root, self.sqsh, "-quiet", "-no-progress"], check=True, stdout=-1)
        registry.push(self.layout, "small", "team/small:1")
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)

    def named(self, digest=None):
        return f"{self.registry.address}/team/small:1@{digest or self.digest}"

    def run(self, image, run=TELL, state="succeeded", **fields):
        job = self.glim.submit(self.stage.examples.make("in-image", run, image=image, **fields))
        told = self.cluster.wait_state(job, state, 120)
        return told, self.glim.text("logs", job) if state == "succeeded" else told["message"]


@pytest.fixture(scope="module")
def world():
    folder = make_folder("glim-images-")
    os.mkdir(os.path.join(folder, "cluster"))
    with own_stage(os.path.join(folder, "cluster"), nodes=NODES) as stage:
        cluster = stage.cluster
        with Registry(os.path.join(folder, "registry"), host=cluster.network.host_address) as registry:
            cluster.agent_options += ("--image-registries", f"http://{registry.address}")
            for node in NODES:
                cluster.kill(node)
                cluster.start_again(node)
            cluster.wait_ready()
            yield World(os.path.join(cluster.jobs, "images"), registry, stage)
    remove_folder(folder)


def test_a_job_runs_in_an_image_of_a_registry(world):
    _, log = world.run(world.named(), workdir="/opt/tool")
    for words in ("an image", "small job ", "the tool of the image", "writable"):
        assert words in log, log
    assert "small job 0 " not in log, "the job's own variables are not the image's to say"


def test_each_form_of_an_image_is_run(world):
    for image in (world.layout.address("small"), f"oci:{world.layout.path}", f"docker-archive:{world.archive}"):
        _, log = world.run(image, workdir="/opt/tool")
        assert "the tool of the image" in log, (image, log)
    _, log = world.run(f"sqfs:{world.sqsh}", run="cat /etc/debian_version; test -e /opt/tool || echo without the tool")
    assert "12." in log and "without the tool" in log, log


def test_a_gang_runs_in_an_image_and_each_node_fetches_it_once(world):
    before = world.registry.requests().blobs
    for _ in range(2):
        told, _ = world.run(world.named(), nodes=2, workdir="/opt/tool")
    assert {task["node"] for task in told["attempts"][0]["tasks"]} == set(NODES)
    blobs = len(world.layout.read(world.digest)["layers"]) + 1
    assert world.registry.requests().blobs - before <= blobs, "one of the two has had it before"


@pytest.mark.parametrize(
    "image, words",
    [
        ("sqfs:/etc/passwd", "is in no folder that the nodes"),
        ("debian:12", "names no registry"),
    ],
)
def test_what_no_node_can_run_is_refused_at_the_submission(world, image, words):
    refused = world.glim.run("submit", world.stage.examples.make("refused", "true", image=image))
    assert refused.returncode != 0 and words in refused.stderr and "fix:" in refused.stderr, refused.stderr


def test_an_image_that_is_not_there_fails_the_job_and_says_so(world):
    _, words = world.run(world.named("sha256:" + "0" * 64), state="failed")
    assert "manifest unknown" in words, words
    _, words = world.run(f"sqfs:{world.layout.path}/gone.sqsh", state="failed")
    assert "gone.sqsh" in words and "No such file" in words, words


def test_a_registry_at_a_private_address_has_to_be_named_by_the_operator(world):
    _, words = world.run(f"localhost:9/team/small@sha256:{'f' * 64}", state="failed")
    assert "is at a private address" in words and "image_registries" in words, words


def test_a_job_is_cancelled_while_its_registry_does_not_answer(world):
    folders = [os.path.join(world.cluster.agent_state(node), "images") for node in NODES]

    def imports(suffix):
        return [path for folder in folders for path in glob.glob(f"{folder}/*{suffix}")]

    def is_free(lock):
        with open(lock) as file:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
        return False

    os.kill(world.registry.pid, signal.SIGSTOP)
    try:
        image = world.named("sha256:" + "e" * 64)
        job = world.glim.submit(world.stage.examples.make("hangs", "true", image=image, workdir="/tmp"))
        wait_until(lambda: imports(".work"), 60, "it is fetched")
        world.glim.text("cancel", job)
        world.cluster.wait_state(job, "cancelled", 60)
        wait_until(lambda: all(map(is_free, imports(".lock"))), 60, "no process of it is left")
    finally:
        os.kill(world.registry.pid, signal.SIGCONT)
    world.run(f"sqfs:{world.sqsh}", run="true", nodes=2, workdir="/tmp")
    assert imports(".work") == imports(".part") == imports(".progress") == []


def test_the_pages_job_runs(world, tmp_path):
    (spec,) = (text for language, text in pages.fences("docs/howto/use-an-image.md") if language == "yaml")
    file = tmp_path / "job.yaml"
    file.write_text(spec.replace("oci:/data/images/sft", world.layout.address("small")))
    done = world.glim.run("submit", "--wait", str(file))
    assert done.returncode == 0, done.stderr
    job = re.search(r"[0-9]+", done.stdout)[0]
    assert re.match(r"12\.[0-9]+\n\S+\n$", world.glim.text("logs", job))
