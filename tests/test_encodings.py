"""Ordinal codes invent distances; one-hot vectors have none to tell words apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.encodings import (
    cosine_similarities,
    euclidean_distances,
    one_hot,
    one_hot_bytes,
    ordinal_distances,
)


def test_ordinal_codes_put_green_between_red_and_blue():
    # red 1, green 2, blue 3: |1-2| = 1, |1-3| = 2, |2-3| = 1
    d = ordinal_distances([1, 2, 3])
    assert (d[0, 1], d[0, 2], d[1, 2]) == (1, 2, 1)


@given(st.integers(2, 30))
@settings(max_examples=20, deadline=None)
def test_one_hot_vectors_are_orthogonal_and_equally_far_apart(size):
    vectors = one_hot(np.arange(size), size)
    assert (vectors @ vectors.T == np.eye(size)).all()
    apart = euclidean_distances(vectors)[~np.eye(size, dtype=bool)]
    assert apart == pytest.approx(np.sqrt(2))


@given(st.integers(1, 20), st.integers(1, 8), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_one_hot_times_a_matrix_is_one_of_its_rows(size, features, seed):
    rng = np.random.default_rng(seed)
    table, ids = rng.normal(size=(size, features)), rng.integers(0, size, 5)
    assert (one_hot(ids, size) @ table == table[ids]).all()


def test_shapes_follow_the_ids():
    assert one_hot(2, 4).shape == (4,)
    assert one_hot(np.array([[0, 1]]), 4).shape == (1, 2, 4)
    assert one_hot(np.array([], int), 4).shape == (0, 4)


def test_bytes_are_tokens_times_size_times_itemsize():
    assert one_hot_bytes(10, 10_000) == 800_000
    assert one_hot(np.arange(3), 5).nbytes == one_hot_bytes(3, 5)


def test_cosines_of_right_angles_and_parallels():
    c = cosine_similarities([[1, 0], [0, 2], [3, 3]])
    assert c[0, 1] == pytest.approx(0)
    assert c[0, 2] == pytest.approx(1 / np.sqrt(2))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"id 3 has no place .* expected 0 to 2"):
        one_hot(3, 3)
    with pytest.raises(ValueError, match="id -1 has no place"):
        one_hot(-1, 3)
    with pytest.raises(ValueError, match="size=0"):
        one_hot(0, 0)
    with pytest.raises(ValueError, match="float64: expected integers"):
        one_hot(np.array([1.0]), 3)
    with pytest.raises(ValueError, match=r"expected one number a category"):
        ordinal_distances([[1, 2]])
    with pytest.raises(ValueError, match=r"expected \(K, D\)"):
        euclidean_distances([1, 2])
    with pytest.raises(ValueError, match="row 1 is the zero vector"):
        cosine_similarities([[1, 0], [0, 0]])
    with pytest.raises(ValueError, match="size=0"):
        one_hot_bytes(1, 0)
