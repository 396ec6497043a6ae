"""Images that mean ill: each can be made, is found in its layout, and has in it what it is named after."""

import gzip
import io
import os
import tarfile

import pytest

from cluster.hostile_images import GIB, HOSTILE, SMALL, TIB
from cluster.oci_images import ImageFolder


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    (folder / "victim").write_text("as it was\n")
    return folder


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return ImageFolder(tmp_path_factory.mktemp("images"))


def make(images, name, outside, **parameters):
    """The manifest; a tag for each."""
    HOSTILE[name](images, name, str(outside), **{**SMALL.get(name, {}), **parameters})
    return images.read(images.digest(name))


def members(images, manifest, layer=-1):
    with tarfile.open(images.blob(manifest["layers"][layer]["digest"]), "r:gz") as archive:
        return archive.getmembers()


@pytest.mark.parametrize("name", HOSTILE)
def test_each_is_made_and_its_manifest_is_found(images, outside, name):
    assert HOSTILE[name].__doc__.strip() and "\n" not in HOSTILE[name].__doc__
    digest = HOSTILE[name](images, name, str(outside), **SMALL.get(name, {}))
    assert images.digest(name) == digest and os.path.isfile(images.blob(digest))
    assert os.listdir(outside) == ["victim"] and (outside / "victim").read_text() == "as it was\n"


def test_there_are_many_and_the_small_ones_are_among_them():
    assert len(HOSTILE) >= 20 and set(SMALL) <= set(HOSTILE)


def test_all_of_them_have_room_in_one_folder(images, outside):
    digests = {make(images, name, outside)["config"]["digest"] for name in ("absolute_name", "set_uid", "fifo")}
    assert len(digests) == 3


def test_links_and_names_lead_out(images, outside):
    link, written = members(images, make(images, "symlink_out_relative", outside))
    assert os.path.normpath(os.path.join("/etc", link.linkname)) == str(outside) and written.name == "etc/out/written"
    link, _ = members(images, make(images, "hard_link_out_absolute", outside))
    assert link.islnk() and link.linkname == f"{outside}/victim"
    (name,) = members(images, make(images, "dots_in_a_name", outside))
    assert os.path.normpath(os.path.join("/", name.name)) == f"{outside}/written" and name.name.startswith("../")
    (name,) = members(images, make(images, "absolute_name", outside))
    assert name.name == f"{outside}/written"


def test_devices_and_bits_are_in_the_archive(images, outside):
    (device,) = members(images, make(images, "block_device", outside))
    assert device.isblk() and (device.devmajor, device.devminor) == (8, 0)
    assert members(images, make(images, "set_uid", outside))[0].mode == 0o6755
    (capable,) = members(images, make(images, "capability", outside))
    assert len(capable.pax_headers["SCHILY.xattr.security.capability"].encode("utf-8", "surrogateescape")) == 20


@pytest.mark.parametrize("name", ["sparse_file", "sparse_file_gnu"])
@pytest.mark.parametrize("size", [GIB, TIB])
def test_a_sparse_file_is_as_large_as_it_says_in_few_bytes(images, outside, name, size):
    manifest = make(images, name, outside, size=size)
    (huge,) = members(images, manifest)
    assert (huge.name, huge.size) == ("huge", size) and huge.issparse()
    assert manifest["layers"][-1]["size"] < 1000


def test_a_bomb_is_small_before_it_is_opened(images, outside):
    manifest = make(images, "gzip_bomb", outside, size=16 << 20)
    assert manifest["layers"][-1]["size"] < 32 << 10
    assert [(member.name, member.size) for member in members(images, manifest)] == [("zeros", 16 << 20)]
    with gzip.open(images.blob(manifest["layers"][-1]["digest"])) as whole:
        assert whole.seek(0, io.SEEK_END) > 16 << 20


def test_what_is_many_is_as_many_as_it_was_asked_for(images, outside):
    assert sum(member.isfile() for member in members(images, make(images, "many_files", outside, count=2500))) == 2500
    assert len(make(images, "many_layers", outside, count=30)["layers"]) == 30
    deep, bottom = members(images, make(images, "deep_folders", outside, depth=5000))
    assert deep.name.count("d") == 5000 and bottom.name.endswith("/d/bottom")


def test_names_are_not_made_harmless(images, outside):
    names = [member.name for member in members(images, make(images, "names_that_move_the_cursor", outside))]
    assert "two\nlines" in names and "\udcff\udcfe" in names
    config = images.read(make(images, "variables_that_break_lines", outside)["config"]["digest"])
    assert {"A\nB=1", "C\0D=1"} <= set(config["config"]["Env"])


def test_what_lies_about_itself_does(images, outside):
    layer = make(images, "layer_of_another_digest", outside)["layers"][-1]
    with gzip.open(images.blob(layer["digest"])) as whole:
        assert b"other\n" in whole.read()
    descriptor = make(images, "layer_of_another_size", outside)["layers"][0]
    assert os.path.getsize(images.blob(descriptor["digest"])) == descriptor["size"] + 1
    with pytest.raises(EOFError):
        members(images, make(images, "truncated_layer", outside))
    assert images.read(make(images, "other_architecture", outside)["config"]["digest"])["architecture"] == "s390x"
    with pytest.raises(ValueError):
        images.read(make(images, "config_that_is_no_json", outside)["config"]["digest"])
