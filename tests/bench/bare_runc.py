"""runc alone, with a container like a task's: what a start costs before anything of Glim's is added."""

import json
import os
import subprocess
import time

PRINT_TIME = ["/bin/bash", "-c", "echo $EPOCHREALTIME"]


NO_PRIVILEGE_BY_MOUNT = ["rbind", "nosuid", "nodev"]
SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


class BareRunc:
    """Takes a running task's container for a model: its mounts, limits, seccomp; without glim-init, with mounts that
    runc makes by itself as root, and in a folder and a control group of its own."""

    def __init__(self, folder, task_folder, control_group):
        self.folder, self.number = folder, 0
        self.bundle, self.root = os.path.join(folder, "bundle"), os.path.join(folder, "runc")
        tmp = os.path.join(folder, "tmp")
        for path in (self.bundle, self.root, tmp):
            os.makedirs(path)
        model = os.path.join(task_folder, "bundle")
        with open(os.path.join(model, "config.json")) as file:
            config = json.load(file)
        config["process"].update(args=PRINT_TIME)
        config["root"]["path"] = self._rootfs()
        linux = config["linux"]
        linux["cgroupsPath"] = f"{control_group}/bare"
        linux["namespaces"] = [n for n in linux["namespaces"] if n["type"] != "user"]
        for mapping in ("uidMappings", "gidMappings"):
            linux.pop(mapping, None)
        sys_options = ["nosuid", "noexec", "nodev", "ro"]
        config["mounts"].append({"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": sys_options})
        with open(os.path.join(model, "mounts.json")) as file:
            mounts = json.load(file)["mounts"]
        for _, _, source, target, read_only, _, own in mounts:
            if own and not source.startswith(task_folder) and target != "/run/glim-init":
                config["mounts"].append(bind(source, target, read_only))
        config["mounts"].append(bind(tmp, "/tmp", False))
        with open(os.path.join(self.bundle, "config.json"), "w") as file:
            json.dump(config, file)

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


def bind(source, target, read_only):
    options = NO_PRIVILEGE_BY_MOUNT + ["ro" if read_only else "rw"]
    return {"destination": target, "type": "bind", "source": source, "options": options}
