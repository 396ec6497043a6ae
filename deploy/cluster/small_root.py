"""The root of a small system, for images of tests: a few programs of this machine with the libraries that they load."""

import os
import re
import shutil
import subprocess

PROGRAMS = ("bash", "cat", "dash", "env", "id", "ls", "mkdir", "readlink", "sleep", "stat", "touch", "true")
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
FOLDERS = ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "tmp", "proc", "sys", "dev", "run", "root", "var")


def libraries_of(program):
    """As the loader finds them, itself included."""
    told = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return re.findall(r"(?:=> )?(/\S+) \(0x", told)


def make_small_root(folder):
    """Fills `folder`, which is made, and returns it. Its shell is dash; bash is there, too."""
    for name in FOLDERS:
        os.makedirs(os.path.join(folder, name))
    for name, target in LINKS.items():
        os.symlink(target, os.path.join(folder, name))
    for name in PROGRAMS:
        source = shutil.which(name)
        shutil.copy(source, os.path.join(folder, "usr/bin", name))
        for library in libraries_of(source):
            place = os.path.join(folder, library.lstrip("/"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(library, place)
    os.symlink("dash", os.path.join(folder, "usr/bin/sh"))
    for name, text in (
        ("debian_version", "12.0\n"),
        ("passwd", "root:x:0:0:root:/root:/bin/sh\n"),
        ("group", "root:x:0:\n"),
    ):
        with open(os.path.join(folder, "etc", name), "w", encoding="ascii") as file:
            file.write(text)
    return folder
