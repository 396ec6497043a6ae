"""Job D: leaves a daemon behind that detached itself from everything and ignores SIGTERM. Its node must not be given to
anybody else before the daemon is gone, too.

OUT/daemon.pid holds the daemon's process id, OUT/heartbeat its last sign of life (seconds since the epoch)."""

import argparse
import os
import signal
import time


def detach():
    """Double fork: the daemon has a session of its own and its parent is gone. True in the daemon."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    return True


def replace(path, text):
    with open(path + ".part", "w") as file:
        file.write(text)
    os.replace(path + ".part", path)


def daemon(out, until):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    replace(os.path.join(out, "daemon.pid"), f"{os.getpid()}\n")
    while time.monotonic() < until:
        replace(os.path.join(out, "heartbeat"), f"{time.time():.3f}\n")
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="out")
    parser.add_argument("--main", choices=("exit", "stay"), default="stay", help="what the first process does")
    parser.add_argument("--seconds", type=float, default=600, help="both end by themselves after that")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    until = time.monotonic() + args.seconds
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if detach():
        daemon(args.out, until)
        os._exit(0)
    pid_file = os.path.join(args.out, "daemon.pid")
    while not os.path.exists(pid_file) and time.monotonic() < until:
        time.sleep(0.01)
    print("the daemon runs", flush=True)
    while args.main == "stay" and time.monotonic() < until:
        time.sleep(0.1)


if __name__ == "__main__":
    main()
