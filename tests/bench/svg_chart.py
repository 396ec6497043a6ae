"""Charts as plain SVG text: panels side by side, axes with ticks, one legend, colours for light and dark."""

import math
from dataclasses import dataclass, field
from html import escape

PANEL_WIDTH, PLOT_HEIGHT = 300, 220
LEFT, RIGHT, TOP, BOTTOM = 62, 26, 84, 50
TICKS_WANTED = 5
LOG_FROM = 5  # an axis whose greatest value is that many times the least is logarithmic
DECADES_FROM = 100  # ticks at powers of ten alone
MARKS = ("circle", "square")  # beside colour, so that series are told apart without it
STYLE = """
  .back { fill: #ffffff } .text { fill: #24292f } .axis { stroke: #57606a } .grid { stroke: #d8dee4 }
  .line0 { stroke: #0b62b8 } .mark0 { fill: #0b62b8 } .line1 { stroke: #b8500b } .mark1 { fill: #b8500b }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .text { fill: #d7dde4 } .axis { stroke: #8b949e } .grid { stroke: #2b3138 }
    .line0 { stroke: #6cb2ff } .mark0 { fill: #6cb2ff } .line1 { stroke: #ffa35c } .mark1 { fill: #ffa35c }
  }
  text { font: 12px system-ui, sans-serif } .title { font-size: 15px; font-weight: 600 }
  .head { font-weight: 600 } .small { font-size: 10px } path { fill: none; stroke-width: 2 }
"""


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


class Axis:
    """Values to positions between `begin` and `end`, over ticks that enclose them all."""

    def __init__(self, values, begin, end):
        low, high = min(values), max(values)
        self.begin, self.end, self.log = begin, end, low > 0 and high >= LOG_FROM * low
        self.ticks = log_ticks(low, high) if self.log else linear_ticks(low, high)

    def at(self, value):
        low, high, value = (math.log10(v) if self.log else v for v in (self.ticks[0], self.ticks[-1], value))
        return round(self.begin + (value - low) / (high - low) * (self.end - self.begin), 1)


def linear_ticks(low, high):
    """Round numbers, about TICKS_WANTED, from at most `low` to at least `high`."""
    rough = max(high - low, abs(high) * 0.01, 1e-9) / (TICKS_WANTED - 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999)
    first = math.floor(low / step + 1e-9)
    last = max(math.ceil(high / step - 1e-9), first + 1)
    return [round(i * step, 10) for i in range(first, last + 1)]


def log_ticks(low, high):
    """Powers of ten, and twice and five times these where there is room."""
    steps = (1,) if high >= DECADES_FROM * low else (1, 2, 5)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    first = max(i for i, tick in enumerate(ticks) if tick <= low * 1.001)
    last = min(i for i, tick in enumerate(ticks) if tick >= high * 0.999)
    return ticks[first : last + 1]


def word(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def text(x, y, content, css="", anchor="middle", more=""):
    classes = f"text {css}".strip()
    return f'<text class="{classes}" x="{x}" y="{y}" text-anchor="{anchor}"{more}>{escape(content)}</text>'


def mark(kind, x, y, css):
    if kind == "circle":
        return f'<circle class="{css}" cx="{x}" cy="{y}" r="4"/>'
    return f'<rect class="{css}" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"/>'


def draw_axes(panel, x_axis, y_axis):
    bottom, top = y_axis.begin, y_axis.end
    out, words = [], []
    for tick in sorted(x_axis.ticks, key=lambda tick: tick > 0 and math.log10(tick) % 1 != 0):  # powers of ten first
        x, half = x_axis.at(tick), 4 * len(word(tick))
        out.append(f'<line class="grid" x1="{x}" y1="{bottom}" x2="{x}" y2="{top}"/>')
        if all(x + half <= begin or end <= x - half for begin, end in words):
            out.append(text(x, bottom + 16, word(tick)))
            words.append((x - half, x + half))
    for tick in y_axis.ticks:
        y = y_axis.at(tick)
        out.append(f'<line class="grid" x1="{x_axis.begin}" y1="{y}" x2="{x_axis.end}" y2="{y}"/>')
        out.append(text(x_axis.begin - 6, y + 4, word(tick), anchor="end"))
    out.append(
        f'<polyline class="axis" fill="none" points="{x_axis.begin},{top} {x_axis.begin},{bottom} '
        f'{x_axis.end},{bottom}"/>'
    )
    middle_x, middle_y = (x_axis.begin + x_axis.end) / 2, (bottom + top) / 2
    out.append(text(middle_x, bottom + 36, panel.x_label))
    turned_x = x_axis.begin - 46
    out.append(text(turned_x, middle_y, panel.y_label, more=f' transform="rotate(-90 {turned_x} {middle_y})"'))
    out.append(text(middle_x, top - 10, panel.title, "head"))
    return out


def draw_label(label, x, y, boxes):
    """Beside a point, where none of `boxes` (x1, y1, x2, y2) is, or nowhere."""
    width, height = 5.5 * len(label), 9
    for left, base in ((x + 7, y - 3), (x - 7 - width, y - 3), (x + 7, y + 11), (x - 7 - width, y + 11)):
        box = (left, base - height, left + width, base)
        if all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in boxes):
            boxes.append(box)
            return [text(round(left, 1), round(base, 1), label, "small", "start")]
    return []


def draw_panel(panel, left):
    xs, ys = ([point[i] for series in panel.series for point in series.points] for i in (0, 1))
    x_axis = Axis(xs, left + LEFT, left + PANEL_WIDTH - RIGHT)
    y_axis = Axis(ys, TOP + PLOT_HEIGHT, TOP)
    out = draw_axes(panel, x_axis, y_axis)
    places = [[(x_axis.at(x), y_axis.at(y)) for x, y in series.points] for series in panel.series]
    boxes = [(x - 4, y - 4, x + 4, y + 4) for of_series in places for x, y in of_series]
    boxes.append((left, TOP, left + LEFT, TOP + PLOT_HEIGHT))  # the words of the axis
    for at, (series, of_series) in enumerate(zip(panel.series, places)):
        out.append(f'<path class="line{at}" d="M{" L".join(f"{x} {y}" for x, y in of_series)}"/>')
        out += [mark(MARKS[at], x, y, f"mark{at}") for x, y in of_series]
        for (x, y), label in zip(of_series, series.labels):
            out += draw_label(label, x, y, boxes)
    return out


def figure_of(title, panels):
    """The SVG's text. All panels have the same series, at most two, which the legend names once."""
    width, height = PANEL_WIDTH * len(panels), TOP + PLOT_HEIGHT + BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{width}" height="{height}"/>',
        text(16, 24, title, "title", "start"),
    ]
    x = 22
    for at, series in enumerate(panels[0].series):
        out += [mark(MARKS[at], x, 44, f"mark{at}"), text(x + 10, 48, series.name, anchor="start")]
        x += 40 + 7 * len(series.name)
    for at, panel in enumerate(panels):
        out += draw_panel(panel, at * PANEL_WIDTH)
    return "\n".join([*out, "</svg>", ""])
