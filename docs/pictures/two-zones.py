"""Two zones: where jobs go, and the one pair of nodes that exchanges data across."""

SIZE = (9.2, 3.7)


def draw(axes, shades):
    axes.set_xlim(0, 92)
    axes.set_ylim(0, 37)
    jobs = {"job 7": shades["run"], "job 8": shades["good"], "job 9": shades["held"]}
    zones = [
        (
            "zone A",
            1,
            [("leaf switch a1", ["job 7", "job 7", "job 7"]), ("leaf switch a2", ["free", "job 9", "job 9"])],
        ),
        (
            "zone B",
            49,
            [("leaf switch b1", ["job 9", "job 9", "free"]), ("leaf switch b2", ["job 8", "job 8", "free"])],
        ),
    ]
    number = 0
    for zone, left, leaves in zones:
        box(axes, left, 1, 42, 26, shades["sunken"], shades["line_strong"])
        axes.text(left + 21, 24.4, zone, ha="center", va="center", fontsize=12, fontweight="bold")
        for at, (leaf, uses) in enumerate(leaves):
            x = left + 1.5 + 20 * at
            box(axes, x, 17, 19, 4.4, shades["raised"], shades["line_strong"])
            axes.text(x + 9.5, 19.2, leaf, ha="center", va="center", fontsize=9, color=shades["weak"])
            for place, use in enumerate(uses):
                number += 1
                middle = x + 3.1 + 6.4 * place
                axes.plot([x + 9.5, middle], [17, 11.4], color=shades["line_strong"], lw=1, zorder=3)
                shade = jobs.get(use)
                box(axes, middle - 2.9, 4, 5.8, 7.4, shade or shades["raised"], shade or shades["line_strong"])
                ink = shades["bg"] if shade else shades["text"]
                axes.text(middle, 9.2, f"n{number}", ha="center", va="center", color=ink, fontsize=9)
                axes.text(middle, 6.2, use, ha="center", va="center", color=ink, fontsize=8.5)
    across = [(38.4, 4), (38.4, 2.4), (53.6, 2.4), (53.6, 4)]
    axes.plot(*zip(*across), color=jobs["job 9"], lw=3, solid_joinstyle="round", zorder=5)
    axes.plot([22, 22, 70, 70], [27, 31.4, 31.4, 27], color=shades["line_strong"], lw=1.5, ls=(0, (4, 3)))
    axes.text(46, 34.9, "the link between the zones: one job at a time", ha="center", va="center", fontsize=10)
    words = "job 9:\none pair\nof nodes\ntalks\nacross"
    axes.text(46, 13.4, words, ha="center", va="center", fontsize=8.5, color=jobs["job 9"])


def box(axes, x, y, width, height, fill, line):
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.8"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, fc=fill, ec=line, lw=1, zorder=2))
