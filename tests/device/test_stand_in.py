"""tests/device/run over the stand-in for CUDA: the SDK and the programs that look at a node build without gRPC. It
builds the preset device, which takes minutes: the part device of tests/run."""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "device"))

import suites  # noqa: E402

BOUND_S = 1200


def test_the_sdk_builds_without_grpc_and_its_devices_hold(tmp_path):
    done = subprocess.run(
        [os.path.join(ROOT, "tests/device/run"), "--stand-in", "--quick", "--seconds", str(BOUND_S)],
        env={**os.environ, "OUT": str(tmp_path), "GLIM_PYTHON": sys.executable},
        text=True,
        capture_output=True,
        timeout=BOUND_S + 60,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " 0 failed" in done.stdout.splitlines()[-1]
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    passed = {line["what"] for line in lines if line.get("passed")}
    assert passed.issuperset(suites.CONTRACTS)
    assert passed.issuperset({"glim-inventory", "glim-health", "glim-validate"})
    assert len(next(line for line in lines if line["what"] == "inventory")["gpus"]) == 2
    measured = {line["text"].split()[1] for line in lines if line["what"] == "reading"}
    assert measured >= {"patterns", "multiply", "tensor", "to_device", "to_host", "peer_pci", "link"}
    figure = next(line for line in lines if line["what"] == "allreduce")
    assert figure["device"] == "stand-in" and figure["bus_GBps"] > 0 and figure["date"] and figure["gcc"]
    with open(os.path.join(ROOT, "build/device/build.ninja")) as file:
        text = file.read()
    assert "glim_hfreduce" in text
    assert not [word for word in ("grpc", "protobuf", "absl", "spdlog") if word in text]
