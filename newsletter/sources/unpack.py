"""Content-Encoding: gzip, deflate, brotli and zstd -> octets, a piece at a time and in bounded memory. Pure.

A packed answer can be a bomb. No decoder here ever makes more than what is left of the cap and a few megabytes, however
small the piece that it is fed.
"""

from __future__ import annotations

import zlib
from typing import Protocol

ENCODINGS = "gzip, deflate, br, zstd"  # what is asked for
_GZIP = b"\x1f\x8b"
_BROTLI_PIECE = 1 << 16  # octets that come out at a time
# A block of zstd is at most 128 KB out of as few as 4 octets in (RFC 8878, 3.1.1.2): so this many in are 4 MB out.
_ZSTD_PIECE = 128
_ZSTD_WINDOW = 8 << 20  # RFC 9659: no zstd on the web needs a larger one


class Damaged(Exception):
    """The packed octets cannot be unpacked."""


class Unpacker(Protocol):
    """`whole` says whether what came so far has its end. `unpack` raises `OverflowError` beyond the cap."""

    whole: bool

    def unpack(self, piece: bytes) -> bytes:
        """What a piece of the packed octets adds. Raises `Damaged`."""


def unpacker(coding: str, most: int) -> Unpacker | None:
    """What unpacks that coding into at most `most` octets; None for one that was not asked for."""
    if coding in ("gzip", "x-gzip", "deflate"):
        return Zlib(most)
    if coding == "br":
        return Brotli(most)
    return Zstd(most) if coding == "zstd" else None


class Zlib:
    """gzip and deflate."""

    def __init__(self, most: int) -> None:
        self.left = most
        self.whole = False
        self._held = b""  # half of what may be the next member's mark
        self._head: bytes | None = b""  # what was fed while it may still be "deflate" without a header
        self._stream = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header

    def unpack(self, piece: bytes) -> bytes:
        """As `Unpacker.unpack`."""
        out = bytearray()
        piece, self._held = self._held + piece, b""
        while piece:
            if self.whole:  # a gzip file may have several members (RFC 1952, 2.2); padding may follow
                if piece == _GZIP[:1]:
                    self._held = piece
                    break
                if not piece.startswith(_GZIP):
                    break
                self._stream, self._head, self.whole = zlib.decompressobj(wbits=31), None, False
            try:
                out += self._some(piece)
            except zlib.error:
                raise Damaged from None
            if self.left < 0:
                raise OverflowError
            piece = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            self.whole = self._stream.eof
        return bytes(out)

    def _some(self, piece: bytes) -> bytes:
        fed = None if self._head is None else self._head + piece
        try:
            found = self._stream.decompress(piece, self.left + 1)
        except zlib.error:
            if fed is None:
                raise
            self._stream = zlib.decompressobj(wbits=-15)  # without its zlib header (RFC 9110, 8.4.1.2)
            found = self._stream.decompress(fed, self.left + 1)
            fed = None
        self._head = fed if fed is not None and len(fed) < 2 else None  # a header shows by its second octet
        self.left -= len(found)
        return found


class Brotli:
    """brotli (RFC 7932)."""

    def __init__(self, most: int) -> None:
        import brotli

        self.left = most
        self.whole = False
        self._stream = brotli.Decompressor()
        self._error: type[Exception] = brotli.error

    def unpack(self, piece: bytes) -> bytes:
        """As `Unpacker.unpack`; what follows the end of the stream is padding."""
        out = bytearray()
        try:
            while not self.whole:
                found: bytes = self._stream.process(piece, output_buffer_limit=_BROTLI_PIECE)
                out += found
                self.left -= len(found)
                if self.left < 0:
                    raise OverflowError
                piece = b""
                self.whole = self._stream.is_finished()
                if self._stream.can_accept_more_data():
                    break
        except self._error:
            raise Damaged from None
        return bytes(out)


class Zstd:
    """zstd (RFC 8878), of one frame or several."""

    def __init__(self, most: int) -> None:
        import zstandard

        self.left = most
        self.whole = False
        self._unpacking = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._error: type[Exception] = zstandard.ZstdError
        self._stream = self._unpacking.decompressobj()

    def unpack(self, piece: bytes) -> bytes:
        """As `Unpacker.unpack`."""
        out = bytearray()
        rest = memoryview(piece)
        while rest:
            if self.whole:
                self._stream, self.whole = self._unpacking.decompressobj(), False
            some, rest = bytes(rest[:_ZSTD_PIECE]), rest[_ZSTD_PIECE:]
            try:
                found = self._stream.decompress(some)
            except self._error:
                raise Damaged from None
            out += found
            self.left -= len(found)
            if self.left < 0:
                raise OverflowError
            self.whole = self._stream.eof
            if self.whole and self._stream.unused_data:
                rest = memoryview(self._stream.unused_data + bytes(rest))
        return bytes(out)
