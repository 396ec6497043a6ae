"""What a training stack asks of the kernel, as a task: shared memory between a loader and its workers, processes that
share tensors, threads of BLAS, and a collective over the loopback network. One line for each that worked."""

import multiprocessing
import os
import sys
from multiprocessing import shared_memory

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing
from torch.utils.data import DataLoader, Dataset

ITEMS, WIDTH = 16, 1 << 18  # of a MiB each


class Numbers(Dataset):
    def __len__(self):
        return ITEMS

    def __getitem__(self, index):
        return torch.full((WIDTH,), float(index))


def blas_uses_threads():
    left = numpy.arange(512 * 512, dtype=numpy.float64).reshape(512, 512) % 7
    # (Numbers that doubles hold exactly, in whatever order they are added.)
    assert (left @ left == numpy.einsum("ij,jk->ik", left, left)).all()
    assert len(os.listdir("/proc/self/task")) >= 2, "one thread alone"


def a_loader_has_workers(strategy, context):
    torch.multiprocessing.set_sharing_strategy(strategy)
    # (Workers that have been forked with torch's threads in use would wait for ones that are not there.)
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2, multiprocessing_context=context)
    assert sum(int(batch.double().sum()) for batch in loader) == WIDTH * sum(range(ITEMS))


def double(queue, done):
    tensor = queue.get()
    tensor *= 2
    done.set()


def processes_share_a_tensor():
    context = torch.multiprocessing.get_context("spawn")
    queue, done = context.Queue(), context.Event()
    child = context.Process(target=double, args=(queue, done))
    child.start()
    tensor = torch.ones(WIDTH)
    queue.put(tensor)
    assert done.wait(60) and int(tensor.sum()) == 2 * WIDTH
    child.join()


def names_in_shared_memory():
    made = shared_memory.SharedMemory(create=True, size=1 << 20)
    try:
        found = shared_memory.SharedMemory(made.name)
        made.buf[4095] = 7
        assert found.buf[4095] == 7
        found.close()
    finally:
        made.close()
        made.unlink()
    with multiprocessing.Pool(2) as pool:  # named semaphores
        assert pool.map(abs, [-1, -2]) == [1, 2]


def rank(number, folder):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{folder}/met", rank=number, world_size=2)
    tensor = torch.full((WIDTH,), float(number + 1))
    dist.all_reduce(tensor)
    assert int(tensor.sum()) == 3 * WIDTH
    dist.barrier()
    os._exit(0)  # gloo's threads and the interpreter's end race


def ranks_reduce_over_loopback():
    torch.multiprocessing.spawn(rank, args=("/tmp",), nprocs=2)


def confined():
    """That all this is tried in a container as jobs have it."""
    with open("/proc/self/status") as file:
        status = file.read()
    assert "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status and "CapBnd:\t0000000000000000" in status, status
    assert os.getuid() != 0


def main():
    confined()
    blas_uses_threads()
    print("threads", flush=True)
    for strategy in ("file_descriptor", "file_system"):
        for context in ("fork", "spawn"):
            a_loader_has_workers(strategy, context)
            print(f"loader {strategy} {context}", flush=True)
    processes_share_a_tensor()
    print("tensor", flush=True)
    names_in_shared_memory()
    print("names", flush=True)
    ranks_reduce_over_loopback()
    print("ranks", flush=True)
    assert os.listdir("/dev/shm") == [], os.listdir("/dev/shm")


if __name__ == "__main__":
    sys.exit(main())
