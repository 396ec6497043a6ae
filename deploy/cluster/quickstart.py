"""The work of deploy/quickstart once the packages are there: build, start a cluster, run the story, tell, clean up."""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

from .accounts import OTHERS, closed_to
from .allowed import callers_folders
from .build import build
from .commands import StepFailed
from .dashboard import NoPage, Page, ways_to
from .folders import make_folder, remove_folder
from .hardware import gpu_falls_off, problems_of_hardware
from .kernel_logs import KernelLogs
from .leftovers import stop_remembered
from .local_cluster import CONFIG, LocalCluster
from .metrics import Metrics
from .progress import TimeLeft, left_of_steps, words
from .receipt import runtime_words, story_json, story_lines
from .spec import Examples, copy_for_everybody
from .story import Stage, Training, random_step
from .terminal_line import TerminalLine
from .verdict import problems_of_deaf, problems_of_interrupt, problems_of_runtime, problems_of_stubborn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "build", "release", "bin")
PREFIX = "glim-qs-"
USERS = ("ana", "ben")


# How many seconds the parts of the story take on a quiet machine with two processor cores.
STORY = {"start": 1, "reference": 7, "interrupt": 16, "deaf_and_stubborn": 7, "hardware": 12}


class Steps:
    """Says what is being done and how long it took. On a terminal a line below tells how far it is: `names` are the
    steps to come, and `note` is told what is known of the present one."""

    def __init__(self, names=(), line=None):
        self.durations, self.names, self.line = {}, list(names), line or TerminalLine()
        self._step, self._began, self._reading, self._time_left = ("", ""), 0.0, None, TimeLeft()

    def say(self, line):
        self.line.say(f"    {line}")

    def note(self, reading):
        self._reading = reading
        self.line.show(self._text())

    def run(self, name, what, work, own_line=False):
        """`own_line`: what does the work tells by itself how far it is."""
        self.line.say(f"==> {what}")
        self._step, self._began, self._reading, self._time_left = (name, what), time.monotonic(), None, TimeLeft()
        with contextlib.nullcontext() if own_line else self.line.ticking(self._text):
            result = work()
        self.durations[name] = round(time.monotonic() - self._began, 2)
        self.say(f"{self.durations[name]:.1f} s")
        return result

    def _text(self):
        now, (name, what), reading = time.monotonic(), self._step, self._reading
        elapsed = now - self._began
        if reading is not None:
            return words(reading.count, elapsed, self._time_left.seconds(reading, now), reading.what)
        count = f"step {self.names.index(name) + 1} of {len(self.names)}"
        return words(count, elapsed, self._left_of_story(name, elapsed), what)

    def _left_of_story(self, name, elapsed):
        """Seconds; None: this is no part of it."""
        parts = list(STORY)
        if name not in parts:
            return None
        took = [self.durations[part] for part in parts[: parts.index(name)]]
        return left_of_steps(list(STORY.values()), took, elapsed)

    def summary(self):
        """What each phase took that there was."""
        phases = {"packages": ["install_deps"], "build": ["build"], "dashboard": ["page"], "story": STORY}
        took = {
            word: [self.durations[name] for name in names if name in self.durations] for word, names in phases.items()
        }
        return ", ".join(f"{word} {sum(seconds):.0f} s" for word, seconds in took.items() if seconds)


def install_packages():
    """What deploy/install-deps says is for the terminal. A Ctrl-C there reaches it, too, and it ends in order: it is
    waited for whatever happens, as dpkg must not be left amid a package."""
    argv = [os.path.join(ROOT, "deploy", "install-deps"), "build", "run"]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    interrupted = False
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:
            interrupted = True
            process.terminate()
    if interrupted:
        raise KeyboardInterrupt
    if code != 0:
        raise StepFailed(f"deploy/install-deps build run failed (exit code {code}); what it said is above")


def find_page(folder, may_build, say, page=None):
    """The scheduler's line about the page; "" where there is none, and then the story goes on without it."""
    page = page or Page()
    try:
        root = page.build(os.path.join(folder, "page.log")) if may_build else page.as_it_is()
    except NoPage as error:
        say(f"without the dashboard's page: {error}")
        return ""
    return f"web_root: {json.dumps(root)}\n"


