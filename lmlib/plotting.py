"""Pictures from plain arrays, one style for the whole book.

Every figure is drawn on a white card with the colour-blind safe palette of Okabe and
Ito (2008), so that it reads the same on light and dark pages. Functions draw and
return None: a notebook's output is the picture, and the numbers in it are printed by
the cell as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike

BLUE, ORANGE, GREEN, RED = "#0072B2", "#D55E00", "#009E73", "#CC3311"
SKY, YELLOW, PURPLE, GREY = "#56B4E9", "#E69F00", "#CC79A7", "#666666"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

STYLE: Any = {  # matplotlib's rc parameters
    "figure.figsize": (6.4, 3.6),
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.8,
    "axes.prop_cycle": cycler(color=COLOURS),
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same everywhere
    "font.size": 11,
    "legend.frameon": False,
    "lines.linewidth": 2,
}


def new_axes(
    title: str, xlabel: str, ylabel: str, size: tuple[float, float] | None = None
) -> Axes:
    """One pair of labelled axes in the book's style."""
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=size)
        axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    return axes


def show() -> None:
    """Show the picture and release it."""
    plt.show()


def curves(
    x: ArrayLike,
    ys: Mapping[str, ArrayLike],
    title: str,
    xlabel: str,
    ylabel: str,
    *,
    logx: bool = False,
    logy: bool = False,
    floor: tuple[str, float] | None = None,
    percent: bool = False,
) -> None:
    """Several curves over one x, told apart by colour and marker.

    ``floor`` draws a dashed line with its name: the value no curve can go beyond.
    """
    with plt.rc_context(STYLE):
        axes = new_axes(title, xlabel, ylabel)
        for i, (name, y) in enumerate(ys.items()):
            marker = MARKERS[i % len(MARKERS)]
            axes.plot(x, y, marker=marker, markersize=5, label=name)
        if floor is not None:
            axes.axhline(floor[1], color=GREY, linestyle="--", label=floor[0])
        if logx:
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter(NullFormatter())  # they would overlap
        if logy:
            axes.set_yscale("log")
        if percent:
            axes.yaxis.set_major_formatter("{x:.0%}")
        points = np.asarray(x, np.float64)
        if not logx and len(points) <= 10:
            axes.set_xticks(points)  # few points: name each
        if len(ys) > 3:  # too many names to find room among the curves
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
        elif len(ys) > 1 or floor is not None:
            axes.legend()
        show()


def bars(
    heights: Mapping[str, float],
    title: str,
    ylabel: str,
    *,
    percent: bool = False,
    logy: bool = False,
    labels: Sequence[str] | None = None,
) -> None:
    """One bar a name, its value written above it (``labels``, if given)."""
    with plt.rc_context(STYLE):
        axes = new_axes(title, "", ylabel)
        drawn = axes.bar(list(heights), list(heights.values()), color=BLUE, width=0.6)
        axes.bar_label(drawn, labels=list(labels) if labels else None, padding=2)
        axes.grid(axis="x", visible=False)
        if logy:
            axes.set_yscale("log")
        if percent:
            axes.yaxis.set_major_formatter("{x:.0%}")
        show()


def matrices(
    tables: Mapping[str, ArrayLike],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    form: str = "{:.3g}",
) -> None:
    """Tables of numbers side by side: shaded grids, each number in its cell."""
    arrays = {name: np.asarray(table, np.float64) for name, table in tables.items()}
    for name, table in arrays.items():
        if table.shape != (len(rows), len(columns)):
            raise ValueError(
                f"{name!r} has shape {table.shape}, but there are {len(rows)} row and "
                f"{len(columns)} column names: give one name each"
            )
    size = ((1.2 + 0.8 * len(columns)) * len(arrays), 1.0 + 0.5 * len(rows))
    with plt.rc_context({**STYLE, "axes.grid": False}):
        _, grid = plt.subplots(1, len(arrays), figsize=size, squeeze=False)
        for axes, (name, table) in zip(grid[0], arrays.items(), strict=True):
            axes.set_title(name)
            axes.imshow(table, cmap="Blues", aspect="auto", vmin=0)
            axes.set_xticks(range(len(columns)), columns)
            axes.set_yticks(range(len(rows)), rows)
            axes.tick_params(length=0)
            middle = table.max() / 2
            for (i, j), value in np.ndenumerate(table):
                ink = "white" if value > middle > 0 else "black"
                text = form.format(value)
                axes.text(j, i, text, ha="center", va="center", color=ink)
        show()


