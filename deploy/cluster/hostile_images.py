"""Images that mean ill: each one tries to leave its folder, to be more than it seems, or to cost more than it should.

`HOSTILE` has them by name. Each is a function (images, tag, outside, ...) that adds its image to an ImageFolder:
`outside` is the absolute path of a folder of the test's, with a file `victim`, where nothing may change. What makes one
large is a parameter; `SMALL` has values that take no time.
"""

import hashlib
import tarfile
from itertools import chain, repeat

from .oci_images import BLOCK, CONFIG, END, LAYER, MANIFEST, PIECE, Layer, described, sha256
from .oci_images import entry, file, folder, gzip_of, hard_link, node, symlink, tar_of

GIB, TIB = 1 << 30, 1 << 40
UP = "../" * 64  # from any depth to the root
BASE = (folder("bin"), file("bin/sh", b"#!not a shell\n", mode=0o755), folder("etc"), file("etc/own", b"own\n"))
HOSTILE = {}
SMALL = {"many_files": {"count": 1000}, "many_layers": {"count": 10}, "deep_folders": {"depth": 100}}
SMALL |= {"gzip_bomb": {"size": 64 * PIECE}, "long_config": {"size": PIECE}}
SMALL |= {"sparse_file": {"size": GIB}, "sparse_file_gnu": {"size": GIB}}


def hostile(function):
    HOSTILE[function.__name__] = function
    return function


def over_base(images, tag, *layers, **config):
    return images.add(tag, [BASE, *layers], **config)


# --- what leads out --------------------------------------------------------------------------------------------------


@hostile
def symlink_out_absolute(images, tag, outside):
    """Writes a file through a symbolic link to an absolute path."""
    return over_base(images, tag, [symlink("out", outside), file("out/written", b"hostile\n")])


@hostile
def symlink_out_relative(images, tag, outside):
    """Writes a file through a symbolic link that goes up and out."""
    return over_base(images, tag, [symlink("etc/out", UP + outside[1:]), file("etc/out/written", b"hostile\n")])


@hostile
def symlink_across_layers(images, tag, outside):
    """A folder of one layer is a symbolic link in the next, and is written through in the third."""
    layers = [[folder("etc/out")], [symlink("etc/out", outside)], [file("etc/out/written", b"hostile\n")]]
    return over_base(images, tag, *layers)


@hostile
def symlink_overwritten(images, tag, outside):
    """A file takes the place of a symbolic link: whoever opens the old name to write ends outside."""
    return over_base(images, tag, [symlink("v", f"{outside}/victim")], [file("v", b"hostile\n")])


@hostile
def symlink_made_a_folder(images, tag, outside):
    """A folder takes the place of a symbolic link, with a mode and an owner that the target would get."""
    return over_base(images, tag, [symlink("out", outside), folder("out", mode=0o777, uid=65534, gid=65534)])


@hostile
def symlink_as_the_root(images, tag, outside):
    """The root itself becomes a symbolic link, and is written through."""
    return over_base(images, tag, [symlink(".", outside), file("written", b"hostile\n")], [file("again", b"hostile\n")])


@hostile
def hard_link_out_absolute(images, tag, outside):
    """A hard link to an absolute path outside, which is then written."""
    return over_base(images, tag, [hard_link("v", f"{outside}/victim"), file("v", b"hostile\n")])


@hostile
def hard_link_out_relative(images, tag, outside):
    """A hard link to a path that goes up and out, which is then written."""
    return over_base(images, tag, [hard_link("etc/v", f"{UP}{outside[1:]}/victim"), file("etc/v", b"hostile\n")])


@hostile
def hard_link_through_symlink(images, tag, outside):
    """A hard link whose target lies behind a symbolic link that leads out; then its mode is changed."""
    entries = [symlink("out", outside), hard_link("v", "out/victim"), file("v", b"hostile\n", mode=0o777)]
    return over_base(images, tag, entries)


@hostile
def dots_in_a_name(images, tag, outside):
    """A name that goes up and out."""
    return over_base(images, tag, [file(f"{UP}{outside[1:]}/written", b"hostile\n")])