def tell_story(stage, steps, seed, logs, metrics):
    """What happened, by the names of story_lines' parameters, and what of it is not as it must be."""
    training = Training(seed=seed, later_step_ms=0)
    reference = steps.run(
        "reference",
        "Job A, 4 ranks on 2 nodes, is left alone once, to know what must come out",
        lambda: stage.reference("reference", replace(training, step_ms=0)),
    )
    steps.say(
        f"{reference['steps']} steps, accuracy {reference['accuracy']:.4f}, "
        f"weights {reference['weights_digest'][:16]}"
    )
    step = random_step(seed, training, reference["steps"])
    main = steps.run(
        "interrupt",
        f"Job A again; job B, more urgent, comes after step {step}",
        lambda: stage.interrupted("digits", training, step, "reference"),
    )
    others = steps.run(
        "deaf_and_stubborn",
        "Job C, which never answers, and job D, which leaves a daemon behind",
        lambda: stage.deaf_and_stubborn(30 + seed % 20),
    )
    hardware = steps.run(
        "hardware",
        "Job E, job A's training once more, loses a GPU: it falls off the bus (for show: no hardware is touched)",
        lambda: gpu_falls_off(stage, logs, metrics, "hardware", "reference", seed),
    )
    problems = (
        problems_of_runtime(stage.cluster.runtime, stage.glim.nodes(), main["seen"])
        + problems_of_interrupt(main)
        + problems_of_deaf(others)
        + problems_of_stubborn(others)
        + problems_of_hardware(hardware)
    )
    return {"reference": reference, "main": main, "others": others, "hardware": hardware}, problems


def folder_for_a_job(cluster):
    """One that the caller may write in, and jobs, too: in containers they are other users, whom a home is closed to."""
    return cluster.job_folder("first") if cluster.task_user else "~/first"


def examples_for_a_job(cluster):
    """Where the caller's jobs may run them: in the checkout, or in a copy of what is closed to tasks' users there."""
    examples = os.path.join(ROOT, "deploy", "examples")
    if not cluster.task_user or not closed_to(OTHERS, examples):
        return examples
    copy = os.path.join(cluster.jobs, "examples")
    copy_for_everybody(examples, copy)
    return copy


def where_jobs_may_lie(cluster):
    if not cluster.task_user:
        return "Jobs may lie in any folder."
    return f"Jobs may lie in {', '.join([cluster.jobs, *cluster.allow])}, where their users' rights lead."


def print_ways(cluster, page):
    own, examples = folder_for_a_job(cluster), examples_for_a_job(cluster)
    if page:
        print("\n" + "\n".join(ways_to(cluster)))
    print(
        f"""
The cluster is left running. A job of your own, from a folder of your own; then an urgent one, for which it makes room:
    export GLIM_SERVER={cluster.server} GLIM_CA={cluster.glim.tokens.authority} PATH={cluster.bin}:$PATH
    export GLIM_TOKEN_FILE={cluster.glim.tokens.file_of("ana", cluster.glim)}    # you are ana; beside it lies ben's
    mkdir -p {own} && cd {own} && cp {examples}/first/* . && job=$(glim submit job.yaml)
    sleep 10; glim submit --wait {examples}/urgent/job.yaml
    glim status $job            # who interrupted it, what that cost, where it went on
    glim logs -f $job           # through all its attempts, to its end
{where_jobs_may_lie(cluster)} Logs and the database are in {cluster.folder}.
To stop the cluster and remove that folder:
    {os.path.join(ROOT, 'deploy', 'quickstart')} --stop {cluster.folder}"""
    )


def options(words=None):
    parser = argparse.ArgumentParser(
        prog="deploy/quickstart",
        description="Builds Glim, starts a cluster on this machine, interrupts a training "
        "job for a more urgent one, and tells what happened.",
    )
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    parser.add_argument("--json", metavar="FILE", help="also write what happened to FILE")
    parser.add_argument("--seed", type=int, default=1, help="of the training and of the moment of the interrupt [1]")
    parser.add_argument("--no-build", action="store_true", help="use the programs in build/release/bin as they are")
    parser.add_argument("--no-packages", action="store_true", help="install no packages: they are there")
    parser.add_argument("--stop", metavar="FOLDER", help="stop a cluster that --keep left running")
    return parser.parse_args(words)


def interrupt_on_signals():
    """A SIGTERM or a closed terminal ends us like Ctrl-C: in order."""

    def handle(number, frame):
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handle)


def tell(words, out):
    """What is printed on the way to the end: that its reader or the terminal has gone must not keep us from it."""
    with contextlib.suppress(OSError):
        print(words, file=out, flush=True)


