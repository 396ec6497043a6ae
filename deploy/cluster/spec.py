"""Job specs derived from the examples': other commands and folders, the rest as it stands in the example's file."""

import json
import os
import re
import shutil

from .accounts import OTHERS, closed_to


def replace_fields(text, fields):
    """Replaces whole one-line fields of a spec. A value becomes JSON, which YAML reads. ValueError for a field that
    is not there exactly once on one line: an example has changed."""
    for name, value in fields.items():
        line = re.compile(rf"^{re.escape(name)}:[^\n]*$", re.MULTILINE)
        found = line.findall(text)
        following = re.search(rf"^{re.escape(name)}:[^\n]*\n[ \t]+\S", text, re.MULTILINE)
        if len(found) != 1 or following:
            raise ValueError(f"{name}: found {len(found)} times on a line of its own, expected once")
        text = line.sub(lambda _: f"{name}: {json.dumps(value)}", text)
    return text


def sdk_folder(root):
    """The SDK as the build stages it. The agents give it to every task; this is for what runs beside them."""
    return os.environ.get("GLIM_TEST_SDK") or os.path.join(root, "build", "release", "share", "glim", "sdk")


def parts_for_jobs(root):
    """What of a checkout jobs see in containers."""
    return [os.path.join(root, name) for name in ("deploy", "tests")]


def copy_for_everybody(path, copy):
    """A file or a folder, which everybody may read, whatever the umask."""
    if os.path.isdir(path):
        shutil.copytree(path, copy, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(path, copy)
    inner = (os.path.join(folder, name) for folder, below, names in os.walk(copy) for name in (*below, *names))
    for place in (copy, *inner):
        if not os.path.islink(place):
            mode = os.stat(place).st_mode & 0o777
            os.chmod(place, mode | 0o044 | (0o011 if mode & 0o100 else 0))


class Examples:
    """The examples of a checkout, and a folder for what is derived from them."""

    def __init__(self, root, folder, for_users=None):
        """`for_users`: if any, tasks are other users than who has the checkout (LocalCluster.task_user)."""
        self.root, self.folder, self.for_users = root, folder, for_users
        self.python_path = os.path.join(sdk_folder(root), "python")  # for processes beside the cluster

    def mounts(self):
        """What the jobs need of this machine beside their workdir: programs of the checkout, and where they write."""
        return [*map(self.mount_of, parts_for_jobs(self.root)), {"source": self.folder}]

    def mount_of(self, path):
        """Shows tasks what lies at `path` of the checkout, at the same place. Where it is closed to their users, as all
        of root's home is, they are shown a copy."""
        if not self.for_users or not closed_to(OTHERS, path):
            return {"source": path, "read_only": True}
        copy = os.path.join(self.folder, ".shown", os.path.basename(path))
        if not os.path.exists(copy):
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            os.chmod(os.path.dirname(copy), 0o755)
            copy_for_everybody(path, copy)
        return {"source": copy, "target": path, "read_only": True}

    def path(self, *parts):
        return os.path.join(self.root, "deploy", "examples", *parts)

    def derive(self, example, name, env=None, **fields):
        """Writes a spec named `name` and returns its path. It runs in the example's folder."""
        with open(self.path(example, "job.yaml")) as file:
            text = file.read()
        values = {"name": name, "workdir": self.path(example), **fields}
        variables = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", **(env or {})}
        if re.search(r"^env:", text, re.MULTILINE):
            values["env"] = variables
        else:
            text += f"\nenv: {json.dumps(variables)}\n"
        return self.write(name, replace_fields(text, values) + f"\nmounts: {json.dumps(self.mounts())}\n")

    def write(self, name, text):
        path = os.path.join(self.folder, f"{name}.yaml")
        with open(path, "w") as file:
            file.write(text)
        return path

    def make(self, name, run, **fields):
        """A spec from nothing but a command; the fields not given are small and quick ones."""
        values = {
            "apiVersion": "glim/v1",
            "kind": "Job",
            "name": name,
            "run": run,
            "workdir": self.folder,
            "nodes": 1,
            "gpus_per_node": 1,
            "mounts": self.mounts(),
            **fields,
        }
        return self.write(name, "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items()))
