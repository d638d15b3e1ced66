"""Small multiples on logarithmic axes, as SVG: points with their names beside them. Part of figures.py."""

import collections
import math
import textwrap
from xml.sax.saxutils import escape

from figures_places import LETTERS, places

# The name is written at the point; the group determines color and mark.
Point = collections.namedtuple("Point", "x y name group")


def polygon(*corners):
    return lambda x, y: '<polygon points="%s"/>' % " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)


# Colors of Okabe and Ito, which the color-blind tell apart; marks do the same without color.
STYLES = (
    ("#0072B2", lambda x, y: f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/>'),
    ("#D55E00", polygon((-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5))),
    ("#009E73", polygon((0, -5.5), (5.5, 4.5), (-5.5, 4.5))),
    ("#CC79A7", polygon((0, -6), (6, 0), (0, 6), (-6, 0))),
    ("#E69F00", polygon((-5.5, -4.5), (5.5, -4.5), (0, 5.5))),
)
ACROSS, WIDE, HIGH = 2, 500, 400  # panels in a row; one of them, with its margins
LEFT, RIGHT, TOP, BOTTOM = 48, 22, 34, 42
MOST_TICKS = 9
GREY = ' fill="#444"'
MIDDLE = ' text-anchor="middle"'
TITLE = ' font-size="14" font-weight="bold"'
ANCHORS = {1: "start", -1: "end", 0: "middle"}


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>'


class Axis:
    """Where values are between two places. It begins and ends at 1, 2 or 5 times a power of ten, and has ticks at all of them, or at as many powers
    of ten as there is room for."""

    def __init__(self, values, start, end):
        low, high = min(values) / 1.15, max(values) * 1.15
        exponents = range(math.floor(math.log10(low)) - 1, math.floor(math.log10(high)) + 3)
        steps = [float(f"{digit}e{e}") for e in exponents for digit in (1, 2, 5)]
        first = max(i for i, step in enumerate(steps) if step <= low)
        last = min(i for i, step in enumerate(steps) if step >= high)
        self.ticks = steps[first : last + 1]
        if len(self.ticks) > MOST_TICKS:
            powers = steps[-(-first // 3) * 3 : last + 1 : 3]
            self.ticks = powers[:: -(-len(powers) // MOST_TICKS)]
        self.first, self.start = steps[first], start
        self.pixels = (end - start) / math.log10(steps[last] / steps[first])

    def at(self, value):
        return self.start + self.pixels * math.log10(value / self.first)


def panel(left, top, title, points, groups, xs):
    frame = (left + LEFT, top + TOP, left + WIDE - RIGHT, top + HIGH - BOTTOM)
    center, middle = (frame[0] + frame[2]) / 2, (frame[1] + frame[3]) / 2
    across, up = Axis(xs, frame[0], frame[2]), Axis([p.y for p in points], frame[3], frame[1])
    columns, lines = [across.at(v) for v in across.ticks], [up.at(v) for v in up.ticks]
    grid = [f"M{x:.1f} {frame[1]}V{frame[3]}" for x in columns] + [f"M{frame[0]} {y:.1f}H{frame[2]}" for y in lines]
    out = [text(center, frame[1] - 10, title, MIDDLE + TITLE), f'<path stroke="#ddd" d="{"".join(grid)}"/>']
    out += [text(x, frame[3] + 16, f"{v:g}", MIDDLE + GREY) for x, v in zip(columns, across.ticks)]
    out += [text(frame[0] - 5, y + 4, f"{v:g}", ' text-anchor="end"' + GREY) for y, v in zip(lines, up.ticks)]
    out.append(text(center, frame[3] + 33, "compression, GB/s", MIDDLE + GREY))
    out.append(text(left + 14, middle, "ratio", f'{MIDDLE}{GREY} transform="rotate(-90 {left + 14} {middle:.1f})"'))
    marks = [(across.at(p.x), up.at(p.y), p.name) for p in points]
    room = (frame[0], frame[1] - 6, frame[2] + 16, frame[3])  # of the names, up to the title and the next panel
    for p, (x, y, _), (side, dx, dy) in zip(points, marks, places(marks, room)):
        which = groups.index(p.group)
        color, mark = STYLES[which % len(STYLES)]
        out.append(f'<g fill="{color}">{mark(x, y)}</g>')
        bold = f' font-weight="bold" fill="{color}"' if which == 0 else ""
        out.append(text(x + dx, y + dy + 0.35 * LETTERS, p.name, f' text-anchor="{ANCHORS[side]}"{bold}'))
    return out


def legend(left, top, groups, title, note):
    x, y = left + LEFT, top + TOP + 12
    out = [text(x, y, title, TITLE)]
    for which, group in enumerate(groups):
        y += 26
        color, mark = STYLES[which % len(STYLES)]
        out += [f'<g fill="{color}">{mark(x + 6, y - 4)}</g>', text(x + 20, y, group)]
    lines = ["better: up, and to the right", *textwrap.wrap(note, 46)]
    return out + [text(x, y + 30 + 18 * i, line, GREY) for i, line in enumerate(lines)]


def draw(panels, groups, title, note):
    """A panel for each title with its points, all with the same axis of x; then what the marks mean. The first group is the one that it is about."""
    cells = len(panels) + 1
    columns = min(ACROSS, cells)
    width, height = columns * WIDE, -(-cells // columns) * HIGH
    corners = [(i % columns * WIDE, i // columns * HIGH) for i in range(cells)]
    xs = [p.x for points in panels.values() for p in points]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="{LETTERS}" fill="#222">',
        f"<title>Ratio against speed of compression, {escape(title)}, {escape(note)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for corner, (name, points) in zip(corners, panels.items()):
        out += panel(*corner, name, points, groups, xs)
    return "\n".join(out + legend(*corners[-1], groups, title, note) + ["</svg>"]) + "\n"