def clean_up(cluster, folder, keep_folder):
    """Stops the cluster; nothing may interrupt that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    faults = cluster.stop() if cluster else []
    for fault in faults:
        tell(f"    {fault}", sys.stderr)
    if not keep_folder and not faults:
        remove_folder(folder)
    return faults


def prepare(args, steps, folder):
    """What is there before the story begins. Returns the scheduler's line about the page. Raises StepFailed."""
    if not args.no_packages:
        steps.run("install_deps", "Packages (apt, only what is missing)", install_packages, own_line=True)
        steps.durations["install_deps"] += float(os.environ.get("QUICKSTART_DEPS_SECONDS", "0"))
    if not args.no_build:
        steps.run(
            "build",
            "Building (cmake, release preset); the first time takes minutes",
            lambda: build(ROOT, os.path.join(folder, "build.log"), steps.note),
        )
    return steps.run(
        "page",
        "The dashboard's page (npm, only what is out of date)",
        lambda: find_page(folder, not args.no_build, steps.say),
    )


def run(args, steps, folder):
    """Returns whether all is well."""
    try:
        page = prepare(args, steps, folder)
    except StepFailed as error:
        print(f"\nerror: {error}", file=sys.stderr)
        if args.json:
            write_json(args.json, failure_json([str(error)], steps.durations))
        return False
    allow = callers_folders(ROOT) if args.keep else ()
    logs, metrics = KernelLogs(folder), Metrics()
    config = page + metrics.config(CONFIG)
    options = {"allow": allow, "config": config, "checkpoint_root": True, "users": USERS, "kernel_log": logs.options}
    cluster = LocalCluster(BIN, folder, **options)
    ok, keep = False, False
    try:
        steps.run("start", "Starting a scheduler with the embedded database and four agents", cluster.start)
        steps.say(f"tasks will run {runtime_words(cluster.runtime)}")
        steps.say("every call is TLS and has a token; the nodes are enrolled; the users are ana and ben")
        for user, (uid, _) in cluster.user_ids.items():
            steps.say(f"{user}'s tasks are uid {uid}, and have its rights alone")
        for line in ways_to(cluster) if page else ():
            steps.say(line)
        stage = Stage(cluster, Examples(ROOT, cluster.jobs, cluster.task_user), cluster.jobs, steps.say)
        told, problems = tell_story(stage, steps, args.seed, logs, metrics)
        print()
        print("\n".join(story_lines(cluster.runtime, **told)))
        ok = not problems
        for problem in problems:
            print(f"PROBLEM: {problem}", file=sys.stderr)
        if args.json:
            write_json(
                args.json,
                story_json(cluster.runtime, cluster.glim.nodes(), steps.durations, problems, **told),
            )
        keep = args.keep and ok
    except Exception as error:
        tell(f"\nerror: {error}\n\n{cluster.tails()}", sys.stderr)
        if args.json:
            write_json(args.json, failure_json([str(error)], steps.durations))
    finally:
        if keep:
            print_ways(cluster, page)
        else:
            tell("==> Stopping what was started", sys.stdout)
            faults = clean_up(cluster, folder, keep_folder=not ok)
            ok = ok and not faults
    if not ok:
        print(f"The story did not hold; logs are in {folder}", file=sys.stderr)
    return ok


def failure_json(problems, durations):
    """What --json writes where the story did not come to its end."""
    return {"version": 1, "ok": False, "problems": problems, "durations_s": durations}


def write_json(path, document):
    with open(path + ".part", "w") as file:
        json.dump(document, file, indent=2)
        file.write("\n")
    os.replace(path + ".part", path)


def main():
    args = options()
    if args.stop:
        stop_remembered(args.stop)
        return 0
    interrupt_on_signals()
    left_out = {name for name, no in (("install_deps", args.no_packages), ("build", args.no_build)) if no}
    steps = Steps(name for name in ("install_deps", "build", "page", *STORY) if name not in left_out)
    began = time.monotonic()
    folder = make_folder(PREFIX)
    try:
        ok = run(args, steps, folder)
    except KeyboardInterrupt:
        print(f"\ninterrupted; everything was stopped, logs are in {folder}", file=sys.stderr)
        return 130
    if ok:
        print(f"\nThe story holds. It took {time.monotonic() - began:.0f} s: {steps.summary()}.")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
