"""Byte-pair encoding: by hand, against Hugging Face, and nothing lost on the way."""

import itertools
import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmlib.bpe import (
    BPE,
    FastBPE,
    evaluate_words,
    gpt1_words,
    learn_bpe,
    learn_bpe_fast,
    learn_merges,
    load_gpt1,
    word_log_probabilities,
)
from lmlib.bpe.coding import BYTES, base_symbols
from lmlib.bpe.gpt1 import ENCODER, MERGES
from lmlib.corpora import bible, bible_verses
from lmlib.language_model import LanguageModel
from lmlib.perplexity import evaluate

# The text of Sennrich et al. 2016: low 5 times, lower 2, newest 6, widest 3.
FOUR = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3
MARKS = ("<text>", "<p>")


@pytest.fixture(scope="module")
def bible_bpe():
    return learn_bpe(bible("web").train, 2000, marks=MARKS)


def test_the_first_merges_of_four_words_are_those_done_by_hand():
    start = BPE(base_symbols(set("".join(FOUR))), [])
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    steps = list(itertools.islice(learn_merges(counts, start), 4))
    # e s: 6 (newest) + 3 (widest) = 9, as often as s t</w>; "e" has the smaller id.
    assert (steps[0].left, steps[0].right, steps[0].count) == ("e", "s", 9)
    assert (steps[1].joined, steps[1].count) == ("est</w>", 9)
    # l o: 5 (low) + 2 (lower) = 7
    assert (steps[2].joined, steps[2].count) == ("lo", 7)
    # Now e w, n e, and w est</w> stand 6 times each, lo w</w> 5: "e" is the smallest.
    assert (steps[3].joined, steps[3].count) == ("ew", 6)


def test_a_word_is_joined_in_the_order_of_learning():
    bpe = learn_bpe(FOUR, len(base_symbols(set("".join(FOUR)))) + 4)
    # lowest is unseen: lo (merge 3), est</w> (merges 1 and 2), and w between them
    assert bpe.split(["lowest"]) == ["lo", "w", "est</w>"]


def naive_merges(words, number):
    """The algorithm of the paper, counting every pair anew each time."""
    rows = [[*word[:-1], word[-1] + "</w>"] for word in words]
    order = base_symbols(set("".join(words)))
    found = []
    for _ in range(number):
        counts = {}
        for row in rows:
            for pair in itertools.pairwise(row):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts or max(counts.values()) < 2:
            break
        best = min(
            counts, key=lambda p: (-counts[p], order.index(p[0]), order.index(p[1]))
        )
        found.append(best)
        if best[0] + best[1] not in order:
            order.append(best[0] + best[1])
        for row in rows:
            i = 0
            while i < len(row) - 1:
                if (row[i], row[i + 1]) == best:
                    row[i : i + 2] = [best[0] + best[1]]
                i += 1
    return found


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=25))
def test_incremental_counts_find_the_merges_of_counting_anew(words):
    size = len(base_symbols(set("".join(words)))) + 30
    learned = learn_bpe(words, size).merges
    assert learned == naive_merges(words, 40)[: len(learned)]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.text(min_size=1), max_size=8))
def test_any_words_come_back_whole(words):
    bpe = learn_bpe([*FOUR, "<text>"], 300, marks=["<text>"])
    assert bpe.decode(bpe.encode(words)) == words


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.sampled_from(["a</w>b", "</w>", "x</w>", "<0x41>", "<text>s", "<p", "A"]),
        min_size=1,
        max_size=30,
    )
)
def test_words_that_spell_our_own_signs_come_back_whole(words):
    bpe = learn_bpe(words * 3, 330, marks=["<text>"])
    assert bpe.decode(bpe.encode(words)) == words


def test_a_character_outside_the_alphabet_is_spelled_in_its_bytes():
    bpe = learn_bpe(FOUR, 300)
    # The euro sign is U+20AC, in UTF-8 the bytes E2 82 AC.
    assert bpe.split(["l€"]) == ["l", "<0xE2>", "<0x82>", "<0xAC>", "</w>"]


def test_rare_characters_can_be_left_to_the_bytes():
    bpe = learn_bpe([*FOUR, "é"], 300, min_character_count=2)
    assert "é" not in bpe.vocabulary
    assert bpe.split(["é"]) == ["<0xC3>", "<0xA9>", "</w>"]


def test_bytes_that_are_no_text_decode_to_a_replacement():
    bpe = learn_bpe(FOUR, 300)
    ids = bpe.vocabulary.encode(["<0xE2>", "</w>", "low</w>"])
    assert bpe.decode(ids) == ["\ufffd", "low"]


