"""glim.hfreduce with real processes. What the ranks do are functions of this module, named as in the tests."""

import multiprocessing
import os
import subprocess
import sys
import threading
import weakref

from bounds import BOUND_S
import extension
import hfreduce_ranks
import numpy
import pytest

TWO_ZONES = [[2, 1], [1]]  # three nodes, four ranks


def new_event():
    return multiprocessing.get_context("spawn").Event()


@pytest.fixture(autouse=True)
def built():
    missing = extension.missing("_hfreduce")
    if missing:
        pytest.fail(missing)


@pytest.fixture
def run():
    """Starts ranks, as Ranks has it."""
    started = []

    def start(*arguments, zones=TWO_ZONES, **settings):
        started.append(hfreduce_ranks.Ranks(*arguments, zones=zones, **settings))
        return started[-1]

    yield start
    for ranks in started:
        ranks.stop()


@pytest.fixture
def alone():
    from glim import hfreduce

    with hfreduce.init(
        rank=0, zones=[[1]], store=("127.0.0.1", hfreduce_ranks.free_port()), name=f"alone-{os.getpid()}"
    ) as group:
        yield group


# ---- results


def reduces_arrays(group):
    for kind in ("f4", "f8", "f2", "i4", "i8"):
        own = numpy.arange(1000, dtype=kind) % 7 + group.rank
        expected = 4 * (numpy.arange(1000, dtype=kind) % 7) + 6
        before, out = own.copy(), numpy.empty_like(own)
        group.all_reduce(own, out=out)
        assert (out == expected).all() and (own == before).all(), kind
        group.all_reduce(own)
        assert (own == expected).all(), kind
    return group.rank, group.size, group.node, group.nodes, group.transport


def test_every_rank_gets_the_sum_of_arrays_in_place_or_beside(run):
    ranks = run(reduces_arrays, transport="tcp")
    assert ranks.results() == [(0, 4, 0, 3, "tcp"), (1, 4, 0, 3, "none"), (2, 4, 1, 3, "tcp"), (3, 4, 2, 3, "tcp")]


def applies_ops(group):
    found = {}
    for op in ("sum", "average", "min", "max", "product"):
        values = numpy.array([[1.0, 3.0], [2.0, 8.0], [3.0, 4.0], [4.0, 9.0]][group.rank])
        group.all_reduce(values, op)
        found[op] = values.tolist()
    assert found == {
        "sum": [10.0, 24.0],
        "average": [2.5, 6.0],
        "min": [1.0, 3.0],
        "max": [4.0, 9.0],
        "product": [24.0, 864.0],
    }


def test_ops(run):
    run(applies_ops).results()


def reduces_tensors(group):
    import torch

    bf16 = torch.full((3, 5), 1.5 + group.rank, dtype=torch.bfloat16)
    address = bf16.data_ptr()
    group.all_reduce(bf16, "average")
    assert bf16.data_ptr() == address and (bf16 == 3.0).all()
    parameter = torch.nn.Parameter(torch.full((7,), float(group.rank)))
    group.all_reduce(parameter, "max")
    assert (parameter == 3.0).all()
    part = torch.arange(6)[2:4] + group.rank  # a slice that is contiguous
    group.all_reduce(part)
    assert part.tolist() == [14, 18]
    with pytest.raises(ValueError, match="tensor: is not contiguous"):
        group.all_reduce(torch.ones(4, 4).t())
    with pytest.raises(ValueError, match="tensor: is on meta"):
        group.all_reduce(torch.ones(4, device="meta"))
    with pytest.raises(TypeError, match="tensor: elements of torch.bool cannot be reduced"):
        group.all_reduce(torch.ones(4, dtype=torch.bool))
    flags = torch.tensor([group.rank == 2])
    group.broadcast(flags, root=2)
    assert flags.tolist() == [True]


def test_torch_tensors_are_reduced_where_they_lie(run):
    run(reduces_tensors).results()


def moves_everything(group):
    rank, size = group.rank, group.size
    values, out = numpy.full(3, rank + 1.0), numpy.zeros(3)
    group.reduce(values, root=2, out=out)
    assert out.tolist() == ([10.0] * 3 if rank == 2 else [0.0] * 3) and values.tolist() == [rank + 1.0] * 3
    text = bytearray(b"from three" if rank == 3 else b"..........")
    group.broadcast(text, root=3)
    assert text == b"from three"
    group.broadcast(b"read-only" if rank == 0 else bytearray(9), root=0)
    gathered = numpy.zeros(2 * size, dtype="u1")
    group.all_gather(numpy.array([rank, 10 + rank], dtype="u1"), gathered)
    assert gathered.tolist() == [0, 10, 1, 11, 2, 12, 3, 13]
    part = numpy.zeros(2, dtype="i4")
    group.reduce_scatter(numpy.arange(2 * size, dtype="i4") + rank, part)
    assert part.tolist() == [4 * (2 * rank) + 6, 4 * (2 * rank + 1) + 6]
    halves = bytearray(numpy.full(8, 0x3F80, dtype="u2"))  # 1.0 in bf16
    group.all_reduce(halves, dtype="bf16")
    assert numpy.frombuffer(halves, dtype="u2").tolist() == [0x4080] * 8
    group.barrier()


