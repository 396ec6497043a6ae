"""tests/bench/run savecopy: a save copied between two agents' SaveApi ends over loopback, checksums included and
durable, beside cp and scp of the same bytes, each followed by an fsync.

They take turns; each writes fresh files, and reads a source that lies in memory. Ratios are medians over the rounds of
speeds in the same round: above 1, Glim is faster. scp runs where sshd is installed, with keys made for the run.
"""

import os
import shutil
import subprocess
import tempfile
import time

from programs import PATIENCE_S, ROOT, alternate, median, options_of, parser_of, size_of, told_by

from figures import Figures, filesystem_of
from loopback_sshd import LoopbackSshd

QUICK = {"bytes": 4 << 20, "rounds": 1}


class Contenders:
    """`folder` is on the disk in question."""

    def __init__(self, program, folder, size, files):
        self.program, self.folder, self.size = program, folder, size
        self.source = os.path.join(folder, "source")
        self.save = os.path.join(self.source, "checkpoints", "1", "save")
        os.makedirs(self.save)
        for number in range(files):
            with open(os.path.join(self.save, f"shard-{number}"), "wb") as file:
                left = size // files
                while left > 0:
                    left -= file.write(os.urandom(min(left, 4 << 20)))
                os.fsync(file.fileno())
        self.server = subprocess.Popen(
            [program, "serve", "--state-dir", self.source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.address, self.token = self.server.stdout.readline().split()
        self.sshd = LoopbackSshd() if LoopbackSshd.installed() else None

    def close(self):
        self.server.stdin.close()
        self.server.wait(PATIENCE_S)
        if self.sshd:
            self.sshd.close()

    def fresh(self):
        """A folder for one copy; what the one before left has reached the disk."""
        target = os.path.join(self.folder, "target")
        shutil.rmtree(target, ignore_errors=True)
        os.mkdir(target, 0o700)
        os.sync()
        return target

    def glim(self):
        return told_by(
            [self.program, "fetch", "--state-dir", self.fresh(), "--address", self.address, "--token", self.token]
        )["ms"]

    def cp(self):
        return self.timed(["cp", "-r", self.save, os.path.join(self.fresh(), "save")])

    def scp(self):
        return self.timed([*self.sshd.scp, "-r", f"{self.sshd.host}:{self.save}", os.path.join(self.fresh(), "save")])

    @staticmethod
    def timed(argv):
        began = time.perf_counter()
        subprocess.run(argv, check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
        for folder, _, names in os.walk(argv[-1], topdown=False):
            for path in [*(os.path.join(folder, name) for name in names), folder]:
                handle = os.open(path, os.O_RDONLY)
                os.fsync(handle)
                os.close(handle)
        return (time.perf_counter() - began) * 1000


def main():
    parser = parser_of("savecopy", __doc__, QUICK)
    parser.add_argument("--dir", default=ROOT, help="a folder on the disk in question [the checkout]")
    parser.add_argument("--bytes", type=size_of, default=1 << 30, help="of the save [1GiB]")
    parser.add_argument("--files", type=int, default=4, help="that it has [4]")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each [7]")
    args = options_of(parser)
    figures = Figures("savecopy")
    folder = tempfile.mkdtemp(prefix="glim-bench-", dir=args.dir)
    contenders = None
    try:
        contenders = Contenders(os.path.join(args.bin, "glim-bench-savecopy"), folder, args.bytes, args.files)
        calls = {"glim": contenders.glim, "cp": contenders.cp}
        if contenders.sshd:
            calls["scp"] = contenders.scp
        figures.tell(
            "load_average_before",
            round(os.getloadavg()[0], 2),
            "processes",
            1,
            cores=os.cpu_count(),
            filesystem=filesystem_of(folder),
            bytes=args.bytes,
            files=args.files,
        )
        took = alternate(calls, args.rounds)
        for name, values in took.items():
            figures.tell(
                f"{name}_GBps",
                round(args.bytes / median(values) / 1e6, 3),
                "GB/s",
                len(values),
                ms=[round(value) for value in values],
            )
        for name in calls:
            if name != "glim":
                ratios = [other / own for own, other in zip(took["glim"], took[name])]
                figures.tell(
                    f"glim_to_{name}",
                    round(median(ratios), 3),
                    "ratio",
                    len(ratios),
                    aim=0.8,
                    ratios=[round(ratio, 2) for ratio in ratios],
                )
        figures.tell("load_average_after", round(os.getloadavg()[0], 2), "processes", 1)
    finally:
        if contenders:
            contenders.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
