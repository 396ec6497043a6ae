"""Container images without a daemon: folders in the layout of OCI, made of entries that need not be well-behaved.

What is made of the same words has the same digests. A layer is written as it comes and never held in memory.
"""

import hashlib
import io
import json
import os
import stat
import tarfile
import zlib
from typing import NamedTuple

VENDOR = "application/vnd.oci.image."
INDEX, MANIFEST, CONFIG = VENDOR + "index.v1+json", VENDOR + "manifest.v1+json", VENDOR + "config.v1+json"
LAYER = VENDOR + "layer.v1.tar+gzip"
TAG = "org.opencontainers.image.ref.name"
MADE_AT = "2024-01-01T00:00:00Z"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PIECE = 1 << 20
BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)
# Of a root, what a machine makes anew or nobody reads in an image.
LEFT_OUT = ("dev", "proc", "run", "sys", "tmp", "usr/share/doc", "usr/share/info", "usr/share/locale", "usr/share/man")


class Entry(NamedTuple):
    """One of a layer: its header, and what follows it (bytes, or the path of a file that has info.size bytes)."""

    info: tarfile.TarInfo
    data: object = b""


def entry(name, kind=tarfile.REGTYPE, data=b"", mode=0o644, xattrs=None, **more):
    """`more` is set on the header as it is: uid, gid, mtime, linkname, devmajor, devminor, pax_headers."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.size = kind, mode, len(data)
    for word, value in more.items():
        setattr(info, word, value)
    for attribute, value in (xattrs or {}).items():
        info.pax_headers[f"SCHILY.xattr.{attribute}"] = value.decode("utf-8", "surrogateescape")
    return Entry(info, data)


def file(name, data=b"", **more):
    return entry(name, data=data, **more)


def folder(name, mode=0o755, **more):
    return entry(name, tarfile.DIRTYPE, mode=mode, **more)


def symlink(name, target, **more):
    return entry(name, tarfile.SYMTYPE, mode=0o777, linkname=target, **more)


def hard_link(name, target, **more):
    return entry(name, tarfile.LNKTYPE, linkname=target, **more)


def node(name, kind, major, minor, **more):
    """A device: kind is tarfile.CHRTYPE or BLKTYPE."""
    return entry(name, kind, devmajor=major, devminor=minor, **more)


def entries_of(path, left_out=()):
    """A folder's, in an order that does not depend on the disk; of the folders `left_out` only themselves. Extended
    attributes are not read, sockets have no place in an archive."""
    links = {}

    def walk(below):
        for name in sorted(os.listdir(os.path.join(path, below))):
            inside = os.path.join(below, name)
            found = _entry_of(os.path.join(path, inside), inside, links)
            if found:
                yield found
            if found and found.info.isdir() and inside not in left_out:
                yield from walk(inside)

    yield folder("./", mode=stat.S_IMODE(os.stat(path).st_mode), mtime=int(os.stat(path).st_mtime))
    yield from walk("")


KINDS = {
    stat.S_IFREG: tarfile.REGTYPE,
    stat.S_IFDIR: tarfile.DIRTYPE,
    stat.S_IFLNK: tarfile.SYMTYPE,
    stat.S_IFCHR: tarfile.CHRTYPE,
    stat.S_IFBLK: tarfile.BLKTYPE,
    stat.S_IFIFO: tarfile.FIFOTYPE,
}


def _entry_of(path, inside, links):
    about = os.lstat(path)
    kind = KINDS.get(stat.S_IFMT(about.st_mode))
    if kind is None:
        return None
    words = {"uid": about.st_uid, "gid": about.st_gid, "mtime": int(about.st_mtime)}
    words["mode"] = stat.S_IMODE(about.st_mode)
    if kind == tarfile.SYMTYPE:
        return entry(inside, kind, linkname=os.readlink(path), **words)
    if kind == tarfile.DIRTYPE:
        return entry(inside, kind, **words)
    first = links.setdefault((about.st_dev, about.st_ino), inside) if about.st_nlink > 1 else inside
    if first != inside:
        return entry(inside, tarfile.LNKTYPE, linkname=first, **words)
    if kind == tarfile.REGTYPE:
        return Entry(entry(inside, kind, size=about.st_size, **words).info, path)
    return entry(inside, kind, devmajor=os.major(about.st_rdev), devminor=os.minor(about.st_rdev), **words)


def tar_of(entries):
    """An archive's bytes in pieces. Names and numbers go into it as they are, whatever they would do elsewhere."""
    for info, data in entries:
        yield info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        with open(data, "rb") if isinstance(data, str) else io.BytesIO(data) as source:
            left = info.size
            while left > 0:
                piece = source.read(min(left, PIECE))
                if not piece:
                    raise EOFError(f"{data} is shorter than it was")
                left -= len(piece)
                yield piece
        yield bytes(-info.size % BLOCK)
    yield END