def test_reduce_broadcast_gather_scatter_and_bytes_of_a_given_type(run):
    run(moves_everything).results()


def counts_bytes(group):
    group.all_reduce(numpy.ones(1 << 18, dtype="f4"))
    group.barrier()
    return group.node, [group.bytes_sent_to(node) for node in range(group.nodes)]


def test_only_the_gateways_exchange_data_across_zones(run):
    ranks = run(counts_bytes, zones=[[1, 1], [1, 1]], gateways=[1, 2])
    sent = dict(ranks.results())
    crossing = {(a, b) for a in (0, 1) for b in (2, 3)} | {(a, b) for a in (2, 3) for b in (0, 1)}
    assert {(a, b) for a, b in crossing if sent[a][b] > 0} == {(1, 2), (2, 1)}
    assert sent[1][2] >= 1 << 20 and sent[0][1] > 0 and sent[3][2] > 0


# ---- asynchronous


def keeps_many_in_flight(group):
    arrays = [numpy.full(1 + 1000 * i, group.rank + i, dtype="f4") for i in range(40)]
    handles = [group.all_reduce(array, async_op=True) for array in arrays]
    for handle in reversed(handles):
        handle.wait()
        handle.wait()  # again: the same answer
    assert all(handle.done() for handle in handles)
    for i, array in enumerate(arrays):
        assert (array == 6 + 4 * i).all(), i


def test_many_operations_in_flight(run):
    run(keeps_many_in_flight).results()


def waits_without_the_interpreters_lock(group, others_may_begin):
    if group.rank == 0:
        tell = threading.Timer(0, others_may_begin.set)  # runs only if the wait below lets it
        handle = group.barrier(async_op=True)
        tell.start()
        handle.wait()
    else:
        assert others_may_begin.wait(BOUND_S)
        group.barrier()


def test_other_threads_run_while_one_waits(run):
    run(waits_without_the_interpreters_lock, new_event(), zones=[[1, 1]]).results()


def drops_the_handle(group, dropped):
    array = numpy.ones(1 << 20, dtype="f4")
    alive = weakref.ref(array)
    if group.rank == 1:
        assert dropped.wait(BOUND_S)
        group.all_reduce(array)
        group.barrier()
        group.barrier()
        return
    group.all_reduce(array, async_op=True)
    del array
    assert alive() is not None, "the library still writes there"
    dropped.set()
    group.barrier()
    group.barrier()  # looks for what is done
    assert alive() is None, "what is done keeps nothing"


def test_a_buffer_in_flight_outlives_its_names(run):
    run(drops_the_handle, new_event(), zones=[[2]]).results()


# ---- failures


def is_aborted(group):
    from glim import hfreduce

    if group.rank == 3:
        group.abort("loss is not a number")
    with pytest.raises(hfreduce.HfreduceError, match="loss is not a number"):
        group.all_reduce(numpy.ones(4))


def test_an_abort_is_everybodys_with_its_reason(run):
    run(is_aborted).results()


def loses(group, lost):
    from glim import hfreduce

    if group.rank == lost:
        os._exit(7)
    with pytest.raises(hfreduce.HfreduceError) as raised:
        group.all_reduce(numpy.ones(1 << 20))
    return str(raised.value)


@pytest.mark.parametrize("lost, name", [(1, "rank 1"), (2, "node 1"), (3, "node 2")])
def test_a_dead_peer_is_named(run, lost, name):
    outcomes = run(loses, lost).outcomes()
    assert outcomes.pop(lost) == ("died", 7)
    for how, what in outcomes:
        assert how == "returned" and name in what, (how, what)


def asks_for_another_size(group):
    from glim import hfreduce

    with pytest.raises(hfreduce.HfreduceError) as raised:
        group.all_reduce(numpy.ones(4 if group.rank != 1 else 5))
    return str(raised.value)


def test_different_sizes_are_told(run):
    for message in run(asks_for_another_size, zones=[[2]]).results():
        assert all(part in message for part in ("rank 0", "of 4 fp64", "rank 1", "of 5 fp64")), message


def is_closed_in_the_middle(group, closed):
    from glim import hfreduce

    if group.rank == 1:
        assert closed.wait(BOUND_S)
        with pytest.raises(hfreduce.HfreduceError, match="node 0|rank 0"):
            group.barrier()
        return
    stuck = group.barrier(async_op=True)
    waits = threading.Thread(target=lambda: pytest.raises(hfreduce.HfreduceError, stuck.wait))
    waits.start()
    group.close()
    closed.set()
    waits.join(BOUND_S)
    assert not waits.is_alive()
    for call in (stuck.wait, group.barrier):
        with pytest.raises(hfreduce.HfreduceError, match="closed"):
            call()
    group.close()


