"""Charts as SVG by matplotlib (deploy/install-deps bench): panels side by side and one legend. The same lines make the
same bytes: no date, no random ids."""

from dataclasses import dataclass, field

LOG_FROM = 5  # an axis whose greatest value is that many times the least is logarithmic
PANEL_INCHES, HEIGHT_INCHES = 4.2, 3.8
COLOURS, MARKS = ("#0b62b8", "#b8500b"), ("o", "s")  # marks beside colour, so that series are told apart without it


@dataclass
class Series:
    name: str
    points: list  # (x, y)
    labels: list = field(default_factory=list)  # beside the points, or none


@dataclass
class Panel:
    title: str
    x_label: str
    y_label: str
    series: list


def scale_of(values):
    """How matplotlib calls the scale that shows them best."""
    low, high = min(values), max(values)
    return "log" if low > 0 and high >= LOG_FROM * low else "linear"


def draw_panel(axes, panel):
    for at, series in enumerate(panel.series):
        xs, ys = zip(*series.points)
        axes.plot(xs, ys, color=COLOURS[at], marker=MARKS[at], label=series.name)
        for point, label in zip(series.points, series.labels):
            axes.annotate(label, point, textcoords="offset points", xytext=(5, 4), fontsize=7)
    for axis, set_scale, index in ((axes.xaxis, axes.set_xscale, 0), (axes.yaxis, axes.set_yscale, 1)):
        set_scale(scale_of([point[index] for series in panel.series for point in series.points]))
        axis.set_major_formatter("{x:,g}")
        axis.set_minor_formatter(lambda value, position: "")
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    axes.grid(True, color="#d8dee4")


def write_figure(path, title, panels):
    """All panels have the same series, at most two, which the legend names once."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "glim", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    figure, all_axes = pyplot.subplots(
        1, len(panels), figsize=(PANEL_INCHES * len(panels), HEIGHT_INCHES), squeeze=False, layout="constrained"
    )
    for axes, panel in zip(all_axes[0], panels):
        draw_panel(axes, panel)
    figure.suptitle(title)
    all_axes[0][0].legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None, "Title": title})
    pyplot.close(figure)