def gzip_of(pieces, level=1):
    """The same bytes for the same pieces: no name and no time in its header."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def described(media_type, digest, size):
    return {"mediaType": media_type, "digest": digest, "size": size}


class Layer(NamedTuple):
    """One that is in a folder: what a manifest says of it, and its digest before it was compressed."""

    descriptor: dict
    diff_id: str


class ImageFolder:
    """An OCI image layout at `path`, which is made if it is not there. Its steps are public, so that a test may leave
    one out or do it wrongly: blobs, then layers and a config, then a manifest, then a tag in the index."""

    def __init__(self, path):
        self.path = str(path)
        self._blobs = os.path.join(self.path, "blobs", "sha256")
        os.makedirs(self._blobs, exist_ok=True)
        self._index = os.path.join(self.path, "index.json")
        if not os.path.exists(self._index):
            self._write("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
            self._write_index([])

    def add(self, tag, layers, architecture="amd64", os="linux", **config):
        """An image of these layers, the lowest first; see add_layer. `config`: Env, WorkingDir, Entrypoint, Cmd, User
        as OCI has them. Returns the manifest's digest."""
        return self.add_made(tag, [self.add_layer(layer) for layer in layers], architecture, os, **config)

    def add_made(self, tag, layers, architecture="amd64", os="linux", **config):
        """An image of layers that are in the folder."""
        text = self.config([layer.diff_id for layer in layers], architecture, os, **config)
        return self.add_manifest(tag, self.add_blob(CONFIG, text), [layer.descriptor for layer in layers])

    def add_layer(self, layer, level=1):
        """`layer`: the path of a folder, the raw bytes of an archive, or entries (a generator may make them one by
        one)."""
        if isinstance(layer, (bytes, bytearray)):
            pieces = [bytes(layer)]
        else:
            pieces = tar_of(entries_of(layer) if isinstance(layer, (str, os.PathLike)) else layer)
        return self.add_archive(pieces, level)

    def add_archive(self, pieces, level=1):
        """A layer of an archive's bytes."""
        inner = hashlib.sha256()

        def hashed():
            for piece in pieces:
                inner.update(piece)
                yield piece

        descriptor = self.add_stream(LAYER, gzip_of(hashed(), level))
        return Layer(descriptor, "sha256:" + inner.hexdigest())

    def add_stream(self, media_type, pieces):
        """A blob that comes in pieces. Returns its descriptor."""
        outer, size = hashlib.sha256(), 0
        half = os.path.join(self._blobs, "half")
        with open(half, "wb") as out:
            for piece in pieces:
                outer.update(piece)
                size += out.write(piece)
        os.replace(half, os.path.join(self._blobs, outer.hexdigest()))
        return described(media_type, "sha256:" + outer.hexdigest(), size)

    def add_blob(self, media_type, data):
        return self.add_stream(media_type, [data])

    @staticmethod
    def config(diff_ids, architecture="amd64", os="linux", **config):
        """A config's bytes."""
        document = {"created": MADE_AT, "architecture": architecture, "os": os, "config": config}
        document["rootfs"] = {"type": "layers", "diff_ids": list(diff_ids)}
        document["history"] = [{"created": MADE_AT, "created_by": "a test"} for _ in diff_ids]
        return json.dumps(document).encode()

    def add_manifest(self, tag, config, layers):
        """From descriptors. Returns its digest."""
        document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
        descriptor = self.add_blob(MANIFEST, json.dumps(document).encode())
        self.tag(tag, descriptor)
        return descriptor["digest"]

    def tag(self, tag, descriptor):
        """What had the tag before has none then."""
        others = [other for other in self.index() if other.get("annotations", {}).get(TAG) != tag]
        self._write_index([*others, {**descriptor, "annotations": {TAG: tag}}])

    def index(self):
        """The descriptors of all manifests."""
        with open(self._index, encoding="utf-8") as text:
            return json.load(text)["manifests"]

    def descriptor(self, tag):
        """Of the manifest that has this tag."""
        return next(found for found in self.index() if found.get("annotations", {}).get(TAG) == tag)

    def digest(self, tag):
        return self.descriptor(tag)["digest"]

    def blob(self, digest):
        """The path of one."""
        return os.path.join(self._blobs, digest.partition(":")[2])

    def read(self, digest):
        """A small one that is JSON: a manifest or a config."""
        with open(self.blob(digest), "rb") as text:
            return json.load(text)

    def address(self, tag):
        """As a job file and skopeo name it."""
        return f"oci:{self.path}:{tag}"

    def _write(self, name, data):
        with open(os.path.join(self.path, name), "wb") as out:
            out.write(data)

    def _write_index(self, manifests):
        self._write("index.json", json.dumps({"schemaVersion": 2, "manifests": manifests}).encode())


def add_system(images, tag, root, more=(), **config):
    """The small system of a root's folder as an image: one layer, without what LEFT_OUT names, and the layers `more` on
    top of it. Returns the manifest's digest."""
    return images.add(tag, [entries_of(root, LEFT_OUT), *more], **{"Env": [PATH], "Cmd": ["/bin/sh"], **config})
