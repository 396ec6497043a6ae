"""Container images that are made without a daemon: what others read of them, and that they are the same each time."""

import gzip
import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import tarfile

import pytest

from cluster.oci_images import (
    LAYER,
    PATH,
    ImageFolder,
    add_system,
    entries_of,
    file,
    folder,
    hard_link,
    node,
    symlink,
    tar_of,
)
from cluster.processes import SLOWER

LAYERS = (
    [folder("etc"), file("etc/one", b"one\n", mode=0o640), symlink("link", "etc/one"), hard_link("hard", "etc/one")],
    [file("etc/.wh.one"), file("etc/two", b"x" * 3000, mtime=86400)],
)
CONFIG = {"Env": ["A=1", "B=two words"], "WorkingDir": "/etc", "Entrypoint": ["/bin/sh", "-c"], "User": "7:8"}


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120 * SLOWER)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def images(tmp_path):
    return ImageFolder(tmp_path / "images")


def unpack(images, tag, tmp_path):
    run("umoci", "unpack", "--rootless", "--image", f"{images.path}:{tag}", str(tmp_path / "bundle"))
    return tmp_path / "bundle" / "rootfs"


def archive(images, tag, layer=-1):
    """A layer's entries, as Python reads them."""
    digest = images.read(images.digest(tag))["layers"][layer]["digest"]
    return tarfile.open(images.blob(digest), "r:gz")


def test_skopeo_reads_what_was_made(images):
    digest = images.add("one", LAYERS, **CONFIG)
    said = json.loads(run("skopeo", "inspect", images.address("one")))
    layers = images.read(digest)["layers"]
    assert (said["Digest"], said["Architecture"], said["Os"]) == (digest, "amd64", "linux")
    assert (said["Layers"], said["Env"]) == ([layer["digest"] for layer in layers], CONFIG["Env"])
    config = json.loads(run("skopeo", "inspect", "--config", images.address("one")))
    assert config["config"] == CONFIG


def test_umoci_unpacks_what_was_made(images, tmp_path):
    images.add("one", LAYERS, **CONFIG)
    root = unpack(images, "one", tmp_path)
    assert sorted(os.listdir(root)) == ["etc", "hard", "link"] and os.listdir(root / "etc") == ["two"]
    assert (root / "hard").read_bytes() == b"one\n" and stat.S_IMODE(os.stat(root / "hard").st_mode) == 0o640
    assert os.readlink(root / "link") == "etc/one"
    assert os.stat(root / "etc" / "two").st_size == 3000 and os.stat(root / "etc" / "two").st_mtime == 86400


def test_all_that_names_a_digest_has_the_right_one(images):
    manifest = images.read(images.add("one", LAYERS, **CONFIG))
    for descriptor in (images.descriptor("one"), manifest["config"], *manifest["layers"]):
        with open(images.blob(descriptor["digest"]), "rb") as blob:
            data = blob.read()
        assert descriptor["digest"] == "sha256:" + hashlib.sha256(data).hexdigest() and descriptor["size"] == len(data)
    with open(images.blob(manifest["layers"][0]["digest"]), "rb") as blob:
        inner = hashlib.sha256(gzip.decompress(blob.read())).hexdigest()
    assert images.read(manifest["config"]["digest"])["rootfs"]["diff_ids"][0] == "sha256:" + inner
    assert manifest["layers"][0]["mediaType"] == LAYER and len(os.listdir(images._blobs)) == 4


def test_the_same_words_make_the_same_image(images, tmp_path):
    digest = images.add("one", LAYERS, **CONFIG)
    assert ImageFolder(tmp_path / "again").add("other", LAYERS, **CONFIG) == digest
    assert images.add("arm", LAYERS, architecture="arm64", **CONFIG) != digest


def test_a_tag_is_that_of_the_last_image(images):
    first, second = images.add("a", [LAYERS[0]]), images.add("b", [LAYERS[1]])
    assert (images.digest("a"), images.digest("b")) == (first, second)
    third = ImageFolder(images.path).add("a", [])
    assert (images.digest("a"), images.digest("b")) == (third, second) and len(images.index()) == 2


def test_a_layer_is_made_of_a_folder_of_bytes_or_one_by_one(images, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a").write_text("a\n")
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as writer:
        writer.addfile(tarfile.TarInfo("raw"))
    images.add("one", [str(tmp_path / "own"), raw.getvalue(), (file(f"n{number}") for number in range(3))])
    assert sorted(os.listdir(unpack(images, "one", tmp_path))) == ["a", "n0", "n1", "n2", "raw"]


def test_a_folder_is_packed_as_it_is(tmp_path):
    own = tmp_path / "own"
    (own / "b" / "c").mkdir(parents=True, mode=0o750)
    (own / "b" / "large").write_bytes(os.urandom(3_000_000))
    os.link(own / "b" / "large", own / "b" / "twin")
    os.symlink("../nowhere", own / "a")
    os.mkfifo(own / "pipe", 0o600)
    os.chmod(own / "b" / "large", 0o4755)
    with tarfile.open(fileobj=io.BytesIO(b"".join(tar_of(entries_of(str(own)))))) as read:
        found = {member.name: member for member in read}
        assert list(found) == [".", "a", "b", "b/c", "b/large", "b/twin", "pipe"]
        assert found["a"].linkname == "../nowhere" and found["pipe"].isfifo()
        assert found["b/large"].mode == 0o4755 and found["b/large"].uid == os.getuid()
        assert found["b/twin"].islnk() and found["b/twin"].linkname == "b/large"
        assert read.extractfile("b/twin").read() == (own / "b" / "large").read_bytes()


def test_names_and_attributes_go_in_as_they_are(images):
    entries = [file("../../up"), file("/abs"), file("n\nl\udcff"), node("null", tarfile.CHRTYPE, 1, 3, mode=0o666)]
    entries.append(file("cap", b"x", xattrs={"security.capability": b"\x01\x00\xff"}))
    images.add("odd", [entries])
    with archive(images, "odd") as read:
        members = read.getmembers()
    assert [member.name for member in members] == ["../../up", "/abs", "n\nl\udcff", "null", "cap"]
    assert members[3].ischr() and (members[3].devmajor, members[3].devminor) == (1, 3)
    value = members[4].pax_headers["SCHILY.xattr.security.capability"]
    assert value.encode("utf-8", "surrogateescape") == b"\x01\x00\xff"


def test_a_system_is_one_layer_without_what_no_image_needs(images, tmp_path):
    root = tmp_path / "root"
    for name in ("bin", "dev/pts", "usr/share/doc/sh", "proc/1", "tmp"):
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/true", root / "bin" / "sh")
    os.chmod(root / "tmp", 0o1777)
    add_system(images, "system", str(root))
    with archive(images, "system") as read:
        found = {member.name: member for member in read}
    wanted = [".", "bin", "bin/sh", "dev", "proc", "tmp", "usr", "usr/share", "usr/share/doc"]
    assert list(found) == wanted and found["tmp"].mode == 0o1777
    layers = images.read(add_system(images, "more", str(root), more=[[file("etc/more")]], Env=["A=1"]))["layers"]
    assert len(layers) == 2 and layers[0] == images.read(images.digest("system"))["layers"][0]
    for tag, env in (("system", [PATH]), ("more", ["A=1"])):
        config = images.read(images.read(images.digest(tag))["config"]["digest"])
        assert config["config"] == {"Env": env, "Cmd": ["/bin/sh"]}
