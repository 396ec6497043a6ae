"""What hfreduce could give on the Fire-Flyer 2 cluster, beside that paper's figure 7: a model, not a measurement.

Section IV.D.3 of the paper (arXiv 2408.14158) counts how often a node's memory is read or written for each byte of a
GPU's buffer: 24 times. Here the count follows from a node's children in the two trees, each of which has half of the
data; the slowest node sets the rate. Before that the pipeline fills, hop by hop to the root and back.

    time = bytes / rate + 2 x depth x (alpha + a chunk of each tree / rate)

The paper's numbers are those of its appendix (A3, A4). Its network bandwidth is 2(n-1)/n times the algorithm bandwidth,
n the number of GPUs; algorithm bandwidth (bytes / time) is what is printed.
"""

BYTES = 186 * (1 << 20)
CHUNK = 1 << 20
GPUS = 8  # of a node
ZONE_NODES_MAX = 600  # about; larger jobs span two zones
MEMORY_GBPS = 320.0  # what 16 channels of DDR4-3200 give in practice
WIRE_GBPS = 25.0  # 200 Gbit/s, each way
BRIDGE_GBPS = 37.5  # a PCIe host bridge with two GPUs behind it; taken for both ways together
ALPHA_S = 10e-6  # a hop: put, flag, a process that wakes. An assumption
NODES = (2, 4, 8, 16, 32, 64, 128, 180, 256, 512, 1024, 1440)
# GPUs: network bandwidth in GB/s.
PAPER = {16: 8.10, 32: 8.03, 64: 7.95, 128: 7.78, 256: 7.12, 512: 7.33, 1024: 6.31, 1440: 6.99}
PAPER_NVLINK = {16: 19.18, 32: 13.00, 64: 12.07, 128: 10.30, 256: 9.66, 512: 8.56, 1024: 7.99}
PAPER_NVLINK_ZONES = {128: 9.27, 256: 8.63, 512: 8.06, 1024: 7.75}


def parents(zone_sizes, tree):
    """Of every node, as sdk/hfreduce/tree/tree.h says; None: the root."""
    parent, gateways = [], []
    for size in zone_sizes:
        first, last = len(parent), size - 1
        gateways.append(first)
        place = (lambda q: q) if tree == 0 else (lambda q: last + 1 - q) if last % 2 == 0 else (lambda q: q % last + 1)
        node_at = {0: first, **{place(q): first + q for q in range(1, size)}}
        above = {}
        for position in range(1, size):
            low = position & -position
            higher = (position ^ low) | (low << 1)
            above[node_at[position]] = node_at[higher if higher <= last else position ^ low]
        parent += [None] + [above[node] for node in range(first + 1, first + size)]
    if len(gateways) == 2:
        parent[gateways[1 - tree]] = gateways[tree]
    return parent


def depth_of(parent):
    def steps(node):
        return 0 if parent[node] is None else 1 + steps(parent[node])

    return max(map(steps, range(len(parent))))


def traffic(trees, node):
    """Shares of the data that a node sends, receives, and adds to its own."""
    up = sum(0.5 for parent in trees if parent[node] is not None)
    children = 0.5 * sum(parent.count(node) for parent in trees)
    return up + children, up + children, children


def memory_passes(sends, receives, adds, buffers):
    """GPUs write their buffers; all are read and the sum written; the network; two reads for the way back (GDRCopy)."""
    return buffers + (buffers + 1) + sends + receives + adds + 2


def algorithm_gbps(zone_sizes, nvlink=False, bridge=True):
    trees = [parents(zone_sizes, tree) for tree in (0, 1)]
    # Pairs joined by NVLink have added before, and each GPU of a pair moves half.
    buffers = GPUS // 2 if nvlink else GPUS
    rates = [BRIDGE_GBPS / 4 * (2 if nvlink else 1)] if bridge else []
    for node in range(sum(zone_sizes)):
        sends, receives, adds = traffic(trees, node)
        rates += [MEMORY_GBPS / memory_passes(sends, receives, adds, buffers), WIRE_GBPS / max(sends, receives)]
    rate = min(rates) * 1e9
    hops = 2 * max(map(depth_of, trees))
    return BYTES / (BYTES / rate + hops * (ALPHA_S + 2 * CHUNK / rate)) / 1e9


def paper_gbps(table, gpus):
    """Of the figure: algorithm bandwidth; None: it has no such point."""
    return round(table[gpus] * gpus / (2 * (gpus - 1)), 2) if gpus in table else None


def run(figures):
    for nodes in NODES:
        gpus = nodes * GPUS
        halves = [nodes - nodes // 2, nodes // 2]
        zones = [nodes] if nodes <= ZONE_NODES_MAX else halves
        figures.tell(
            "model_allreduce_186MiB",
            round(algorithm_gbps(zones), 2),
            "GB/s",
            1,
            nodes=nodes,
            gpus=gpus,
            zones=len(zones),
            without_host_bridge=round(algorithm_gbps(zones, bridge=False), 2),
            nvlink=round(algorithm_gbps(zones, nvlink=True), 2),
            nvlink_two_zones=round(algorithm_gbps(halves, nvlink=True), 2),
            paper=paper_gbps(PAPER, gpus),
            paper_nvlink=paper_gbps(PAPER_NVLINK, gpus),
            paper_nvlink_two_zones=paper_gbps(PAPER_NVLINK_ZONES, gpus),
        )
