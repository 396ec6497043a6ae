"""Glim's units under a real systemd: a Debian system is booted in a container, Glim is installed into it as an
operator would, and daemons are started, restarted, killed and stopped while a job runs.

    tests/systemd/run [--hierarchy hybrid|unified] [--build FOLDER]

Needs root and `deploy/install-deps systemd`. The first run makes the Debian system (two minutes, from the mirror that
apt uses) below build/systemd, later ones take a minute. The last line is "N passed, M failed"."""

import argparse
import os
import signal
import sys
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "deploy"))
sys.dont_write_bytecode = True

from machine import Machine, make_root  # noqa: E402
from promises import Promises  # noqa: E402

# Version 1 is there or it is not.
HIERARCHIES = ("unified",) if os.path.exists("/sys/fs/cgroup/cgroup.procs") else ("hybrid", "unified")


def run(build, hierarchy):
    """(kept, broken) promises of one machine's life."""
    print(f"==> control groups: {hierarchy}", flush=True)
    machine, kept, broken = None, 0, 0
    try:
        root = make_root(os.path.join(build, "bin"), os.path.join(ROOT, "build", "systemd"))
        machine = Machine(build, root, hierarchy)
        for promise in Promises(machine).all():
            promise()
            print(f"  {promise.__name__.replace('_', ' ')}: kept", flush=True)
            kept += 1
    except Exception:  # each builds on those before it
        broken += 1
        traceback.print_exc()
        if machine and machine.leader:
            print(machine.try_run("journalctl -b --no-pager -n 80 -u 'glim-*'; systemctl --failed --no-pager").stdout)
    finally:
        if machine:
            machine.stop()
    return kept, broken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="what is installed")
    parser.add_argument("--hierarchy", choices=HIERARCHIES, help="one of the two alone")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    counts = [run(args.build, name) for name in ([args.hierarchy] if args.hierarchy else HIERARCHIES)]
    failed = sum(broken for _, broken in counts)
    print(f"{sum(kept for kept, _ in counts)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
