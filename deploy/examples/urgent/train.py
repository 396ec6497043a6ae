"""Job B: a short job that cannot wait. Four nodes fit a softmax regression to the handwritten digits, summing their
gradients with an allreduce of their own, and are done a few seconds after the start."""

import argparse
import datetime
import gzip
import importlib.util
import os
import sys

import glim
import numpy
import torch
import torch.distributed as dist


def digits():
    """Scikit-learn's digits, read without importing it: images (n, 64) in 0..1 and labels (n)."""
    spec = importlib.util.find_spec("sklearn")
    if spec is None:
        raise SystemExit("the digits come with scikit-learn: apt-get install python3-sklearn")
    path = os.path.join(spec.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
    with gzip.open(path, "rt") as file:
        table = numpy.loadtxt(file, delimiter=",", dtype=numpy.float32)
    return torch.from_numpy(table[:, :-1] / 16.0), torch.from_numpy(table[:, -1]).long()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29532"}.items():
        os.environ.setdefault(name, value)
    if os.environ["MASTER_ADDR"].startswith("127."):  # one machine: gloo's choice by host name may be unreachable
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    with glim.session() as run:
        dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
        rank, world = dist.get_rank(), dist.get_world_size()
        images, labels = digits()
        mine = slice(rank, None, world)
        weights = torch.zeros(64, 10, requires_grad=True)
        for _ in run.steps(range(args.steps), epochs=1):
            loss = torch.nn.functional.cross_entropy(images[mine] @ weights, labels[mine])
            (gradient,) = torch.autograd.grad(loss, weights)
            dist.all_reduce(gradient)
            with torch.no_grad():
                weights -= 2.0 * gradient / world
            run.progress(loss=loss.item())
    if run.stopped:
        return
    right = ((images[mine] @ weights).argmax(1) == labels[mine]).sum()
    dist.all_reduce(right)
    accuracy = right.item() / len(labels)
    if rank == 0:
        print(f"accuracy {accuracy:.3f} after {args.steps} steps on {world} ranks", flush=True)
    if accuracy < 0.9:
        sys.exit("it did not learn")


def end_process():
    """Ends without tearing PyTorch down: gloo's threads and the interpreter's end race, and the loser aborts the
    process with "terminate called without an active exception", a failure of a job that has done all its work."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
    end_process()
