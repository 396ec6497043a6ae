"""A FUSE file system that shows a folder as it is, and answers nothing while a file is there.

    slow_folder.py BEHIND PLACE GATE"""

import os
import sys
import time

from fusepy import FUSE, FuseOSError, Operations, fuse_get_context

LOOK_S = 0.02
ATTRIBUTES = ("st_atime", "st_ctime", "st_gid", "st_ino", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")


class Shown(Operations):
    """Each call waits at the gate first, in a thread of its own: the kernel waits for the answer."""

    def __init__(self, behind, gate):
        self.behind, self.gate = behind, gate

    def __call__(self, operation, path, *words):
        while os.path.exists(self.gate):
            time.sleep(LOOK_S)
        if not hasattr(self, operation):
            raise FuseOSError(38)  # ENOSYS
        return getattr(self, operation)(self.behind + path if path is not None else None, *words)

    def init(self, path):
        pass

    def destroy(self, path):
        pass

    def getattr(self, path, handle=None):
        found = os.lstat(path)
        return {name: getattr(found, name) for name in ATTRIBUTES}

    def access(self, path, mode):
        if not os.access(path, mode):
            raise FuseOSError(13)  # EACCES

    def readdir(self, path, handle):
        return [".", "..", *os.listdir(path)]

    def statfs(self, path):
        found = os.statvfs(path)
        names = (
            "f_bavail",
            "f_bfree",
            "f_blocks",
            "f_bsize",
            "f_favail",
            "f_ffree",
            "f_files",
            "f_frsize",
            "f_namemax",
        )
        return {name: getattr(found, name) for name in names}

    def readlink(self, path):
        return os.readlink(path)

    def mkdir(self, path, mode):
        os.mkdir(path, mode)
        self.give(path)

    def rmdir(self, path):
        os.rmdir(path)

    def unlink(self, path):
        os.unlink(path)

    def rename(self, path, target):
        os.rename(path, self.behind + target)

    def symlink(self, path, content):
        os.symlink(content, path)
        self.give(path)

    @staticmethod
    def give(path):
        """What somebody makes is theirs, although this server is root."""
        user, group, _ = fuse_get_context()
        os.chown(path, user, group, follow_symlinks=False)

    def link(self, path, existing):
        os.link(self.behind + existing, path)

    def chmod(self, path, mode):
        os.chmod(path, mode)

    def chown(self, path, user, group):
        os.chown(path, user, group)

    def utimens(self, path, times=None):
        os.utime(path, times)

    def truncate(self, path, length, handle=None):
        os.truncate(path, length)

    def open(self, path, flags):
        return os.open(path, flags)

    def create(self, path, mode, info=None):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, mode)
        self.give(path)
        return handle

    def read(self, path, size, offset, handle):
        return os.pread(handle, size, offset)

    def write(self, path, data, offset, handle):
        return os.pwrite(handle, data, offset)

    def flush(self, path, handle):
        return 0

    def fsync(self, path, only_data, handle):
        os.fsync(handle)

    def fsyncdir(self, path, only_data, handle):
        return 0

    def release(self, path, handle):
        os.close(handle)

    def getxattr(self, path, name, position=0):
        raise FuseOSError(61)  # ENODATA

    def listxattr(self, path):
        return []


# Whoever may: the kernel asks the modes, as of a file system of its own.
OPTIONS = {"allow_other": True, "default_permissions": True}

if __name__ == "__main__":
    FUSE(Shown(sys.argv[1], sys.argv[3]), sys.argv[2], foreground=True, raw_fi=False, **OPTIONS)
