"""tests/bench/run quick: every benchmark for some seconds, with small numbers: that it measures, and that what it says
are figures. Whether the figures are good is docs/figures.md's.

A benchmark passes if it ends well and tells each figure that is expected of it, all of them numbers. What a benchmark
needs and this machine has not (a peer, a browser) fails it. One that only root can run is left out for other users,
and named. The last line is "N passed, M failed".
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time

from programs import BIN, chosen

from cluster.processes import SLOWER

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S, ENDS_S = 300, 60
SHOWN = 60  # lines of what a benchmark that failed said
# What each has to tell.
EXPECTED = {
    "checkpoint": {
        "save_of_fio",
        "save_of_torch_save_fsync",
        "save_of_write_fsync",
        "stall_of_memcpy",
        "load_of_fio",
        "load_of_torch_load",
        "small_of_torch_save_fsync",
        "step_slowdown",
    },
    "estimates": {"estimates_within"},
    "hfreduce": {
        "allreduce_2MiB_2_nodes",
        "allreduce_2MiB_8_nodes",
        "wire_rate_4_nodes",
        "allreduce_1MiB_4_nodes",
        "allreduce_64KiB_4_nodes",
        "allreduce_2MiB_1_node_of_4",
        "of_memory_bound_one_result",
        "allreduce_2MiB_2_nodes_of_8",
        "kernel_bf16",
        "waiting_rank_cpu",
        "two_zones_8_nodes",
    },
    "hostile": {"hostile_tasks_left", "idle_agent"},
    "http": {"http_stream_cores"},
    "identity": {
        "glim_queue_process_identity_p50",
        "durable_submissions_identity_to_plaintext",
        "submit_p99_beside_a_flooder",
        "agents_all_back",
        "call_in_the_scheduler_meanwhile_p99",
    },
    "interrupts": {
        "last_leaving_to_first_line_p99",
        "interrupt_request_to_last_ack_p99",
        "processor_time_there_and_back_4_nodes.machine",
    },
    "main": {
        "submission_to_first_line_p99",
        "interrupt_request_to_notice_p99",
        "last_leaving_to_first_line_p99",
        "durable_submissions",
        "durable_submissions_batched",
        "recovery_to_all_agents_reported_p50",
        "simulated_events_with_faults",
    },
    "node": {"idle_core", "idle_memory", "found_of_all", "false_alarms", "faults_missed"},
    "reports": {"page_p99", "report_max", "pass_meanwhile_p99", "answer_meanwhile_p99"},
    "savecopy": {"glim_GBps", "glim_to_cp"},
    "sched": {
        "trace_mean_queue",
        "baseline_easy",
        "pareto",
        "network",
        "month_wall",
        "pass_p99",
        "memory_per_100000_queued",
        "growth_largest",
        "starts",
        "starts_ends_only",
    },
    "sdkmount": {"started_to_first_line_sdk_costs"},
    "state": {"rows_a_second", "bytes", "load_ms"},
    "submit": {"bare_process_p50", "glim_submit_process_p50", "submit_on_warm_channel_p50"},
    "web": {
        "web_first_load_gzip",
        "web_log_open_end_p95",
        "web_log_search_p95",
    },
}
MORE_AS_ROOT = {
    "main": {"bare_runc_start_to_first_line_p50"},
    "node": {"recovery_write_to_running_p99", "validator_slow_core", "validator_slow_disk", "validator_slow_link"},
    "savecopy": {"glim_to_scp"},
    "sdkmount": {"bare_runc_start_to_first_line_sdk_costs"},
}
ROOTS = ("hostile",)  # no part of it is another user's
# Differences: noise may make them less than nothing.
SIGNED = ("_sdk_costs", "step_slowdown", "processor_time_", "baseline_", "trace_mean_queue")


def expected_of(name, is_root):
    return EXPECTED[name] | (MORE_AS_ROOT.get(name, set()) if is_root else set())


def fault_in(line):
    """What is wrong with one figure; None: nothing is."""
    missing = [key for key in ("bench", "metric", "value", "unit", "n") if key not in line]
    if missing:
        return f"it lacks {', '.join(missing)}"
    values = line["value"] if isinstance(line["value"], list) else [line["value"]]
    if not all(isinstance(value, (int, float)) and math.isfinite(value) for value in values):
        return "its value is no number"
    if min(values, default=0) < 0 and not any(word in line["metric"] for word in SIGNED):
        return "its value is less than nothing"
    return None if values and line["n"] > 0 else "it is of nothing"


def fault_of(name, out, is_root):
    """What is wrong with all that a benchmark printed; None: nothing is."""
    told = set()
    for text in out.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            return f"not a line of JSON: {text}"
        fault = fault_in(line)
        if fault:
            return f"{fault}: {text}"
        if line["bench"] != name:
            return f"it says that it is of another benchmark: {text}"
        told.add(line["metric"])
    missing = sorted(expected_of(name, is_root) - told)
    return f"it does not tell: {', '.join(missing)}" if missing else None


def end(process):
    """Ends it in order, if that helps in time, and returns what it said last."""
    process.terminate()
    try:
        out, error = process.communicate(timeout=ENDS_S * SLOWER)
    except subprocess.TimeoutExpired:
        process.kill()
        out, error = process.communicate()
    return "\n".join([*out.splitlines()[-SHOWN:], *error.splitlines()[-SHOWN:]])


def try_one(name, bin_folder, is_root):
    """What went wrong, in words; None: nothing did."""
    argv = [sys.executable, os.path.join(HERE, f"bench_{name}.py"), "--quick"]
    env = {**os.environ, "GLIM_TEST_BIN": bin_folder}
    bound = PATIENCE_S * SLOWER
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            out, error = process.communicate(timeout=bound)
        except subprocess.TimeoutExpired:
            return f"not done after {bound:g} s\n{end(process)}"
        except BaseException:
            end(process)
            raise
    if process.returncode != 0:
        last = "\n".join(error.splitlines()[-SHOWN:])
        return f"exit code {process.returncode}\n{last}"
    return fault_of(name, out, is_root)


def main():
    parser = argparse.ArgumentParser(
        prog="tests/bench/run quick", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", default=BIN, help="where the programs are [build/release/bin, or GLIM_TEST_BIN]")
    parser.add_argument("--only", default=",".join(EXPECTED), help=f"some of: {','.join(EXPECTED)}")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    is_root = os.geteuid() == 0
    passed, failed = 0, []
    for name in chosen(parser, "only", args.only, EXPECTED):
        if name in ROOTS and not is_root:
            print(f"{name}: left out, only root can run it", flush=True)
            continue
        began = time.monotonic()
        fault = try_one(name, os.path.abspath(args.bin), is_root)
        print(f"{name}: {'ok' if fault is None else 'FAILED'}, {time.monotonic() - began:.0f} s", flush=True)
        if fault is None:
            passed += 1
        else:
            failed.append(name)
            print(fault, flush=True)
    for name in failed:
        print(f"failed: {name}")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
