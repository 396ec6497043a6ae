"""The storage of a fault run's life that gives trouble: small file systems that fill up, and a shared folder that hangs
for a while and then answers again, as one whose server is away. For root, in a world of the life's own."""

import errno
import os
import subprocess
import sys

from cluster.processes import Child, wait_until

SLOW_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_folder.py")
BLOCK = 4096
SMALL = "48m"


def _mount(*words):
    subprocess.run(["mount", *words], check=True)


class SmallDisk:
    """A file system of `size` at the folder `path`, which is made."""

    def __init__(self, path, size=SMALL):
        self.path, self.filler = path, os.path.join(path, ".filler")
        os.makedirs(path, mode=0o700, exist_ok=True)
        _mount("-t", "tmpfs", "-o", f"size={size},mode=0700", "small", path)

    def fill(self):
        """Not a block is left, until somebody removes something."""
        with open(self.filler, "ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(BLOCK))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def make_room(self):
        os.unlink(self.filler)

    def close(self, keep):
        """`keep`: what is in there goes to where the file system was."""
        kept = self.path + ".kept"
        if keep:
            subprocess.run(["cp", "-a", self.path, kept], check=False)
        subprocess.run(["umount", self.path], check=True)
        if keep:
            os.rmdir(self.path)
            os.rename(kept, self.path)


class SlowFolder:
    """A folder `path` that shows `behind` (where the harness goes itself) through a server that can be held up."""

    def __init__(self, path, behind):
        self.path, self.behind, self.gate = path, behind, behind + ".hangs"
        for folder in (path, behind):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(behind, 0o711)  # each job has a folder of its user's in it
        argv = [sys.executable, SLOW_FOLDER, behind, path, self.gate]
        self.server = Child("the slow folder", argv, behind + ".log")
        wait_until(lambda: self.server.check() or os.path.ismount(path), 20, "the slow folder is there")

    def hang(self):
        """From now on nobody gets an answer; who asks cannot be killed."""
        with open(self.gate, "w"):
            pass

    def answer(self):
        if os.path.exists(self.gate):
            os.unlink(self.gate)

    def close(self):
        self.answer()
        subprocess.run(["umount", "-l", self.path], check=False)
        self.server.stop()