def test_marks_are_never_split_and_close_what_stands_before_them():
    bpe = learn_bpe([*FOUR, "<text>"], 300, marks=["<text>"])
    assert bpe.split(["<text>", "low"]) == ["<text>", "low</w>"]
    assert bpe.decode(bpe.vocabulary.encode(["l", "<text>"])) == ["l", "<text>"]


def test_the_bible_is_encoded_and_decoded_without_loss(bible_bpe):
    words = bible("web").valid
    ids = bible_bpe.encode(words)
    assert tuple(bible_bpe.decode(ids)) == words
    assert len(bible_bpe) == 2000
    assert len(words) < len(ids) < 2 * len(words)


def test_a_million_words_are_learned_from_in_seconds():
    words = bible("web").tokens
    begun = time.process_time()
    learn_bpe(words, 4000, marks=MARKS)
    assert time.process_time() - begun < 20  # some 1.2 s on a free processor


def test_a_word_of_a_hundred_thousand_letters_takes_no_time_either(bible_bpe):
    begun = time.process_time()
    bible_bpe.encode(["abcde" * 20_000])
    assert time.process_time() - begun < 20


def test_what_is_saved_is_loaded_again(tmp_path, bible_bpe):
    bible_bpe.save(tmp_path / "bpe.json")
    again = BPE.load(tmp_path / "bpe.json")
    words = bible("web").test[:2000]
    assert again.vocabulary.fingerprint == bible_bpe.vocabulary.fingerprint
    assert (again.encode(words) == bible_bpe.encode(words)).all()


def test_the_fast_engine_learns_the_same_merges(optional):
    optional("tokenizers")
    words = bible("web").train[:200_000]
    ours = learn_bpe(words, 1500, marks=MARKS)
    theirs = learn_bpe_fast(words, 1500, marks=MARKS)
    assert theirs.merges == ours.merges
    assert theirs.vocabulary.words == ours.vocabulary.words


def test_the_fast_engine_gives_the_same_ids(optional, bible_bpe):
    optional("tokenizers")
    fast = FastBPE.of(bible_bpe)
    generator = random.Random(0)
    noise = ["".join(generator.choices("abcé€ \n<>/w", k=9)) for _ in range(2000)]
    words = [*bible("ylt").test, *noise]
    assert (fast.encode(words) == bible_bpe.encode(words)).all()


