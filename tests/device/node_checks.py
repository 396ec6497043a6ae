"""What Glim's programs say of this machine's GPUs: glim-inventory by NVML, glim-validate by CUDA's driver."""

import json
import os
import tempfile

from journal import json_lines

STANDIN_GPUS = 2
GOOD, BAD_NODE = 0, 3  # exit codes of glim-validate


def look(journal, build, cuda, quick):
    environment = {} if cuda.is_real else _standin(build)
    _inventory(journal, build, environment)
    _health(journal, build, environment)
    _validate(journal, build, environment, quick)


def _standin(build):
    """A folder with the drivers' libraries by the names that programs open, and what they shall say."""
    folder = os.path.join(build, "stand-in")
    os.makedirs(folder, exist_ok=True)
    for name, library in (
        ("libcuda.so.1", "sdk/device/libglim_device_standin.so"),
        ("libnvidia-ml.so.1", "test/libfake-nvml.so"),
    ):
        link = os.path.join(folder, name)
        if not os.path.islink(link):
            os.symlink(os.path.join(build, library), link)
    cards = [{"memory_kib": 1024, "pci": f"0000:{16 + at}:00.0"} for at in range(STANDIN_GPUS)]
    nvml = [
        {
            "name": "NVIDIA A100-SXM4-80GB",
            "uuid": f"GPU-{at}",
            "pci": [0, 0x16 + at, 0],
            "memory_mib": 81920,
            "used_mib": 500,
            "processes": [],
            "pcie": [4, 4, 16, 16],
        }
        for at in range(STANDIN_GPUS)
    ]
    paths = {}
    for name, says in (("gpus", {"gpus": cards}), ("nvml", {"driver": "535.129.03", "gpus": nvml})):
        paths[name] = os.path.join(folder, f"{name}.json")
        with open(paths[name], "w") as file:
            json.dump(says, file)
    return {"LD_LIBRARY_PATH": folder, "GLIM_STANDIN_GPUS": paths["gpus"], "GLIM_FAKE_NVML": paths["nvml"]}


def _inventory(journal, build, environment):
    code, text = journal.output([os.path.join(build, "bin/glim-inventory")], 60, environment)
    lines = json_lines(text)
    gpus = lines[-1] if len(lines) == 2 else {}
    if code != 0 or gpus.get("error") or not gpus.get("gpus"):
        journal.fail("glim-inventory", f"exit code {code}: {gpus.get('error') or text.strip()[-500:]}")
        return
    journal.line("inventory", gpus=gpus["gpus"], warnings=gpus.get("warnings", []))
    journal.passes("glim-inventory")


def _health(journal, build, environment):
    """What glim-health says in some seconds: it has seen the GPUs, and they have nothing."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["timeout", "-s", "TERM", "6", os.path.join(build, "bin/glim-health"), "--kmsg", "/dev/kmsg"]
        command += ["--root", "/", "--state", os.path.join(folder, "state"), "--hurry", "10"]
        _, text = journal.output(command, 30, environment)
    lines = json_lines(text)
    seen = [line["gpus"] for line in lines if line["kind"] == "gpus"]
    found = [line for line in lines if line["kind"] not in ("alive", "gpus")]
    for line in found:
        journal.line("finding", **{key: value for key, value in line.items() if key not in ("boot", "device")})
    bad = [line for line in found if "gpu" in json.dumps(line).lower()]
    if seen and seen[-1] and not bad:
        journal.passes("glim-health")
    else:
        journal.fail("glim-health", json.dumps(bad) if bad else f"it saw no GPU: {text.strip()[-500:]}")


def _validate(journal, build, environment, quick):
    """A machine whose GPU is bad has not passed, and its lines say what is bad."""
    command = [os.path.join(build, "bin/glim-validate"), "--part", "gpu", "--json"]
    code, text = journal.output(command + (["--quick"] if quick else []), 200, environment)
    readings = json_lines(text)
    for reading in readings:
        journal.line("reading", **{key: reading[key] for key in ("part", "device", "value", "unit", "ok", "text")})
    bad = [reading["text"] for reading in readings if not reading["ok"]]
    if code == GOOD and readings and not bad:
        journal.passes("glim-validate")
    elif code == BAD_NODE:
        journal.fail("glim-validate", "; ".join(bad), max(len(bad), 1))
    else:
        journal.fail("glim-validate", f"exit code {code}: {text.strip()[-500:]}")
