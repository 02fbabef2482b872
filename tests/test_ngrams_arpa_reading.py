"""Reading ARPA files: what other programs write is accepted, what is wrong refused."""

import gzip

import numpy as np
import pytest

from lmlib.ngrams import ArpaError, ArpaWarning, read_arpa
from lmlib.vocabulary import Vocabulary

GOOD = """\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.30103
-0.5\t</s>
-0.6\tthe\t-0.2
-0.7\tcat\t-0.1

\\2-grams:
-0.4\t<s> the\t-0.05
-0.3\tthe cat
-0.2\tcat </s>

\\3-grams:
-0.1\t<s> the cat

\\end\\
"""


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "m.arpa"
        data = text if isinstance(text, bytes) else text.encode("utf-8")
        path.write_bytes(data)
        return read_arpa(path, **options)

    return read


def log10(model, context, word):
    ids = model.vocabulary.encode(context)[None, :]
    log_p = model.next_log_probabilities(ids)[0, model.vocabulary.id(word)]
    return log_p / np.log(10)


def test_the_numbers_of_a_documented_file(read):
    model = read(GOOD)
    assert model.vocabulary.words == ("<unk>", "<s>", "</s>", "the", "cat")
    assert model.vocabulary.unknown == "<unk>"
    assert log10(model, ["<s>", "the"], "cat") == pytest.approx(-0.1)
    assert log10(model, ["the"], "cat") == pytest.approx(-0.3)
    # "<s> the </s>" is not there: alpha(<s> the) alpha(the) P(</s>)
    assert log10(model, ["<s>", "the"], "</s>") == pytest.approx(-0.05 - 0.2 - 0.5)
    # "the cat" as context has no weight, "cat" has: P(the) after it
    assert log10(model, ["the", "cat"], "the") == pytest.approx(-0.1 - 0.6)
    assert log10(model, ["cat"], "zebra") == pytest.approx(-0.1 - 1.0)
    assert log10(model, ["cat"], "<s>") == -np.inf


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("\t", " "),  # blanks for tabs
        lambda t: t.replace("<s> the cat", "<s>\tthe\tcat"),  # tabs for blanks
        lambda t: t.replace("\n\n\\end", "\n\\end"),  # no blank line before the end
        lambda t: t.replace("\n\n\\2", "\n\\2"),
        lambda t: t.replace("\\2-grams:", "\\2-grams:  \t"),  # trailing blanks
        lambda t: t.replace("-0.3\tthe cat", "-3e-1\tthe cat"),  # scientific notation
        lambda t: t.replace("-0.3\tthe cat", "-0.3\tthe cat\t"),  # an empty weight
        lambda t: t.replace("-0.3\tthe cat", "-0.3\tthe cat\t0"),
        lambda t: t.replace("\n", "\r\n"),  # Windows line ends
        lambda t: t.replace("ngram 1=5", "ngram  1 =   5"),  # as IRSTLM aligns them
        lambda t: "\nmade by a program\n\n" + t,  # a preamble
        lambda t: t.replace("-99\t<s>", "0\t<s>"),  # as KenLM's lmplz writes <s>
        lambda t: t.replace("-99\t<s>", "-inf\t<s>"),
        lambda t: t.rstrip("\n"),
        lambda t: t + "\n\n",
        lambda t: gzip.compress(t.encode()),
    ],
)
def test_variants_mean_the_same(read, change):
    expected, found = read(GOOD), read(change(GOOD))
    assert found.vocabulary == expected.vocabulary
    for k in range(3):
        np.testing.assert_allclose(found.log_p[k], expected.log_p[k])
    for k in range(2):
        np.testing.assert_allclose(found.log_alpha[k], expected.log_alpha[k])
    assert [k.tolist() for k in found.trie.keys] == [
        k.tolist() for k in expected.trie.keys
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-0.3\tthe cat", "-0,3\tthe cat", r"line 15: '-0,3' .*decimal comma"),
        (
            "-0.3\tthe cat",
            "0.3\tthe cat",
            r"line 15: the log10 probability 0\.3 is abo",
        ),
        ("-0.3\tthe cat", "nan\tthe cat", r"line 15: 'nan' is not a number"),
        ("-0.3\tthe cat", "-0_3\tthe cat", r"line 15: '-0_3' is not a number"),
        ("cat\t-0.1\n", "cat\tinf\n", r"line 11: 'inf' is not a number"),
        ("-0.3\tthe cat", "-0.3\tthe", r"line 15: 2 fields: expected a log10 prob"),
        ("-0.3\tthe cat", "-0.3\tthe cat 1 2", r"line 15: 5 fields: .*2 words"),
        ("-0.3\tthe cat", "-0.3\tthe dog", r"line 15: the word 'dog' is not among"),
        ("-0.3\tthe cat", "-0.4\t<s> the", r"line 15: '<s> the' stands here a second"),
        ("-0.7\tcat", "-0.7\tthe", r"line 11: the word 'the' stands here a second"),
        ("-0.1\t<s> the cat", "-0.1\tcat the cat", r"line 19: .*without its context"),
        ("ngram 2=3", "ngram 2=4", r"line 18: .*announces 4 2-grams, and not the 3 "),
        ("ngram 2=3", "ngram 2=2", r"line 16: .*announces 2 2-grams, .* 2 and more"),
        ("-0.3\tthe cat\n", "\n", r"line 16: .*announces 3 2-grams, and not the 1 "),
        ("ngram 2=3", "ngram 3=3", r"line 3: expected 'ngram 2='"),
        ("ngram 2=3", "ngram 2=x", r"line 3: expected 'ngram 2=' and a count"),
        ("ngram 3=1\n", "", r"line 17: expected \\end\\, found '\\\\3-grams:'"),
        ("ngram 3=1", "ngram 3=1\nngram 4=0", r"line 22: expected \\4-grams:"),
        ("\\2-grams:", "\\3-grams:", r"line 13: expected \\2-grams:, found"),
        ("\\data\\", "data", r"no \\data\\ line: this is not an ARPA file"),
        ("\\data\\", "iARPA\n\\data\\", r"line 1: iARPA is an inner format of IRSTLM"),
        ("\\end\\", "", r"expected \\end\\, found a blank line or the end"),
        ("\\end\\\n", "\\end\\\n-1 x\n", r"line 22: '-1 x' after \\end\\"),
        (GOOD, "", r"no \\data\\ line"),
        (GOOD, "\\data\\\n", "announces no words"),
        (GOOD, "\\data\\\nngram 1=0\n\n\\1-grams:\n\\end\\\n", "announces no words"),
    ],
)
@pytest.mark.filterwarnings("ignore::lmlib.ngrams.arpa_lines.ArpaWarning")
def test_what_is_wrong_is_refused_with_its_line(read, old, new, message):
    assert old in GOOD
    with pytest.raises(ArpaError, match=message):
        read(GOOD.replace(old, new, 1))


