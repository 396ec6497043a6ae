"""The registry of the tests: what is pushed into it, who may read it, and what it counts."""

import json
import os
import subprocess

import pytest

from cluster.oci_images import ImageFolder, file
from cluster.processes import SLOWER, start_time, wait_until
from cluster.registry import Registry, Requests, password_line, skopeo

NAME = "team/tool:1"


@pytest.fixture
def images(tmp_path):
    images = ImageFolder(tmp_path / "images")
    images.add("tiny", [[file("hello", b"hello\n")]], Env=["A=1"])
    return images


def address(registry):
    return f"docker://{registry.address}/{NAME}"


@pytest.mark.parametrize("password", [None, "two words: ö"], ids=["open", "password"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_an_image_is_served_as_it_was_pushed(tmp_path, images, tls, password):
    with Registry(tmp_path / "registry", tls, password) as registry:
        assert registry.requests() == Requests(0, 0)
        assert registry.push(images, "tiny", NAME) == images.digest("tiny") == registry.digest(NAME)
        said = json.loads(skopeo("inspect", *registry.options(), address(registry)))
        assert (said["Digest"], said["Env"]) == (images.digest("tiny"), ["A=1"])
        status, body = registry.get("team/tool/manifests/1")
        assert status == 200 and json.loads(body) == images.read(images.digest("tiny"))


def test_downloads_are_counted(tmp_path, images):
    with Registry(tmp_path / "registry") as registry:
        registry.push(images, "tiny", NAME)
        assert registry.requests() == Requests(0, 0)
        skopeo("copy", *registry.options("src-"), address(registry), f"oci:{tmp_path}/copy:tiny")
        wait_until(lambda: registry.requests() == Requests(1, 2), 30, lambda: registry.requests())
        assert ImageFolder(tmp_path / "copy").digest("tiny") == images.digest("tiny")
        assert registry.get("team/tool/manifests/2")[0] == 404
        assert registry.get("team/tool/manifests/1")[0] == 200
        wait_until(lambda: registry.requests() == Requests(2, 2), 30, lambda: registry.requests())


def test_whoever_has_no_password_is_refused(tmp_path, images):
    with Registry(tmp_path / "registry", password="right") as registry:
        registry.push(images, "tiny", NAME)
        with pytest.raises(RuntimeError, match="authentication required"):
            skopeo("inspect", "--tls-verify=false", "--no-creds", address(registry))
        with pytest.raises(RuntimeError, match="invalid username/password|unauthorized"):
            skopeo("inspect", "--tls-verify=false", "--creds=glim:wrong", address(registry))
        skopeo("inspect", "--tls-verify=false", "--creds=glim:right", address(registry))
    assert password_line("ana", "x") != password_line("ana", "x"), "salted"


def test_its_certificate_is_trusted_by_those_who_have_it(tmp_path, images):
    with Registry(tmp_path / "registry", tls=True) as registry:
        registry.push(images, "tiny", NAME)
        with pytest.raises(RuntimeError, match="certificate signed by unknown authority"):
            skopeo("inspect", address(registry))
        assert os.listdir(os.path.dirname(registry.ca)) == ["ca.crt"]
        asked = ["curl", "-sS", "--noproxy", "*", "--cacert", registry.ca, f"https://{registry.address}/v2/"]
        assert subprocess.run(asked, capture_output=True, timeout=60 * SLOWER).returncode == 0


def test_it_goes_on_at_the_same_address_and_ends_with_its_own_child(tmp_path, images):
    with Registry(tmp_path / "a") as registry, Registry(tmp_path / "b") as other:
        registry.push(images, "tiny", NAME)
        pid, before = registry.pid, registry.address
        registry.stop()
        assert start_time(pid) is None and start_time(other.pid) is not None
        with pytest.raises(RuntimeError, match="skopeo inspect ended with exit code"):
            registry.digest(NAME)
        registry.start()
        assert registry.address == before and registry.digest(NAME) == images.digest("tiny")


def test_one_that_cannot_begin_says_why(tmp_path):
    with Registry(tmp_path / "a") as registry:
        registry.stop()
        with open(tmp_path / "a" / "config.yml", "w") as out:
            out.write('{"version": "9.9"}')
        with pytest.raises(RuntimeError, match="docker-registry ended with exit code 1:"):
            registry.start()
