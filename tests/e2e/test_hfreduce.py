"""glim.hfreduce in a job that spans two zones: each rank knows the others from what the scheduler put into its
environment, and nothing else."""

import json

PYTHON = "/usr/bin/python3"
ELEMENTS = 1 << 20

SCRIPT = f"""\
import hashlib, json, os
import numpy
from glim import hfreduce

with hfreduce.init() as group:
    values = (numpy.arange({ELEMENTS}, dtype="f4") % 1000 + group.rank) / 3
    group.all_reduce(values)
    group.barrier()
    print(json.dumps({{
        "rank": group.rank, "size": group.size, "node": group.node, "first": float(values[0]),
        "digest": hashlib.sha256(values).hexdigest(), "sent": [group.bytes_sent_to(n) for n in range(group.nodes)],
        "zones": os.environ["GLIM_ZONES"].split(","), "gateways": os.environ["GLIM_GATEWAYS"].split(",")}}), flush=True)
    print("left behind:", [name for name in os.listdir("/dev/shm")
                           if name.startswith("glim-hfreduce-" + os.environ["GLIM_JOB_ID"] + ".")], flush=True)
    group.barrier()
"""


def test_a_job_in_two_zones_reduces_over_one_pair_of_gateways(stage, cluster):
    with open(stage.path("reduce.py"), "w") as file:
        file.write(SCRIPT)
    # Three nodes: no zone of this cluster has so many.
    job_id = stage.glim.submit(
        stage.examples.make(
            "reduce",
            f"exec {PYTHON} reduce.py",
            nodes=3,
            gpus_per_node=2,
            launcher="per-gpu",
            placement={"leaf": "pack", "cross_zone": "auto"},
        )
    )
    cluster.wait_state(job_id, "succeeded", 60)

    said = []
    for rank in range(6):
        with open(cluster.rank_log(job_id, 1, rank)) as file:
            *first, line, left = file.read().splitlines()
        assert first == (["hfreduce: 3 nodes talk over TCP; every node: it has no RDMA device"] if rank == 0 else [])
        said.append(json.loads(line))
        assert left == "left behind: []"
    assert [(s["rank"], s["size"], s["node"]) for s in said] == [(rank, 6, rank // 2) for rank in range(6)]
    assert len({s["digest"] for s in said}) == 1, "every rank has the same bits"
    assert said[0]["first"] == 5.0, "(0 + 1 + 2 + 3 + 4 + 5) / 3"
    zones, gateways = said[0]["zones"], [int(node) for node in said[0]["gateways"]]
    assert len(zones) == 3 and len(set(zones)) == 2 and zones[gateways[0]] != zones[gateways[1]]
    sent = [said[2 * node]["sent"] for node in range(3)]
    print("bytes sent from node to node:", sent, "zones:", zones, "gateways:", gateways)
    crossing = {(a, b) for a in range(3) for b in range(3) if zones[a] != zones[b] and sent[a][b] > 0}
    assert crossing == {tuple(gateways), tuple(reversed(gateways))}
    assert all(sent[a][b] < 4 * ELEMENTS * 1.05 for a, b in crossing), "the data crosses once each way"
