"""A small file system of a test's own in a mount namespace that a process of ours keeps alive: ext4 on a loop device,
or a tmpfs where there are no loop devices or the test is not root's."""

import errno
import os

from cluster.processes import Child, tail, wait_until

TMPFS = 'mount -t tmpfs -o size=$1,mode=0700 tmpfs "$0"'
# The image has no name any more when it is mounted, and the loop device goes with the file system.
EXT4 = (
    'truncate -s $1 "$0.image" && /sbin/mkfs.ext4 -q -F "$0.image" && mount -o loop "$0.image" "$0" && rm "$0.image"'
    ' && chmod 0700 "$0"'
)
KEEP = " && echo mounted && exec sleep infinity"
BLOCK = 4096


def _has_ext4():
    has_loop = os.path.exists("/dev/loop-control") and os.path.exists("/sbin/mkfs.ext4")
    return os.geteuid() == 0 and has_loop


class SmallDisk:
    """`path` is where programs that are started with `prefix` find it, `inside` how everybody else gets there."""

    def __init__(self, folder, size="8M"):
        self.path = os.path.join(folder, "small")
        os.mkdir(self.path, 0o700)
        mine = [] if os.geteuid() == 0 else ["-U", "-r"]
        argv = ["unshare", *mine, "-m", "sh", "-c", (EXT4 if _has_ext4() else TMPFS) + KEEP, self.path, size]
        self.keeper = Child("the keeper of a small disk", argv, os.path.join(folder, "small.log"))
        try:
            wait_until(lambda: self.keeper.check() or "mounted" in tail(self.keeper.log), 20, "a small disk")
        except BaseException:
            self.close()
            raise
        mine = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        self.prefix = ["nsenter", "-t", str(self.keeper.pid), *mine, "-m"]
        self.inside = f"/proc/{self.keeper.pid}/root{self.path}"

    def fill(self):
        """Not a block is left."""
        with open(os.path.join(self.inside, "filler"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * BLOCK)
            except OSError as error:
                assert error.errno == errno.ENOSPC, error

    def make_room(self):
        os.unlink(os.path.join(self.inside, "filler"))

    def close(self):
        self.keeper.stop()
