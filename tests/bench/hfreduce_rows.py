"""The rows of the table of aims in docs/reference/hfreduce.md. Each is a function that measures and tells its
figures."""

from hfreduce_runs import CONGESTION, KIB, MIB, waiting_cpu_share
from programs import alternate, median

TRANSPORTS = ("tcp", "ucx")
PROBES = (384, 2000)  # messages and pings of hfreduce-bench-transport, its own
VETH_MBIT = 12000  # what a pair of interfaces between two namespaces carries, about


def size_name(size):
    return f"{size // MIB}MiB" if size >= MIB else f"{size // KIB}KiB"


def versus(figures, metric, told, ours, peer, aim, **more):
    """How much faster `ours` is than `peer`: the median of the rounds' ratios."""
    ratios = [p["median_us"] / o["median_us"] for o, p in zip(told[ours], told[peer])]
    ratio = median(ratios)
    figures.tell(
        metric,
        round(ratio, 3),
        "x",
        len(ratios),
        aim,
        met=ratio >= aim,
        us=round(median(t["median_us"] for t in told[ours]), 1),
        peer_us=round(median(t["median_us"] for t in told[peer]), 1),
        best_us=round(min(t["best_us"] for t in told[ours]), 1),
        peer_best_us=round(min(t["best_us"] for t in told[peer]), 1),
        algbw_GBps=round(median(t["algbw_GBps"] for t in told[ours]), 3),
        peer_algbw_GBps=round(median(t["algbw_GBps"] for t in told[peer]), 3),
        cpu_us=round(median(t["cpu_us"] for t in told[ours])),
        peer_cpu_us=round(median(t["cpu_us"] for t in told[peer])),
        peer=peer,
        **more,
    )


def between_nodes(runs, nodes, size, more=None):
    contenders = {name: lambda name=name: runs.hfreduce(size, nodes=nodes, transport=name) for name in TRANSPORTS}
    contenders["openmpi"] = lambda: runs.mpi(nodes, size)
    return alternate({**contenders, **(more or {})}, runs.rounds)


