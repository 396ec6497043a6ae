"""A job's checkpoint folder: what lies in it, and in which order it comes to be."""

SIZE = (9.6, 4.1)
ROWS = [  # depth, name, what it is, shade
    (0, "DIR/", "one job's checkpoints", ""),
    (1, "job.json", "whose they are", ""),
    (1, "latest", "a hint for people; nobody reads it", ""),
    (1, "attempt-2/", "what attempt 2 of the job wrote", ""),
    (2, "base.json", "what it goes on from; this file begins the attempt", ""),
    (2, "step-00001200/", "has a manifest: whole, it counts", "good"),
    (3, "shard-00000-of-00002.safetensors", "bytes of rank 0", ""),
    (3, "shard-00001-of-00002.safetensors", "bytes of rank 1", ""),
    (3, "manifest.json", "what is where, with checksums; comes last, by rename", "good"),
    (2, "step-00001300/", "has no manifest yet: it does not count", "bad"),
    (3, "shard-00000-of-00002.safetensors", "bytes of rank 0", ""),
    (3, "part-00000.json", "rank 0's share of the manifest", ""),
]


def draw(axes, shades):
    from matplotlib.patches import FancyBboxPatch

    axes.set_xlim(0, 96)
    axes.set_ylim(0, 3.4 * len(ROWS))
    place = {}
    for at, (depth, name, words, shade) in enumerate(ROWS):
        x, y = 1 + 5 * depth, 3.4 * (len(ROWS) - at) - 1.7
        line = shades[shade or "line_strong"]
        width = 2.6 + 0.94 * len(name)
        box = FancyBboxPatch((x, y - 1.2), width, 2.4, boxstyle="round,pad=0,rounding_size=0.5")
        box.set(facecolor=shades["sunken" if name.endswith("/") else "raised"], edgecolor=line, zorder=2)
        box.set(linewidth=2 if shade else 1, linestyle="--" if shade == "bad" else "-")
        axes.add_patch(box)
        axes.text(x + 1.3, y, name, va="center", fontsize=9.5, fontweight="bold", zorder=3)
        ink = shades[shade] if shade else shades["weak"]
        axes.text(max(x + width + 2, 31 if depth < 3 else 0), y, words, va="center", fontsize=9.5, color=ink)
        if depth:
            top = place[depth - 1]
            axes.plot([x - 3.5, x - 3.5, x], [top - 1.2, y, y], color=shades["line_strong"], lw=1, zorder=1)
        place[depth] = y
