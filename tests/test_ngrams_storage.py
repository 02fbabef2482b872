"""Saving and loading: exact, and safe against damaged and foreign files."""

import io
import json

import numpy as np
import pytest

from lmlib.ngrams import absolute_discounting, count_ngrams, load, save
from lmlib.vocabulary import Vocabulary


@pytest.fixture
def model():
    vocabulary = Vocabulary(["<unk>", "<s>", "naïve", "\u00a0"])
    ids = np.array([1, 2, 3, 2, 1, 3, 3, 2])
    return absolute_discounting(count_ngrams(vocabulary, ids, 3), 0.5)


def test_what_is_saved_is_loaded_exactly(model, tmp_path):
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.vocabulary == model.vocabulary
    assert again.name == model.name
    assert again.interpolated
    for old, new in [
        (model.log_p, again.log_p),
        (model.log_alpha, again.log_alpha),
        (model.trie.keys, again.trie.keys),
    ]:
        assert [a.tobytes() for a in old] == [a.tobytes() for a in new]
    ids = np.array([1, 3, 2, 0, 3])
    assert again.token_log_probabilities(ids).tolist() == (
        model.token_log_probabilities(ids).tolist()
    )


def test_a_damaged_file_is_refused_by_name(model, tmp_path):
    path = tmp_path / "model.npz"
    save(model, path)
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"model\.npz is not a whole n-gram model"):
            load(path)
    at = whole.index(model.log_p[1].tobytes())
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(ValueError, match="is not a whole n-gram model"):
        load(path)


def test_a_foreign_file_is_refused_and_runs_nothing(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, x=np.arange(3))
    with pytest.raises(ValueError, match="is not a whole n-gram model"):
        load(path)
    np.save(tmp_path / "one.npy", np.arange(3))
    with pytest.raises(ValueError, match="is not a whole n-gram model"):
        load(tmp_path / "one.npy")
    np.save(tmp_path / "pickle.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="is not a whole n-gram model"):
        load(tmp_path / "pickle.npy")
    path.write_text("hello", "utf-8")
    with pytest.raises(ValueError, match="is not a whole n-gram model"):
        load(path)


def changed(path, change):
    """The file with its arrays and header changed, written again whole."""
    with np.load(path) as file:
        arrays = {name: file[name].copy() for name in file.files}
    header = json.loads(arrays["header"].tobytes())
    change(arrays, header)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    path.write_bytes(buffer.getvalue())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, h: h.update(version=2), "has version 2, and this program reads"),
        (lambda a, h: h.update(format="something"), "something"),
        (lambda a, h: h.update(order=4), "keys_4"),
        (lambda a, h: h.update(words=h["words"][:2]), "unknown parts|other values"),
        (lambda a, h: a.update(keys_2=a["keys_2"][::-1]), "order 2 are not sorted"),
        (lambda a, h: a.update(keys_3=a["keys_3"] + 999), "order 3 have unknown parts"),
        (lambda a, h: a.update(log_p_2=a["log_p_2"][1:]), "order 2 has"),
        (lambda a, h: a["log_p_1"].fill(np.nan), "order 1 has values that are not num"),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(model, tmp_path, change, message):
    path = tmp_path / "model.npz"
    save(model, path)
    changed(path, change)
    with pytest.raises(ValueError, match=message):
        load(path)
