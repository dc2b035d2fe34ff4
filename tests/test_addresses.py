"""Addresses and names, as people type them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import addresses, errors, types


@pytest.mark.parametrize(
    ("text", "email", "norm", "wire"),
    [
        ("anna@example.org", "anna@example.org", "anna@example.org", "anna@example.org"),
        ("Mixed.Case@Example.ORG", "Mixed.Case@Example.ORG", "mixed.case@example.org", "Mixed.Case@example.org"),
        ("o'brien+tag@news.test", "o'brien+tag@news.test", "o'brien+tag@news.test", "o'brien+tag@news.test"),
        (" anna@example.org\r\n", "anna@example.org", "anna@example.org", "anna@example.org"),
        ("anna@example.org\u200f", "anna@example.org", "anna@example.org", "anna@example.org"),
        ("mailto:anna@example.org?subject=Hi", "anna@example.org", "anna@example.org", "anna@example.org"),
        ("<anna@example.org>", "anna@example.org", "anna@example.org", "anna@example.org"),
        ('"Ann, A. (b)" <anna@example.org>', "anna@example.org", "anna@example.org", "anna@example.org"),
        ("anna@example.org <anna@example.org>", "anna@example.org", "anna@example.org", "anna@example.org"),
        ("info@BÜCHER.example", "info@bücher.example", "info@xn--bcher-kva.example", "info@xn--bcher-kva.example"),
        ("i@xn--bcher-kva.example", "i@xn--bcher-kva.example", "i@xn--bcher-kva.example", "i@xn--bcher-kva.example"),
        ("Rene\u0301@example.org", "René@example.org", "rené@example.org", "René@example.org"),
        ("=1+1@example.org", "=1+1@example.org", "=1+1@example.org", "=1+1@example.org"),
    ],
)
def test_an_address_is_kept_as_given_compared_in_one_form_and_sent_in_ascii(text, email, norm, wire):
    found = addresses.parse(text)
    assert (found.email, found.norm, found.wire) == (email, norm, wire)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("anna", "no @"),
        ("anna@", "nothing stands after the @"),
        ("@example.org", "nothing stands before the @"),
        ("anna@example", "dot"),
        ("anna@mail.localhost", "special-use"),
        ("anna@127.0.0.1", ""),
        ("anna@[127.0.0.1]", "IP address"),
        ("a@example.org\nBcc: b@example.org", "line break"),
        ("a\0@example.org", "control"),
        ("mailto:a%0d%0ab@example.org", "line break"),
        ("a@example.org, b@example.org", "several"),
        ("a@example.org;b@example.org", "several"),
        ("A <a@example.org>, B <b@example.org>", ""),
        ("a@@example.org", "more than one @"),
        ('"a b"@example.org', "quotes"),
        ("(note)a@example.org", ""),
        (".a@example.org", ""),
        ("a..b@example.org", ""),
        ("a b@example.org", ""),
        ("o’brien@example.org", "is no letter"),
        ("jÃ¶rg@example.org", "is no letter"),
        ("a" * 65 + "@example.org", ""),
        ("ü" * 40 + "@example.org", "64 octets"),
        ("a@" + "b." * 130 + "org", "too long"),
        ("a" * 2000, "too long"),
        ("A <a@example.org>>", ""),
    ],
)
def test_what_cannot_be_mailed_is_refused_with_a_reason(text, why):
    with pytest.raises(errors.AddressError) as caught:
        addresses.parse(text)
    assert caught.value.value == text
    assert why in str(caught.value)
    assert "is no address: " in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused_and_an_address_is_one_line(text):
    try:
        found = addresses.parse(text)
    except errors.AddressError:
        return
    assert found.email.count("@") == 1
    assert not any(unicodedata.category(char)[0] in "CZ" for char in found.email + found.norm)
    assert not set('<>",;:\\') & set(found.email)


LOCAL = st.text("abcXYZ019.!#$%&'*+/=?^_`{|}~-äß日", min_size=1, max_size=12)
DOMAIN = st.lists(st.text("abcXYZ019-äßé日", min_size=1, max_size=8), min_size=1, max_size=3).map(".".join)


@given(LOCAL, DOMAIN, st.sampled_from(["org", "test", "ORG", "co.uk", "local", "xn--p1ai"]))
def test_the_quick_way_for_plain_addresses_gives_what_the_careful_one_gives(local, domain, top):
    text = f"{local}@{domain}.{top}"

    def outcome(parse):
        try:
            return parse(text)
        except errors.AddressError:
            return None

    assert outcome(addresses.parse) == outcome(addresses._parse)


@given(LOCAL, DOMAIN)
def test_every_form_of_an_address_compares_equal(local, domain):
    try:
        found = addresses.parse(f"{local}@{domain}.org")
    except errors.AddressError:
        return
    for form in (found.email, found.norm, found.wire, f"X <{found.email}>", unicodedata.normalize("NFD", found.email)):
        assert addresses.parse(form).norm == found.norm
    assert found.wire.rpartition("@")[2].isascii()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Häagen, Inc.", "Häagen, Inc."),
        ('Anna "Annie" Smith', 'Anna "Annie" Smith'),
        ("  山田 \t 太郎\r\n", "山田 太郎"),
        ("A\r\nBcc: b@example.org", "A Bcc: b@example.org"),
        ("evil\u202egnp.exe\u2066", "evilgnp.exe"),
        (types.MARK_OPEN + "email" + types.MARK_CLOSE, "email"),
        ("Zo\udcc3\udcabe", "Zoe"),
        ("Zoe\u0308", "Zoë"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("x" * 300, "x" * 200),
        ("", ""),
    ],
)
def test_a_name_is_one_clean_line(text, name):
    assert addresses.clean_name(text) == name


@given(st.text(max_size=250))
def test_cleaning_a_name_twice_is_cleaning_it_once(text):
    name = addresses.clean_name(text)
    assert addresses.clean_name(name) == name
    assert name.isprintable() or "\u200c" in name or "\u200d" in name or not name.isascii()
    assert len(name.splitlines()) <= 1
