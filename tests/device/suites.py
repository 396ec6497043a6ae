"""The tests: those of a device over the machine's CUDA or the stand-in, all of the SDK's C++ ones, and Python's."""

import importlib.util
import json
import os
import shutil
import sys
import tempfile
import xml.etree.ElementTree as xml

# Test programs that take CUDA as they find it (sdk/device/testing/test_cuda.h).
CONTRACTS = [
    "device_contract_test",
    "hfreduce_device_contract_test",
    "ckpt_device_copier_test",
    "validate_gpu_contract_test",
]
# Those that look into the stand-in: its counters, its versions, its copies that stand still.
STANDIN_ONLY = ["device_test", "hfreduce_device_test", "validate_gpu_test"]
# Python tests that need more than the SDK: what the agent's part of the build stages, and Debian's PyPy.
NOT_OF_THE_SDK = {
    "test_agreement.py": "glim-task",
    "test_compiled.py": "glim-task",
    "test_older_python.py": "glim-task",
}


def _has_ucx(build):
    with open(os.path.join(build, "build.ninja")) as file:
        return "libglim_ucx.a" in file.read()


def run_contracts(journal, build, cuda):
    for program in CONTRACTS:
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            command = [os.path.join(build, "test", program), f"--gtest_output=json:{report}"]
            if program.startswith("hfreduce") and not _has_ucx(build):
                command.append("--gtest_filter=-*/ucx_*")
                journal.absent(f"{program} over ucx", "UCX is not in this build")
            code, text = journal.output(command, 180, cuda.environment)
            _count_gtest(journal, program, report, code, text)
    if cuda.is_real:
        for program in STANDIN_ONLY:
            journal.line(program, note="looks into the stand-in, and runs over that alone")


def _count_gtest(journal, program, report, code, text):
    passed, bad = 0, []
    if os.path.exists(report):
        with open(report) as file:
            suites = json.load(file)["testsuites"]
        for case in (case for suite in suites for case in suite["testsuite"]):
            name = f"{case['classname']}.{case['name']}"
            if case["result"] == "SKIPPED":
                why = [line for line in text.splitlines() if line.startswith("absent: ")]
                journal.absent(f"{program} {name}", why[-1][len("absent: ") :] if why else "skipped")
            elif case["result"] == "COMPLETED" and not case.get("failures"):
                passed += 1
            else:
                bad.append(name)
    if code != 0 and not bad:
        bad.append(f"exit code {code}: {text.strip().splitlines()[-1:]}")
    if passed:
        journal.passes(program, passed)
    if bad or not passed:
        journal.fail(program, ", ".join(bad) or "has no tests", max(len(bad), 1))


def run_programs(journal, root, jobs):
    """Every C++ test that was built, over the stand-in where a device is asked for."""
    without = []
    if not _has_ucx(os.path.join(root, "build/device")):
        without += ["*/ucx", "*/ucx_*", "Ucx.*", "Agree.*"]
        journal.absent("tests of ucx", "UCX is not in this build")
    if shutil.which("ip") is None or os.geteuid() != 0:
        without += ["*DroppedLink*", "*ServiceAddress*", "DevicesFor.TheInterface*"]
        journal.absent("DroppedLink, ServiceAddress, DevicesFor", "they need root and the program ip (iproute2)")
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "programs.xml")
        command = [
            sys.executable,
            os.path.join(root, "tests/run_programs.py"),
            "device",
            report,
            "--label",
            "unit",
            "--label",
            "server",
            "--jobs",
            str(jobs),
            "--filter=-" + ":".join(without),
        ]
        code, text = journal.output(command, 400, {"GLIM_TEST_CUDA": "0"})
        _count_junit(journal, "programs", report, code, text)


def run_sdk(journal, root, build, cuda, jobs):
    """The SDK's Python tests, and those of tensors on a GPU."""
    modules = os.path.join(build, "python")
    if not os.path.isdir(modules):
        journal.absent("the SDK's Python tests", "the Python modules were not built: Python.h is not there")
        return
    lacking = [name for name in ("pytest", "torch", "numpy") if importlib.util.find_spec(name) is None]
    if lacking:
        journal.absent("the SDK's Python tests", f"this Python has no {', '.join(lacking)}")
        return
    tests = os.path.join(root, "sdk/python/tests")
    if cuda.is_real:
        _pytest(journal, "tensors on a GPU", modules, [os.path.join(root, "tests/device/test_gpu_tensors.py")])
    else:
        journal.absent("test_gpu_tensors.py", "torch sees no GPU over the stand-in")
    command = [tests]
    for name, needs in NOT_OF_THE_SDK.items():
        command.append(f"--ignore={tests}/{name}")
        journal.absent(name, f"needs {needs}, which this build does not have")
    if importlib.util.find_spec("xdist") is not None:
        command += ["-n", str(min(jobs, 8))]
    _pytest(journal, "python", modules, command)


def _pytest(journal, what, modules, arguments):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "pytest.xml")
        environment = {"GLIM_TEST_PYTHON": modules, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        # The names are told as they go: of a run that is late they are all that is known.
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--durations=5", *arguments]
        code, text = journal.output([*command, "--junitxml", report], 400, environment)
        _count_junit(journal, what, report, code, text)


def _count_junit(journal, what, report, code, text):
    passed, bad = 0, []
    try:
        cases = list(xml.parse(report).getroot().iter("testcase"))
    except (OSError, xml.ParseError):
        cases = []
    for case in cases:
        name = f"{case.get('classname') or ''} {case.get('name')}".strip()
        skipped = case.find("skipped")
        if skipped is not None or case.get("status") in ("notrun", "disabled"):
            why = skipped.get("message") if skipped is not None else ""
            journal.absent(f"{what} {name}", why or "skipped")
        elif case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            bad.append(name)
        else:
            passed += 1
    if code != 0 and not bad:
        bad.append(f"exit code {code}: {text.strip().splitlines()[-1:]}")
    if passed:
        journal.passes(what, passed)
    if bad or not passed:
        journal.fail(what, ", ".join(bad) or "has no tests", max(len(bad), 1))
        print(text[-6000:])
