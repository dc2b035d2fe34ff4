"""Header fields on octets: folded, encoded, and safe against injection. The standard library reads them back."""

from __future__ import annotations

import datetime as dt
import email.header
import email.policy
import email.utils
import re
import zoneinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors
from newsletter.deliver import headers

PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=300)


def parsed(octets: bytes):
    return email.message_from_bytes(octets + b"\r\n", policy=email.policy.default)


def name_in(octets: bytes) -> str:
    """The display name by RFC 2047: the blank between two encoded words is none (`policy.default` keeps it)."""
    name, address = email.utils.parseaddr(octets.decode().partition(":")[2].replace("\r\n", ""))
    assert address == "reader@example.org"
    return str(email.header.make_header(email.header.decode_header(name)))


def assert_well_formed(octets: bytes) -> None:
    assert octets.isascii()
    assert octets.endswith(b"\r\n")
    lines = octets[:-2].split(b"\r\n")
    assert all(len(line) <= 998 and line.strip() for line in lines)
    assert all(line.startswith(b" ") for line in lines[1:])
    for word in re.findall(rb"=\?[^ ?]*\?[^ ?]*\?[^ ?]*\?=", octets):
        assert len(word) <= 75


@given(PLAIN)
def test_any_subject_comes_back(text):
    octets = headers.field("Subject", headers.unstructured(text))

    assert_well_formed(octets)
    assert parsed(octets)["subject"] == " ".join(text.split())


@given(PLAIN)
def test_any_name_comes_back_with_its_address(name):
    octets = headers.field("To", headers.mailbox(name, "reader@example.org"))

    assert_well_formed(octets)
    assert len(parsed(octets)["to"].addresses) == 1
    assert name_in(octets) == " ".join(name.split())


@pytest.mark.parametrize(
    "text",
    [
        "Grüße aus Köln",
        "新闻通讯：没有噪音",
        'Say "yes", or no',
        "äöü " * 9,
        "a =?utf-8?q?trap?= b",
        "é" * 300,
        "word " * 60,
        "x" * 300,
        "🙂" * 80,
        "Häagen, Inc.",
        "back\\slash (and comment) <tag>",
        "a,b;c:d@e",
    ],
    ids=range(12),
)
def test_subjects_and_names_that_are_hard(text):
    wanted = " ".join(text.split())
    subject = headers.field("Subject", headers.unstructured(text))
    to = headers.field("To", headers.mailbox(text, "reader@example.org"))
    for octets in (subject, to):
        assert_well_formed(octets)
    assert parsed(subject)["subject"] == wanted
    assert len(parsed(to)["to"].addresses) == 1
    assert name_in(to) == wanted


def test_encoded_words_hold_whole_characters():
    for text in ("é" * 100, "新" * 100, "🙂" * 100, "a🙂é新" * 40):
        for word in headers.encoded_words(text):
            ((octets, charset),) = email.header.decode_header(word)
            octets.decode(charset)
            assert len(word) <= 75


@pytest.mark.parametrize("bad", ["a\nb", "a\r\nBcc: x@example.org", "a\rb", "a\0b", "a\x7f", "a\u2028b", "a\x85b"])
def test_what_could_inject_a_field_is_refused(bad):
    for tokens in (headers.unstructured, headers.phrase, lambda text: headers.mailbox(text, "a@example.org")):
        with pytest.raises(errors.HeaderError):
            tokens(bad)
    with pytest.raises(errors.HeaderError):
        headers.mailbox("A", f"{bad}@example.org")


@pytest.mark.parametrize("address", ["a b@example.org", "a@example.org>,<b@example.org", "a,b@example.org", "<a@b>"])
def test_an_address_that_is_more_than_one_is_refused(address):
    with pytest.raises(errors.HeaderError):
        headers.mailbox("A", address)


def test_fields_fold_between_tokens_and_never_within():
    octets = headers.field(
        "List-Unsubscribe", ["<https://news.example.org/" + "x" * 120 + ">,", "<mailto:a@b.example>"]
    )

    assert octets == b"List-Unsubscribe: <https://news.example.org/" + b"x" * 120 + b">,\r\n <mailto:a@b.example>\r\n"


@pytest.mark.parametrize(
    ("text", "mailbox"),
    [
        ("News <news@example.org>", ("News", "news@example.org")),
        ('"News, daily" <news@example.org>', ("News, daily", "news@example.org")),
        ("news@example.org", ("", "news@example.org")),
        (" News without the noise  < news@example.org > ", ("News without the noise", "news@example.org")),
    ],
)
def test_the_settings_mailboxes_are_split(text, mailbox):
    assert headers.split_mailbox(text) == mailbox


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "Fri, 11 Sep 2026 08:00:05 +0000"),
        ("Europe/London", "Fri, 11 Sep 2026 09:00:05 +0100"),
        ("America/St_Johns", "Fri, 11 Sep 2026 05:30:05 -0230"),
        ("Asia/Kathmandu", "Fri, 11 Sep 2026 13:45:05 +0545"),
    ],
)
def test_dates_carry_their_own_offset(zone, text):
    moment = dt.datetime(2026, 9, 11, 8, 0, 5, tzinfo=dt.UTC)

    assert headers.date(moment.astimezone(zoneinfo.ZoneInfo(zone))) == text
    assert email.utils.parsedate_to_datetime(text) == moment
