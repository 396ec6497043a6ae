"""runc alone, with a container like a task's: what a start costs before anything of Glim's is added."""

import json
import os
import subprocess
import time

PRINT_TIME = ["/bin/bash", "-c", "echo $EPOCHREALTIME"]


class BareRunc:
    """Takes a running task's container for a model: its mounts, limits, seccomp; without glim-init, and in a folder and
    a control group of its own."""

    def __init__(self, folder, task_folder, control_group):
        self.folder, self.number = folder, 0
        self.bundle, self.root = os.path.join(folder, "bundle"), os.path.join(folder, "runc")
        rootfs, tmp = os.path.join(self.bundle, "rootfs"), os.path.join(folder, "tmp")
        for path in (self.bundle, self.root, tmp):
            os.makedirs(path)
        subprocess.run(["cp", "-a", os.path.join(task_folder, "bundle", "rootfs"), rootfs], check=True)
        with open(os.path.join(task_folder, "bundle", "config.json")) as file:
            config = json.load(file)
        config["process"].update(args=PRINT_TIME)
        config["root"]["path"] = rootfs
        config["linux"]["cgroupsPath"] = f"{control_group}/bare"
        config["mounts"] = [
            m
            for m in config["mounts"]
            if not m["source"].startswith(task_folder) and m["destination"] != "/run/glim-init"
        ]
        config["mounts"].append({"destination": "/tmp", "type": "bind", "source": tmp, "options": ["rbind", "rw"]})
        with open(os.path.join(self.bundle, "config.json"), "w") as file:
            json.dump(config, file)

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
