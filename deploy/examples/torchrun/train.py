"""DistributedDataParallel over gloo under torchrun, or under `launcher: per-gpu`: the script is the same.

Under torchrun the scheduler knows one process a node, so there is no agreement on a step: at an interrupt rank 0 stops
at its next step, saves and leaves, and what breaks in the others meanwhile is no failure."""

import ipaddress
import os
import sys
import time

import glim
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS = int(os.environ.get("STEPS", "300"))
PAUSE = float(os.environ.get("STEP_SECONDS", "0.1"))


def join_ranks():
    try:
        on_one_machine = ipaddress.ip_address(os.environ["MASTER_ADDR"]).is_loopback
    except ValueError:
        on_one_machine = os.environ["MASTER_ADDR"] == "localhost"
    if on_one_machine:  # gloo would take the host name's address, which need not be reachable
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo")  # "nccl" where there are GPUs
    return dist.get_rank(), dist.get_world_size()


def main():
    with glim.session() as run:
        rank, world = join_ranks()
        model = DistributedDataParallel(torch.nn.Linear(8, 1), find_unused_parameters=True)
        optim = torch.optim.Adam(model.parameters(), lr=0.02)
        run.track(model=model, optim=optim, seed=1)
        print(f"rank {rank} of {world} begins with step {run.restore()}", flush=True)
        for _ in run.steps(range(STEPS), save_every=50):
            x = torch.rand(64, 8)
            loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
            optim.zero_grad()
            loss.backward()
            optim.step()
            run.progress(loss=loss.item())
            time.sleep(PAUSE)
    if run.stopped:
        return
    if rank == 0:
        print(f"done after {STEPS} steps on {world} ranks, loss {run.loss}", flush=True)


def end_process():
    """Ends without tearing PyTorch down: gloo's threads and the interpreter's end race, and the loser aborts the
    process."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
    end_process()
