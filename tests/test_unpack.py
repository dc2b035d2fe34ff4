"""Packed octets, however they arrive."""

import contextlib
import gzip
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from newsletter.sources import unpack

KINDS = {
    "gzip": "gzip",
    "deflate": "deflate",
    "raw": "deflate",
    "many": "gzip",
    "br": "br",
    "zstd": "zstd",
    "frames": "zstd",
}


def packed(kind, data):
    if kind == "gzip":
        return gzip.compress(data)
    if kind == "deflate":
        return zlib.compress(data)
    if kind == "raw":
        squeezer = zlib.compressobj(wbits=-15)
        return squeezer.compress(data) + squeezer.flush()
    if kind == "br":
        return brotli.compress(data, quality=5)
    if kind == "zstd":
        return zstandard.compress(data)
    if kind == "frames":
        return zstandard.compress(data[:10]) + zstandard.compress(data[10:])
    return gzip.compress(data[:10]) + gzip.compress(data[10:]) + b"\0" * 100  # members, then padding


@given(st.binary(max_size=3000), st.sampled_from(sorted(KINDS)), st.integers(1, 50))
def test_unpacking_does_not_depend_on_how_the_octets_arrive(data, kind, size):
    body = packed(kind, data)
    unpacker = unpack.unpacker(KINDS[kind], 10_000)
    assert b"".join(unpacker.unpack(body[i : i + size]) for i in range(0, len(body), size)) == data
    assert unpacker.whole


@given(st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.binary(max_size=200))
def test_any_octets_are_unpacked_or_damaged(coding, data):
    with contextlib.suppress(unpack.Damaged, OverflowError):
        unpack.unpacker(coding, 1000).unpack(data)


@pytest.mark.parametrize("kind", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_goes_off_at_the_cap_in_little_memory(kind):
    bomb = packed(kind, bytes(100_000_000))
    tracemalloc.start()
    with pytest.raises(OverflowError):
        unpack.unpacker(kind, 1_000_000).unpack(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12_000_000


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_breaks_off_is_not_whole(kind):
    body = packed(kind, bytes(range(256)) * 4).rstrip(b"\0")
    unpacker = unpack.unpacker(KINDS[kind], 10_000)
    unpacker.unpack(body[: len(body) - 9])
    assert not unpacker.whole


def test_exactly_the_cap_is_taken():
    for kind, coding in KINDS.items():
        assert len(unpack.unpacker(coding, 1000).unpack(packed(kind, b"x" * 1000))) == 1000


def test_a_coding_that_nobody_asked_for_has_no_unpacker():
    assert unpack.unpacker("compress", 10) is None