@hostile
def absolute_name(images, tag, outside):
    """A name that begins at the root."""
    return over_base(images, tag, [file(f"{outside}/written", b"hostile\n")])


@hostile
def whiteout_of_dots(images, tag, outside):
    """Deletes the folder above the root: what is left of the name `.wh...` is `..`."""
    return over_base(images, tag, [file(".wh...")])


@hostile
def whiteout_of_the_root(images, tag, outside):
    """Deletes the root itself, by way of a folder that is not there."""
    return over_base(images, tag, [file("none/.wh...")])


@hostile
def whiteout_through_symlink(images, tag, outside):
    """Deletes a file behind a symbolic link that leads out."""
    return over_base(images, tag, [symlink("out", outside)], [file("out/.wh.victim")])


@hostile
def opaque_through_symlink(images, tag, outside):
    """Empties a folder behind a symbolic link that leads out."""
    return over_base(images, tag, [symlink("out", outside)], [file("out/.wh..wh..opq")])


@hostile
def opaque_root(images, tag, outside):
    """Hides all that is below its last layer."""
    return over_base(images, tag, [file(".wh..wh..opq"), folder("etc"), file("etc/alone", b"alone\n")])


# --- what is more than a file ----------------------------------------------------------------------------------------


@hostile
def character_device(images, tag, outside):
    """The memory of the machine as a device that everybody may write."""
    return over_base(images, tag, [node("mem", tarfile.CHRTYPE, 1, 1, mode=0o666)])


@hostile
def block_device(images, tag, outside):
    """A disk of the machine as a device that everybody may write."""
    return over_base(images, tag, [node("disk", tarfile.BLKTYPE, 8, 0, mode=0o666)])


@hostile
def overlay_whiteout_device(images, tag, outside):
    """A device 0/0, which overlayfs takes for a deleted file."""
    return over_base(images, tag, [node("etc/own", tarfile.CHRTYPE, 0, 0, mode=0)])


@hostile
def fifo(images, tag, outside):
    """A pipe, at which whoever opens it waits; one in the place of /bin/sh."""
    return over_base(images, tag, [entry("pipe", tarfile.FIFOTYPE), entry("bin/sh", tarfile.FIFOTYPE, mode=0o755)])


@hostile
def set_uid(images, tag, outside):
    """A program of root's that runs as root, whoever calls it; a folder and a program with the bit for the group."""
    entries = [file("bin/su", b"#!/bin/sh\n", mode=0o6755), folder("etc/sticky", mode=0o7777)]
    return over_base(images, tag, entries)


@hostile
def capability(images, tag, outside):
    """A program with all capabilities of root."""
    value = bytes.fromhex("01000002 ffffffff ffffffff ff010000 ff010000")
    return over_base(images, tag, [file("bin/all", b"#!/bin/sh\n", mode=0o755, xattrs={"security.capability": value})])


@hostile
def overlay_attributes(images, tag, outside):
    """Attributes by which overlayfs would take a folder from elsewhere, hide others, or follow a file."""
    marks = {"trusted.overlay.redirect": b"/etc", "trusted.overlay.opaque": b"y", "user.overlay.redirect": b"/etc"}
    entries = [folder("moved", xattrs=marks), file("meta", xattrs={"trusted.overlay.metacopy": b""})]
    return over_base(images, tag, entries)


# --- what costs ------------------------------------------------------------------------------------------------------


@hostile
def sparse_file(images, tag, outside, size=TIB):
    """A file of 1 TiB without content, as the newer GNU tar writes it."""
    words = {"major": "1", "minor": "0", "name": "huge", "realsize": str(size)}
    marks = {f"GNU.sparse.{word}": value for word, value in words.items()}
    data = f"1\n{size - BLOCK}\n{BLOCK}\n".encode().ljust(BLOCK, b"\0") + b"x" * BLOCK
    return over_base(images, tag, [file("GNUSparseFile.0/huge", data, pax_headers=marks)])


