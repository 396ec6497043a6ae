"""Whether an interrupted run of train.py did what an uninterrupted one does. Prints JSON; exit code 0 if so, else 1.

    check.py RUN                    every step exactly once on every rank, from 0 to the last, over all attempts
    check.py RUN --reference OTHER  and the same batches and final weights as OTHER, a run that was left alone
"""

import argparse
import json
import os
import re
import sys


def read_run(folder):
    """{rank: [(attempt, step, hash), ...]} in the order of the lines, and result.json's content or None."""
    ranks = {}
    for name in sorted(os.listdir(folder)):
        match = re.fullmatch(r"rank-(\d+)\.txt", name)
        if match:
            with open(os.path.join(folder, name)) as file:
                lines = [line.split() for line in file]
            ranks[int(match.group(1))] = [(int(attempt), int(step), digest) for attempt, step, digest in lines]
    try:
        with open(os.path.join(folder, "result.json")) as file:
            result = json.load(file)
    except FileNotFoundError:
        result = None
    return ranks, result


def check_run(ranks, result):
    """What one run shows by itself."""
    problems = []
    steps = result["steps"] if result else 1 + max((s for lines in ranks.values() for _, s, _ in lines), default=-1)
    if result is None:
        problems.append("no result.json: the run has not come to its end")
    elif sorted(ranks) != list(range(result["world"])):
        problems.append(f"files of ranks {sorted(ranks)}, expected are 0 to {result['world'] - 1}")
    redone = set()
    for rank, lines in sorted(ranks.items()):
        done = [step for _, step, _ in lines]
        missing = sorted(set(range(steps)) - set(done))
        beyond = sorted(set(done) - set(range(steps)))
        twice = sorted({step for step in done if done.count(step) > 1})
        redone.update(twice)
        for what, which in (("missing", missing), ("beyond the end", beyond), ("done twice", twice)):
            if which:
                problems.append(f"rank {rank}: {len(which)} steps {what}, the first is {which[0]}")
        by_step = {}
        for _, step, digest in lines:
            if by_step.setdefault(step, digest) != digest:
                problems.append(f"rank {rank}: step {step} was done with two different batches")
    first_steps = {}
    for lines in ranks.values():
        for attempt, step, _ in lines:
            first_steps[attempt] = min(step, first_steps.get(attempt, step))
    return problems, steps, sorted(redone), {str(a): s for a, s in sorted(first_steps.items())}


def compare(ranks, result, other_ranks, other_result):
    """What differs from the reference, a step that was done twice counting once."""
    problems = []
    if sorted(ranks) != sorted(other_ranks):
        problems.append(f"ranks {sorted(ranks)}, the reference has {sorted(other_ranks)}")
    for rank in sorted(set(ranks) & set(other_ranks)):
        mine = {step: digest for _, step, digest in ranks[rank]}
        theirs = {step: digest for _, step, digest in other_ranks[rank]}
        differing = sorted(step for step in set(mine) | set(theirs) if mine.get(step) != theirs.get(step))
        if differing:
            problems.append(f"rank {rank}: {len(differing)} batches differ from the reference, first at {differing[0]}")
    if not result or not other_result or result["weights_digest"] != other_result["weights_digest"]:
        problems.append("the final weights differ from the reference")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--reference")
    args = parser.parse_args()
    ranks, result = read_run(args.run)
    problems, steps, redone, first_steps = check_run(ranks, result)
    report = {
        "ranks": len(ranks),
        "steps": steps,
        "attempts": len(first_steps),
        "first_step_of_attempt": first_steps,
        "steps_redone": len(redone),
        "accuracy": result and result["accuracy"],
        "weights_digest": result and result["weights_digest"],
    }
    if args.reference:
        differences = compare(ranks, result, *read_run(args.reference))
        report["equals_reference"] = not differences
        problems += differences
    report["every_step_once"] = not any("steps" in p or "no result" in p or "files of" in p for p in problems)
    report["problems"] = problems
    report["ok"] = not problems
    print(json.dumps(report, indent=2))
    sys.exit(0 if not problems else 1)


if __name__ == "__main__":
    main()
