"""An interrupt as a time line: job 12 (high) needs the nodes of job 7 (normal). Times are an example; the axis has no
scale."""

SIZE = (9.6, 4.3)
PHASES = [  # of job 12's wait: name, from, to, how long it took
    ("queued", 6, 18, "40 ms"),
    ("notify", 18, 32, "110 ms"),
    ("agree", 32, 42, "20 ms"),
    ("save", 42, 64, "1.9 s"),
    ("release", 64, 76, "270 ms"),
    ("start", 76, 88, "1.1 s"),
]


def draw(axes, shades):
    axes.set_xlim(-12, 104)
    axes.set_ylim(0, 50)
    for name, begin, end, took in PHASES:
        axes.plot([begin, begin], [3, 44], color=shades["line"], lw=1, zorder=0)
        axes.text((begin + end) / 2, 47.4, name, ha="center", va="center", fontsize=10, fontweight="bold")
        axes.text((begin + end) / 2, 44.8, took, ha="center", va="center", fontsize=8.5, color=shades["weak"])
    axes.plot([88, 88], [3, 44], color=shades["line"], lw=1, zorder=0)
    rows = [("job 12", 36, "high"), ("scheduler", 28, ""), ("rank 0", 17, "of job 7"), ("rank 1", 7, "of job 7")]
    for name, y, note in rows:
        axes.text(-11.5, y + (1.4 if note else 0), name, va="center", fontsize=10, fontweight="bold")
        axes.text(-11.5, y - 1.6, note, va="center", fontsize=8.5, color=shades["weak"])
        axes.plot([2, 103], [y, y], color=shades["line"], lw=1, zorder=0)
    bar(axes, shades, 6, 76, 36, "waits", shades["wait"])
    bar(axes, shades, 76, 88, 36, "starts", shades["start"])
    bar(axes, shades, 88, 103, 36, "runs", shades["run"])
    steps = {17: [(2, 14), (14, 26), (26, 38)], 7: [(2, 16), (16, 29), (29, 42)]}
    for y, ranks in steps.items():
        for number, (begin, end) in enumerate(ranks):
            bar(axes, shades, begin, end, y, f"step {498 + number}", shades["run"])
    bar(axes, shades, 42, 64, 17, "saves step 500", shades["good"])
    bar(axes, shades, 42, 47, 7, "leaves", shades["warn"], small=True)
    bar(axes, shades, 64, 69, 17, "leaves", shades["warn"], small=True)
    for y in (17, 7):
        arrow(axes, shades, 18, 28, 24 if y == 17 else 23, y + 3)
        arrow(axes, shades, 27 if y == 17 else 31, y + 3, 31 if y == 17 else 32, 28, dashed=True)
        arrow(axes, shades, 33, 28, 37 if y == 17 else 36.4, y + 3)
    arrow(axes, shades, 18, 34, 18, 29)
    dot(axes, shades, 18, "asks job 7 to save and leave", 17, 31.2, side="right")
    dot(axes, shades, 32.5, "all ranks answered: stop after step 500", 34, 31.2)
    dot(axes, shades, 76, "no process of job 7 is left:\njob 12 holds the nodes", 78, 24.6)
    axes.text(47.5, 11.6, "rank 0 saves alone; nobody begins step 501", fontsize=8.5, va="center", color=shades["weak"])
    arrow(axes, shades, 69, 19.6, 75.4, 27.4)
    arrow(axes, shades, 76, 29, 76, 33.4)


def bar(axes, shades, begin, end, y, words, shade, small=False):
    axes.barh(y, end - begin - 0.5, left=begin + 0.25, height=5, color=shade, zorder=3)
    style = {"ha": "center", "va": "center", "color": shades["bg"], "zorder": 4, "fontsize": 6.5 if small else 9}
    axes.text((begin + end) / 2, y, words, **style)


def dot(axes, shades, x, words, at, y, side="left"):
    axes.plot([x], [28], "o", color=shades["accent"], ms=7, zorder=5)
    axes.text(at, y, words, fontsize=8.5, va="center", ha=side, zorder=5)


def arrow(axes, shades, x, y, to_x, to_y, dashed=False):
    style = {"arrowstyle": "-|>", "color": shades["accent"], "lw": 1.1, "shrinkA": 0, "shrinkB": 0}
    style["ls"] = "--" if dashed else "-"
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=style, zorder=2)
