"""The figures as a page for people: one file that needs nothing else, neither scripts nor other hosts."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from tests.bench.figures import Figure, Goal, Side, formatted

WIDTH = 720
HEIGHT = 150
LEFT = 64
TOP = 10
BOTTOM = 20
COLOURS = ("#0c6b52", "#c2570c", "#3b5bb5", "#8a3b8f", "#6b6b1f", "#444c56")
MOST_DOTS = 60
"""With more samples only the line between them is drawn."""

_STYLE = """
:root { color-scheme: light; font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  color: #17211c; background: #f4f6f4 }
body { max-width: 800px; margin: 0 auto; padding: 24px 16px 48px }
h1 { font-size: 26px; margin: 0 }
h2 { font-size: 18px; margin: 0 0 8px }
section { background: #fff; border: 1px solid #dde4df; border-radius: 8px; margin: 16px 0;
  padding: 16px 20px }
p { margin: 4px 0; color: #57665e }
ul { margin: 12px 0 0; padding-left: 20px; color: #57665e }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; margin: 8px 0 }
th { font-weight: 600; color: #57665e; font-size: 13px }
th, td { text-align: right; padding: 4px 0 4px 14px; border-bottom: 1px solid #eef2ef; vertical-align: top }
th:first-child, td:first-child { text-align: left; padding-left: 0 }
td { overflow-wrap: anywhere }
td.cpu { font-size: 13px; white-space: pre-line }
.met, .missed { display: inline-block; border-radius: 4px; padding: 1px 8px; margin: 0 6px 4px 0 }
.met { background: #dff1ea; color: #0c6b52 }
.missed { background: #fbe4e2; color: #a82a2a }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: 6px }
.wide { overflow-x: auto }
svg { display: block; width: 100%; height: auto }
svg text { font-size: 11px; fill: #57665e }
"""


def as_page(figures: Sequence[Figure], machine: Mapping[str, object], left_out: Mapping[str, str]) -> str:
    missed = [figure.name for figure in figures if not figure.met]
    summary = f"Not met: {', '.join(missed)}." if missed else f"All goals of {len(figures)} figures met."
    about = ", ".join(f"{name} {value}" for name, value in machine.items())
    reasons = "".join(
        f'<section>\n<h2>{escape(name)}</h2><p class="missed">left out: {escape(reason)}</p></section>\n'
        for name, reason in left_out.items()
    )
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>Gapless benchmark</title>\n<style>{_STYLE}</style>\n"
        f"<h1>Gapless benchmark</h1>\n<p>{escape(about)}</p>\n<p>{escape(summary)}</p>\n"
        f"{reasons}{''.join(map(_section, figures))}</html>\n"
    )


def _section(figure: Figure) -> str:
    colours = {id(side): COLOURS[place % len(COLOURS)] for place, side in enumerate(figure.sides)}
    rows = "".join(_row(side, colours[id(side)]) for side in figure.sides)
    plots = "".join(
        _plot(unit, [(side, colours[id(side)]) for side in figure.sides if side.unit == unit])
        for unit in dict.fromkeys(side.unit for side in figure.sides)
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in figure.notes)
    return (
        f"<section>\n<h2>{escape(figure.name)}</h2>\n{''.join(map(_goal, figure.goals))}"
        '<div class="wide"><table>\n<tr><th>side<th>median<th>min to max<th>unit<th>CPU seconds</tr>\n'
        f"{rows}</table></div>\n{plots}{f'<ul>{notes}</ul>' if notes else ''}</section>\n"
    )


def _goal(goal: Goal) -> str:
    return f'<p class="{"met" if goal.met else "missed"}">{escape(str(goal))}</p>\n'


def _row(side: Side, colour: str) -> str:
    used = "\n".join(f"{who} {seconds:.1f}" for who, seconds in side.cpu_seconds.items())
    return (
        f'<tr><td><span class="dot" style="background:{colour}"></span>{escape(side.name)}'
        f"<td>{formatted(side.median)}"
        f"<td>{formatted(min(side.samples))} to {formatted(max(side.samples))}"
        f'<td>{escape(side.unit)}<td class="cpu">{escape(used)}</tr>\n'
    )


def _plot(unit: str, sides: Sequence[tuple[Side, str]]) -> str:
    """Samples over rounds; nothing where there is one sample only."""
    most = max(len(side.samples) for side, _ in sides)
    if most < 2:
        return ""
    top = max(max(side.samples) for side, _ in sides) or 1.0
    right, bottom = WIDTH - 10, HEIGHT - BOTTOM

    def place(number: int, sample: float) -> tuple[float, float]:
        return (
            LEFT + (right - LEFT) * number / (most - 1),
            bottom - (bottom - TOP) * sample / top,
        )

    drawn = "".join(_curve([place(*found) for found in enumerate(side.samples)], c) for side, c in sides)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{escape(unit)} in each round</title>"
        f'<path d="M{LEFT} {TOP}H{right}M{LEFT} {bottom}H{right}" stroke="#dde4df"/>'
        f'<text x="{LEFT - 8}" y="{TOP + 4}" text-anchor="end">{formatted(top)}</text>'
        f'<text x="{LEFT - 8}" y="{bottom + 4}" text-anchor="end">0</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 4}">1</text>'
        f'<text x="{right}" y="{HEIGHT - 4}" text-anchor="end">{most}</text>'
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(unit)}, by round</text>'
        f"{drawn}</svg>\n"
    )


def _curve(points: Iterable[tuple[float, float]], colour: str) -> str:
    texts = [(f"{x:.1f}", f"{y:.1f}") for x, y in points]
    line = " ".join(f"{x},{y}" for x, y in texts)
    thin = len(texts) > MOST_DOTS
    dots = "" if thin else "".join(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in texts)
    width = 0.7 if thin else 1.5
    return f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{width}"/>{dots}'
