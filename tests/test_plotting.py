"""Pictures: drawn from arrays, nothing returned, colours told apart."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from lmlib import plotting


@pytest.fixture(autouse=True)
def keep_figures_open(monkeypatch):
    matplotlib.use("agg")
    monkeypatch.setattr(plotting, "show", lambda: None)
    yield
    plt.close("all")


def test_curves_are_told_apart_by_colour_and_marker():
    ys = {"a": [1, 2], "b": [2, 3], "c": [3, 4]}
    out = plotting.curves([1, 2], ys, "T", "x", "y", floor=("f", 0))
    assert out is None
    axes = plt.gca()
    lines = axes.get_lines()
    assert len({line.get_color() for line in lines[:3]}) == 3
    assert len({line.get_marker() for line in lines[:3]}) == 3
    assert lines[3].get_linestyle() == "--"
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("T", "x", "y")
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["a", "b", "c", "f"]


def test_bars_carry_their_values():
    assert plotting.bars({"a": 3, "b": 5}, "T", "y") is None
    assert [t.get_text() for t in plt.gca().texts] == ["3", "5"]


def test_every_cell_of_a_matrix_is_written_out():
    tables = {"one": np.eye(2), "two": np.zeros((2, 2))}
    assert plotting.matrices(tables, ["r", "s"], ["c", "d"]) is None
    left, right = plt.gcf().axes
    assert [t.get_text() for t in left.texts] == ["1", "0", "0", "1"]
    assert right.get_title() == "two"
    with pytest.raises(ValueError, match=r"'one' has shape \(2, 2\), but there are 1"):
        plotting.matrices(tables, ["r"], ["c", "d"])


def test_drawing_leaves_the_users_settings_alone():
    before = dict(matplotlib.rcParams)
    plotting.bars({"a": 1}, "T", "y")
    assert dict(matplotlib.rcParams) == before


def test_colours_are_legible_on_white():
    def luminance(colour):
        rgb = np.array(matplotlib.colors.to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    # WCAG asks 3 : 1 for graphics; the first three colours carry most figures
    for colour in plotting.COLOURS[:3]:
        assert 1.05 / (luminance(colour) + 0.05) >= 3


def test_densities_show_each_estimate_and_every_observation():
    ys = {"a": [0, 1, 0], "b": [1, 0, 1]}
    assert plotting.densities([0, 1, 2], ys, [0.5, 1.5], "T") is None
    *lines, ticks = plt.gca().get_lines()
    assert len({line.get_linestyle() for line in lines}) == 2
    assert ticks.get_xdata().tolist() == [0.5, 1.5]


def test_layers_name_every_length():
    assert plotting.layers(["the", "fat", "cat"], "sit", 10_000, 300, 500) is None
    texts = [t.get_text() for t in plt.gca().texts]
    assert texts.count("10,000") == 4  # three one-hot vectors and the scores
    assert texts.count("300") == 3
    assert {"900", "500", "the", "sit"} <= set(texts)


def test_stacked_bars_are_as_long_as_their_parts_together():
    rows = {"one": {"C": 2, "U": 3}, "two": {"C": 1}}
    assert plotting.stacked(rows, "T", "numbers") is None
    ends = {}
    for bar in plt.gca().patches:
        end = bar.get_x() + bar.get_width()
        row = round(bar.get_y() + bar.get_height() / 2)
        ends[row] = max(ends.get(row, 0), end)
    assert ends == {0: 5, 1: 1}
    assert [t.get_text() for t in plt.gca().get_legend().get_texts()] == ["C", "U"]
