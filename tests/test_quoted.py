"""Quoted-printable that needs neither DKIM's canonicalisation nor SMTP's dot-stuffing."""

from __future__ import annotations

import quopri

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import types
from newsletter.deliver import message, quoted

TEXT = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(" .=\n\t-é")), max_size=400)
VALUE = st.text(st.one_of(st.characters(exclude_categories=["Cs", "Cc"]), st.sampled_from(" .=&-é")), max_size=200)


def decoded(octets: bytes) -> str:
    return quopri.decodestring(octets).decode().replace("\r\n", "\n")


def assert_canonical(octets: bytes) -> None:
    assert octets.isascii()
    assert b"  " not in octets
    for line in octets.split(b"\r\n"):
        assert len(line) <= 76
        assert not line.endswith((b" ", b"\t"))
        assert not line.startswith(b".")
        assert b"\n" not in line and b"\r" not in line


@given(TEXT)
def test_any_text_comes_back_and_is_canonical(text):
    octets = quoted.encode(text)

    assert_canonical(octets)
    assert decoded(octets) == text


@given(VALUE)
def test_any_value_comes_back_and_has_only_soft_line_breaks(text):
    octets = quoted.value(text)

    assert_canonical(octets)
    assert decoded(octets) == text
    assert all(line.endswith(b"=") for line in octets.split(b"\r\n")[:-1])


@given(st.lists(st.one_of(TEXT, st.sampled_from(types.PERSONAL).map(types.mark)), max_size=8), VALUE)
def test_any_value_fits_into_any_slot(pieces, text):
    source = "".join(pieces)
    octets = b"".join(
        part if isinstance(part, bytes) else quoted.value(text) for part in message._segments(source, is_html=False)
    )

    assert_canonical(octets)
    assert decoded(octets) == message._MARK.sub(lambda _: text, source)


@pytest.mark.parametrize(
    ("text", "octets"),
    [
        ("", b""),
        ("\n", b"\r\n"),
        (".", b"=2E"),
        ("a  b", b"a =20b"),
        ("a   b ", b"a =20=20b=20"),
        ("a ", b"a=20"),
        (" a", b" a"),
        ("a=b", b"a=3Db"),
        ("\t", b"=09"),
        ("x" * 75, b"x" * 75),
        ("x" * 76, b"x" * 75 + b"=\r\nx"),
        ("x" * 74 + "é", b"x" * 74 + b"=\r\n=C3=A9"),
        ("x" * 75 + ".", b"x" * 75 + b"=\r\n=2E"),
        ("." + "x" * 75, b"=2E" + b"x" * 72 + b"=\r\nxxx"),
    ],
)
def test_edges(text, octets):
    assert quoted.encode(text) == octets