def densities(
    x: ArrayLike, estimates: Mapping[str, ArrayLike], points: ArrayLike, title: str
) -> None:
    """Density estimates over a line, with the observations as ticks below it."""
    with plt.rc_context(STYLE):
        axes = new_axes(title, "value", "density")
        styles = ("-", "--", "-.", ":")
        for i, (name, y) in enumerate(estimates.items()):
            axes.plot(x, y, linestyle=styles[i % len(styles)], label=name)
        spots = np.asarray(points, np.float64)
        axes.plot(spots, np.zeros_like(spots), "|", color="black", markersize=14)
        axes.legend()
        show()


def layers(
    context: Sequence[str], target: str, words: int, features: int, hidden: int
) -> None:
    """A feed-forward language model as columns of numbers, with every length."""
    inputs = len(context) * features
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(figsize=(7.6, 4.2))
        axes.set(xlim=(-0.75, 4.75), ylim=(-0.2, 4.5))
        axes.axis("off")

        def box(x: float, low: float, high: float, text: str, colour: str) -> None:
            patch = Rectangle(
                (x - 0.14, low), 0.28, high - low, facecolor=colour, edgecolor="black"
            )
            axes.add_patch(patch)
            axes.text(x, low - 0.06, text, ha="center", va="top", fontsize=9)

        def arrow(x: float, y: float, to_x: float, to_y: float) -> None:
            style = {"arrowstyle": "->", "color": GREY, "lw": 1.2}
            axes.annotate("", (to_x - 0.18, to_y), (x + 0.18, y), arrowprops=style)

        step = 3.9 / len(context)
        for i, word in enumerate(context):
            low = 3.9 - (i + 1) * step + 0.25
            middle = low + (step - 0.45) / 2
            box(0, low, low + step - 0.45, f"{words:,}", "white")
            hot = middle + (step - 0.6) * (0.3 - 0.25 * i)
            axes.plot([-0.14, 0.14], [hot, hot], color=ORANGE, linewidth=3)
            axes.text(-0.22, middle, word, ha="right", va="center", style="italic")
            box(1, middle - 0.27, middle + 0.27, f"{features:,}", SKY)
            arrow(0, middle, 1, middle)
            arrow(1, middle, 2, 2.0 + (1 - i) * 0.5)
        box(2, 0.9, 3.1, f"{inputs:,}", SKY)
        box(3, 1.25, 2.75, f"{hidden:,}", GREEN)
        box(4, 0.25, 3.75, f"{words:,}", "white")
        axes.plot([3.86, 4.14], [2.6, 2.6], color=ORANGE, linewidth=3)
        axes.text(4.22, 2.6, target, va="center", style="italic")
        arrow(2, 2, 3, 2)
        arrow(3, 2, 4, 2)
        for x, name in enumerate(("one-hot", "C", "x", "tanh(d + Hx)", "y")):
            axes.text(x, 4.25, name, ha="center", va="center", weight="bold")
        show()


def stacked(rows: Mapping[str, Mapping[str, float]], title: str, xlabel: str) -> None:
    """One horizontal bar a row, cut into named parts that are drawn to scale."""
    names = list(dict.fromkeys(part for parts in rows.values() for part in parts))
    with plt.rc_context(STYLE):
        axes = new_axes(title, xlabel, "", (6.8, 1.4 + 0.55 * len(rows)))
        left = np.zeros(len(rows))
        for i, name in enumerate(names):
            widths = np.array([parts.get(name, 0) for parts in rows.values()])
            colour = COLOURS[i % len(COLOURS)]
            axes.barh(list(rows), widths, left=left, color=colour, label=name)
            left += widths
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.legend(ncols=len(names), loc="upper center", bbox_to_anchor=(0.5, -0.28))
        show()