def test_weights_of_the_longest_ngrams_are_ignored_with_a_warning(read):
    text = GOOD.replace("<s> the cat\n", "<s> the cat\t-0.7\n")
    with pytest.warns(ArpaWarning, match="line 19: 3-grams are the longest ones"):
        model = read(text)
    assert log10(model, ["<s>", "the"], "cat") == pytest.approx(-0.1)


def test_a_file_without_sentence_marks_is_an_unbroken_text(read):
    model = read("\\data\\\nngram 1=2\n\n\\1-grams:\n-0.3\ta\n-0.4\tb\n\n\\end\\\n")
    assert model.vocabulary.start_id is None
    assert model.vocabulary.unknown is None
    assert log10(model, [], "b") == pytest.approx(-0.4)


def test_a_truncated_gzip_file_is_refused(read):
    whole = gzip.compress(GOOD.encode() * 50)
    for cut in (5, len(whole) // 2, len(whole) - 4):
        with pytest.raises(ArpaError, match="damaged or truncated gzip file"):
            read(whole[:cut])


def test_bytes_that_are_not_utf8_are_refused_with_their_line(read):
    with pytest.raises(ArpaError, match="line 11: not UTF-8"):
        read(GOOD.encode().replace(b"\tcat\t-0.1", b"\tc\xe4t\t-0.1"))


def test_a_vocabulary_may_be_given_and_must_fit(read):
    vocabulary = Vocabulary(["cat", "the", "</s>", "<s>", "<unk>"])
    model = read(GOOD, vocabulary=vocabulary)
    assert model.vocabulary is vocabulary
    assert log10(model, ["<s>", "the"], "cat") == pytest.approx(-0.1)
    assert log10(model, ["<s>", "the"], "</s>") == pytest.approx(-0.75)
    with pytest.raises(ArpaError, match="has 5 words and the vocabulary given 2"):
        read(GOOD, vocabulary=Vocabulary(["<unk>", "cat"]))


def test_a_prefix_of_a_file_is_never_half_read(read):
    # Cut anywhere before the last line's backslash, the file is refused.
    for cut in range(0, len(GOOD) - 3, 7):
        with pytest.raises(ArpaError):
            read(GOOD[:cut])
