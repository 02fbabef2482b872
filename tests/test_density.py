"""Densities on a line: each integrates to one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib import density

GRID = np.linspace(-30, 30, 60_001)
STEP = GRID[1] - GRID[0]


@given(
    st.lists(st.floats(-5, 5), min_size=2, max_size=10, unique_by=lambda x: round(x, 1))
)
@settings(max_examples=30, deadline=None)
def test_each_estimate_integrates_to_one(points):
    for estimate in (
        density.histogram(points, np.linspace(-6, 6, 13)),
        density.gaussian(points),
        density.kernel(points, 0.5),
    ):
        # a step of 0.001: jumps and narrow peaks cost at most a few of them
        assert (estimate(GRID) * STEP).sum() == pytest.approx(1, abs=0.02)


def test_a_histogram_is_zero_where_nothing_fell():
    # three of four points in [0, 1), one in [2, 3)
    d = density.histogram([0.1, 0.2, 0.9, 2.5], [0, 1, 2, 3])
    assert d([0.5, 1.5, 2.5]).tolist() == [0.75, 0.0, 0.25]
    assert d([-1, 3.5]).tolist() == [0, 0]


def test_a_kernel_is_positive_everywhere_and_highest_at_its_point():
    d = density.kernel([1.0], 0.5)
    assert d([1.0])[0] == pytest.approx(1 / (0.5 * np.sqrt(2 * np.pi)))
    assert 0 < d([3.0])[0] < d([1.5])[0] < d([1.0])[0]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="at least one number"):
        density.gaussian([])
    with pytest.raises(ValueError, match="all 1 points are 2"):
        density.gaussian([2.0])
    with pytest.raises(ValueError, match=r"point 5\.0 is outside the edges 0\.0 to 2"):
        density.histogram([0.1, 5.0], [0, 1, 2])
    with pytest.raises(ValueError, match="width=0"):
        density.kernel([1.0], 0)
