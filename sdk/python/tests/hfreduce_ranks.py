"""Ranks of glim.hfreduce, each a process of its own, on this machine."""

import multiprocessing
import os
import socket
import traceback

from bounds import BOUND_S


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _run_rank(body, arguments, answer, settings):
    try:
        from glim import hfreduce

        with hfreduce.init(**settings) as group:
            # A rank that aborts or dies at once would fail the init() of others that are a moment behind.
            answer.send(("ready", None))
            answer.recv()
            answer.send(("returned", body(group, *arguments)))
            answer.recv()  # until every rank has returned: none leaves another alone
    except BaseException:
        answer.send(("raised", traceback.format_exc()))


class Ranks:
    """Starts body(group, *arguments) in a process a rank. `zones` as init() has them; `settings` go to init()."""

    def __init__(self, body, *arguments, zones, **settings):
        context = multiprocessing.get_context("spawn")
        store = ("127.0.0.1", free_port())
        self.answers, self.processes, self.arguments = [], [], arguments  # an event lives as long as it is known here
        for rank in range(sum(sum(zone) for zone in zones)):
            ours, theirs = context.Pipe()
            told = {
                "rank": rank,
                "zones": zones,
                "store": store,
                "name": f"test-{os.getpid()}",
                "timeout": BOUND_S,
                **settings,
            }
            process = context.Process(target=_run_rank, args=(body, arguments, theirs, told), daemon=True)
            process.start()
            theirs.close()
            self.answers.append(ours)
            self.processes.append(process)
        self.early = [self._receive(rank) for rank in range(len(self.processes))]
        for answer in (a for a, (how, _) in zip(self.answers, self.early) if how == "ready"):
            answer.send("begin")

    def outcome(self, rank):
        """("returned", value), ("raised", traceback), ("died", exit code), or ("hangs", None)."""
        return self._receive(rank) if self.early[rank][0] == "ready" else self.early[rank]

    def _receive(self, rank):
        if not self.answers[rank].poll(BOUND_S):
            return "hangs", None
        try:
            return self.answers[rank].recv()
        except EOFError:
            self.processes[rank].join(BOUND_S)
            return "died", self.processes[rank].exitcode

    def outcomes(self):
        return [self.outcome(rank) for rank in range(len(self.processes))]

    def results(self):
        """What every rank returned, if all did."""
        outcomes = self.outcomes()
        wrong = [f"rank {rank} {how}:\n{what}" for rank, (how, what) in enumerate(outcomes) if how != "returned"]
        assert not wrong, "\n".join(wrong)
        return [what for _, what in outcomes]

    def stop(self):
        for answer in self.answers:
            try:
                answer.send("leave")
            except OSError:  # it has died
                pass
        for process in self.processes:
            process.join(BOUND_S)
            process.kill()
            process.join()
