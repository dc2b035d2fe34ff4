"""A message as a server receives it: judged on raw octets, and read back by the standard library."""

from __future__ import annotations

import dataclasses
import datetime as dt
import email
import email.header
import email.policy
import re

import pytest

from newsletter import errors, types
from newsletter.deliver import message

AT = dt.datetime(2026, 9, 11, 8, 0, tzinfo=dt.UTC)
LETTERHEAD = message.Letterhead(
    issue="weekly/2026-09-11",
    sender=("News without the noise", "news@example.org"),
    reply_to=("", "editor@example.org"),
    bounce_domain="bounce.example.org",
    title="News without the noise",
    base_url="https://news.example.org",
    zone="Europe/London",
)
RECIPIENT = types.Recipient(7, "reader@example.org", "A Reader", "u" * 40, "p" * 40, "b" * 40)
EDITION = types.Edition(
    ("rl-agents",),
    "Grüße, Agenten",
    f'<p>Liu et al. ≤ 3  %</p>\n<a href="{types.mark("unsubscribe_url")}">Leave</a> {types.mark("name")}</html>',
    f".first\nFor {types.mark('email')} \n{types.mark('preferences_url')}{types.mark('name')}\n\n\n",
)


def built(letterhead=LETTERHEAD, edition=EDITION, at=AT, **changes):
    recipient = dataclasses.replace(RECIPIENT, **changes)
    return message.build(message.encode(edition, letterhead), recipient, message_token="m" * 40, at=at)


def fields(octets: bytes) -> dict[str, str]:
    """Lower-case name -> unfolded value; fails when one stands twice."""
    head = octets.partition(b"\r\n\r\n")[0].decode() + "\r\n"
    found = re.findall(r"(?m)^([!-9;-~]+):[ ]((?:.*\r\n)(?:[ \t].*\r\n)*)", head)
    names = [name.lower() for name, _ in found]
    assert len(set(names)) == len(names), names
    assert "".join(f"{name}: {value}" for name, value in found) == head
    return {name.lower(): value.replace("\r\n", "").strip() for name, value in found}


def bodies(octets: bytes) -> tuple[str, str]:
    parsed = email.message_from_bytes(octets, policy=email.policy.default)
    assert parsed.get_content_type() == "multipart/alternative"
    assert not parsed.defects
    text, page = parsed.iter_parts()
    assert (text.get_content_type(), page.get_content_type()) == ("text/plain", "text/html")
    return tuple(part.get_payload(decode=True).decode().replace("\r\n", "\n") for part in (page, text))


def assert_clean(octets: bytes) -> None:
    head, _, body = octets.partition(b"\r\n\r\n")
    assert head.isascii() and body.isascii()
    assert b"\n" not in octets.replace(b"\r\n", b"") and b"\r" not in octets.replace(b"\r\n", b"")
    assert all(len(line) <= 998 for line in octets.split(b"\r\n"))
    assert all(len(word) <= 75 for word in re.findall(rb"=\?[^ ?]*\?[^ ?]*\?[^ ?]*\?=", head))
    assert b"  " not in body and b" \r\n" not in body and b"\t" not in body
    assert b"\r\n." not in octets
    assert body.endswith(b"--\r\n") and not body.endswith(b"\r\n\r\n")


def test_every_field_stands_once_and_says_what_it_must():
    letter = built()
    found = fields(letter.octets)

    assert_clean(letter.octets)
    assert found == {
        "from": "News without the noise <news@example.org>",
        "reply-to": "<editor@example.org>",
        "to": "A Reader <reader@example.org>",
        "subject": "=?utf-8?b?R3LDvMOfZSwgQWdlbnRlbg==?=",
        "date": "Fri, 11 Sep 2026 09:00:00 +0100",
        "message-id": f"<{'m' * 40}@example.org>",
        "list-unsubscribe": (
            f"<https://news.example.org/unsubscribe/{'u' * 40}>, <mailto:unsubscribe+{'u' * 40}@bounce.example.org>"
        ),
        "list-id": "News without the noise <weekly.news.example.org>",
        "list-unsubscribe-post": "List-Unsubscribe=One-Click",
        "list-archive": "<https://news.example.org/weekly/>",
        "feedback-id": "2026-09-11:weekly:issue:example.org",
        "precedence": "bulk",
        "mime-version": "1.0",
        "content-type": found["content-type"],
    }
    assert letter.mail_from == f"bounce+{'b' * 40}@bounce.example.org"
    assert letter.rcpt_to == "reader@example.org"
    assert letter.message_id == found["message-id"]


