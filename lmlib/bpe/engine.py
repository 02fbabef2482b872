"""The same byte-pair encoding by Hugging Face's ``tokenizers``, for large texts.

That library is optional and written in Rust. Its own ``</w>`` and byte fall-back
differ from ours in small ways, so words are handed to it in a private alphabet: one
character for each of our base symbols. What it merges are those characters, and the
ids it gives are ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from lmlib.bpe.coding import BPE
from lmlib.bpe.merges import count_words

# Planes 15 and 16 of Unicode are for private use: 131,072 code points.
_PRIVATE = 0xF0000
_ROOM = 0x110000 - _PRIVATE
_TEXT = 10_000  # words in one piece of text for the trainer


class FastBPE(BPE):
    """``BPE`` that encodes new words with ``tokenizers``; same ids, same errors.

    Make one from a ``BPE`` with ``FastBPE.of``. Raises ``ValueError`` when
    ``tokenizers`` is not installed.
    """

    _engine: Any = None

    @classmethod
    def of(cls, bpe: BPE) -> FastBPE:
        """The fast twin of a byte-pair encoding."""
        return cls(
            bpe.vocabulary.words,
            bpe.merges,
            marks=bpe.marks,
            unknown=bpe.vocabulary.unknown,
        )

    def _encode_new(self, words: Sequence[str]) -> Iterable[list[int]]:
        spelled = [self.spell(word) for word in words]
        if self._engine is None:
            self._engine = self._make_engine()
        # Base symbols as private characters; marks and bytes are never merged.
        texts = ["".join(_private(self._ids[s]) for s in row) for row in spelled]
        return [found.ids for found in self._engine.encode_batch(texts)]

    def _make_engine(self) -> Any:
        tokenizers = _import_tokenizers()
        joined = {left + right for left, right in self.merges}
        hidden = {}
        for symbol, i in self._ids.items():
            if symbol not in joined:
                if i >= _ROOM:
                    raise ValueError(
                        f"the base symbol {symbol!r} has id {i}: expected all base "
                        f"symbols among the first {_ROOM} ids; use BPE instead"
                    )
                hidden[symbol] = _private(i)
        merges = []
        for left, right in self.merges:
            hidden.setdefault(left + right, hidden[left] + hidden[right])
            merges.append((hidden[left], hidden[right]))
        vocabulary = {hidden[symbol]: i for symbol, i in self._ids.items()}
        return tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))


def learn_bpe_fast(
    words: Iterable[str],
    size: int,
    *,
    marks: Sequence[str] = (),
    min_count: int = 2,
    min_character_count: int = 1,
) -> FastBPE:
    """``learn_bpe`` by ``tokenizers``: the same merges, and a ``FastBPE`` with them.

    (Only a text that spells out ``</w>`` or a mark inside a word may give others.)

    Raises ``ValueError`` as ``learn_bpe``, and when ``tokenizers`` is not installed.
    """
    tokenizers = _import_tokenizers()
    counts, start = count_words(words, size, marks, min_character_count)
    first = len(marks) + 257  # the characters come after marks and bytes
    names = start.vocabulary.words
    ids = {name: i for i, name in enumerate(names)}

    def texts() -> Iterable[str]:
        for word, count in counts.items():
            row = [ids[symbol] for symbol in start.spell(word)]
            # Bytes are never merged: they cut a word into pieces.
            text = "".join(_private(i) if i >= first else " " for i in row) + " "
            for done in range(0, count, _TEXT):
                yield text * min(_TEXT, count - done)

    engine = tokenizers.Tokenizer(tokenizers.models.BPE())
    engine.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size - first,
        min_frequency=min_count,
        initial_alphabet=[_private(i) for i in range(first, len(names))],
        show_progress=False,
    )
    engine.train_from_iterator(texts(), trainer)
    symbols = list(names)
    merges = []
    shown = {_private(i): names[i] for i in range(first, len(names))}
    for left, right in json.loads(engine.to_str())["model"]["merges"]:
        joined = shown.get(left, "") + shown.get(right, "")
        if left not in shown or right not in shown or joined in ids:
            continue  # a literal "</w>" or mark: see learn_merges
        shown[left + right] = joined
        merges.append((shown[left], shown[right]))
        if joined not in symbols[-1:]:
            symbols.append(joined)
    return FastBPE(list(dict.fromkeys(symbols)), merges, marks=marks)


def _private(i: int) -> str:
    return chr(_PRIVATE + i)


def _import_tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise ValueError(
            "this needs the library tokenizers, which is not installed: "
            "pip install tokenizers, or use BPE and learn_bpe, which do without"
        ) from error
    return tokenizers