def test_close_fails_what_is_in_flight_here_and_elsewhere(run):
    run(is_closed_in_the_middle, new_event(), zones=[[1, 1]]).results()


# ---- arguments


def test_what_cannot_be_used_is_refused_by_name(alone):
    array = numpy.ones(8, dtype="f4")
    cases = [
        (ValueError, "tensor: is not contiguous", lambda: alone.all_reduce(array[::2])),
        (ValueError, "tensor: is read-only", lambda: alone.all_reduce(bytes(8), dtype="fp32")),
        (TypeError, "tensor: int is neither a tensor nor a buffer", lambda: alone.all_reduce(3)),
        (TypeError, "tensor: elements of format 'B' cannot be reduced", lambda: alone.all_reduce(bytearray(8))),
        (TypeError, "tensor: elements of format '>f' cannot", lambda: alone.all_reduce(array.astype(">f4"))),
        (TypeError, "out: is int32, tensor fp32", lambda: alone.all_reduce(array, out=numpy.ones(8, dtype="i4"))),
        (ValueError, "out: has 36 bytes, tensor 32", lambda: alone.all_reduce(array, out=numpy.ones(9, dtype="f4"))),
        (ValueError, "out: overlaps tensor", lambda: alone.all_reduce(array[:6], out=array[2:])),
        (ValueError, "op: 'mean' is none of sum, average", lambda: alone.all_reduce(array, "mean")),
        (ValueError, "dtype: 'half' is none of fp32", lambda: alone.all_reduce(array, dtype="half")),
        (ValueError, "root: is 1; the ranks are 0 to 0", lambda: alone.broadcast(array, root=1)),
        (ValueError, "out: has 4 bytes, 1 ranks with 32", lambda: alone.all_gather(array, numpy.ones(1, dtype="f4"))),
        (ValueError, "tensor: has 32 bytes, 1 ranks", lambda: alone.reduce_scatter(array, numpy.ones(9, dtype="f4"))),
        (ValueError, "out: overlaps", lambda: alone.reduce_scatter(array, array)),
        (ValueError, "node: there are 1", lambda: alone.bytes_sent_to(1)),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind) as raised:
            call()
        assert message in str(raised.value)
    assert array.tolist() == [1.0] * 8, "nothing was done"
    alone.all_reduce(numpy.ones(0, dtype="f4"))


def test_init_takes_either_the_environment_or_arguments():
    from glim import hfreduce

    for settings, message in [
        ({"rank": 1, "environment": {}}, "rank: comes from the environment"),
        ({"zones": [[1]]}, "zones: needs rank and store"),
        ({"zones": [[1]], "rank": 0, "store": ("::1", 1), "environment": {}}, "zones: needs"),
    ]:
        with pytest.raises(ValueError, match=message):
            hfreduce.init(**settings)
    with pytest.raises(hfreduce.HfreduceError, match="rank is 3 of 1"):
        hfreduce.init(zones=[[1]], rank=3, store=("127.0.0.1", hfreduce_ranks.free_port()))


# ---- the environment


def test_the_attempts_secret_counts_however_the_ranks_are_told(monkeypatch, tmp_path):
    from glim import hfreduce

    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef" * 4)
    secret.chmod(0o400)
    store = ("127.0.0.1", hfreduce_ranks.free_port())
    monkeypatch.setenv("GLIM_ATTEMPT_SECRET_FILE", str(secret))
    with hfreduce.init(zones=[[1]], rank=0, store=store) as group:
        assert group.size == 1
    monkeypatch.setenv("GLIM_ATTEMPT_SECRET_FILE", str(tmp_path / "none"))
    with pytest.raises(hfreduce.HfreduceError, match="GLIM_ATTEMPT_SECRET_FILE: .*none"):
        hfreduce.init(zones=[[1]], rank=0, store=store)


def test_torchruns_environment_is_enough(monkeypatch):
    from glim import hfreduce

    port = hfreduce_ranks.free_port()
    values = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port - 1),
        "RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    for _ in range(2):  # the port is free again
        with hfreduce.init() as group:
            assert (group.rank, group.size) == (0, 1)
    with pytest.raises(hfreduce.HfreduceError, match="RANK: 'zero' is not a number"):
        hfreduce.init(environment={**values, "RANK": "zero"})


def test_without_the_compiled_part_the_import_says_so():
    env = {**os.environ, "PYTHONPATH": extension.SDK, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", "import glim.hfreduce"], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "ImportError: glim.hfreduce needs its compiled part" in done.stderr
