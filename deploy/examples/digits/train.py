"""Handwritten digits with DistributedDataParallel, made to be interrupted: however often that happens, the final
weights are, bit for bit, those of a run that was left alone.

Run by Glim with `launcher: per-gpu` (see job.yaml), or alone: python3 train.py --out /tmp/digits
"""

import argparse
import datetime
import gzip
import hashlib
import importlib.util
import ipaddress
import json
import os
import sys
import time

import glim
import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

HELD_OUT_EVERY = 5  # every fifth digit is for the test


class Digits(Dataset):
    """The 1,797 scanned digits (8 x 8, 0 to 16) that ship with scikit-learn, read from its file: importing sklearn
    itself would cost every rank a hundred megabytes."""

    def __init__(self, held_out):
        spec = importlib.util.find_spec("sklearn")
        if spec is None:
            raise SystemExit("the digits come with scikit-learn: apt-get install python3-sklearn")
        folder = spec.submodule_search_locations[0]
        with gzip.open(os.path.join(folder, "datasets", "data", "digits.csv.gz"), "rt") as file:
            table = numpy.loadtxt(file, delimiter=",", dtype=numpy.float32)
        table = table[(numpy.arange(len(table)) % HELD_OUT_EVERY == 0) == held_out]
        self.images = torch.from_numpy(table[:, :-1] / 16.0).reshape(-1, 1, 8, 8)
        self.labels = torch.from_numpy(table[:, -1]).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def with_fixed_buckets(model):
    """DDP, summing in the same order from the first step to the last.

    After its first step DDP rebuilds its buckets in the order in which the gradients became ready. That moves
    parameters inside the flat buffers, so the ring's chunks, and with three or more ranks the order in which a
    parameter's shares are added up, change with the second step; a resumed run has its "first" step elsewhere and ends
    with other bits. In torch 1.13 neither one bucket for everything (bucket_cap_mb) nor gradient_as_bucket_view nor
    static_graph prevents that; find_unused_parameters=True does, as buckets are never rebuilt with it.
    sdk/python/tests/test_ddp_buckets.py shows all four."""
    return DistributedDataParallel(model, find_unused_parameters=True)


def join_ranks():
    """(rank, world). Alone, without a launcher, it is a group of one."""
    defaults = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29531"}
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    try:
        on_one_machine = ipaddress.ip_address(os.environ["MASTER_ADDR"]).is_loopback
    except ValueError:
        on_one_machine = os.environ["MASTER_ADDR"] == "localhost"
    if on_one_machine:  # gloo would take the host name's address, which need not be reachable
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    return dist.get_rank(), dist.get_world_size()


class StepLog:
    """One line a step, "attempt step batch-hash", appended to a file that outlives attempts; check.py reads it."""

    def __init__(self, folder, rank):
        os.makedirs(folder, exist_ok=True)
        self._file = open(os.path.join(folder, f"rank-{rank}.txt"), "a", buffering=1)
        self._attempt = os.environ.get("GLIM_ATTEMPT", "1")

    def add(self, step, images, labels):
        digest = hashlib.sha256(images.numpy().tobytes() + labels.numpy().tobytes()).hexdigest()
        self._file.write(f"{self._attempt} {step} {digest[:16]}\n")


def write_result(folder, model, steps, world):
    test = Digits(held_out=True)
    model.eval()
    with torch.no_grad():
        right = (model(test.images).argmax(1) == test.labels).sum().item()
    from glim.torch import weights_digest

    result = {"accuracy": right / len(test), "weights_digest": weights_digest(model), "steps": steps, "world": world}
    with open(os.path.join(folder, "result.json.part"), "w") as file:
        json.dump(result, file)
    os.replace(file.name, os.path.join(folder, "result.json"))
    print(json.dumps(result), flush=True)


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=16, help="of each rank")
    parser.add_argument("--step-ms", type=int, default=0, help="least duration of a step")
    parser.add_argument("--save-every", type=int, default=None, help="steps between two saves besides the interrupts'")
    parser.add_argument("--out", default="out", help="shared folder for the ranks' step logs and result.json")
    parser.add_argument("--checkpoint-dir", default=None, help="for saves where no platform names a folder")
    return parser.parse_args()


def main():
    args = options()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(args.seed)
    with glim.session(checkpoint_dir=args.checkpoint_dir) as run:
        rank, world = join_ranks()
        data = Digits(held_out=False)
        sampler = DistributedSampler(data, world, rank, shuffle=True, seed=args.seed, drop_last=True)
        loader = DataLoader(data, args.batch_size, sampler=sampler, drop_last=True)
        model = with_fixed_buckets(make_model())
        optim = torch.optim.Adam(model.parameters(), lr=3e-3)
        run.track(model=model, optim=optim, sampler=sampler, seed=args.seed)
        run.restore()
        log = StepLog(args.out, rank)
        print(f"rank {rank} of {world} begins with step {run.step}", flush=True)
        for images, labels in run.steps(loader, epochs=args.epochs, save_every=args.save_every):
            began = time.monotonic()
            optim.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optim.step()
            log.add(run.step, images, labels)
            run.progress(loss=loss.item())
            time.sleep(max(0.0, args.step_ms / 1000 - (time.monotonic() - began)))
    if run.stopped:
        print(f"rank {rank} stopped before step {run.step}", flush=True)
    elif rank == 0:
        write_result(args.out, model.module, run.step, world)


def end_process():
    """Ends without tearing PyTorch down: gloo's threads and the interpreter's end race, and the loser aborts the
    process with "terminate called without an active exception", a failure of a job that has done all its work."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
    end_process()
