"""What docs/tutorials and docs/howto have a researcher type is typed, by ana, on a cluster such as deploy/quickstart
leaves running: each page's blocks marked bash, in one shell, in a folder of hers; and its Python, where it stands for
itself. (docs/tutorials/three-machines.md: test_three_machines.py.)"""

import itertools
import os
import re
import shutil
import subprocess

import pytest

from cluster import pages
from cluster.folders import make_folder, remove_folder
from cluster.processes import SLOWER, wait_until
from cluster.spec import sdk_folder
from cluster.story import PYTHON
from conftest import ROOT, own_stage

THIS = "tests/e2e/test_researchers_pages.py"
FAILING = f"exec {PYTHON} -c 'import no_such_module'"
SECONDS = 400 * SLOWER  # torch is loaded a dozen times


def page(name):
    return os.path.join("docs", name)


@pytest.fixture(scope="module")
def quickstart():
    folder = make_folder("glim-pages-")
    with own_stage(folder, checkpoint_root=True, users=("ana", "ben")) as stage:
        yield stage
    remove_folder(folder)


@pytest.fixture
def mine(quickstart):
    """A folder of ana's, and the cluster idle before and after."""
    quickstart.cluster.wait_ready()
    quickstart.cluster.wait_idle()
    yield quickstart.cluster.job_folder()
    quickstart.cluster.cancel_all()


