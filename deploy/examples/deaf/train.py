"""Job C: saves now and then, and never answers an interrupt, nor SIGTERM. The scheduler must end it by force, and what
it did since its last save is lost and done again. Standard library and the SDK's low level only."""

import argparse
import hashlib
import json
import os
import signal
import time

import glim


def load(folder, rank):
    """(next step, state) as this rank's shard of Glim's save has them."""
    if not folder:
        return 0, ""
    with open(os.path.join(folder, f"rank-{rank}.json")) as file:
        content = json.load(file)
    return content["step"] + 1, content["state"]


def save(run, root, step, state, rank, world):
    """One shard a rank; the save counts once all of them are reported. All name the folder as its path."""
    began = time.monotonic()
    folder = os.path.join(root, f"attempt-{run.environment.attempt}", f"step-{step:08d}")
    content = json.dumps({"step": step, "state": state}).encode()
    size = glim.atomic_write(os.path.join(folder, f"rank-{rank}.json"), lambda file: file.write(content))
    run.checkpoint_saved(
        folder, step, bytes=size, shard=rank, shards=world, duration_ms=round((time.monotonic() - began) * 1000)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--step-ms", type=int, default=50)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--out", default="out", help="each rank appends 'attempt step' to OUT/rank-R.txt")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rank = int(os.environ.get("GLIM_RANK", "0"))
    world = int(os.environ.get("WORLD_SIZE") or os.environ.get("GLIM_NNODES") or "1")
    os.makedirs(args.out, exist_ok=True)
    root = os.environ.get("GLIM_CHECKPOINT_DIR") or os.path.join(args.out, "checkpoints")
    # Neither steps() nor begin_step(): the SDK knows of no boundary to stop at, and leaves the interrupt to the script.
    with glim.session() as run, open(os.path.join(args.out, f"rank-{rank}.txt"), "a", buffering=1) as log:
        began = time.monotonic()
        step, state = load(run.resume_path, rank)
        if step > 0:
            run.restored(step - 1, duration_ms=round((time.monotonic() - began) * 1000))
        print(f"rank {rank} of {world} begins with step {step}", flush=True)
        while step < args.steps:
            time.sleep(args.step_ms / 1000)
            state = hashlib.sha256(f"{state} {rank} {step}".encode()).hexdigest()
            log.write(f"{run.environment.attempt} {step}\n")
            run.progress(step)
            if (step + 1) % args.save_every == 0:
                save(run, root, step, state, rank, world)
            step += 1
    print(f"rank {rank} done: {state}", flush=True)


if __name__ == "__main__":
    main()
