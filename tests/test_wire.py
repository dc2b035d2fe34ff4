"""The octets of a message: what we build has no fault, and each planted fault is found by its code."""

import datetime as dt
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsletter import errors, types
from newsletter.deliver import dkim, message
from newsletter.render import check

NOW = dt.datetime(2026, 9, 11, 8, 0, tzinfo=dt.UTC)
TOKEN = "t" * 43


def built(subject="Kelp", name="Ada", title="News", text="Words.\n", html="<p>Words.</p>", keys=(), **letterhead):
    head = message.Letterhead(
        **{
            "issue": "weekly/2026-09-11",
            "sender": ("News", "news@example.org"),
            "reply_to": ("", "editor@example.org"),
            "bounce_domain": "bounce.example.org",
            "title": title,
            "base_url": "https://news.example.org",
            "zone": "Europe/London",
            "keys": tuple(keys),
            **letterhead,
        }
    )
    edition = types.Edition(("tides",), subject, html, text)
    reader = types.Recipient(1, "ada@example.org", name, TOKEN, TOKEN, TOKEN)
    return message.build(message.encode(edition, head), reader, message_token=TOKEN, at=NOW).octets


def codes(octets):
    return {finding.code for finding in check.of_message(octets, NOW)}


def test_what_we_build_has_no_fault():
    assert check.of_message(built(), NOW) == []
    assert check.of_message(built(reply_to=None, bounce_domain=None), NOW) == []
    assert check.of_message(built(base_url="http://127.0.0.1:8000"), NOW) == []


def test_what_we_sign_has_no_fault(tmp_path):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    path = tmp_path / "dkim.pem"
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(key.private_bytes(*form))
    signed = built(keys=[dkim.load("example.org", "news", path)])
    assert signed.startswith(b"DKIM-Signature:")
    assert check.of_message(signed, NOW) == []
    assert codes(signed.replace(b"list-unsubscribe-post:", b"", 1)) == {"dkim-fields"}
    assert codes(signed.replace(b"h=from:from:", b"h=from:", 1)) == {"dkim-fields"}
    assert codes(re.sub(rb"a=rsa-sha256", b"a=rsa-sha1", signed)) == {"dkim-fields"}


@settings(max_examples=150, deadline=None)
@given(subject=st.text(max_size=200), name=st.text(max_size=80), title=st.text(max_size=80), text=st.text(max_size=300))
def test_whatever_the_words_are_the_octets_are_in_order(subject, name, title, text):
    text = text.translate(dict.fromkeys(range(0xD800, 0xE002))).strip() or "x"
    try:
        octets = built(subject=subject, name=name, title=title, text=text, html=f"<p>{text}</p>")
    except errors.HeaderError:
        return
    assert check.of_message(octets, NOW) == []


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b"Subject: Kelp\r\n", b"", "header-count"),
        (b"Subject: Kelp\r\n", b"Subject: Kelp\r\nSubject: Kelp\r\n", "header-count"),
        (b"Reply-To: <editor@example.org>\r\n", b"Reply-To: <editor@example.org>\r\n" * 2, "header-count"),
        (b"Subject: Kelp\r\n", b"Subject: Kelp\r\nBcc: <spy@example.net>\r\n", "message-to"),
        (b"To: Ada <ada@example.org>", b"To: Ada <ada@example.org>, <ben@example.org>", "message-to"),
        (b"To: Ada <ada@example.org>", "To: Ada <ada@bücher.example>".encode(), "header-form"),
        (b"To: Ada <ada@example.org>", b"To: Ada <ada@=?utf-8?q?b=C3=BCcher?=.example>", "header-words"),
        (b"From: News <", b"From: H\xe4agen <", "header-form"),
        (b"From: News <", b"From: Haagen, Inc. <", "header-form"),
        (b"Subject: Kelp", b"Subject: Ke\x00lp", "header-form"),
        (b"Subject: Kelp\r\n", b"Subject: Kelp\r\nno field at all\r\n", "header-form"),
        (b"Subject: Kelp", b"Subject: =?utf-8?b?" + b"QUJD" * 20 + b"?=", "header-words"),
        (b"Subject: Kelp", b"Subject: =?utf-8?b?w6TD?= =?utf-8?b?pA==?=", "header-words"),  # half a character
        (b"Subject: Kelp", b"Subject: =?utf-9?q?x?=", "header-words"),
        (b"List-Unsubscribe: <https", b"List-Unsubscribe: =?utf-8?q?=3Chttps?= <https", "header-words"),
        (b"@example.org>\r\nList-Unsub", b"@example.net>\r\nList-Unsub", "message-id"),
        (b"Message-ID: <", b"Message-ID: <two words", "message-id"),
        (b"+0100", b"GMT", "message-date"),
        (b"11 Sep 2026", b"12 Sep 2026", "message-date"),
        (b"\r\nMIME-Version", b"\nMIME-Version", "message-lines"),
        (b"Words.", b"w" * 999, "message-lines"),
        (b"multipart/alternative", b"multipart/mixed", "message-parts"),
        (b"text/plain", b"text/html", "message-parts"),
        (b"Words.\r\n", b"\r\n", "message-parts"),
        (b"quoted-printable", b"8bit", "message-parts"),
        (b"charset=utf-8", b"charset=latin-1", "message-parts"),
        (b"Words.", b"=C3=28", "message-parts"),
        (b"<https://news.example.org/uns", b"<http://news.example.org/uns", "list-unsubscribe"),
        (b"<https://news.example.org/uns", b"<https://a.example/>, <https://news.example.org/uns", "list-unsubscribe"),
        (b"/unsubscribe/" + TOKEN.encode(), b"/unsubscribe/12", "list-unsubscribe"),
        (b"One-Click", b"OneClick", "list-one-click"),
        (b"List-Id: News <weekly.news.example.org>", b"List-Id: News", "list-id"),
        (b"Feedback-ID: ", b"Feedback-ID: a:b:c:d:", "feedback-id"),
        (b"Feedback-ID: ", b"Feedback-ID: ada@example.org:", "feedback-id"),
    ],
)
def test_each_fault_is_found(old, new, code):
    octets = built()
    assert old in octets
    assert code in codes(octets.replace(old, new, 1))