@hostile
def sparse_file_gnu(images, tag, outside, size=TIB):
    """A file of 1 TiB without content, as the older GNU tar writes it."""

    def number(value, width):
        return (
            b"\x80" + value.to_bytes(width - 1, "big") if value >= 8 ** (width - 1) else b"%0*o\0" % (width - 1, value)
        )

    header = bytearray(tarfile.TarInfo("huge").tobuf(tarfile.GNU_FORMAT))
    sizes = number(size - BLOCK, 12) + number(BLOCK, 12)
    for at, value in ((156, b"S"), (124, number(BLOCK, 12)), (386, sizes), (483, number(size, 12)), (148, b" " * 8)):
        header[at : at + len(value)] = value
    header[148:156] = b"%06o\0 " % sum(header)
    return over_base(images, tag, bytes(header) + b"x" * BLOCK + END)


@hostile
def gzip_bomb(images, tag, outside, size=20 * GIB):
    """One file of zeros: 20 GiB out of 20 MiB."""
    head, zeros = entry("zeros", size=size).info.tobuf(tarfile.PAX_FORMAT), bytes(PIECE)
    packed = b"".join(gzip_of([zeros], 9))  # once: gzip takes one stream after the other
    inner = hashlib.sha256(head)
    for _ in range(size // PIECE):
        inner.update(zeros)
    inner.update(END)
    descriptor = images.add_stream(LAYER, chain(gzip_of([head]), repeat(packed, size // PIECE), gzip_of([END])))
    return images.add_made(tag, [images.add_layer(BASE), Layer(descriptor, "sha256:" + inner.hexdigest())])


@hostile
def many_files(images, tag, outside, count=1_000_000):
    """A million empty files, a thousand in a folder."""

    def entries():
        for number in range(count):
            if number % 1000 == 0:
                yield folder(f"many/{number // 1000}")
            yield file(f"many/{number // 1000}/{number}")

    return over_base(images, tag, entries())


@hostile
def deep_folders(images, tag, outside, depth=5000):
    """Folders within folders, deeper than a path may be long."""
    return over_base(images, tag, [folder("d/" * depth), file("d/" * depth + "bottom", b"here\n")])


@hostile
def many_layers(images, tag, outside, count=1000):
    """A thousand layers."""
    return over_base(images, tag, *([file(f"layer-{number}", b"%d\n" % number)] for number in range(count - 1)))


@hostile
def long_config(images, tag, outside, size=64 * PIECE):
    """A config with a variable of 64 MiB."""
    return over_base(images, tag, Env=["LONG=" + "x" * size])


# --- names that somebody prints or passes on -------------------------------------------------------------------------


@hostile
def names_that_move_the_cursor(images, tag, outside):
    """Names with a line's end, escapes of a terminal, and bytes that are no text."""
    names = ["two\nlines", "\x1b[2J\x1b]0;title\x07", "bell\x07\r", "\udcff\udcfe", "-rf", "a'b\"c $(id)", "x" * 255]
    return over_base(images, tag, [file(name) for name in names])


@hostile
def variables_that_break_lines(images, tag, outside):
    """Variables with line ends and NUL in names and values, and those by which programs are made to load others."""
    return over_base(images, tag, Env=["A\nB=1", "C\0D=1", "E=1\0F=2", "G=1\nH=2", "LD_PRELOAD=/etc/own", "PATH="])


@hostile
def variables_without_names(images, tag, outside):
    """Variables without a name, without a value, without either."""
    return over_base(images, tag, Env=["=value", "NOVALUE", ""])


@hostile
def relative_working_folder(images, tag, outside):
    """A working folder that begins nowhere."""
    return over_base(images, tag, WorkingDir="etc")


@hostile
def working_folder_with_dots(images, tag, outside):
    """A working folder that goes up and out."""
    return over_base(images, tag, WorkingDir=f"/etc/{UP}{outside[1:]}")


@hostile
def user_of_nobody(images, tag, outside):
    """A user that is no account of the image, and a group that is too large for a number."""
    return over_base(images, tag, User="no such user:99999999999999999999")


# --- what is not what it says ----------------------------------------------------------------------------------------


@hostile
def layer_of_another_digest(images, tag, outside):
    """A layer whose bytes are not those of its digest."""
    layer = images.add_layer([file("etc/other", b"other\n")])
    claimed = images.add_layer([file("etc/claimed", b"claimed\n")])
    with open(images.blob(layer.descriptor["digest"]), "rb") as source:
        data = source.read()
    with open(images.blob(claimed.descriptor["digest"]), "wb") as out:
        out.write(data)
    descriptor = {**claimed.descriptor, "size": len(data)}
    return images.add_made(tag, [images.add_layer(BASE), Layer(descriptor, layer.diff_id)])


@hostile
def layer_of_another_size(images, tag, outside):
    """A layer that is longer than the manifest says."""
    layer = images.add_layer(BASE)
    descriptor = {**layer.descriptor, "size": layer.descriptor["size"] - 1}
    return images.add_made(tag, [Layer(descriptor, layer.diff_id)])


@hostile
def manifest_of_another_size(images, tag, outside):
    """A manifest that is longer than the index says."""
    digest = over_base(images, tag)
    images.tag(tag, {**images.descriptor(tag), "size": images.descriptor(tag)["size"] - 1})
    return digest


@hostile
def layer_of_another_content(images, tag, outside):
    """A layer that unpacks to other bytes than the config says."""
    return images.add_made(tag, [images.add_layer(BASE)._replace(diff_id="sha256:" + "0" * 64)])


@hostile
def missing_layer(images, tag, outside):
    """A layer that is not there."""
    return images.add_made(tag, [Layer(described(LAYER, "sha256:" + "1" * 64, 100), "sha256:" + "2" * 64)])


@hostile
def digest_with_dots(images, tag, outside):
    """A layer whose digest is a path that goes up and out."""
    layer = Layer(described(LAYER, f"sha256:{UP}{outside[1:]}/victim", 100), "sha256:" + "2" * 64)
    return images.add_made(tag, [layer])


@hostile
def truncated_layer(images, tag, outside):
    """A layer that ends in the middle of a file."""
    archive = b"".join(tar_of([*BASE, file("etc/long", bytes(range(256)) * 4000)]))
    packed = b"".join(gzip_of([archive]))
    descriptor = images.add_blob(LAYER, packed[: len(packed) - 100])
    return images.add_made(tag, [Layer(descriptor, sha256(archive))])


@hostile
def layer_that_is_no_archive(images, tag, outside):
    """A layer of words."""
    return over_base(images, tag, b"these are words and no archive\n" * 100)


@hostile
def foreign_layer(images, tag, outside):
    """A layer that is to be fetched from an address of its own, on the machine that imports."""
    kind = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
    descriptor = {**described(kind, "sha256:" + "3" * 64, 100), "urls": ["http://127.0.0.1:9/layer"]}
    return images.add_made(tag, [images.add_layer(BASE), Layer(descriptor, "sha256:" + "2" * 64)])


@hostile
def config_that_is_no_json(images, tag, outside):
    """A config of words."""
    config = images.add_blob(CONFIG, b"these are words, not JSON\n")
    return images.add_manifest(tag, config, [images.add_layer(BASE).descriptor])


@hostile
def config_of_other_types(images, tag, outside):
    """A config whose lists are words and whose words are numbers."""
    return over_base(images, tag, Env="A=1", WorkingDir=7, Entrypoint={"a": 1}, User=[0])


@hostile
def manifest_that_is_no_json(images, tag, outside):
    """A manifest of words."""
    descriptor = images.add_blob(MANIFEST, b"these are words, not JSON\n")
    images.tag(tag, descriptor)
    return descriptor["digest"]


@hostile
def other_architecture(images, tag, outside):
    """Programs for another processor."""
    return over_base(images, tag, architecture="s390x")


@hostile
def no_shell(images, tag, outside):
    """A file, and no program at all."""
    return images.add(tag, [[folder("etc"), file("etc/own", b"own\n")]])
