"""Checkpoints are whole or refused, and belong to one run."""

import json

import pytest
import torch
from safetensors.torch import save_file

from lmlib.checkpoints import Checkpoints, DamagedFile, read_tensors, write_tensors

TENSORS = {
    "C": torch.arange(6, dtype=torch.float64).reshape(2, 3),
    "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "one": torch.tensor(7),
    "none": torch.empty(0, 4),
}


def test_tensors_and_description_come_back_as_written(tmp_path):
    about = {"step": 3, "loss": 0.1 + 0.2, "names": ["é", "日本"]}
    write_tensors(tmp_path / "a.safetensors", TENSORS, about)
    tensors, again = read_tensors(tmp_path / "a.safetensors")
    assert again == about
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_a_file_cut_short_is_refused_by_name(tmp_path, share):
    path = tmp_path / "a.safetensors"
    write_tensors(path, TENSORS, {})
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(DamagedFile, match=r"a\.safetensors is damaged or cut short"):
        read_tensors(path)


def test_a_changed_number_is_noticed(tmp_path):
    path = tmp_path / "a.safetensors"
    write_tensors(path, TENSORS, {})
    whole = bytearray(path.read_bytes())
    whole[-3] ^= 1  # one bit of the last tensor
    path.write_bytes(whole)
    with pytest.raises(DamagedFile, match="not the ones that were written"):
        read_tensors(path)


def test_files_of_another_origin_are_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"C": torch.ones(2)}, path)
    with pytest.raises(ValueError, match="was not written by this package"):
        read_tensors(path)
    with pytest.raises(ValueError, match="there is no file"):
        read_tensors(tmp_path / "b.safetensors")
    write_tensors(path, TENSORS, {"vocabulary": "abc"})
    with pytest.raises(ValueError, match="its vocabulary is 'abc', here it is 'xyz'"):
        read_tensors(path, {"vocabulary": "xyz"})


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    # A file where the folder should be fails for every user, root too.
    (tmp_path / "runs").write_text("in the way", encoding="utf-8")
    checkpoints = Checkpoints(tmp_path / "runs", {})
    with pytest.raises(ValueError, match=r"cannot be written .* choose a folder"):
        checkpoints.save(1, TENSORS, {})


def test_the_last_two_checkpoints_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, {"seed": 1})
    assert checkpoints.load() is None
    for step in (5, 10, 100_000_000, 200_000_000):
        checkpoints.save(step, TENSORS, {"step": step})
    names = [path.name for path in checkpoints.paths()]
    assert names == ["step-200000000.safetensors", "step-100000000.safetensors"]
    step, tensors, state = checkpoints.load()
    assert (step, state) == (200_000_000, {"step": 200_000_000})
    assert torch.equal(tensors["C"], TENSORS["C"])


def test_a_damaged_checkpoint_is_passed_over_with_a_warning_that_names_it(tmp_path):
    checkpoints = Checkpoints(tmp_path, {})
    checkpoints.save(1, TENSORS, {})
    newest = checkpoints.save(2, TENSORS, {})
    newest.write_bytes(newest.read_bytes()[:-10])
    with pytest.warns(UserWarning, match=r"step-00000002\.safetensors is damaged"):
        assert checkpoints.load()[0] == 1


def test_when_every_checkpoint_is_damaged_the_run_does_not_start_afresh(tmp_path):
    checkpoints = Checkpoints(tmp_path, {})
    for step in (1, 2):
        checkpoints.save(step, TENSORS, {}).write_bytes(b"")
    with (
        pytest.warns(UserWarning, match="is damaged"),
        pytest.raises(DamagedFile, match=r"every checkpoint in .* is damaged"),
    ):
        checkpoints.load()


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    Checkpoints(tmp_path, {"vocabulary": "abc", "seed": 1}).save(1, TENSORS, {})
    other = Checkpoints(tmp_path, {"vocabulary": "xyz", "seed": 1})
    with pytest.raises(
        ValueError, match="its vocabulary is 'abc', this run's is 'xyz'"
    ):
        other.load()
    with pytest.raises(ValueError, match="its seed is 1, this run's is None"):
        Checkpoints(tmp_path, {"vocabulary": "abc"}).load()
    same = Checkpoints(tmp_path, {"seed": 1, "vocabulary": "abc"})
    assert same.load()[0] == 1


def test_identities_are_compared_as_json_holds_them(tmp_path):
    identity = {"borders": (8, 9), "config": {"dropout": 0.1}}
    Checkpoints(tmp_path, identity).save(1, TENSORS, {})
    assert Checkpoints(tmp_path, json.loads(json.dumps(identity))).load()[0] == 1
    assert Checkpoints(tmp_path, identity).load()[0] == 1
