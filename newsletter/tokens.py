"""Signed links: who, for which issue, and for what purpose, in letters that survive any mail server.

A token is deterministic (a resumed send must give the same bytes), short enough for a local part (64 octets, RFC
5321 4.5.3.1.1: `unsubscribe+` leaves 52) and in one case of letters, because some servers fold local parts:

    base32( key id: 1 | purpose: 1 | subscriber: varint | issue: varint | HMAC-SHA256 cut to 128 bits )

The key id is the first octet of the key's hash: old keys go on verifying, so leaving outlives a rotation. A version
(the subscriber's `token_version`) may enter the MAC without standing in the token: raising it makes old preference
links invalid; it never enters an unsubscribe token.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import hashlib
import hmac

from newsletter import errors

MAC_OCTETS = 16


class Purpose(enum.IntEnum):
    """What a token may be used for; a token of one purpose is nothing to another."""

    UNSUBSCRIBE = 1
    PREFERENCES = 2
    BOUNCE = 3
    MESSAGE_ID = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Claims:
    """What a token says. `subscriber` 0 is nobody: a sample, in a preview or a test message."""

    purpose: Purpose
    subscriber: int
    issue: int


class Signer:
    """Makes and reads tokens with the first of `keys`; reads with all of them."""

    def __init__(self, keys: list[bytes]) -> None:
        if not keys or any(len(key) < 16 for key in keys):
            raise errors.ConfigError(
                "the secret key (secret.key, or NEWSLETTER_SITE__SECRET_KEY) must have 16 characters or more; restore "
                "it: links in sent mails need it (if none was ever sent, delete the file and run `newsletter init`)"
            )
        self._keys: dict[int, list[bytes]] = {}  # two keys in 256 share an id
        for key in dict.fromkeys(keys):
            self._keys.setdefault(_key_id(key), []).append(key)
        self._digest_keys = list(dict.fromkeys(keys))
        self.key_id = _key_id(keys[0])

    def sign(
        self, purpose: Purpose, subscriber: int, issue: int, *, version: int = 0, key_id: int | None = None
    ) -> str:
        """A token of lower-case letters and digits. `key_id`: sign as an earlier message did.

        Raises `errors.TokenError` when that key is gone.
        """
        kid = self.key_id if key_id is None else key_id
        body = bytes((kid, purpose)) + _varint(subscriber) + _varint(issue)
        return base64.b32encode(body + self._macs(kid, body, version)[0]).decode().rstrip("=").lower()

    def read(self, token: str, purpose: Purpose) -> Claims:
        """What a token says; raises `errors.TokenError` unless we signed it, for this purpose, with version 0."""
        claims, _ = self.peek(token, purpose)
        self.verify(token, claims, version=0)
        return claims

    def peek(self, token: str, purpose: Purpose) -> tuple[Claims, bytes]:
        """What a token *says* (unproved: `verify` it with the version of the subscriber it names), and its MAC."""
        body, mac = _split(token)
        if len(body) < 4 or body[1] != purpose:
            raise errors.TokenError("this link is damaged or was not made for this")
        subscriber, rest = _read_varint(body[2:])
        issue, rest = _read_varint(rest)
        if rest:
            raise errors.TokenError("this link is damaged")
        return Claims(purpose, subscriber, issue), mac

    def verify(self, token: str, claims: Claims, *, version: int) -> None:
        """Raise `errors.TokenError` unless the token is ours for these claims and this version."""
        body, mac = _split(token)
        expected = bytes((body[0], claims.purpose)) + _varint(claims.subscriber) + _varint(claims.issue)
        macs = self._macs(body[0], body, version)
        if body != expected or not any(hmac.compare_digest(each, mac) for each in macs):
            raise errors.TokenError("this link is forged, damaged or from another newsletter")

    def digest(self, text: str) -> str:
        """A keyed hash of a text, in hex: so that an erased address stays suppressed without being kept."""
        return self.digests(text)[0]

    def digests(self, text: str) -> list[str]:
        """`digest` with each key, the current one first: what was hashed before a rotation is still found."""
        data = b"digest\0" + text.encode()
        return [hmac.new(key, data, hashlib.sha256).hexdigest() for key in self._digest_keys]

    def _macs(self, key_id: int, body: bytes, version: int) -> list[bytes]:
        keys = self._keys.get(key_id)
        if keys is None:
            raise errors.TokenError("this link was signed with a key that is no longer here")
        return [hmac.digest(key, body + version.to_bytes(4), "sha256")[:MAC_OCTETS] for key in keys]


def _key_id(key: bytes) -> int:
    return hashlib.sha256(key).digest()[0]


def _split(token: str) -> tuple[bytes, bytes]:
    try:
        raw = base64.b32decode(token.upper() + "=" * (-len(token) % 8))
    except (ValueError, UnicodeError):
        raise errors.TokenError("this link is damaged") from None
    if len(raw) < MAC_OCTETS + 4 or base64.b32encode(raw).decode().rstrip("=").lower() != token.lower():
        raise errors.TokenError("this link is damaged")
    return raw[:-MAC_OCTETS], raw[-MAC_OCTETS:]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes) -> tuple[int, bytes]:
    number = shift = 0
    for i, octet in enumerate(data):
        number |= (octet & 0x7F) << shift
        shift += 7
        if number >= 1 << 63:  # no row of any database
            break
        if octet < 0x80:
            return number, data[i + 1 :]
    raise errors.TokenError("this link is damaged")
