"""Words and ids: one order, one symbol for the unknown, nothing lost on the way."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.vocabulary import Vocabulary

words = st.text(min_size=1, max_size=8)


def test_words_are_ordered_by_count_then_spelling_after_the_unknown_symbol():
    v = Vocabulary.from_tokens("b a c b a b d".split())
    # b 3 times, a 2 times, c and d once each: c before d by spelling
    assert v.words == ("<unk>", "b", "a", "c", "d")


def test_rare_words_are_merged_into_the_unknown_symbol():
    v = Vocabulary.from_tokens("b a c b a b d".split(), min_count=2)
    assert v.words == ("<unk>", "b", "a")
    assert v.encode(["a", "c", "never seen"]).tolist() == [2, 0, 0]


def test_marks_are_kept_whatever_their_count():
    v = Vocabulary.from_tokens(["a", "a"], min_count=2, marks=["<s>", "</s>"])
    assert v.words == ("<unk>", "<s>", "</s>", "a")
    assert v.start_id == 1


def test_ids_do_not_depend_on_the_hash_seed():
    code = (
        "from lmlib.vocabulary import Vocabulary as V;"
        "print(V.from_tokens('the cat sat on the mat a dog ran'.split()).fingerprint)"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(prints) == 1


@given(st.lists(words, min_size=1, max_size=30))
@settings(max_examples=100, deadline=None)
def test_encoding_and_decoding_is_the_identity_on_known_words(tokens):
    v = Vocabulary.from_tokens(tokens)
    assert v.decode(v.encode(tokens)) == tokens


@given(words=st.lists(words.filter(lambda w: w != "<unk>"), unique=True, max_size=20))
@settings(max_examples=50, deadline=None)
def test_a_saved_vocabulary_is_the_same_when_loaded(words, tmp_path_factory):
    path = tmp_path_factory.mktemp("v") / "vocabulary.json"
    v = Vocabulary(["<unk>", *words])
    v.save(path)
    assert Vocabulary.load(path) == v
    assert Vocabulary.load(path).fingerprint == v.fingerprint


@pytest.mark.parametrize(
    "token", ["a\u00a0b", "a\vb", "a\u200bb", "\ufeff", "é", "e\u0301"]
)
def test_unusual_characters_inside_tokens_round_trip(token, tmp_path):
    # NBSP, vertical tab, zero-width space, byte-order mark, composed, decomposed
    v = Vocabulary.from_tokens([token, "other"])
    v.save(tmp_path / "v.json")
    loaded = Vocabulary.load(tmp_path / "v.json")
    assert loaded.decode(loaded.encode([token])) == [token]


def test_an_empty_text_has_no_vocabulary():
    with pytest.raises(ValueError, match="the text is empty"):
        Vocabulary.from_tokens([])
    with pytest.raises(ValueError, match="at least one word"):
        Vocabulary([])


def test_a_string_where_tokens_are_expected_is_refused():
    with pytest.raises(ValueError, match=r"elements are characters.*text.split"):
        Vocabulary.from_tokens("the cat")
    with pytest.raises(ValueError, match="elements are characters"):
        Vocabulary.from_tokens(["the"]).encode("the cat")
    with pytest.raises(ValueError, match="elements are characters"):
        Vocabulary("abc")


def test_min_count_below_one_is_refused():
    with pytest.raises(ValueError, match=r"min_count=0 .* at least 1"):
        Vocabulary.from_tokens(["a"], min_count=0)


def test_a_vocabulary_without_the_unknown_symbol_names_the_word_and_the_remedy():
    closed = Vocabulary(["cat", "dog"], unknown=None)
    assert closed.unknown_id is None
    with pytest.raises(ValueError, match=r"'cow' is not among the 2 words.*unknown="):
        closed.encode(["cat", "cow"])
    with pytest.raises(ValueError, match=r"'<unk>' is not among the 2 words"):
        Vocabulary(["cat", "dog"])
    with pytest.raises(ValueError, match=r"min_count=2 drops words"):
        Vocabulary.from_tokens(["a"], min_count=2, unknown=None)


def test_repeated_and_empty_words_are_refused():
    with pytest.raises(ValueError, match="'cat' stands 2 times"):
        Vocabulary(["<unk>", "cat", "cat"])
    with pytest.raises(ValueError, match="'' is not a word"):
        Vocabulary(["<unk>", ""])


@pytest.mark.parametrize("bad", [-1, 3])
def test_an_id_outside_the_vocabulary_is_named(bad):
    v = Vocabulary(["<unk>", "a", "b"])
    with pytest.raises(ValueError, match=f"id {bad} is outside 0 to 2"):
        v.decode([0, bad])


def test_ids_that_are_not_integers_are_refused():
    with pytest.raises(ValueError, match="float64: expected integers"):
        Vocabulary(["<unk>", "a"]).decode(np.array([0.0, 1.0]))


def test_fingerprints_tell_vocabularies_apart():
    a, b = Vocabulary(["<unk>", "a"]), Vocabulary(["a", "<unk>"])
    assert a.fingerprint != b.fingerprint
    assert a != b
    assert len({a, b, Vocabulary(["<unk>", "a"])}) == 2


def test_a_file_that_is_not_a_vocabulary_is_refused_by_name(tmp_path):
    path = tmp_path / "v.json"
    path.write_text('{"words": ["a"]}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"v\.json is not a vocabulary"):
        Vocabulary.load(path)
    path.write_bytes(b"[\xff]")
    with pytest.raises(ValueError, match=r"v\.json is not UTF-8: byte 0xff"):
        Vocabulary.load(path)
