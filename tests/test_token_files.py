"""Token files and random windows: what was written, where it lies, in equal shares."""

import numpy as np
import pytest

from lmlib.text_windows import TextWindows
from lmlib.token_files import open_tokens, write_tokens
from lmlib.vocabulary import Vocabulary

SMALL = Vocabulary([f"w{i}" for i in range(300)], unknown=None)
LARGE = Vocabulary([f"w{i}" for i in range(2**16 + 1)], unknown=None)


@pytest.mark.parametrize(("vocabulary", "width"), [(SMALL, 2), (LARGE, 4)])
def test_ids_come_back_from_a_memory_map(tmp_path, vocabulary, width):
    parts = [np.arange(10), np.array([len(vocabulary) - 1, 0])]
    assert write_tokens(tmp_path / "t.npy", parts, vocabulary) == 12
    ids = open_tokens(tmp_path / "t.npy", vocabulary)
    assert isinstance(ids, np.memmap)
    assert ids.dtype.itemsize == width
    assert ids.tolist() == [*range(10), len(vocabulary) - 1, 0]
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = 1


def test_a_file_of_another_vocabulary_is_refused(tmp_path):
    write_tokens(tmp_path / "t.npy", [np.arange(10)], SMALL)
    with pytest.raises(ValueError, match="written with another vocabulary"):
        open_tokens(tmp_path / "t.npy", LARGE)


def test_a_file_cut_short_is_refused(tmp_path):
    path = tmp_path / "t.npy"
    write_tokens(path, [np.arange(300)], SMALL)
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    with pytest.raises(
        ValueError, match=r"t\.npy is no token file, or missing, or cut"
    ):
        open_tokens(path, SMALL)
    np.save(path, np.arange(5, dtype=np.uint16))
    with pytest.raises(ValueError, match=r"shape \(5,\).* tells of 300 tokens"):
        open_tokens(path, SMALL)
    path.unlink()
    with pytest.raises(ValueError, match="missing"):
        open_tokens(path, SMALL)


def test_bad_tokens_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="id 300 is outside 0 to 299"):
        write_tokens(tmp_path / "t.npy", [np.array([300])], SMALL)
    with pytest.raises(ValueError, match="no tokens"):
        write_tokens(tmp_path / "t.npy", [], SMALL)
    assert list(tmp_path.iterdir()) == []


def test_windows_are_pieces_of_the_text_with_one_token_more():
    (windows,) = TextWindows(np.arange(100, 200), tokens=7, texts=5)(3)
    assert windows.shape == (5, 8)
    for row in windows.tolist():
        assert row == list(range(row[0], row[0] + 8))
        assert 100 <= row[0] <= 192


def test_every_place_where_a_window_fits_is_as_likely():
    # 10 tokens, windows of 7 + 1: beginnings 0, 1 and 2.
    batches = TextWindows(np.arange(10), tokens=7, texts=3000)
    counts = np.bincount(batches(0)[0][:, 0].numpy(), minlength=3)
    assert len(counts) == 3
    assert (abs(counts - 1000) < 5 * np.sqrt(3000 * 2 / 9)).all()


def test_a_batch_depends_on_seed_and_step_alone():
    a, b = (TextWindows(np.arange(1000), 7, 4, seed=1) for _ in range(2))
    a(0)
    assert (a(5)[0] == b(5)[0]).all()
    assert (a(5)[0] != a(6)[0]).any()
    assert (a(5)[0] != TextWindows(np.arange(1000), 7, 4, seed=2)(5)[0]).any()


def test_one_pass_is_as_many_tokens_as_the_text_has():
    assert TextWindows(np.arange(1000), 10, 5).steps(2) == 40  # 2 x 1000 / 50


def test_a_text_shorter_than_the_window_is_refused():
    with pytest.raises(ValueError, match="8 tokens is shorter than a window of 8"):
        TextWindows(np.arange(8), tokens=8, texts=1)
    assert TextWindows(np.arange(9), tokens=8, texts=1)(0)[0].shape == (1, 9)
    with pytest.raises(ValueError, match="texts=0"):
        TextWindows(np.arange(9), tokens=8, texts=0)
