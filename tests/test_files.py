"""Files are UTF-8 and never half-written."""

import pytest

from lmlib.files import read_text, replacing, write_text


def test_text_comes_back_with_its_line_ends(tmp_path):
    write_text(tmp_path / "a" / "t.txt", "één\nzwei\u00a0\u200b\n")
    assert read_text(tmp_path / "a" / "t.txt") == "één\nzwei\u00a0\u200b\n"
    assert (tmp_path / "a" / "t.txt").read_bytes().count(b"\r") == 0


def test_bytes_that_are_not_utf_8_are_located(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("line one\ncaf\xe9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"0xe9 at offset 12 \(line 2\).*iconv"):
        read_text(path)


def test_an_error_while_writing_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "t.txt"
    write_text(path, "old")

    def write_half():
        with replacing(path) as temporary:
            temporary.write_text("half", encoding="utf-8")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        write_half()
    assert read_text(path) == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]
