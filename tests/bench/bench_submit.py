"""tests/bench/run submit: what `glim submit` costs as a process.

Each round starts every program once, forwards or backwards in turn, so that what else the machine does is in all of
them: /bin/true (what any process costs), `glim --version` (the program is loaded as well), `glim submit --dry-run` (a
connection and a call as well), `glim submit` (a commit as well). Between the rounds a like job is submitted on a
channel that stands already. --against GLIM also runs another build of glim; its ratios are of pairs of one round."""

import os
import statistics
import time

from programs import options_of, parser_of, told_by

from clusters import add_dir, block, busy_queue, folder_on_disk, running
from figures import Figures, fdatasync_ms, filesystem_of, percentile

AIM_MS = 12
WARM_UP = 3
WARM_CHANNEL_EVERY = 50  # rounds
WARM_CHANNEL_SECONDS = 0.2
QUICK = {"rounds": 3}


def process_ms(argv, env, nothing):
    """From the start of a process to its end, as a shell's loop would see it; what it prints is thrown away."""
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=[(os.POSIX_SPAWN_DUP2, nothing, n) for n in (0, 1, 2)])
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter() - began) * 1000
    if status != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit code {os.waitstatus_to_exitcode(status)}")
    return took


def warm_channel_ms(bin_folder, cluster):
    """p50 of one submission after the other, from one process, on one connection."""
    argv = [os.path.join(bin_folder, "glim-bench-submit"), "--server", cluster.server, "--clients", 1]
    return told_by([*argv, "--seconds", WARM_CHANNEL_SECONDS])["rpc_p50_ms"]


def commands(programs, spec):
    """{metric: argv}"""
    found = {"bare_process": ["/bin/true"]}
    for name, program in programs.items():
        found[f"{name}_version_process"] = [program, "--version"]
        found[f"{name}_submit_dry_run_process"] = [program, "submit", "--dry-run", spec]
        found[f"{name}_submit_process"] = [program, "submit", spec]
    return found


def in_turn(bin_folder, cluster, argvs, rounds):
    """{metric: durations}, and the durations on the warm channel."""
    took, warm = {metric: [] for metric in argvs}, []
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(-WARM_UP, rounds):
        for metric in list(argvs) if number % 2 else reversed(argvs):
            value = process_ms(argvs[metric], cluster.glim.env_of(), nothing)
            if number >= 0:
                took[metric].append(value)
        if number % WARM_CHANNEL_EVERY == 0:
            warm.append(warm_channel_ms(bin_folder, cluster))
    os.close(nothing)
    return took, warm


def tell(figures, took, warm, against):
    for metric, values in took.items():
        figures.percentiles(
            metric, values, {"p50": AIM_MS} if metric == "glim_submit_process" else None, min=round(min(values), 3)
        )
    submit = statistics.median(took["glim_submit_process"])
    figures.tell("submit_on_warm_channel_p50", round(statistics.median(warm), 3), "ms", len(warm))
    for metric, base in (
        ("bare_process", percentile(took["bare_process"], 0.5)),
        ("warm_channel", statistics.median(warm)),
    ):
        figures.tell(f"glim_submit_process_to_{metric}", round(submit / base, 2), "ratio", len(took["bare_process"]))
    for command in ("version", "submit_dry_run", "submit") if against else ():
        pairs = zip(took[f"other_{command}_process"], took[f"glim_{command}_process"])
        figures.tell(
            f"other_{command}_process_to_glim",
            round(statistics.median(a / b for a, b in pairs), 3),
            "ratio",
            len(took["bare_process"]),
        )


def main():
    parser = parser_of("submit", __doc__, QUICK)
    add_dir(parser)
    parser.add_argument("--rounds", type=int, default=200, help="starts of each program [200]")
    parser.add_argument("--against", metavar="GLIM", help="another build's glim, in the same rounds")
    args = options_of(parser)
    figures = Figures("submit")
    programs = {"glim": os.path.join(args.bin, "glim")}
    if args.against:
        programs["other"] = os.path.abspath(args.against)
    with folder_on_disk(args.dir) as folder:
        figures.percentiles("raw_fdatasync_4096_bytes", fdatasync_ms(folder), filesystem=filesystem_of(folder))
        cluster = busy_queue(args.bin, folder, secure=False)
        with running(cluster) as examples:
            block(cluster, examples, 4)
            spec = examples.make("queued", "true", nodes=4)
            took, warm = in_turn(args.bin, cluster, commands(programs, spec), args.rounds)
            tell(figures, took, warm, args.against)


if __name__ == "__main__":
    main()
