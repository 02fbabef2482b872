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
        if logy:
            axes.set_yscale("log")
        if percent:
            axes.yaxis.set_major_formatter("{x:.0%}")
        if len(ys) > 1 or floor is not None:
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


def matrix(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    *,
    form: str = "{:.3g}",
) -> None:
    """A table of numbers as a shaded grid with each number written in its cell."""
    table = np.asarray(values, np.float64)
    if table.shape != (len(rows), len(columns)):
        raise ValueError(
            f"values have shape {table.shape}, but there are {len(rows)} row and "
            f"{len(columns)} column names: give one name each"
        )
    width, height = 1.4 + 0.8 * len(columns), 1.0 + 0.5 * len(rows)
    with plt.rc_context({**STYLE, "axes.grid": False}):
        axes = new_axes(title, "", "", (width, height))
        axes.imshow(table, cmap="Blues", aspect="auto", vmin=0)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0)
        middle = table.max() / 2
        for (i, j), value in np.ndenumerate(table):
            ink = "white" if value > middle > 0 else "black"
            axes.text(j, i, form.format(value), ha="center", va="center", color=ink)
        show()
