"""Writing ARPA files: the text itself, there and back, and KenLM's reading of it."""

import gzip
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngram_oracle import SMOOTHED, texts

from lmlib.corpora import Corpus
from lmlib.ngrams import (
    absolute_discounting,
    count_ngrams,
    maximum_likelihood,
    modified_kneser_ney,
    read_arpa,
    write_arpa,
)
from lmlib.vocabulary import Vocabulary

LOG_TEN = np.log(10)


@pytest.fixture
def model():
    # a is followed by b, b, c; 7 tokens: a 3, b 3, c 1
    vocabulary = Vocabulary(["<unk>", "a", "b", "c"])
    ids = vocabulary.encode("a b a b a c b".split())
    return absolute_discounting(count_ngrams(vocabulary, ids, 2), 0.5)


def test_the_text_of_a_small_model(model, tmp_path):
    write_arpa(model, tmp_path / "m.arpa", marks=False)
    # P(b) = 2.875/7, log10 -0.386; reserve of a: 2 * 0.5 / 3, log10 -0.477
    # P(b | a) = 1.5/3 + 1/3 * 2.875/7 = 0.6369, log10 -0.196
    lines = (tmp_path / "m.arpa").read_bytes().decode().split("\n")
    assert lines[:4] == ["\\data\\", "ngram 1=4", "ngram 2=4", ""]
    assert lines[4] == "\\1-grams:"
    value, word, weight = lines[6].split("\t")
    assert word == "a"
    assert float(value) == pytest.approx(np.log10(2.875 / 7))
    assert float(weight) == pytest.approx(np.log10(1 / 3))
    assert len(lines[5].split("\t")) == 2  # <unk> was no context: no weight
    value, gram = lines[11].split("\t")
    assert gram == "a b"
    assert float(value) == pytest.approx(np.log10(1.5 / 3 + 1 / 3 * 2.875 / 7))
    assert lines[-3:] == ["", "\\end\\", ""]


@given(texts(), st.sampled_from(sorted(SMOOTHED)), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::lmlib.ngrams.smoothing.DegenerateCounts")
def test_what_is_written_is_read_back(
    tmp_path_factory, text, method, packed, given_words
):
    vocabulary, ids, order = text
    path = tmp_path_factory.mktemp("arpa") / ("m.arpa.gz" if packed else "m.arpa")
    model = SMOOTHED[method](count_ngrams(vocabulary, np.array(ids), order))
    write_arpa(model, path)
    again = read_arpa(path, vocabulary if given_words else None)
    assert again.vocabulary == vocabulary
    for old, new in [(model.log_p, again.log_p), (model.log_alpha, again.log_alpha)]:
        for k in range(len(new)):
            np.testing.assert_allclose(new[k], old[k], rtol=1e-10, atol=1e-10)
    for k in range(2, again.order + 1):
        assert again.trie.keys[k - 2].tolist() == model.trie.keys[k - 2].tolist()


def test_marks_are_added_for_kenlm_and_left_out_again(model, tmp_path):
    write_arpa(model, tmp_path / "m.arpa")
    text = (tmp_path / "m.arpa").read_text("utf-8")
    assert text.startswith("# lmlib added for KenLM: <s> </s>\n\\data\\\nngram 1=6\n")
    assert "\n-99\t<s>\n-99\t</s>\n" in text
    assert read_arpa(tmp_path / "m.arpa").vocabulary == model.vocabulary


def test_impossible_words_survive_as_minus_99(tmp_path):
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "a"])
    ids = vocabulary.encode("<s> a </s> <s> a a </s>".split())
    model = maximum_likelihood(count_ngrams(vocabulary, ids, 2))
    write_arpa(model, tmp_path / "ml.arpa")
    assert "\n-99\t<unk>" in (tmp_path / "ml.arpa").read_text("utf-8")
    again = read_arpa(tmp_path / "ml.arpa")
    assert again.vocabulary == vocabulary
    assert again.next_distribution(["<s>"]) == model.next_distribution(["<s>"])


