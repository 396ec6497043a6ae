"""A FUSE file system that shows a folder, and takes its time for each write, read and sync, as a sick disk does.

    slow_disk.py BEHIND PLACE SECONDS"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))

from fusepy import FUSE  # noqa: E402

from slow_folder import OPTIONS, Shown  # noqa: E402


class Slow(Shown):
    def __init__(self, behind, seconds):
        super().__init__(behind, behind + ".no-gate")
        self.seconds = seconds

    def read(self, path, size, offset, handle):
        time.sleep(self.seconds)
        return super().read(path, size, offset, handle)

    def write(self, path, data, offset, handle):
        time.sleep(self.seconds)
        return super().write(path, data, offset, handle)

    def fsync(self, path, only_data, handle):
        time.sleep(self.seconds)
        super().fsync(path, only_data, handle)


if __name__ == "__main__":
    FUSE(Slow(sys.argv[1], float(sys.argv[3])), sys.argv[2], foreground=True, raw_fi=False, **OPTIONS)
