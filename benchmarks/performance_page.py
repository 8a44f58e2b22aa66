"""The measured part of `docs/PERFORMANCE.md` and its picture, written from what `performance` has measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from benchmarks.figures import FIGURES, Figure, Point

__all__ = ["BEGIN", "END", "draw", "page_table", "replace_measured"]

BEGIN, END = "<!-- measured: python -m benchmarks.performance --write -->", "<!-- end of what is measured -->"
_WIDE, _HIGH, _COLUMNS, _MARGIN = 280, 130, 3, 34
_SIZES = (1_000, 10_000, 100_000, 1_000_000)


def replace_measured(page: str, measured: str, begin: str = BEGIN) -> str:
    """Return the page with another measured part, which begins with the line that says what writes it."""
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(END)
    return f"{head}{begin}\n\n{measured}\n{END}{tail}"


def page_table(
    points: Mapping[str, Sequence[Point]],
    before: Mapping[str, Sequence[Point]],
    machine: str,
    peers: Sequence[str],
) -> str:
    """Return the table: each figure with its target, its spread, and how it grows."""
    was = "| before " if before else ""
    lines = [
        f"Measured in one run with {machine}. Compared with {', '.join(peers)}.",
        "",
        f"| figure {was}| value | least – greatest | target | 1,000 | 10,000 | 100,000 | 1,000,000 |",
        "|---|---|---|---|---|---|---|---|" + ("---|" if before else ""),
    ]
    for key, taken in points.items():
        figure = FIGURES[key]
        head, old = _head(figure, taken), before.get(key, ())
        past = f"| {_head(figure, old).value:.3g} " if old else "| " if before else ""
        verdict = "" if figure.keeps(head.value) else " **missed**"
        sizes = {point.size: f"{point.value:.3g}" for point in taken}
        grown = " | ".join(sizes.get(size, "") for size in _SIZES)
        spread = f"{head.low:.3g} – {head.high:.3g}"
        lines.append(f"| {figure.name} {past}| {head.value:.3g}{verdict} | {spread} | {figure.target} | {grown} |")
    return "\n".join(lines) + "\n"


def draw(points: Mapping[str, Sequence[Point]]) -> str:
    """Return an SVG of small charts: each ratio as the size grows, relative to that at the first size.

    What is compared with grows as the input does, so a level line is linear growth.
    """
    shown = [(FIGURES[key], taken) for key, taken in points.items() if len(taken) > 1]
    rows = math.ceil(len(shown) / _COLUMNS)
    wide, high = _COLUMNS * _WIDE, rows * (_HIGH + 2 * _MARGIN)
    charts = [
        _chart(figure, taken, (n % _COLUMNS) * _WIDE, (n // _COLUMNS) * (_HIGH + 2 * _MARGIN))
        for n, (figure, taken) in enumerate(shown)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11">'
    )
    return "\n".join([head, f'<rect width="{wide}" height="{high}" fill="white"/>', *charts, "</svg>"]) + "\n"


def _chart(figure: Figure, points: Sequence[Point], left: int, top: int) -> str:
    """Return one chart with its own axes."""
    relative = [point.value / (points[0].value or 1) for point in points]
    most = max(2.0, *relative)
    span = math.log10(points[-1].size / points[0].size)
    at = [
        (
            left + _MARGIN + math.log10(point.size / points[0].size) / span * (_WIDE - 2 * _MARGIN),
            top + _MARGIN + _HIGH * (1 - value / most),
        )
        for point, value in zip(points, relative, strict=True)
    ]
    floor, level = top + _MARGIN + _HIGH, top + _MARGIN + _HIGH * (1 - 1 / most)
    ends = f'x1="{left + _MARGIN}" x2="{left + _WIDE - _MARGIN}"'
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in at)
    marks = [
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="#0b6"/>'
        f'<text x="{x:.0f}" y="{y - 7:.0f}" text-anchor="middle">{value:.2f}</text>'
        f'<text x="{x:.0f}" y="{floor + 14}" text-anchor="middle" fill="#666">{_short(point.size)}</text>'
        for (x, y), value, point in zip(at, relative, points, strict=True)
    ]
    return "\n".join(
        [
            f'<text x="{left + _MARGIN}" y="{top + 20}" font-weight="bold">{escape(figure.key)}</text>',
            f'<line {ends} y1="{floor}" y2="{floor}" stroke="#999"/>',
            f'<line {ends} y1="{level:.0f}" y2="{level:.0f}" stroke="#999" stroke-dasharray="3 3"/>',
            f'<polyline points="{line}" fill="none" stroke="#0b6" stroke-width="2"/>',
            *marks,
        ]
    )


def _short(size: int) -> str:
    return f"{size // 1_000_000}M" if size >= 1_000_000 else f"{size // 1000}k" if size >= 1000 else str(size)


def _head(figure: Figure, points: Sequence[Point]) -> Point:
    return next((point for point in points if point.size == figure.head), points[-1])
