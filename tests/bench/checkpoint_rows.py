"""The rows of the table of aims in docs/reference/checkpoint-format.md. Each is a function that measures and tells its
figures."""

from checkpoint_runs import BLOCK_BYTES, DEPTH
from programs import alternate, median


def ratios(ours, peers, of_ours, of_peer):
    """Round by round."""
    return [of_ours(o) / of_peer(p) for o, p in zip(ours, peers)]


def tell(figures, metric, values, unit, aim, at_least=True, **more):
    value = median(values)
    met = value >= aim if at_least else value <= aim
    figures.tell(metric, round(value, 3), unit, len(values), aim, met=met, **more)


def save(runs, figures):
    """Durable, from the call to the published manifest; and what the writer alone took."""
    told = alternate(
        {
            "glim": lambda: runs.ckpt("save"),
            "fio": lambda: runs.fio("write"),
            "torch": lambda: runs.torch("save"),
            "write": lambda: runs.torch("write"),
        },
        runs.rounds,
    )
    ours = told["glim"]
    shown = {
        "io": ours[0]["io"],
        "direct": ours[0]["direct"],
        "registered": ours[0]["registered"],
        "block_bytes": BLOCK_BYTES,
        "depth": DEPTH,
        "GBps": round(median(line["GBps"] for line in ours), 3),
    }
    for peer, name, aim in (
        ("fio", "save_of_fio", 1.0),
        ("torch", "save_of_torch_save_fsync", 3.0),
        ("write", "save_of_write_fsync", 2.0),
    ):
        gbps = round(median(line["GBps"] for line in told[peer]), 3)
        tell(
            figures,
            name,
            ratios(told[peer], ours, lambda p: p["ms"], lambda o: o["durable_ms"]),
            "x",
            aim,
            peer_GBps=gbps,
            **shown,
        )
    tell(
        figures,
        "write_alone_of_fio",
        ratios(told["fio"], ours, lambda p: p["ms"], lambda o: o["write_ms"]),
        "x",
        1.0,
        write_GBps=round(median(line["write_GBps"] for line in ours), 3),
    )
    # The write begins with the copy. What a save takes beyond it: layout, checksums that were not ready, manifest.
    tell(
        figures,
        "checksum_and_manifest",
        [max(0.0, 1 - o["write_ms"] / o["durable_ms"]) for o in ours],
        "of the save",
        0.03,
        at_least=False,
        checksum_ms=round(median(line["checksum_ms"] for line in ours), 1),
        beside_the_write_ms=round(median(line["write_ms"] for line in ours), 1),
    )
    tell(
        figures,
        "stall_of_torch_save_fsync",
        ratios(ours, told["torch"], lambda o: o["stall_ms"], lambda p: p["ms"]),
        "of its time",
        0.10,
        at_least=False,
        stall_ms=round(median(line["stall_ms"] for line in ours), 1),
    )


def stall(runs, figures):
    """Beside a bare memcpy of the same bytes in the same process."""
    told = alternate({"glim": lambda: runs.ckpt("stall", rounds=3)}, runs.rounds)["glim"]
    tell(
        figures,
        "stall_of_memcpy",
        [line["of_memcpy"] for line in told],
        "of its time",
        1.15,
        at_least=False,
        stall_ms=round(median(line["stall_ms"] for line in told), 1),
        memcpy_ms=round(median(line["memcpy_ms"] for line in told), 1),
    )


def load(runs, figures):
    """With nothing in the page cache, and with all of it there."""
    runs.fio("write")
    told = alternate(
        {
            "disk": lambda: runs.ckpt("load", "--dropped"),
            "fio": lambda: runs.fio("read"),
            "cache": lambda: runs.ckpt("load"),
            "torch": lambda: runs.torch("load"),
        },
        runs.rounds,
    )
    gbps = {name: round(median(line["GBps"] for line in lines), 3) for name, lines in told.items()}
    tell(
        figures,
        "load_of_fio",
        ratios(told["fio"], told["disk"], lambda p: p["ms"], lambda o: o["load_ms"]),
        "x",
        0.95,
        GBps=gbps["disk"],
        peer_GBps=gbps["fio"],
    )
    tell(
        figures,
        "load_of_torch_load",
        ratios(told["torch"], told["cache"], lambda p: p["ms"], lambda o: o["load_ms"]),
        "x",
        2.0,
        GBps=gbps["cache"],
        peer_GBps=gbps["torch"],
    )
    tell(
        figures,
        "one_tensor_over_its_bytes_time",
        [line["one_tensor_over_ms"] for line in told["disk"]],
        "ms",
        5.0,
        at_least=False,
        one_tensor_bytes=told["disk"][0]["one_tensor_bytes"],
        one_tensor_ms=round(median(line["one_tensor_ms"] for line in told["disk"]), 2),
    )


def small(runs, figures):
    """100,000 tensors of 4 KiB, unless said otherwise."""
    contenders = {
        "glim": lambda: runs.ckpt("small"),
        "torch": lambda: runs.torch("small", count=runs.small_tensors),
    }
    told = alternate(contenders, runs.rounds)
    tell(
        figures,
        "small_of_torch_save_fsync",
        ratios(told["torch"], told["glim"], lambda p: p["ms"], lambda o: o["durable_ms"]),
        "x",
        20.0,
        durable_ms=round(median(line["durable_ms"] for line in told["glim"]), 1),
        stall_ms=round(median(line["stall_ms"] for line in told["glim"]), 1),
        peer_ms=round(median(line["ms"] for line in told["torch"]), 1),
    )


def step(runs, figures):
    """The trainer's step beside the background write."""
    told = alternate({"glim": lambda: runs.ckpt("step", rounds=3)}, runs.rounds)["glim"]
    tell(
        figures,
        "step_slowdown",
        [line["slowdown_percent"] for line in told],
        "%",
        3.0,
        at_least=False,
        step_us=round(median(line["step_us"] for line in told), 1),
    )
    tell(
        figures,
        "step_slowdown_over_dummy",
        [line["over_dummy_percent"] for line in told],
        "%",
        1.0,
        at_least=False,
        dummy_percent=round(median(line["dummy_slowdown_percent"] for line in told), 3),
    )


ROWS = {"save": save, "stall": stall, "load": load, "small": small, "step": step}
