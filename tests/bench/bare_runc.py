"""runc alone, with a container like a task's: what a start costs before anything of Glim's is added."""

import json
import os
import shutil
import subprocess
import time

PRINT_TIME = ["/bin/bash", "-c", "echo $EPOCHREALTIME"]
NO_PRIVILEGE_BY_MOUNT = ["rbind", "nosuid", "nodev"]
SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Where a task sees these (nodeagent/confinement).
INIT, PRIVATE = "/run/glim-init", "/run/glim/private"


class BareRunc:
    """Takes a running task's container for a model: its mounts, limits, seccomp; without glim-init, with mounts that
    runc makes by itself as root, and in a folder and a control group of its own. In place of folders that go with the
    task, its secrets too, it mounts empty ones, and of files copies."""

    def __init__(self, folder, task_folder, control_group):
        self.number = 0
        self.bundle, self.root = os.path.join(folder, "bundle"), os.path.join(folder, "runc")
        for path in (self.bundle, self.root):
            os.makedirs(path)
        model = os.path.join(task_folder, "bundle")
        with open(os.path.join(model, "config.json")) as file:
            config = json.load(file)
        with open(os.path.join(model, "mounts.json")) as file:
            order = json.load(file)
        with open(os.path.join(self.bundle, "config.json"), "w") as file:
            state = os.path.dirname(os.path.dirname(task_folder))
            json.dump(bare_config(config, order, state, self._stand_in, self._rootfs(), f"{control_group}/bare"), file)

    def _stand_in(self, number, source):
        """A copy of a file, or a folder that a task's user may write to, as its own."""
        path = os.path.join(self.bundle, f"stand-in-{number}")
        if os.path.isfile(source):
            shutil.copyfile(source, path)
            return path
        os.makedirs(path)
        os.chmod(path, 0o1777)
        return path

    def _rootfs(self):
        rootfs = os.path.join(self.bundle, "rootfs")
        os.makedirs(rootfs)
        for name in SYSTEM_LINKS:
            if os.path.islink(f"/{name}"):
                os.symlink(os.readlink(f"/{name}"), os.path.join(rootfs, name))
        return rootfs

    def start_to_first_line_ms(self):
        self.number += 1
        began = time.time()
        result = subprocess.run(
            ["runc", "--root", self.root, "run", "--bundle", self.bundle, f"bare-{self.number}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if result.returncode != 0:
            raise RuntimeError(f"runc: {result.stderr}")
        return (float(result.stdout) - began) * 1000


def bare_config(config, order, state, stand_in, rootfs, control_group):
    """`config`: the model's config.json; `order`: its mounts.json; `state`: the folder of its node's agent;
    `stand_in(number, source)` makes what stands there in place of the source."""
    config["process"].update(args=PRINT_TIME)
    config["root"]["path"] = rootfs
    linux = config["linux"]
    linux["cgroupsPath"] = control_group
    linux["namespaces"] = [n for n in linux["namespaces"] if n["type"] != "user"]
    for mapping in ("uidMappings", "gidMappings"):
        linux.pop(mapping, None)
    sys_options = ["nosuid", "noexec", "nodev", "ro"]
    config["mounts"].append({"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": sys_options})
    for number, (_, _, source, target, read_only, _, own) in enumerate(order["mounts"]):
        if target == INIT:
            continue
        goes = own and (target == PRIVATE or source.startswith(state + "/"))
        config["mounts"].append(bind(stand_in(number, source) if goes else source, target, read_only))
    return config


def bind(source, target, read_only):
    options = NO_PRIVILEGE_BY_MOUNT + ["ro" if read_only else "rw"]
    return {"destination": target, "type": "bind", "source": source, "options": options}
