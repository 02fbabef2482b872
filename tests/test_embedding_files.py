"""word2vec's formats: gensim reads what we write and we read its; damage is named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.embedding_files import load_binary, load_text, save_binary, save_text
from lmlib.embeddings import Embeddings
from lmlib.vocabulary import Vocabulary

WORDS = ["the", "naïve", "猫", "it's", "--"]
FORMATS = [(save_text, load_text), (save_binary, load_binary)]


def sample(dtype=np.float32):
    rows = np.random.default_rng(0).normal(size=(len(WORDS), 3)).astype(dtype)
    rows[0] = [-0.0, 1e-30, 3e38]
    return Embeddings(Vocabulary(WORDS, None), rows)


def entry(word, *numbers):
    """A word of the binary format."""
    return word.encode() + b" " + np.array(numbers, "<f4").tobytes()


@pytest.mark.parametrize(("save", "load"), FORMATS)
def test_what_is_written_is_read_back(tmp_path, save, load):
    save(sample(), tmp_path / "vectors")
    found = load(tmp_path / "vectors")
    assert found.vocabulary.words == tuple(WORDS)
    np.testing.assert_array_equal(found.vectors, sample().vectors)


def test_text_keeps_double_precision(tmp_path):
    save_text(sample(np.float64), tmp_path / "vectors")
    found = load_text(tmp_path / "vectors")
    np.testing.assert_array_equal(found.vectors, sample(np.float64).vectors)


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_what_we_write(tmp_path, optional, binary):
    gensim = optional("gensim.models")
    save = save_binary if binary else save_text
    save(sample(), tmp_path / "vectors")
    theirs = gensim.KeyedVectors.load_word2vec_format(
        str(tmp_path / "vectors"), binary=binary
    )
    assert theirs.index_to_key == WORDS
    np.testing.assert_array_equal(theirs.vectors, sample().vectors)


@pytest.mark.parametrize("binary", [False, True])
def test_we_read_what_gensim_writes(tmp_path, optional, binary):
    gensim = optional("gensim.models")
    theirs = gensim.KeyedVectors(3)
    theirs.add_vectors(WORDS, sample().vectors)
    theirs.save_word2vec_format(str(tmp_path / "vectors"), binary=binary)
    found = (load_binary if binary else load_text)(tmp_path / "vectors")
    assert found.vocabulary.words == tuple(WORDS)
    np.testing.assert_allclose(found.vectors, sample().vectors, rtol=1e-6)


@settings(deadline=None, max_examples=30)
@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5).filter(lambda w: w.split() == [w]),
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)).map(
            lambda row: [*row, 0.0, 0.0][:2]
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_words_and_numbers_survive(tmp_path_factory, vectors):
    try:
        "".join(vectors).encode()
    except UnicodeEncodeError:
        return  # half of a surrogate pair is no text
    path = tmp_path_factory.mktemp("any") / "vectors"
    some = Embeddings(Vocabulary(list(vectors), None), list(vectors.values()))
    for save, load in FORMATS:
        save(some, path)
        assert load(path).vocabulary.words == tuple(vectors)
        np.testing.assert_array_equal(load(path).vectors, some.vectors)


def test_the_c_programs_line_ends_may_be_missing(tmp_path):
    path = tmp_path / "vectors"
    for end in (b"", b"\n"):
        path.write_bytes(b"2 2\n" + entry("a", 1, 2) + end + entry("b", 3, 4) + end)
        assert load_binary(path).vectors.tolist() == [[1, 2], [3, 4]]


def test_a_number_whose_bytes_look_like_a_line_end_is_not_one(tmp_path):
    newlines = np.frombuffer(b"\n\n\n\n    ", "<f4")
    some = Embeddings(Vocabulary(["a", "b"], None), np.stack([newlines, newlines]))
    save_binary(some, tmp_path / "vectors")
    found = load_binary(tmp_path / "vectors")
    np.testing.assert_array_equal(found.vectors, some.vectors)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begins with '': expected the number of words and the dimension"),
        ("a 1 2\nb 3 4\n", "begins with 'a 1 2'"),
        ("-2 2\na 1 2\n", "begins with '-2 2'"),
        ("2 0\na\nb\n", "2 words of dimension 0: expected at least 1"),
        ("0 2\n", "0 words of dimension 2"),
        ("3 2\na 1 2\nb 3 4\n", "says .* 3 words follow, but there are 2"),
        ("1 2\na 1 2\nb 3 4\n", "says .* 1 words follow, but there are 2"),
        ("2 3\na 1 2\nb 3 4\n", "line 2: 'a' has 2 numbers, but the first line says 3"),
        ("2 2\na 1 2\nb 3\n", "line 3: 'b' has 1 numbers"),
        ("2 2\na 1 2\nb 3 x\n", "line 3: 'b' is followed by .* not a number"),
        ("2 2\na 1 2\na 3 4\n", "'a' stands 2 times"),
        ("2 2\na 1 2\nb 3 nan\n", "the vector of 'b' holds nan"),
    ],
)
def test_a_damaged_text_file_is_refused_by_name(tmp_path, text, words):
    path = tmp_path / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words) as caught:
        load_text(path)
    assert str(path) in str(caught.value)


GOOD = b"2 2\n" + entry("a", 1, 2) + b"\n" + entry("b", 3, 4) + b"\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "begins with ''"),
        (b"\x80\x81 no header", "begins with ''"),
        (b"2 0\n" + GOOD, "dimension 0: expected at least 1"),
        (GOOD[:-3], "only 19 bytes do: it was cut off"),
        (b"3 2\n" + GOOD[4:], "3 words of 2 numbers follow, but only 22 bytes do"),
        (b"2 2\n" + entry("abcdef", 1, 2) + entry("b", 3), "middle of word 2 of 2"),
        (b"1 2\n" + GOOD[4:], "12 bytes left after the 1 words"),
        (b"2 1\n" + GOOD[4:], "left after|is not UTF-8|ends in the middle|0 words"),
        (b"999999999999 300\n" + GOOD, "999999999999 words .* cut off"),
        (b"2 999999999999\n" + GOOD, "only 26 bytes do"),
        (b"2 2\n" + entry("a", 1, 2) + entry("a", 3, 4), "'a' stands 2 times"),
        (b"2 2\n" + entry("a", 1, 2) + entry("b", 3, np.inf), "'b' holds nan or inf"),
        (b"1 2\n\xff\xfe" + entry("", 1, 2), r"word 1 begins with .* not UTF-8"),
    ],
)
def test_a_damaged_binary_file_is_refused_by_name(tmp_path, data, words):
    path = tmp_path / "vectors.bin"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=words) as caught:
        load_binary(path)
    assert str(path) in str(caught.value)


def test_every_truncation_of_a_binary_file_is_refused(tmp_path):
    path = tmp_path / "vectors.bin"
    # The last line end alone may be missing, as gensim leaves it out.
    for length in range(len(GOOD) - 1):
        path.write_bytes(GOOD[:length])
        with pytest.raises(ValueError, match=r"vectors\.bin"):
            load_binary(path)


@pytest.mark.parametrize("save", [save_text, save_binary])
def test_words_that_the_format_cannot_hold_are_refused(tmp_path, save):
    some = Embeddings(Vocabulary(["New York"], None), np.ones((1, 2)))
    with pytest.raises(ValueError, match="'New York' holds white space"):
        save(some, tmp_path / "vectors")
    assert not list(tmp_path.iterdir())  # nothing is half-written


def test_a_number_too_large_for_float32_is_refused(tmp_path):
    some = Embeddings(Vocabulary(["a"], None), np.array([[1e300]]))
    with pytest.raises(ValueError, match="'a' is too large for float32"):
        save_binary(some, tmp_path / "vectors")
