"""DKIM signatures (RFC 6376; Ed25519 by RFC 8463), relaxed/relaxed, on a body that is canonical by construction."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from newsletter import errors

# What is signed; the names that stand twice are oversigned: a second field of that name breaks the signature.
SIGNED = (
    "from from reply-to to to subject subject date message-id mime-version content-type list-id list-unsubscribe "
    "list-unsubscribe list-unsubscribe-post list-archive feedback-id precedence auto-submitted"
).split()


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """A private key and where its public half is published."""

    domain: str
    selector: str
    algorithm: str  # rsa-sha256 or ed25519-sha256
    private: Any


def load(domain: str, selector: str, path: Path) -> Key:
    """Read a PEM key. Raises `errors.ConfigError` for what is no RSA key of 1,024 bits or more, nor Ed25519."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

    try:
        private = serialization.load_pem_private_key(path.read_bytes(), None)
    except FileNotFoundError:
        raise errors.ConfigError(f"newsletter.toml: dkim.key_file: {path} is missing") from None
    except (OSError, ValueError, TypeError) as error:
        raise errors.ConfigError(f"newsletter.toml: dkim.key_file: {path} is no PEM key: {error}") from None
    if isinstance(private, rsa.RSAPrivateKey) and private.key_size >= 1024:  # RFC 8301, 3.2
        return Key(domain, selector, "rsa-sha256", private)
    if isinstance(private, ed25519.Ed25519PrivateKey):
        return Key(domain, selector, "ed25519-sha256", private)
    raise errors.ConfigError(f"newsletter.toml: dkim.key_file: {path} must hold an RSA (2,048 bits) or Ed25519 key")


def aligned(key_domain: str, from_domain: str) -> bool:
    """May this key sign for that From? The same domain, or one a subdomain of the other."""
    key_domain, from_domain = key_domain.lower(), from_domain.lower()
    return from_domain == key_domain or from_domain.endswith("." + key_domain) or key_domain.endswith("." + from_domain)


def relaxed(field: bytes) -> bytes:
    """A header field in relaxed canonical form (RFC 6376, 3.4.2), with its CRLF."""
    name, _, value = field.partition(b":")
    value = re.sub(rb"[ \t]+", b" ", value.replace(b"\r\n", b"")).strip(b" \t")
    return name.strip().lower() + b":" + value + b"\r\n"


def sign(fields: Mapping[str, bytes], body_hash: bytes, key: Key, at: dt.datetime) -> bytes:
    """A DKIM-Signature field. `fields`: lower-case name -> canonical field; `body_hash`: SHA-256 of the body."""
    names = [name for name in SIGNED if name in fields]
    taken: set[str] = set()
    signed = bytearray()
    for name in names:  # a field is taken once; the second of the name is the one that must not exist
        if name not in taken:
            taken.add(name)
            signed += fields[name]
    bh = base64.b64encode(body_hash).decode()
    head = (
        f"DKIM-Signature: v=1; a={key.algorithm}; c=relaxed/relaxed; d={key.domain};\r\n"
        f" s={key.selector}; t={int(at.timestamp())};\r\n"
        f" h={_folded(names)};\r\n"
        f" bh={bh};\r\n b="
    ).encode()
    signed += relaxed(head)[:-2]
    signature = base64.b64encode(_signature(key, bytes(signed)))
    return head + b"\r\n ".join(signature[i : i + 72] for i in range(0, len(signature), 72)) + b"\r\n"


def _signature(key: Key, octets: bytes) -> bytes:
    if key.algorithm == "ed25519-sha256":
        import hashlib

        found: bytes = key.private.sign(hashlib.sha256(octets).digest())  # RFC 8463, 3
        return found
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    made: bytes = key.private.sign(octets, padding.PKCS1v15(), hashes.SHA256())
    return made


def _folded(names: list[str]) -> str:
    lines, line = [], ""
    for name in names:
        part = name + ":"
        if line and len(line) + len(part) > 72:
            lines.append(line)
            line = ""
        line += part
    lines.append(line.rstrip(":"))
    return "\r\n  ".join(lines)