def type_in(stage, typed, folder, **variables):
    """A page, or some blocks, typed by ana; stderr beside stdout, as on a terminal."""
    texts = pages.blocks(page(typed)) if isinstance(typed, str) else typed
    glim = stage.glim
    path = os.pathsep.join([os.path.dirname(glim.program), "/usr/bin", os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(texts)],
        cwd=folder,
        env={**glim.env_of("ana"), "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, f"{typed}: exit status {done.returncode}\n{done.stdout}"
    print(done.stdout)
    return done.stdout


def copy_of_the_first_example(folder, **variables):
    """Submitted from there, as in the tutorial."""
    for name in ("job.yaml", "train.py"):
        shutil.copy(os.path.join(ROOT, "deploy", "examples", "first", name), folder)
    path = os.path.join(folder, "job.yaml")
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(re.sub(r"^env:.*$", f"env: {variables}".replace("'", '"'), text, flags=re.MULTILINE))
    return path


def test_the_first_job(quickstart, mine):
    shutil.rmtree(mine)
    shutil.copytree(os.path.join(ROOT, "deploy", "examples", "first"), mine)
    quickstart.cluster.open_to_tasks(mine)
    told = type_in(quickstart, "tutorials/first-job.md", mine)
    assert "saved, 0 steps lost" in told
    assert re.search(r"^begins with step [1-9]", told, re.MULTILINE) and told.count("done after 600 steps") == 1
    assert re.search(r"^ *INTERRUPTS +NAME", told, re.MULTILINE), "plan says whom it would interrupt"


def test_an_interrupt_is_survived(quickstart, mine):
    told = type_in(quickstart, "tutorials/survive-an-interrupt.md", mine)
    ended = re.findall(r"the model is done: (weights .*)$", told, re.MULTILINE)
    plain, half_trained, whole, undisturbed, interrupted = ended
    assert undisturbed == interrupted == whole, "as if nothing had happened"
    assert half_trained != whole and plain != whole
    assert told.count("saved, 0 steps lost") == 2 and told.count("left, and reported neither steps nor a save") >= 1


def test_a_loop_is_made_interruptible(quickstart, mine):
    job = quickstart.glim.submit(copy_of_the_first_example(mine, STEPS="600", STEP_SECONDS="0.05"), user="ana")
    quickstart.cluster.wait_job(job, lambda j: j["attempts"] and j["attempts"][0]["last_step"] > 5, 60, "it does steps")
    told = type_in(quickstart, "howto/make-a-loop-interruptible.md", mine, JOB=str(job))
    assert "saved, 0 steps lost" in told and "suspended by" in told


def interrupt_once(stage, job):
    """Suspended in its first attempt, and resumed; the job when it has ended. No step is lost."""
    stage.cluster.wait_job(job, lambda j: j["attempts"] and j["attempts"][0]["last_step"] > 5, 60, "it does steps")
    stage.glim.text("suspend", job, user="ana")
    stage.cluster.wait_state(job, "held", 60)
    stage.glim.text("resume", job, user="ana")
    ended = stage.cluster.wait_state(job, "succeeded", 60)
    first, second = ended["attempts"]
    assert (first["save"], first["steps_lost"], second["base_step"]) == ("saved", 0, first["last_step"])
    return ended


def test_a_loop_saves_by_itself_under_another_python(quickstart, mine):
    (loop,) = [
        text
        for language, text in pages.fences(page("howto/make-a-loop-interruptible.md"))
        if language == "python" and "torch.save(state, file)" in text
    ]
    yours = (
        "import time, torch\n"
        "torch.manual_seed(1)\n"
        "model, total = torch.nn.Linear(8, 1), 60\n"
        "optim = torch.optim.Adam(model.parameters())\n"
        "def train(step):\n"
        "    optim.zero_grad()\n"
        "    model(torch.full((4, 8), step / 100)).sum().backward()\n"
        "    optim.step()\n"
        "    time.sleep(0.1)\n"
    )
    with open(os.path.join(mine, "own.py"), "w") as file:
        file.write(f"{yours}{loop}\nprint('ends with', *model.state_dict().values())\n")
    spec = quickstart.examples.make("own", f"exec {PYTHON} own.py", workdir=mine)
    whole = quickstart.glim.submit(spec, user="ana")
    quickstart.cluster.wait_state(whole, "succeeded", 60)
    job = quickstart.glim.submit(spec, user="ana")
    interrupt_once(quickstart, job)
    logs = [quickstart.glim.text("logs", one, user="ana") for one in (whole, job)]
    assert logs[0] == logs[1] and logs[0].startswith("ends with"), logs


def test_a_compiled_program_is_interrupted(quickstart, mine):
    (program,) = [
        text for language, text in pages.fences(page("howto/make-a-loop-interruptible.md")) if language == "cpp"
    ]
    yours = (
        "#include <fstream>\n#include <iostream>\n#include <thread>\n"
        "long load(const std::string& path) {\n"
        "  long step = 0;\n"
        "  std::ifstream(path) >> step;\n"
        '  std::cout << "goes on behind step " << step << std::endl;\n'
        "  return step;\n"
        "}\n"
        "void do_step(long) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }\n"
        "void save(const std::string& path, long step) { std::ofstream(path) << step << std::endl; }\n"
    )
    source = os.path.join(mine, "steps.cc")
    with open(source, "w") as file:
        file.write(program.replace("step < 1000", "step < 100") + yours)
    subprocess.run(["c++", "-std=c++17", "-Wall", "-Werror", "-o", os.path.join(mine, "steps"), source], check=True)
    job = quickstart.glim.submit(quickstart.examples.make("steps", "exec ./steps", workdir=mine), user="ana")
    ended = interrupt_once(quickstart, job)
    assert ended["attempts"][1]["last_step"] == 99
    last = ended["attempts"][0]["last_step"]
    assert quickstart.glim.text("logs", job, user="ana") == f"goes on behind step {last}\n"


def test_stages_that_are_done_are_not_done_again(quickstart, mine):
    (script,) = pages.blocks(page("howto/make-a-loop-interruptible.md"), THIS)
    work = {"download": "", "tokenize": '[ "$GLIM_ATTEMPT" -gt 1 ] || sleep 600', "evaluate": ""}
    for name, then in work.items():
        path = os.path.join(mine, f"{name}.sh")
        with open(path, "w") as file:
            file.write(f"#!/bin/bash\necho {name}\n{then}\n")
        os.chmod(path, 0o755)
    with open(os.path.join(mine, "stages.sh"), "w") as file:
        file.write(script)
    quickstart.cluster.open_to_tasks(mine)
    glim = quickstart.glim
    job = glim.submit(quickstart.examples.make("stages", "exec bash stages.sh", workdir=mine), user="ana")
    wait_until(
        lambda: "\ntokenize\n" in glim.run("logs", str(job), user="ana").stdout, 60, "the second stage has begun"
    )
    glim.text("suspend", job, user="ana")
    quickstart.cluster.wait_state(job, "held", 60)
    glim.text("resume", job, user="ana")
    first, second = quickstart.cluster.wait_state(job, "succeeded", 60)["attempts"]
    assert (first["save"], first["steps_lost"], second["base_step"]) == ("left_unsaved", 0, 0)
    told = [glim.text("logs", job, "--attempt", number, user="ana").splitlines() for number in (1, 2)]
    assert told[0] == [
        *("stage 0 begins", "download", "stage 0 is done"),
        *("stage 1 begins", "tokenize", "stage 1 is broken off"),
    ]
    assert told[1] == [
        *("stage 1 begins", "tokenize", "stage 1 is done"),
        *("stage 2 begins", "evaluate", "stage 2 is done"),
    ]


def test_hfreduce_is_used(quickstart, mine):
    told = type_in(quickstart, "howto/use-hfreduce.md", mine)
    assert re.search(r"^rank 0 of 4, over tcp: the last loss is [0-9.]+$", told, re.MULTILINE), told
    assert "hfreduce: 2 nodes talk over TCP; every node: it has no RDMA device" in told


def test_a_checkpoint_is_loaded_elsewhere(quickstart, mine):
    job_id = quickstart.glim.submit(copy_of_the_first_example(mine, STEPS="120", STEP_SECONDS="0"), user="ana")
    save = quickstart.cluster.wait_state(job_id, "succeeded", 60)["durable_path"]
    python = os.path.join(sdk_folder(ROOT), "python")
    elsewhere = {"SAVE": save, "CHECKPOINTS": os.path.dirname(os.path.dirname(save)), "PYTHONPATH": python}
    told = type_in(quickstart, "howto/load-a-checkpoint-elsewhere.md", mine, **elsewhere)
    assert "model.weight" in told and os.path.exists(os.path.join(mine, "model.pt"))

    blocks = [
        text for language, text in pages.fences(page("howto/load-a-checkpoint-elsewhere.md")) if language == "python"
    ]
    *readers, going_on = blocks
    assert len(readers) == 2
    for number, block in enumerate(readers):
        # safetensors is not in Debian: its place is taken by a reader of our own, written from its published layout.
        script = (
            "import sys, types, torch\n"
            f"sys.path += [{python!r}, {os.path.join(ROOT, 'sdk', 'checkpoint', 'testing')!r}]\n"
            "from read_safetensors import read_shard\n"
            "def load_file(path):\n"
            "    return {name: torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape)\n"
            "            for name, (dtype, shape, data) in read_shard(path).items() if dtype == 'F32' and data}\n"
            "there = types.ModuleType('safetensors.torch')\n"
            "there.load_file = load_file\n"
            "sys.modules.update({'safetensors': types.ModuleType('safetensors'), 'safetensors.torch': there})\n"
            f"save, model = {save!r}, torch.nn.Linear(8, 1)\n"
            f"{block}\n"
            "expected = torch.load('model.pt')['model']\n"
            "assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())\n"
            "print('the same weights')\n"
        )
        done = subprocess.run([PYTHON, "-c", script], cwd=mine, capture_output=True, text=True, timeout=60)
        assert done.stdout == "the same weights\n", f"block {number}: {done.stderr}"

    # Another job goes on with it, off the cluster: ten epochs of three batches. The optimizer counts its steps.
    script = (
        f"import sys, torch\nsys.path.append({python!r})\n"
        "model, sampler, loader = torch.nn.Linear(8, 1), None, [torch.ones(4, 8)] * 3\n"
        "optim = torch.optim.Adam(model.parameters())\n"
        "def train(batch):\n"
        "    optim.zero_grad()\n"
        "    loss = model(batch).sum()\n"
        "    loss.backward()\n"
        "    optim.step()\n"
        "    return loss.item()\n"
        f"{going_on}\n"
        "print(start, int(optim.state_dict()['state'][0]['step']))\n"
    )
    env = {**os.environ, "OLD_SAVE": save}
    done = subprocess.run([PYTHON, "-c", script], cwd=mine, env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout == "100 130\n", done.stderr


def test_why_a_job_waits_is_found_out(quickstart, mine):
    make = quickstart.examples.make
    urgent = quickstart.glim.submit(make("urgent", "exec sleep 600", nodes=4, priority="high"), user="ben")
    quickstart.cluster.wait_state(urgent, "running", 60)
    job = quickstart.glim.submit(make("sft", "true", nodes=2), user="ana")
    wait_until(lambda: quickstart.glim.job(job)["blockers"], 30, "it is known why the job waits")
    told = type_in(quickstart, "howto/find-out-why-a-job-waits.md", mine, JOB=str(job))
    assert "nodes_busy" in told and re.search(r"^promised +in 1 d 3 h at the latest", told, re.MULTILINE), told


def test_everyday_questions_are_answered(quickstart, mine):
    with open(os.path.join(mine, "token.txt"), "w") as file:
        file.write("of the test")
    job = quickstart.glim.submit(quickstart.examples.make("runs", "echo loss=nan; exec sleep 600", nodes=1), user="ana")
    quickstart.cluster.wait_state(job, "running", 60)
    wait_until(lambda: "loss=nan" in quickstart.glim.run("logs", str(job)).stdout, 30, "it has written its line")
    with open(os.path.join(mine, "train.py"), "w") as file:
        file.write("import time\ntime.sleep(600)\n")
    variables = {"JOB": str(job), "NAME": "ana", "WANDB_API_KEY": "of the test"}
    told = type_in(quickstart, "howto/everyday-questions.md", mine, **variables)
    assert told.count("loss=nan") == 3 and "is suspending" in told
    assert quickstart.glim.job(job)["priority"] == "below_normal"
    assert re.search(r"^secret wandb-key: 11 bytes$", told, re.MULTILINE), "no newline"
    assert "jobs that ended from" in told and "jobs that have not ended" in told
    assert re.search(r"^gpu time +[0-9.]+ GPU-", told, re.MULTILINE), told
    jobs = quickstart.glim.json("queue", "--all")["jobs"]
    chain = sorted(one["spec"]["name"] for one in jobs if one["spec"]["name"].startswith("part-"))
    assert chain == [f"part-{number}" for number in range(1, 6)]
    runs = [one for one in jobs if one["spec"]["name"].startswith("lr-")]
    assert sorted(one["spec"]["name"] for one in runs) == ["lr-1e-3", "lr-1e-4", "lr-3e-4"]
    assert {one["state"] for one in runs} <= {"cancelling", "cancelled"}


def test_secrets_are_kept(quickstart, mine):
    with open(os.path.join(mine, "token.txt"), "w") as file:
        file.write("of the test")
    _, secrets = pages.blocks(page("job-spec.md"), THIS)
    told = type_in(quickstart, [secrets], mine, WANDB_API_KEY="of the test")
    assert re.search(r"^hf-token +11\b", told, re.MULTILINE) and "of the test" not in told, told
    assert "hf-token" not in quickstart.glim.text("secret", "list", user="ana")


@pytest.mark.skipif(os.geteuid() != 0, reason="a /srv of the test's own is root's to make")
def test_a_python_of_ones_own_is_made():
    environment, _ = pages.blocks(page("job-spec.md"), THIS)
    line = f"mount -t tmpfs none /srv\n{environment}/srv/envs/ana/sft/bin/python -c 'import sys; print(sys.prefix)'"
    argv = ["unshare", "-m", "bash", "-euo", "pipefail", "-c", line]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120 * SLOWER)
    assert (done.returncode, done.stdout) == (0, "/srv/envs/ana/sft\n"), done.stderr


def test_why_a_job_failed_is_found_out(quickstart, mine):
    job = quickstart.glim.submit(quickstart.examples.make("sft", FAILING), user="ana")
    quickstart.cluster.wait_state(job, "failed", 60)
    told = type_in(quickstart, "howto/when-a-job-fails.md", mine, JOB=str(job))
    assert "exited with code 1: ModuleNotFoundError: No module named 'no_such_module'" in told


def words_of(enumeration):
    """The core's words for an enumeration, as they are in status and why."""
    with open(os.path.join(ROOT, "scheduler", "core", "model", "enum_words.h")) as file:
        table = re.search(rf"EnumWord<{enumeration}>>\(\{{(.*?)\}}\);", file.read(), re.DOTALL)[1]
    return {word for word in re.findall(r'"(\w*)"', table) if word}


@pytest.mark.parametrize(
    "name, section, enumeration",
    [
        ("howto/find-out-why-a-job-waits.md", "## Reasons\n", "BlockerKind"),
        ("howto/when-a-job-fails.md", "## What ended the attempt\n", "Outcome"),
    ],
)
def test_a_table_has_every_word(name, section, enumeration):
    rows = re.findall(r"^\| `(\w+)` \|", pages.text_of(page(name)).split(section)[1].split("\n## ")[0], re.MULTILINE)
    assert sorted(rows) == sorted(words_of(enumeration))


@pytest.mark.parametrize(
    "name",
    sorted(
        os.path.join(folder, file)
        for folder in ("tutorials", "howto")
        for file in os.listdir(os.path.join(ROOT, "docs", folder))
        if file.endswith(".md")
    ),
)
def test_the_commands_in_sentences_are_there(name, quickstart):
    glim = quickstart.glim
    for words in pages.inline_commands(page(name)):
        command = list(itertools.takewhile(re.compile(r"[a-z]+").fullmatch, words))
        told = glim.run(*command, "--help")
        assert told.returncode == 0, f"{name}: glim {' '.join(words)}: {told.stderr}"
        for option in (word for word in words if re.fullmatch(r"--[a-z-]+", word)):
            assert f"{option} " in told.stdout + glim.text("--help"), f"{name}: glim {' '.join(words)}: no {option}"