def large(runs, figures):
    """186 MiB between 2, 4 and 8 nodes, and of what a bare connection carries."""
    transports = ["hfreduce-bench-transport", "--congestion", CONGESTION, "--rounds", 3]
    transports += ["--messages", max(PROBES[0] // runs.shorter, 1), "--pings", max(PROBES[1] // runs.shorter, 1)]
    probe = {"raw": lambda: runs.program(*transports)[0]["raw"]}
    for nodes, aim in ((2, 2.5), (4, 2.2), (8, 2.0)):
        told = between_nodes(runs, nodes, runs.large, probe)
        raw = [line["GBps"] for line in told["raw"]]
        for name in TRANSPORTS:
            versus(
                figures,
                f"allreduce_{size_name(runs.large)}_{nodes}_nodes",
                told,
                name,
                "openmpi",
                aim,
                transport=name,
                nodes=nodes,
            )
            wire = [2 * (nodes - 1) * runs.large / line["median_us"] / 1e3 for line in told[name]]
            share = median(w / r for w, r in zip(wire, raw))
            figures.tell(
                f"wire_rate_{nodes}_nodes",
                round(share, 3),
                "of raw TCP",
                len(wire),
                0.85,
                met=share >= 0.85,
                transport=name,
                wire_GBps=round(median(wire), 3),
                raw_GBps=round(median(raw), 3),
            )


def medium(runs, figures):
    """1 MiB and 16 MiB, four nodes."""
    for size, aim in ((MIB, 1.3), (16 * MIB, 1.9)):
        told = between_nodes(runs, 4, size)
        for name in TRANSPORTS:
            versus(figures, f"allreduce_{size_name(size)}_4_nodes", told, name, "openmpi", aim, transport=name, nodes=4)


def small(runs, figures):
    """1 KiB and 64 KiB, four nodes."""
    for size in (KIB, 64 * KIB):
        told = between_nodes(runs, 4, size)
        for name in TRANSPORTS:
            versus(figures, f"allreduce_{size_name(size)}_4_nodes", told, name, "openmpi", 1.0, transport=name, nodes=4)


def node(runs, figures):
    """One node of four processes: 186 MiB and 1 MiB, and of what its memory could do."""
    ways = {
        "copied": {"result": "copied"},
        "copied_in_segment": {"memory": "shared", "result": "copied"},
        "one_result": {"memory": "shared", "result": "shared"},
    }
    for size, aims in ((runs.large, {"copied": 6, "copied_in_segment": 6, "one_result": 10}), (MIB, {"copied": 2.5})):
        contenders = {way: lambda way=way: runs.hfreduce(size, local=4, transport="shm", **ways[way]) for way in aims}
        contenders["openmpi"] = lambda: runs.mpi(4, size, btl="vader,self")
        told = alternate(contenders, runs.rounds)
        for way, aim in aims.items():
            versus(figures, f"allreduce_{size_name(size)}_1_node_of_4", told, way, "openmpi", aim, result=way)
    told = {}
    for line in runs.program(
        "hfreduce-bench-node", "--local", 4, "--bytes", runs.large, "--rounds", 2 * runs.rounds + 1
    ):
        told[line["way"]] = line
    for way in ("copied_out", "one_result"):
        line = told[way]
        figures.tell(
            f"of_memory_bound_{way}",
            round(line["of_bound"], 3),
            "of the bound",
            line["rounds"],
            0.85,
            met=line["of_bound"] >= 0.85,
            by_cpu=round(line["of_bound_by_cpu"], 3),
            algbw_GBps=round(line["algbw_GBps"], 3),
            bound_GBps=round(line["bound_GBps"], 3),
        )


def both(runs, figures):
    """Two nodes of eight buffers: hfreduce with a process for each, the peer with one process a node."""
    contenders = {}
    for name in TRANSPORTS:
        for memory in ("private", "shared"):
            contenders[f"{name}_{memory}"] = lambda name=name, memory=memory: runs.hfreduce(
                runs.large, nodes=2, local=8, transport=name, memory=memory
            )
    contenders["openmpi"] = lambda: runs.mpi(2, runs.large, buffers=8)
    told = alternate(contenders, runs.rounds)
    for contender in list(contenders)[:-1]:
        name, memory = contender.split("_")
        versus(
            figures,
            f"allreduce_{size_name(runs.large)}_2_nodes_of_8",
            told,
            contender,
            "openmpi",
            1.8,
            transport=name,
            memory=memory,
        )


def kernel(runs, figures):
    """Eight buffers of 186 MiB into one, beside a loop that moves the same bytes and adds nothing."""
    size = ("--mib", runs.large // MIB)
    for dtype, aim in (("fp32", 1.1), ("fp16", 1.1), ("bf16", 1.1), ("fp8_e4m3", 1.3), ("fp8_e5m2", 1.3)):
        line = runs.program("hfreduce-bench-kernel", "--dtype", dtype, *size, "--rounds", 4 * runs.rounds + 1)[0]
        figures.tell(
            f"kernel_{dtype}",
            line["ratio"],
            "of the loop's time",
            line["rounds"],
            aim,
            met=line["ratio"] <= aim,
            by_cpu=line["cpu_ratio"],
            ms=line["median_ms"],
            loop_ms=line["move_median_ms"],
            simd=line["simd"],
        )


def waiting(runs, figures):
    """What the processes of four nodes, or of one, use while one of them stands still."""
    forever = 1000000
    contenders = {
        name: (runs.hfreduce_argv(MIB, forever, 0, {"nodes": 4, "transport": name}), None) for name in TRANSPORTS
    }
    contenders["shm"] = (runs.hfreduce_argv(MIB, forever, 0, {"local": 4, "transport": "shm"}), None)
    contenders["openmpi"] = (runs.mpi_argv(4, MIB, forever, 0), runs.mpi_environment())
    shares = alternate(
        {
            name: lambda run=run: waiting_cpu_share(*run, ranks=4, seconds=runs.stands_s)
            for name, run in contenders.items()
        },
        runs.rounds,
    )
    for name in contenders:
        share = median(shares[name])
        aim = None if name == "openmpi" else 0.01
        figures.tell(
            "waiting_rank_cpu",
            round(share, 5),
            "of a core",
            len(shares[name]),
            aim,
            met=None if aim is None else share <= aim,
            transport=name,
        )


def bytes_across(bytes_per_link, nodes):
    """Between the gateways, the more of both ways (both go at once); between all other pairs of the two zones."""
    each_way, elsewhere = 0, 0
    for link, sent in bytes_per_link.items():
        ends = {int(end) for end in link.split("-")}
        if ends == {0, nodes // 2}:
            each_way = max(each_way, sent)
        elif min(ends) < nodes // 2 <= max(ends):
            elsewhere += sent
    return each_way, elsewhere


def zones(runs, figures):
    """Eight nodes in two zones, the link between them shaped to a tenth of what the others carry."""
    nodes, mbit = 8, VETH_MBIT // 10
    contenders = {
        name: lambda name=name: runs.hfreduce(
            runs.large, nodes=nodes, transport=name, netns=True, zones=2, zone_mbit=mbit
        )
        for name in TRANSPORTS
    }
    told = alternate(contenders, runs.rounds)
    for name in TRANSPORTS:
        sent = [bytes_across(line["bytes_per_link"], nodes) for line in told[name]]
        each_way, elsewhere = max(s[0] for s in sent), max(s[1] for s in sent)
        ratios = [line["median_us"] / (each_way * 8 / mbit) for line in told[name]]
        ratio = median(ratios)
        figures.tell(
            "two_zones_8_nodes",
            round(ratio, 3),
            "of bytes over rate",
            len(ratios),
            1.3,
            met=ratio <= 1.3,
            transport=name,
            link_mbit=mbit,
            bytes_each_way=each_way,
            bytes_needed=runs.large,
            us=round(median(line["median_us"] for line in told[name])),
        )
        figures.tell(
            "two_zones_bytes_on_other_cross_links",
            elsewhere,
            "bytes",
            len(ratios),
            0,
            met=elsewhere == 0,
            transport=name,
        )


ROWS = {
    "large": large,
    "medium": medium,
    "small": small,
    "node": node,
    "both": both,
    "kernel": kernel,
    "waiting": waiting,
    "zones": zones,
}
