"""Each corpus is exactly one text: its fingerprint is pinned here."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmlib import corpora
from lmlib.corpora import Corpus, MissingCorpus, tokenize
from lmlib.vocabulary import Vocabulary


def test_the_toy_corpus_is_always_the_same_text():
    corpus = corpora.toy(sentences=100, seed=1)
    assert corpus.fingerprint == corpora.toy(sentences=100, seed=1).fingerprint
    assert corpus.fingerprint != corpora.toy(sentences=100, seed=2).fingerprint
    assert [part.count(".") for part in (corpus.train, corpus.valid, corpus.test)] == [
        80,
        10,
        10,
    ]


PINNED = {
    "toy": "fc4b7d6a9baedd32a76332f42b2e059886cb81fa2a349a6b88f6fb827cd46ee9",
    "web": "46b910e255a6ccc04ecb62940081b75949d7bb8ac5184e3baca0ff0f5fdae4aa",
    "ylt": "6750bc81e882ebdfca1291ace7bc193e9de72aa8f683c869271b67e3ba125fdf",
}


def test_the_embedded_texts_have_their_pinned_fingerprints():
    texts = {"toy": corpora.toy(), **{t: corpora.bible(t) for t in ("web", "ylt")}}
    assert {name: corpus.fingerprint for name, corpus in texts.items()} == PINNED


def test_brown_has_the_tokens_types_and_splits_of_the_benchmark(brown_corpus):
    corpus = brown_corpus
    assert len(corpus) == 1_177_359
    sizes = [len(corpus.train), len(corpus.valid), len(corpus.test)]
    assert sizes == [800_000, 200_000, 177_359]
    assert corpus.tokens.count("<text>") == 500
    assert corpus.tokens.count("<p>") == 15_667
    assert corpus.tokens[:4] == ("<text>", "<p>", "The", "Fulton")
    # 56,059 types of the text; frequency > 3, plus the unknown symbol: 17,907
    assert len(corpus.vocabulary()) == 56_059 + 1
    assert len(corpus.vocabulary(min_count=4)) == 17_907
    assert corpus.fingerprint == (
        "30acd59f726eacdd149d34e1e5e9f4a0470a859a91e2e905d6458d52d93b235f"
    )


def test_a_missing_brown_corpus_says_how_to_fetch_it(monkeypatch):
    nltk = pytest.importorskip("nltk", reason="pip install nltk")
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(
        "nltk.corpus.brown",
        nltk.corpus.util.LazyCorpusLoader(
            "brown", nltk.corpus.reader.CategorizedTaggedCorpusReader, r"c\w\d\d"
        ),
    )
    corpora.brown.cache_clear()
    with pytest.raises(MissingCorpus, match=r"python -m nltk.downloader brown"):
        corpora.brown()
    corpora.brown.cache_clear()


def test_a_missing_data_folder_names_the_variable_and_the_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("LMLIB_DATA", raising=False)
    with pytest.raises(MissingCorpus, match="LMLIB_DATA, which is not set"):
        corpora.data_folder("sst2")
    monkeypatch.setenv("LMLIB_DATA", str(tmp_path))
    with pytest.raises(MissingCorpus, match="no folder 'sst2' in it"):
        corpora.data_folder("sst2")
    (tmp_path / "sst2").mkdir()
    assert corpora.data_folder("sst2") == tmp_path / "sst2"


@pytest.mark.parametrize("translation", ["web", "ylt"])
def test_a_translation_has_every_verse_and_no_typewriter_marks(translation):
    verses = corpora.bible_verses(translation)
    assert len(verses) == 31_102
    assert (verses[0].book, verses[0].chapter, verses[0].verse) == (1, 1, 1)
    assert (verses[-1].book, verses[-1].chapter, verses[-1].verse) == (66, 22, 21)
    text = "\n".join(v.text for v in verses)
    assert not set("`[]") & set(text)
    assert "  " not in text
    assert all(v.text and v.text == v.text.strip() for v in verses)


def test_both_translations_number_the_verses_alike_but_for_one_doxology():
    web, ylt = (
        {(v.book, v.chapter, v.verse) for v in corpora.bible_verses(t)}
        for t in ("web", "ylt")
    )
    # Romans ends with it; the WEB puts it at 14:24-26, as many manuscripts do.
    assert sorted(web - ylt) == [(45, 14, 24), (45, 14, 25), (45, 14, 26)]
    assert sorted(ylt - web) == [(45, 16, 25), (45, 16, 26), (45, 16, 27)]


def test_held_out_chapters_come_from_the_whole_bible():
    corpus = corpora.bible("web")
    # 1,189 chapters, each with one <p>: 119 are a ninth and 118 a tenth of ten
    counts = [p.count("<p>") for p in (corpus.train, corpus.valid, corpus.test)]
    assert counts == [952, 119, 118]
    assert corpus.tokens.count("<text>") == 66


def test_an_unknown_translation_is_refused():
    with pytest.raises(ValueError, match=r"'kjv' is not known: expected one of web"):
        corpora.bible_verses("kjv")


def test_tokens_are_words_numbers_and_single_marks():
    assert tokenize('He said, "Don\'t -- 3,000 well-known men!"') == [
        "He", "said", ",", '"', "Don't", "--", "3,000", "well-known", "men", "!", '"',
    ]  # fmt: skip
    with pytest.raises(ValueError, match="expected one string to tokenize, got list"):
        tokenize(["a"])


@given(st.text(max_size=40))
def test_tokenizing_loses_nothing_but_blanks(text):
    assert "".join(tokenize(text)) == "".join(text.split())


def test_parts_are_consecutive_and_ids_follow_the_tokens():
    corpus = Corpus("c", tuple("a b a c d e".split()), (3, 5), "here", "MIT")
    assert (corpus.train, corpus.valid, corpus.test) == (
        ("a", "b", "a"),
        ("c", "d"),
        ("e",),
    )
    encoded = corpus.encode(Vocabulary(["<unk>", "a", "b"]))
    assert encoded.ids.tolist() == [1, 2, 1, 0, 0, 0]
    assert encoded.train.tolist() == [1, 2, 1]
    assert encoded.upto_valid.tolist() == [1, 2, 1, 0, 0]
    assert (encoded.valid_start, encoded.test_start) == (3, 5)
    assert encoded.ids.dtype == np.int32
    assert repr(corpus) == "Corpus(c: 3 / 2 / 1 tokens)"


def test_a_corpus_needs_three_parts_and_tokens():
    for borders in ((0, 1), (1, 1), (1, 2)):
        with pytest.raises(ValueError, match="three non-empty parts"):
            Corpus("c", ("a", "b"), borders, "here", "MIT")
    with pytest.raises(ValueError, match="elements are characters"):
        Corpus("c", "abc", (1, 2), "here", "MIT")
    with pytest.raises(ValueError, match="sentences=5 leaves a part empty"):
        corpora.toy(sentences=5)
