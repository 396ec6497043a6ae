"""A gang preemption: job 12 (high, 4 nodes) makes two jobs save and leave. It starts when it holds all of its nodes."""

SIZE = (9.6, 3.9)


def draw(axes, shades):
    axes.set_xlim(-9, 104)
    axes.set_ylim(-1, 45)
    run, save, empty, claim = shades["run"], shades["good"], shades["warn"], shades["wait"]
    other, third = shades["held"], shades["series_5"]
    rows = {"n1": 36, "n2": 27, "n3": 18, "n4": 9}
    for name, y in rows.items():
        axes.text(-8, y, name, va="center", fontsize=11, fontweight="bold")
        axes.plot([0, 103], [y - 4.5, y - 4.5], color=shades["line"], lw=1, zorder=0)
    for name in ("n1", "n2"):
        bar(axes, shades, 0, 24, rows[name], "job 7", run)
    bar(axes, shades, 24, 40, rows["n1"], "job 7 saves", save)
    bar(axes, shades, 24, 30, rows["n2"], "leaves", empty)
    bar(axes, shades, 0, 24, rows["n3"], "job 9", other)
    bar(axes, shades, 24, 54, rows["n3"], "job 9 saves", save)
    bar(axes, shades, 18, 60, rows["n4"], "held for job 12", claim, hatched=True)
    axes.text(9, rows["n4"], "free", ha="center", va="center", fontsize=9, color=shades["weak"])
    bar(axes, shades, 40, 60, rows["n1"], "held for job 12", claim, hatched=True)
    bar(axes, shades, 30, 60, rows["n2"], "held for job 12", claim, hatched=True)
    bar(axes, shades, 54, 60, rows["n3"], "held", claim, hatched=True)
    axes.barh(22.5, 27, left=60.2, height=33.6, color=third, zorder=3)
    axes.text(
        73.7, 22.5, "job 12 runs\non all four", ha="center", va="center", color=shades["bg"], fontsize=11, zorder=4
    )
    for name, words in (("n1", "job 7"), ("n2", "job 7")):
        bar(axes, shades, 89, 103, rows[name], words, run)
    bar(axes, shades, 89, 103, rows["n3"], "job 9", other)
    axes.text(96, rows["n4"], "free", ha="center", va="center", fontsize=9, color=shades["weak"])
    for x in (18, 60, 88):
        axes.plot([x, x], [3, 41], color=shades["accent"], lw=1.4, ls=(0, (4, 2)), zorder=5)
    axes.text(
        18, 43.2, "job 12 is planned: one commit asks both and claims four", fontsize=8.5, ha="center", va="center"
    )
    axes.text(60, 43.2, "all four are empty: it starts", fontsize=8.5, ha="center", va="center")
    axes.text(103, 43.2, "both go on where they saved", fontsize=8.5, ha="right", va="center")
    axes.annotate("", (103, 1.4), (0, 1.4), arrowprops={"arrowstyle": "-|>", "color": shades["weak"], "lw": 1})
    axes.text(0, -0.4, "time", fontsize=8.5, color=shades["weak"], va="center")


def bar(axes, shades, begin, end, y, words, shade, hatched=False):
    fill = {"color": shade} if not hatched else {"fc": shades["sunken"], "ec": shade, "hatch": "///", "lw": 1}
    axes.barh(y, end - begin - 0.4, left=begin + 0.2, height=6.6, zorder=3, **fill)
    small = end - begin < 10
    shown = {"bbox": {"fc": shades["sunken"], "ec": "none", "pad": 1.5}} if hatched else {}
    ink = shades["text"] if hatched else shades["bg"]
    style = {"ha": "center", "va": "center", "color": ink, "zorder": 4, "fontsize": 7 if small else 9}
    axes.text((begin + end) / 2, y, words, **style, **shown)
