"""Texts in few bytes: by zstd, with a dictionary of what the store's own texts have in common once there are enough.

A short text shares little with itself and much with others. The dictionary is made once, of the first texts that one
process stores; a compressed text says whether it was made with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import zstandard

#: Of zstd: nearly as small as zlib makes texts, in a fifth of its time.
_LEVEL = 3
#: Bytes of texts that a dictionary is made of, and characters of one of them at most; bytes of the dictionary.
SAMPLED, _SAMPLED_OF_ONE, _DICTIONARY = 2 << 20, 1 << 14, 112_640
#: What zstd's trainer looks for: stretches, and their least common part. With these it takes 0.1 s.
_TRAINING = {"k": 200, "d": 8}


class TextCodec:
    """Compresses texts in one thread at a time, and reads them in any.

    Args:
        kept: Returns the dictionary of the store, None where there is none yet; once there is one it stays.
    """

    def __init__(self, kept: Callable[[], bytes | None]) -> None:
        self._kept = kept
        self._samples: list[bytes] = []
        self._sampled = 0
        self._dictionary: zstandard.ZstdCompressionDict | None = None
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self._plain = self._compressor
        #: Decompressors with the dictionary that nobody uses: one at a time may use one.
        self._idle: list[zstandard.ZstdDecompressor] = []

    def begin(self, texts: Iterable[str]) -> bytes | None:
        """Before texts are stored, take the dictionary of the store, whoever has made it.

        Returns:
            The dictionary that the store is to keep from now on, where it had none and these texts are the last that
            it takes to make one; None elsewhere.
        """
        if self._compressor is not self._plain:
            return None
        made = None
        if not (dictionary := self._taken()):
            made = self._made(texts)
            self._dictionary = dictionary = made
        if dictionary:
            dictionary.precompute_compress(level=_LEVEL)
            self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary)
            self._samples.clear()
        return made.as_bytes() if made else None

    def forget(self) -> None:
        """After nothing was stored, take it that the dictionary was not kept either."""
        self._dictionary, self._compressor = None, self._plain
        self._samples.clear()
        self._idle.clear()
        self._sampled = 0

    def compressed(self, text: str) -> bytes:
        """Return a text in few bytes."""
        return self._compressor.compress(text.encode())

    def _made(self, texts: Iterable[str]) -> zstandard.ZstdCompressionDict | None:
        """Return a dictionary once there are texts enough to make one."""
        for text in texts:
            if self._sampled >= SAMPLED:
                break
            self._samples.append(text[:_SAMPLED_OF_ONE].encode())
            self._sampled += len(self._samples[-1])
        if self._sampled < SAMPLED or not self._samples:
            return None
        samples: list[bytes | bytearray | memoryview[int]] = [*self._samples]
        self._samples.clear()
        try:
            return zstandard.train_dictionary(_DICTIONARY, samples, **_TRAINING)
        except zstandard.ZstdError:
            # Texts that have nothing in common make none, and this process tries no others.
            return None

    def text(self, compressed: bytes) -> str:
        """Return a text that was compressed.

        Raises:
            ZstdError: The bytes are something else, or the dictionary is lost.
        """
        if not zstandard.get_frame_parameters(compressed).dict_id:
            return zstandard.decompress(compressed).decode()
        try:
            one = self._idle.pop()
        except IndexError:
            one = zstandard.ZstdDecompressor(dict_data=self._taken())
        raw = one.decompress(compressed)
        self._idle.append(one)
        return raw.decode()

    def _taken(self) -> zstandard.ZstdCompressionDict | None:
        if self._dictionary is None and (raw := self._kept()):
            self._dictionary = zstandard.ZstdCompressionDict(raw)
        return self._dictionary
