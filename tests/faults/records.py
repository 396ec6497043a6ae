"""What ranks wrote down themselves (rank.py), read back."""

import json
import os
from dataclasses import dataclass, field


@dataclass
class Account:
    """Of one rank of one attempt, or of the daemon that it left behind."""

    job: int
    attempt: int
    rank: int
    daemon: bool = False
    node: str = ""
    lines: list = field(default_factory=list)

    @property
    def who(self):
        return f"{self.job}.{self.attempt} rank {self.rank}" + (" (its daemon)" if self.daemon else "")

    @property
    def began(self):
        return self.lines[0]["at"]

    @property
    def last(self):
        """Its last sign of life."""
        return self.lines[-1]["at"]

    def of(self, what):
        return [line for line in self.lines if line["what"] == what]

    def steps(self):
        return [line["step"] for line in self.of("step")]

    def one(self, what):
        """The only line of that kind; None: there is none."""
        found = self.of(what)
        return found[0] if found else None


def whole_lines(path):
    """A rank that was killed may leave half a line behind."""
    with open(path) as file:
        return [json.loads(line) for line in file.read().split("\n")[:-1]]


def read_accounts(folder):
    """All that have a line, in the order of job, attempt and rank. A daemon is on its rank's node."""
    accounts = []
    for name in os.listdir(folder):
        job, attempt, rank, *daemon = name.split(".")
        account = Account(
            int(job), int(attempt), int(rank), bool(daemon), lines=whole_lines(os.path.join(folder, name))
        )
        if account.lines:
            accounts.append(account)
    accounts.sort(key=lambda a: (a.job, a.attempt, a.rank, a.daemon))
    nodes = {}
    for account in accounts:
        begin = account.one("begin")
        nodes.setdefault((account.job, account.attempt, account.rank), begin and begin["node"])
        account.node = nodes[account.job, account.attempt, account.rank] or ""
    return accounts