def test_words_may_hold_any_sign_but_a_blank(tmp_path):
    odd = ["<unk>", "a\u00a0b", "\u200b", "\u2028", "\\data\\", "naïve", "말", "-1.5"]
    vocabulary = Vocabulary(odd)
    ids = np.arange(8).repeat(2)
    model = absolute_discounting(count_ngrams(vocabulary, ids, 2), 0.5)
    write_arpa(model, tmp_path / "odd.arpa")
    assert read_arpa(tmp_path / "odd.arpa").vocabulary == vocabulary
    for blank in ("a b", "a\tb", "a\nb", "a\rb", "a\x0bb"):
        vocabulary = Vocabulary(["<unk>", blank])
        counts = count_ngrams(vocabulary, np.array([1, 1, 0]), 1)
        with pytest.raises(ValueError, match="holds a blank"):
            write_arpa(absolute_discounting(counts, 0.5), tmp_path / "odd.arpa")
    # what was there before is still whole
    assert len(read_arpa(tmp_path / "odd.arpa").vocabulary) == 8
    assert os.listdir(tmp_path) == ["odd.arpa"]


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    for name in ("a.arpa.gz", "b.arpa.gz"):
        write_arpa(model, tmp_path / name)
    packed = [(tmp_path / name).read_bytes() for name in ("a.arpa.gz", "b.arpa.gz")]
    assert packed[0] == packed[1]
    write_arpa(model, tmp_path / "plain.arpa")
    assert gzip.decompress(packed[0]) == (tmp_path / "plain.arpa").read_bytes()


def kenlm_answers(kenlm, path, tokens):
    """log10 P, order and whether unknown, of each token of one unbroken text."""
    model = kenlm.LanguageModel(str(path))
    state = kenlm.State()
    model.NullContextWrite(state)
    answers = []
    for token in tokens:
        after = kenlm.State()
        full = model.BaseFullScore(state, token, after)
        answers.append((full.log_prob, full.ngram_length, full.oov))
        state = after
    return [np.array(column) for column in zip(*answers, strict=True)]


def test_kenlm_agrees_on_every_token_of_brown(brown_corpus: Corpus, optional, tmp_path):
    kenlm = optional("kenlm")
    corpus = brown_corpus.encode(brown_corpus.vocabulary(min_count=4))
    counts = count_ngrams(corpus.vocabulary, corpus.train, 5)
    model = modified_kneser_ney(counts, cutoffs=(0, 0, 1))
    write_arpa(model, tmp_path / "brown.arpa")
    begin = corpus.test_start - 4
    tokens = corpus.vocabulary.decode(corpus.ids[begin:])
    answers = kenlm_answers(kenlm, tmp_path / "brown.arpa", tokens)
    log_p, order, unknown = (column[4:] for column in answers)
    ours, matched = model.score(corpus.ids, corpus.test_start)
    assert len(ours) == 177_359
    assert np.abs(log_p - ours / LOG_TEN).max() < 1e-4
    assert (order == matched).all()
    is_unknown = corpus.ids[corpus.test_start :] == corpus.vocabulary.unknown_id
    assert (unknown == is_unknown).all()


def test_kenlm_agrees_on_sentences(optional, tmp_path):
    kenlm = optional("kenlm")
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", *"abcdef"])
    rng = np.random.default_rng(4)
    ids = []
    for length in rng.integers(0, 9, 60):
        ids += [1, *(3 + rng.integers(0, 6, length) // 2), 2]
    model = absolute_discounting(count_ngrams(vocabulary, np.array(ids), 3), 0.6)
    write_arpa(model, tmp_path / "m.arpa")
    peer = kenlm.LanguageModel(str(tmp_path / "m.arpa"))
    for sentence in ("a b c", "a zebra a a", "", "b"):
        text = ["<s>", *sentence.split(), "</s>"]
        log_p, matched = model.score(vocabulary.encode(text), 1)
        peers = list(peer.full_scores(sentence))
        assert [p[0] for p in peers] == pytest.approx(log_p / LOG_TEN, abs=1e-4)
        assert [p[1] for p in peers] == matched.tolist()
        assert [p[2] for p in peers] == [w == "zebra" for w in text[1:]]
