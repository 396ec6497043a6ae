"""Times torch.distributed.all_reduce between processes of this machine, all on its first card or in its memory.

    torch_allreduce.py gloo|nccl RANKS cuda|cpu BYTES:ITERATIONS...

Prints a JSON line for each size: the median and the best of the slowest rank's times. Times and checks as
hfreduce-bench does: a barrier before each, and until the result is there.
"""

import datetime
import json
import os
import socket
import statistics
import subprocess
import sys
import time

BOUND_S = 100


def run_rank(backend, ranks, where, sizes):
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    device = torch.device("cuda:0" if where == "cuda" else "cpu")
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=60))
    for word in sizes:
        size, count = (int(number) for number in word.split(":"))
        times = []
        for at in range(count + max(count // 10, 1)):
            buffer = torch.full((size // 4,), float(rank + 1), device=device)
            settle(torch, where)
            dist.barrier()
            began = time.perf_counter()
            dist.all_reduce(buffer)
            settle(torch, where)
            times.append(time.perf_counter() - began)
        wanted = ranks * (ranks + 1) / 2
        if not bool((buffer == wanted).all()):
            raise SystemExit(f"rank {rank}: the sum of {size} bytes is wrong")
        slowest = torch.tensor(times[-count:], dtype=torch.float64, device=device if backend == "nccl" else "cpu")
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        if rank == 0:
            micros = [1e6 * seconds for seconds in slowest.tolist()]
            print(
                json.dumps(
                    {
                        "bytes": size,
                        "median_us": round(statistics.median(micros), 2),
                        "best_us": round(min(micros), 2),
                        "iterations": count,
                    }
                ),
                flush=True,
            )
    dist.destroy_process_group()


def settle(torch, where):
    if where == "cuda":
        torch.cuda.synchronize()


def main():
    backend, ranks, where, sizes = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    if "RANK" in os.environ:
        run_rank(backend, ranks, where, sizes)
        return 0
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    children = []
    for rank in range(ranks):
        environment = {
            **os.environ,
            "RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "GLOO_SOCKET_IFNAME": "lo",
            "OMP_NUM_THREADS": "1",
        }
        children.append(subprocess.Popen([sys.executable, *sys.argv], env=environment))
    return 0 if all_ended_well(children) else 1


def all_ended_well(children):
    """Waits for them. When one has failed the others, which wait for that one, are killed; so are all that are late."""
    end = time.monotonic() + BOUND_S
    while any(child.returncode is None for child in children):
        for child in children:
            try:
                child.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
        if time.monotonic() > end or any(child.returncode for child in children):
            for child in children:
                child.kill()
    return all(child.returncode == 0 for child in children)


if __name__ == "__main__":
    sys.exit(main())
