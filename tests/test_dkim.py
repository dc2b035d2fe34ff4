"""Signatures that another implementation verifies, and that break when anything is changed or added."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt

import dkim as dkimpy
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from newsletter import errors, types
from newsletter.deliver import dkim, message

AT = dt.datetime(2026, 9, 11, 8, 0, tzinfo=dt.UTC)
RECIPIENT = types.Recipient(7, "reader@example.org", "Zoë   Q.", "u" * 40, "p" * 40, "b" * 40)
EDITION = types.Edition(
    ("rl-agents",),
    "Grüße an alle, die lange Betreffzeilen mögen " * 4,
    f"<p>  two  blanks \n.</p>{types.mark('unsubscribe_url')}",
    f"{types.mark('name')}\n\n\n",
)


class Nacl:
    """The one thing that dkimpy needs of PyNaCl, which is no dependency of ours: the curve, by `cryptography`."""

    class encoding:  # noqa: N801
        Base64Encoder = None

    class exceptions:  # noqa: N801
        BadSignatureError = InvalidSignature

    class signing:  # noqa: N801
        class VerifyKey:
            def __init__(self, key: bytes, encoder: object) -> None:
                self.key = ed25519.Ed25519PublicKey.from_public_bytes(base64.b64decode(key))

            def verify(self, octets: bytes, signature: bytes) -> bytes:
                self.key.verify(signature, octets)
                return octets


def pem(private) -> bytes:
    return private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """(the two keys, the DNS that publishes them)."""
    folder = tmp_path_factory.mktemp("keys")
    private = {"rsa": rsa.generate_private_key(65537, 2048), "ed": ed25519.Ed25519PrivateKey.generate()}
    for selector, key in private.items():
        (folder / f"{selector}.pem").write_bytes(pem(key))
    public = (
        private["rsa"]
        .public_key()
        .public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    raw = private["ed"].public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    dns = {
        b"rsa._domainkey.example.org.": b"v=DKIM1; k=rsa; p=" + base64.b64encode(public),
        b"ed._domainkey.example.org.": b"v=DKIM1; k=ed25519; p=" + base64.b64encode(raw),
    }
    return tuple(dkim.load("example.org", name, folder / f"{name}.pem") for name in private), dns


@pytest.fixture
def signed(keys):
    letterhead = message.Letterhead(
        "weekly/2026-09-11", ("News", "news@example.org"), ("", "editor@example.org"), None, "News, daily",
        "https://news.example.org", "Europe/London", keys[0],
    )  # fmt: skip
    return message.build(message.encode(EDITION, letterhead), RECIPIENT, message_token="m" * 40, at=AT).octets


@pytest.fixture
def verify(keys, monkeypatch):
    """octets -> does the first signature hold, does the second?"""
    monkeypatch.setattr(dkimpy, "nacl", Nacl, raising=False)

    def holds(octets: bytes, number: int) -> bool:
        try:
            return dkimpy.DKIM(octets).verify(idx=number, dnsfunc=lambda name, timeout=5: keys[1].get(name))
        except dkimpy.ValidationError:
            return False

    return lambda octets: [holds(octets, number) for number in range(2)]


def test_both_signatures_verify(signed, verify):
    assert signed.startswith(b"DKIM-Signature: v=1; a=rsa-sha256;")
    assert signed.count(b"DKIM-Signature:") == 2
    assert b"a=ed25519-sha256;" in signed
    assert verify(signed) == [True, True]


@pytest.mark.parametrize("field", [b"Subject", b"From", b"To", b"List-Unsubscribe"])
def test_a_second_field_of_these_names_breaks_both(signed, verify, field):
    added = field + b": <https://evil.example/>\r\n"

    assert verify(added + signed) == [False, False]
    assert verify(signed.replace(b"\r\n\r\n", b"\r\n" + added + b"\r\n", 1)) == [False, False]


@pytest.mark.parametrize(
    "field",
    (b"From Reply-To To Subject Date Message-ID List-Unsubscribe List-Id List-Unsubscribe-Post List-Archive "
     b"Feedback-ID Precedence MIME-Version Content-Type").split(),
)  # fmt: skip
def test_a_change_to_any_field_breaks_both(signed, verify, field):
    head, _, body = signed.partition(b"\r\n\r\n")
    start = head.index(b"\r\n" + field + b":") + len(field) + 3
    changed = head[:start] + b" x" + head[start:]

    assert verify(changed + b"\r\n\r\n" + body) == [False, False]


def test_a_changed_octet_of_the_body_breaks_both(signed, verify):
    head, _, body = signed.partition(b"\r\n\r\n")
    for at in range(0, len(body), 97):
        flipped = body[:at] + bytes((body[at] ^ 1,)) + body[at + 1 :]
        assert verify(head + b"\r\n\r\n" + flipped) == [False, False]


def test_nothing_can_be_appended(signed, verify):
    assert b"l=" not in signed.partition(b"\r\n\r\n")[0].replace(b"url=", b"")
    assert verify(signed + b"more\r\n") == [False, False]


def test_the_body_is_canonical_as_it_stands(signed):
    body = signed.partition(b"\r\n\r\n")[2]

    assert dkimpy.canonicalization.Relaxed.canonicalize_body(body) == body
    assert dkimpy.canonicalization.Simple.canonicalize_body(body) == body


def test_signing_again_gives_the_same_octets(keys):
    fields = {"from": dkim.relaxed(b"From: <news@example.org>\r\n")}
    for key in keys[0]:
        assert dkim.sign(fields, b"x" * 32, key, AT) == dkim.sign(fields, b"x" * 32, key, AT)


@pytest.mark.parametrize(
    ("field", "canonical"),
    [
        (b"Subject:  a \t b \r\n", b"subject:a b\r\n"),
        (b"SUBJECT : a\r\n  b\r\n", b"subject:a b\r\n"),
        (b"Subject:\r\n", b"subject:\r\n"),
    ],
)
def test_relaxed_fields(field, canonical):
    assert dkim.relaxed(field) == canonical


@pytest.mark.parametrize(
    ("key", "sender", "yes"),
    [
        ("example.org", "example.org", True),
        ("Example.org", "news.example.ORG", True),
        ("mail.example.org", "example.org", True),
        ("example.com", "example.org", False),
        ("ample.org", "example.org", False),
    ],
)
def test_only_keys_of_the_senders_domain_sign(key, sender, yes):
    assert dkim.aligned(key, sender) is yes


def test_keys_that_cannot_sign_are_refused(tmp_path):
    weak = tmp_path / "weak.pem"
    weak.write_bytes(pem(ec.generate_private_key(ec.SECP256R1())))
    nothing = tmp_path / "nothing.pem"
    nothing.write_bytes(b"no key")
    for path in (weak, nothing, tmp_path / "missing.pem", tmp_path):
        with pytest.raises(errors.ConfigError, match=r"dkim\.key_file"):
            dkim.load("example.org", "news", path)


def test_a_message_without_keys_has_no_signature(signed, keys):
    letterhead = message.Letterhead(
        "weekly/2026-09-11", ("News", "news@example.org"), None, None, "News", "https://news.example.org", "UTC"
    )
    octets = message.build(message.encode(EDITION, letterhead), RECIPIENT, message_token="m", at=AT).octets

    assert b"DKIM" not in octets
    assert dataclasses.replace(letterhead, keys=keys[0]).keys == keys[0]