def test_without_a_bounce_domain_the_sender_takes_what_comes_back():
    letter = built(dataclasses.replace(LETTERHEAD, bounce_domain=None))

    assert letter.mail_from == "news@example.org"
    assert fields(letter.octets)["list-unsubscribe"].endswith(
        f", <mailto:news@example.org?subject=unsubscribe%20{'u' * 40}>"
    )


@pytest.mark.parametrize("name", ["A Reader", "", "<b>&\"'", "  Zoë   ", "x" * 300, "..", "name=?utf-8?q?x?="])
def test_what_is_read_back_is_what_was_previewed(name):
    recipient = dataclasses.replace(RECIPIENT, name=name)
    letter = built(name=name)

    assert bodies(letter.octets) == message.filled(EDITION, LETTERHEAD, recipient)
    assert_clean(letter.octets)


@pytest.mark.parametrize(
    "text",
    ["", "\n", "no line end", "one\n", "two\n\n", types.mark("email"), f"{types.mark('email')}\n", " ", ".\n.\n"],
)
def test_bodies_end_as_they_were_rendered(text):
    edition = dataclasses.replace(EDITION, text=text, html=text)

    assert bodies(built(edition=edition).octets) == message.filled(edition, LETTERHEAD, RECIPIENT)


@pytest.mark.parametrize(
    "text",
    ["Grüße", "新闻通讯", '"Quotes", commas', "äöü " * 9, "a =?utf-8?q?trap?= b", "n" * 300, "é" * 300],
    ids=["umlauts", "cjk", "quotes", "nine-words", "trap", "long", "long-foreign"],
)
def test_hard_subjects_and_names(text):
    letter = built(edition=dataclasses.replace(EDITION, subject=text), name=text)
    parsed = email.message_from_bytes(letter.octets, policy=email.policy.default)
    name, address = email.utils.parseaddr(fields(letter.octets)["to"])

    assert_clean(letter.octets)
    assert parsed["subject"] == text.strip()
    assert address == "reader@example.org"
    assert str(email.header.make_header(email.header.decode_header(name))) == text.strip()


def test_a_foreign_domain_is_written_as_the_mail_system_writes_it():
    issue = types.Issue(
        newsletter="weekly",
        period="2026-09-11",
        title="News",
        language="en",
        date=dt.date(2026, 9, 11),
        number=1,
        subject="News",
        preheader="",
        intro="",
        sections=(),
        base_url="https://news.example.org",
        sender="News <news@bücher.example>",
    )
    letterhead = message.letterhead(issue, [])
    letter = built(letterhead, email=message.ascii_address("jo@straße.example"))

    assert fields(letter.octets)["from"] == "News <news@xn--bcher-kva.example>"
    assert letter.message_id.endswith("@xn--bcher-kva.example>")
    assert letter.rcpt_to == "jo@xn--strae-oqa.example"
    assert_clean(letter.octets)


@pytest.mark.parametrize(
    "changes", [{"name": "A\r\nBcc: x@example.org"}, {"name": "A\0"}, {"email": "a@example.org\r\nRCPT TO:<b@c.de>"}]
)
def test_a_recipient_that_injects_a_field_is_refused(changes):
    with pytest.raises(errors.HeaderError):
        built(**changes)


@pytest.mark.parametrize(
    ("letterhead", "edition"),
    [
        (LETTERHEAD, dataclasses.replace(EDITION, subject="a\nBcc: x@example.org")),
        (dataclasses.replace(LETTERHEAD, title="a\rb"), EDITION),
        (dataclasses.replace(LETTERHEAD, sender=("a\nb", "news@example.org")), EDITION),
        (LETTERHEAD, dataclasses.replace(EDITION, text=types.mark("shoe_size"))),
    ],
)
def test_an_edition_that_injects_a_field_is_refused(letterhead, edition):
    with pytest.raises(errors.HeaderError):
        message.encode(edition, letterhead)


def test_the_same_recipient_at_the_same_time_gets_the_same_octets():
    assert built() == built()
    later = built(at=AT + dt.timedelta(hours=3))
    assert later.message_id == built().message_id
    assert fields(later.octets) | {"date": ""} == fields(built().octets) | {"date": ""}


def test_no_value_reaches_another_recipient():
    encoded = message.encode(EDITION, LETTERHEAD)
    first = message.build(encoded, RECIPIENT, message_token="m", at=AT)
    message.build(encoded, dataclasses.replace(RECIPIENT, name="Somebody Else"), message_token="n", at=AT)

    assert message.build(encoded, RECIPIENT, message_token="m", at=AT) == first
