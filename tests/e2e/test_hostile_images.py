"""glim-image and images that mean ill (hostile_images.py): each is refused in words, or becomes a file in which nothing
of its ill will is left; nothing outside of the folder of images is changed, and nothing is left mounted."""

import json
import os
import stat
import subprocess

import pytest

from cluster.hostile_images import HOSTILE, SMALL
from cluster.oci_images import ImageFolder
from cluster.processes import SLOWER
from cluster.small_root import make_small_root
from conftest import BIN

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="root's agents alone make containers")

MIB = 1 << 20
UID = 61003
BOUNDS = {"unpacked_bytes": 256 * MIB, "files": 20_000, "folder_bytes": 1024 * MIB}


class World:
    def __init__(self, folder):
        self.folder, self.state = str(folder), str(folder / "state")
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "victim").write_text("as it was\n")
        self.images = ImageFolder(folder / "images")
        self.base = make_small_root(str(folder / "root"))
        os.makedirs(os.path.join(self.state, "images"), 0o700)
        subprocess.run(["chmod", "a+rx", *map(str, folder.parents), str(folder)], check=False)

    def have(self, image):
        """glim-image's answer."""
        folder = os.path.join(self.state, "images")
        order = {
            **{"image": image, "real": self.images.path, "allow": [self.folder], "state_dir": self.state},
            **{"uid": UID, "gid": UID, "groups": [], "folder": folder, "progress": f"{folder}/progress"},
            **{"registries": [], **BOUNDS},
        }
        read, write = os.pipe()
        asked, told = os.pipe()
        os.write(write, json.dumps(order).encode())
        os.close(write)
        command = f'exec "$0" 3<&{read} 4>&{told}'
        child = subprocess.Popen(["bash", "-c", command, os.path.join(BIN, "glim-image")], pass_fds=(read, told))
        os.close(read)
        os.close(told)
        with os.fdopen(asked) as answer:
            text = answer.read()
        assert child.wait(timeout=600 * SLOWER) == 0
        return json.loads(text)

    def changed(self):
        """What is not as it was outside of the images."""
        odd = [name for name in os.listdir(self.outside) if name != "victim"]
        if (self.outside / "victim").read_text() != "as it was\n":
            odd.append("victim")
        left = [name for name in os.listdir(os.path.join(self.state, "images"))
                if not name.endswith((".sqsh", ".json", ".lock", "progress"))]  # fmt: skip
        with open("/proc/self/mountinfo") as mounts:
            left += [line for line in mounts if self.state in line]
        loops = subprocess.run(["losetup", "--list", "--noheadings", "--output", "BACK-FILE"], check=True, text=True,
                               capture_output=True).stdout  # fmt: skip
        return odd + left + [line for line in loops.splitlines() if self.state in line]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("ill"))


def ill_in(file, folder):
    """What in a squashfs file no task should find: (path, why)."""
    subprocess.run(["unsquashfs", "-quiet", "-no-progress", "-d", folder, file], check=True, stdout=subprocess.DEVNULL)
    for above, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(above, name)
            about = os.lstat(path)
            if about.st_mode & (stat.S_ISUID | stat.S_ISGID):
                yield path, "set-uid"
            if about.st_uid or about.st_gid:
                yield path, "not root's"
            if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode) or stat.S_ISLNK(about.st_mode)):
                yield path, "a device"
            if not stat.S_ISLNK(about.st_mode) and os.listxattr(path):
                yield path, "attributes"


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_an_image_that_means_ill_harms_nothing(world, tmp_path, name):
    HOSTILE[name](world.images, name, str(world.outside), **SMALL.get(name, {}))
    answer = world.have(world.images.address(name))
    assert world.changed() == []
    if answer["file"]:
        assert list(ill_in(answer["file"], str(tmp_path / "seen"))) == []
    else:
        assert answer["fault"] == "job" and answer["message"], answer
        assert not set(answer["message"]) & set("\n\r\x1b"), answer