def test_without_the_engine_the_message_says_what_to_install(monkeypatch, bible_bpe):
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(ValueError, match="pip install tokenizers"):
        FastBPE.of(bible_bpe).encode(["low"])
    with pytest.raises(ValueError, match="pip install tokenizers"):
        learn_bpe_fast(FOUR, 300)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: learn_bpe([], 300), "has no words"),
        (lambda: learn_bpe("low", 300), "the string 'low'"),
        (lambda: learn_bpe(FOUR, 100), r"size=100 symbols cannot hold the 277"),
        (lambda: learn_bpe(["a", ""], 300).encode([""]), "'' is not a word"),
        (lambda: learn_bpe(FOUR, 300).encode("low"), "the string 'low'"),
        (lambda: learn_bpe(FOUR, 300).encode(["a\ud800"]), r"U\+D800"),
        (lambda: learn_bpe(FOUR, 300).decode([277 + 100]), "outside 0 to"),
        (lambda: BPE(["a", "b"], [("a", "b")]), "merge 0, 'a' \\+ 'b', needs 'ab'"),
        (lambda: BPE(["a"], [], marks=["<p>"]), "mark '<p>' is not among"),
        (lambda: BPE(["a"], []).encode(["a"]), "'a</w>' .* not in the alphabet"),
    ],
)
def test_bad_input_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_file_that_is_none_of_ours_is_named(tmp_path):
    (tmp_path / "x.json").write_text('{"format": "other"}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"x\.json was not written by BPE\.save"):
        BPE.load(tmp_path / "x.json")


# GPT-1's own tokenizer


@pytest.fixture(scope="module")
def gpt1(benchmark):
    return load_gpt1(benchmark("gpt1-bpe"))


def varied_lines():
    """2,000 lines: both Bibles, other scripts, signs, spaces, broken characters."""
    generator = random.Random(7)
    verses = [v.text for t in ("web", "ylt") for v in bible_verses(t)]
    extra = [
        "Naïve café — “quoted” … don't, won't; e-mail@x.org",
        "Straße ÀÉÎÕÜ Ångström ﬁne ½ ² ™",
        "Здравствуй, мир! Ελληνικά ΑΣ Σ",
        "漢字かな交じり文 한국어 العربية עברית",
        "tab\there\r\nnew\x00line\ufffd \u200bzero\u00adsoft\u2028sep\x85next",
        "İstanbul ıI ǅ ⅷ ①",
        "😀👍🏽 e\u0301 n\u0303 \U0001d400",
        "   ",
        "",
        "3,000.50% $5 ^_` |~| C++ a\\b",
    ]
    alphabet = [chr(c) for c in [*range(32, 0x530), *range(0x2000, 0x2070)]]
    alphabet = [c for c in alphabet if c.isprintable()]
    noise = ["".join(generator.choices(alphabet, k=25)) for _ in range(490)]
    return [*extra, *noise, *generator.sample(verses, 1500)]


def test_gpt1_ids_are_those_of_hugging_face_on_two_thousand_lines(gpt1, optional):
    transformers = optional("transformers")
    theirs = transformers.OpenAIGPTTokenizer(
        vocab={symbol: i for i, symbol in enumerate(gpt1.vocabulary.words)},
        merges=gpt1.merges,
    )
    lines = varied_lines()
    assert len(lines) == 2000
    expected = theirs(lines, add_special_tokens=False)["input_ids"]
    for line, ids in zip(lines, expected, strict=True):
        assert gpt1.encode(gpt1_words(line)).tolist() == ids, line


def test_gpt1_has_the_released_sizes(gpt1):
    # 40,000 merges and 478 entries to begin with, the first of which is <unk>
    assert len(gpt1) == 40_478
    assert len(gpt1.merges) == 40_000
    assert gpt1.vocabulary.unknown_id == 0


def test_gpt1_words_come_back_in_lower_case(gpt1):
    words = gpt1_words("Hello World, it works!")
    assert gpt1.decode(gpt1.encode(words)) == words
    assert words == ["hello", "world", ",", "it", "works", "!"]


def test_gpt1_loses_a_character_that_it_never_saw(gpt1):
    assert gpt1.split(["\u1234"]) == ["<unk>"]


def test_the_fast_engine_gives_gpt1_ids_too(gpt1, optional):
    optional("tokenizers")
    fast = FastBPE.of(gpt1)
    for line in varied_lines()[:100]:
        assert (fast.encode(gpt1_words(line)) == gpt1.encode(gpt1_words(line))).all()


def test_damaged_gpt1_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=f"has no file {ENCODER}"):
        load_gpt1(tmp_path)
    (tmp_path / ENCODER).write_text('{"<unk>": 0, "a": 2}', encoding="utf-8")
    (tmp_path / MERGES).write_text("#version: 0.2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="without gaps"):
        load_gpt1(tmp_path)


# From subwords to words


class Uniform(LanguageModel):
    """Every symbol is equally likely."""

    context_size = 0

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary

    def next_log_probabilities(self, contexts):
        shape = len(contexts), len(self.vocabulary)
        return np.full(shape, -np.log(len(self.vocabulary)))


def test_perplexity_per_word_is_total_nats_over_words(bible_bpe):
    model, words = Uniform(bible_bpe.vocabulary), list(bible("web").valid[:300])
    score = evaluate_words(model, bible_bpe, words, start=100)
    pieces = len(bible_bpe.encode(words[100:]))
    # Each piece costs log 2000, so a word costs pieces/200 of that.
    assert score.words == 200
    assert score.subwords == pieces
    assert score.nats == pytest.approx(pieces * np.log(2000), rel=1e-12)
    assert score.perplexity == pytest.approx(2000 ** (pieces / 200), rel=1e-9)
    assert score.subword_perplexity == pytest.approx(2000, rel=1e-9)


def test_word_probabilities_are_products_over_their_subwords(bible_bpe):
    model, words = Uniform(bible_bpe.vocabulary), ["the", "Nebuchadnezzars", "€"]
    log_p = word_log_probabilities(model, bible_bpe, words)
    lengths = [len(bible_bpe.encode([word])) for word in words]
    np.testing.assert_allclose(log_p, -np.log(2000) * np.array(lengths), rtol=1e-12)
    total = evaluate(model, bible_bpe.encode(words)).nats
    assert -log_p.sum() == pytest.approx(total, rel=1e-12)


def test_a_model_over_other_subwords_is_refused(bible_bpe):
    other = learn_bpe(FOUR, 300)
    with pytest.raises(ValueError, match="not these 2,000 subwords"):
        evaluate_words(Uniform(other.vocabulary), bible_bpe, ["the"])
    with pytest.raises(ValueError, match="leaves nothing of 1 words"):
        evaluate_words(Uniform(bible_bpe.vocabulary), bible_bpe, ["the"], start=1)


def test_all_bytes_have_a_symbol():
    assert len(set(BYTES)) == 256
    assert BYTES[0x0A] == "<0x0A>"