def test_a_message_that_breaks_off_or_has_a_boundary_in_its_text_is_found():
    octets = built()
    assert codes(octets.rstrip(b"\r\n")) == {"message-lines"}
    boundary = re.search(rb'boundary="([^"]+)"', octets)[1]
    assert "message-parts" in codes(octets.replace(b"Words.", b"Words\r\n--" + boundary, 1))
    assert "message-parts" in codes(octets.replace(boundary, b"b" * 71))
    assert "message-parts" in codes(octets[: octets.rindex(b"--" + boundary)])
    assert codes(b"") >= {"header-count", "message-parts", "message-lines"}


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 2000))
def test_any_octets_can_be_judged(octets, at):
    good = built()
    at %= len(good)
    check.of_message(octets, NOW)
    check.of_message(good[:at] + octets + good[at:], NOW)


# -- copies --------------------------------------------------------------------------------------------------------


def copies(change=lambda octets: octets):
    """A message, the same tried again a day later and changed, another reader's and changed."""
    head = message.Letterhead(
        "weekly/2026-09-11",
        ("News", "news@example.org"),
        None,
        None,
        "News",
        "https://news.example.org",
        "Europe/London",
    )
    encoded = message.encode(types.Edition(("tides",), "Kelp", "<p>Words.</p>", "Words.\n"), head)
    ada = types.Recipient(1, "ada@example.org", "Ada", TOKEN, TOKEN, TOKEN)
    bo = types.Recipient(2, "bo@example.org", "Bo", "b" * 43, "b" * 43, "b" * 43)
    day = dt.timedelta(days=1)
    first = message.build(encoded, ada, message_token=TOKEN, at=NOW).octets
    later = message.build(encoded, ada, message_token=TOKEN, at=NOW + day).octets
    other = message.build(encoded, bo, message_token="b" * 43, at=NOW).octets
    return first, change(later), change(other)


def test_a_second_try_and_another_reader_have_what_they_must():
    first, later, other = copies()
    assert first != later != other
    assert check.of_copies(first, later, other) == []


@pytest.mark.parametrize(
    ("old", "new", "codes_"),
    [
        (b"Message-ID: <t", b"Message-ID: <u", {"message-id"}),
        (b"Subject: Kelp", b"Subject: Kelp!", {"message-again"}),
        (b"Words.", b"Others.", {"message-again"}),
        (b"<weekly.news", b"<ada.news", {"list-id", "message-again"}),
        (b"Feedback-ID: 2026", b"Feedback-ID: ada", {"feedback-id", "message-again"}),
        (b"Precedence: bulk", b"Precedence: list", {"header-form", "message-again"}),
    ],
)
def test_what_changes_between_copies_is_found(old, new, codes_):
    found = check.of_copies(*copies(lambda octets: octets.replace(old, new)))
    assert {each.code for each in found} == codes_


def test_two_readers_share_no_name_and_no_way_out():
    first, later, _ = copies()
    assert [each.code for each in check.of_copies(first, later, later)] == ["message-id", "list-unsubscribe"]


def test_bulk_mail_says_that_it_is_bulk():
    assert codes(built().replace(b"Precedence: bulk", b"Precedence: first-class")) == {"header-form"}
