"""An SVG of two loss curves over the same steps, and of their difference below. No library."""
import math
from html import escape

WIDTH, LEFT, RIGHT = 900, 76, 20
TOP, UPPER, GAP, LOWER, BOTTOM = 56, 330, 34, 150, 48
COLOURS = ("#1f6fb4", "#d9602b", "#555555")


def ticks(low, high, wanted=6):
    """Round values that cover low to high."""
    span = (high - low) or 1.0
    raw = span / wanted
    size = 10 ** math.floor(math.log10(raw))
    step = next(m * size for m in (1, 2, 5, 10) if m * size >= raw)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def label(value, values):
    step = abs(values[1] - values[0]) if len(values) > 1 else abs(value) or 1.0
    return f"{value:.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


class Panel:
    """A rectangle with axes; x is the step, 1 to `steps`."""

    def __init__(self, out, top, height, steps, low, high, title):
        margin = 0.04 * ((high - low) or 1.0)
        self.out, self.top, self.height, self.steps = out, top, height, steps
        self.low, self.high = low - margin, high + margin
        right, bottom = WIDTH - RIGHT, top + height
        values = ticks(self.low, self.high, 6 if height > 200 else 4)
        for value in values:
            y = self.y(value)
            out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#e3e3e3"/>')
            out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label(value, values)}</text>')
        for value in ticks(1, steps, 10):
            if value != int(value) or value < 1:
                continue
            x = self.x(value)
            out.append(f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" stroke="#333"/>')
            out.append(f'<text x="{x:.1f}" y="{bottom + 19}" text-anchor="middle">{int(value)}</text>')
        out.append(f'<rect x="{LEFT}" y="{top}" width="{right - LEFT}" height="{height}" fill="none" stroke="#333"/>')
        middle = top + height / 2
        out.append(f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">{escape(title)}</text>')

    def x(self, step):
        return LEFT + (step - 1) / max(1, self.steps - 1) * (WIDTH - RIGHT - LEFT)

    def y(self, value):
        return self.top + (self.high - value) / (self.high - self.low) * self.height

    def line(self, values, colour, width=1.4):
        points = " ".join(f"{self.x(i + 1):.1f},{self.y(v):.1f}" for i, v in enumerate(values) if math.isfinite(v))
        self.out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"/>')


def draw(path, title, first, second):
    """first and second: (name, losses), as many losses in both. The lower panel is first - second."""
    (first_name, a), (second_name, b) = first, second
    finite = [v for v in (*a, *b) if math.isfinite(v)]
    difference = [x - y for x, y in zip(a, b)]
    shown = [v for v in difference if math.isfinite(v)]
    height = TOP + UPPER + GAP + LOWER + BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="sans-serif" font-size="12" fill="#222">',
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           f'<text x="{LEFT}" y="22" font-size="14" font-weight="bold">{escape(title)}</text>']
    upper = Panel(out, TOP, UPPER, len(a), min(finite), max(finite), "loss, nats a token")
    upper.line(b, COLOURS[1], 2.6)  # below and wider, so that both are seen where they coincide
    upper.line(a, COLOURS[0])
    for i, (name, colour) in enumerate(((first_name, COLOURS[0]), (second_name, COLOURS[1]))):
        x = LEFT + 330 * i
        out.append(f'<line x1="{x}" y1="40" x2="{x + 24}" y2="40" stroke="{colour}" stroke-width="3"/>')
        out.append(f'<text x="{x + 30}" y="44">{escape(name)}</text>')
    lower = Panel(out, TOP + UPPER + GAP, LOWER, len(a), min([*shown, 0.0]), max([*shown, 0.0]), "difference")
    lower.line([0.0] * len(a), "#999", 1)
    lower.line(difference, COLOURS[2])
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{height - 8}" text-anchor="middle">optimizer step</text>')
    out.append("</svg>")
    with open(path, "w") as file:
        file.write("\n".join(out) + "\n")
