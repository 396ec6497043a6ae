"""tests/bench/run web: what the dashboard costs a browser.

Sizes of a first load, then Chromium (npm's Playwright, webui/e2e/bench) against real schedulers with simulated agents:
the first useful paint, an event's way to the pixel, frames of the map. There is no GPU: the processor paints. The
scheduler, the agents and the browser share this machine's cores, and with them whatever else runs there: `cpu_p95_ms`
beside a frame's time is what the page's own thread used."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from programs import options_of, parser_of

from cluster.dashboard import WEBUI, NoPage, Page
from figures import Figures

AIM_KIB = 200
MARK = "GLIM_FIGURE "
PATIENCE_S = 3600


QUICK = {"nodes": 100, "jobs": 50, "events": 3, "paint_nodes": 50, "lines": 20_000}


def main():
    parser = parser_of("web", __doc__, QUICK)
    parser.add_argument("--nodes", type=int, default=10_000, help="of the map [10000]")
    parser.add_argument("--paint-nodes", type=int, default=1_250, help="of the first paint, and of events [1250]")
    parser.add_argument("--jobs", type=int, default=10_000, help="of the first paint [10000]")
    parser.add_argument("--events", type=int, default=100, help="whose way to the pixel is measured [100]")
    parser.add_argument("--lines", type=int, default=5_000_000, help="of the log [5000000]")
    parser.add_argument("--only", default="", help="of sizes,map,paint,events,log and what else webui/e2e/bench has")
    args = options_of(parser)
    for program in ("npm", os.environ.get("GLIM_CHROMIUM", "chromium")):
        if not shutil.which(program):
            sys.exit(f"{program} is not there; install it: deploy/install-deps web")
    figures = Figures("web")
    wanted = [name for name in args.only.split(",") if name]
    build_page()
    if not wanted or "sizes" in wanted:
        tell_sizes(figures)
    benches = [name for name in wanted if name != "sizes"]
    if benches or not wanted:
        measure(figures, args, benches)


def build_page():
    """Where it is out of date, unless another one is to be measured (GLIM_WEB_DIST)."""
    if os.environ.get("GLIM_WEB_DIST"):
        return
    with tempfile.NamedTemporaryFile("r", prefix="glim-b-") as log:
        try:
            Page().build(log.name)
        except NoPage as why:
            sys.exit(f"{log.read()}there is no page to measure: {why}")


def tell_sizes(figures):
    """`npm run size` says what a first visit of each page loads, gzipped."""
    told = subprocess.run(["node", "scripts/size.mjs"], cwd=WEBUI, capture_output=True, text=True, timeout=PATIENCE_S)
    pages = re.findall(r"^page (\w+) .* with the shell ([\d.]+) KiB$", told.stdout, re.MULTILINE)
    if not pages:
        sys.exit(told.stdout + told.stderr)
    for page, size in pages:
        met = float(size) < AIM_KIB
        figures.tell("web_first_load_gzip", float(size), "KiB", 1, AIM_KIB, page=page, met=met)


def measure(figures, args, benches):
    """A line of the browser's that has the mark is a figure; all others are what it says meanwhile."""
    environment = {
        **os.environ,
        "GLIM_TEST_BIN": args.bin,
        "GLIM_BENCH_NODES": str(args.nodes),
        "GLIM_BENCH_PAINT_NODES": str(args.paint_nodes),
        "GLIM_BENCH_LINES": str(args.lines),
        "GLIM_BENCH_JOBS": str(args.jobs),
        "GLIM_BENCH_EVENTS": str(args.events),
    }
    argv = ["npx", "playwright", "test", "-c", "playwright.bench.config.ts", *[f"{name}.bench" for name in benches]]
    with subprocess.Popen(argv, cwd=WEBUI, env=environment, stdout=subprocess.PIPE, text=True) as browser:
        for line in browser.stdout:
            _, mark, figure = line.partition(MARK)
            if not mark:
                print(line, end="", file=sys.stderr)
                continue
            told = json.loads(figure)
            first = [told.pop(name) for name in ("metric", "value", "unit", "n")]
            figures.tell(*first, told.pop("aim", None), cores=os.cpu_count(), **told)
    sys.exit(browser.returncode)


if __name__ == "__main__":
    main()
