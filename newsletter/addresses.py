"""Mail addresses and names as people type them -> as they are kept, compared and sent.

The only user of email-validator. Syntax alone (RFC 5321, 5322, 6531): nothing here asks the DNS. What is refused
although the RFCs know it, because it cannot be mailed or is a slip of the pen each time it turns up in a list of
readers: quoted local parts, comments, IP addresses and dotless names behind the @, and what is no letter in a local
part beyond ASCII ("o’brien@…", mojibake).
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
import urllib.parse

import email_validator

from newsletter import errors

LOCAL_OCTETS = 64  # RFC 5321, 4.5.3.1.1
ADDRESS_OCTETS = 254  # RFC 3696, erratum 1690: a path of 256 octets (RFC 5321, 4.5.3.1.3) less its angle brackets
NAME_CHARACTERS = 200
_TYPED = 1000  # longer than any address with any display name: not looked at

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"  # RFC 5322, 3.2.3
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"  # RFC 1123, 2.1
# What needs no library: ASCII, a dot in the domain, a top level of letters, no label that may be Punycode.
_PLAIN = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@(?!(?:[^@]*\.)?..--)((?:{_LABEL}\.)+([A-Za-z]{{2,63}}))")
_NOT_PLAIN = frozenset(email_validator.SPECIAL_USE_DOMAIN_NAMES) - {"test"}

_INVISIBLE = "\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_AROUND = re.compile(rf"^[\s{_INVISIBLE}]+|[\s{_INVISIBLE}]+$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BRACKETED = re.compile(r'(?:[^<>"]|"(?:[^"\\]|\\.)*")*<([^<>]*)>')
# Controls, bidi overrides and isolates, line separators, the marks of an edition (types.mark), lone surrogates; the
# joiners U+200C and U+200D stay: Persian names and emoji need them.
_NOT_IN_NAMES = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ue000\ue001\ud800-\udfff]"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """An address that can be mailed.

    `email` is what was given, tidied: shown, and kept. `norm` is for comparing: NFC, lower case, the domain in ASCII
    (IDNA 2008 after UTS 46): two spellings of one address have one `norm`.
    """

    email: str
    norm: str

    @property
    def wire(self) -> str:
        """What stands in RCPT: see `wire`."""
        return wire(self.email, self.norm)


def wire(email: str, norm: str) -> str:
    """The address for RCPT and To, from its two kept forms: the domain in ASCII, the local part's case untouched.

    A local part beyond ASCII stays as it is and needs a server with SMTPUTF8 (RFC 6531).
    """
    return f"{email.rpartition('@')[0]}@{norm.rpartition('@')[2]}"


def parse(text: str) -> Address:
    """The address in a text: white space around it, a display name, angle brackets and `mailto:` are taken off.

    Raises `errors.AddressError`, whose message says what is wrong in a sentence that holds the text.
    """
    plain = _PLAIN.fullmatch(text) if len(text) <= ADDRESS_OCTETS else None
    if plain and len(plain[1]) <= LOCAL_OCTETS and plain[3].lower() not in _NOT_PLAIN:
        return Address(text, text.lower())
    return _parse(text)


def _parse(text: str) -> Address:
    if len(text) > _TYPED:
        raise _refused(text, "it is too long")
    bare = _bare(text)
    _check_shape(text, bare)
    try:
        # test_environment: .test (RFC 6761) is where people try things out.
        found = email_validator.validate_email(bare, check_deliverability=False, test_environment=True)
    except email_validator.EmailNotValidError as error:
        raise _refused(text, str(error).rstrip(".")) from None
    local, domain = found.local_part, found.ascii_domain.lower()
    if len(local.encode()) > LOCAL_OCTETS:
        raise _refused(text, f"the part before the @ is longer than {LOCAL_OCTETS} octets")
    if len(local.encode()) + 1 + len(domain) > ADDRESS_OCTETS:
        raise _refused(text, f"it is longer than {ADDRESS_OCTETS} octets")
    odd = next((char for char in local if not char.isascii() and unicodedata.category(char)[0] not in "LMN"), None)
    if odd:
        raise _refused(text, f"{odd!r} before the @ is no letter")
    shown = bare.rpartition("@")[2]
    norm = unicodedata.normalize("NFC", local.lower())
    return Address(f"{local}@{shown if shown.isascii() else found.domain}", f"{norm}@{domain}")


def _bare(text: str) -> str:
    bare = _AROUND.sub("", text)
    bracketed = _BRACKETED.fullmatch(bare)
    if bracketed:
        before = bare[: bracketed.start(1) - 1]
        if "@" in before and re.search(r"[,;]\s*$", before):
            raise _refused(text, "these are several addresses")
        bare = _AROUND.sub("", bracketed[1])
    if bare[:7].lower() == "mailto:":
        bare = urllib.parse.unquote(bare[7:].partition("?")[0])
    return bare


def _check_shape(text: str, bare: str) -> None:
    """The usual slips, in words that say what to mend."""
    local, at, domain = bare.rpartition("@")
    if not bare:
        raise _refused(text, "it is empty")
    if _CONTROL.search(bare):
        raise _refused(text, "there is a line break or a control character in it")
    if not at:
        raise _refused(text, "there is no @ in it")
    if not local:
        raise _refused(text, "nothing stands before the @")
    if not domain:
        raise _refused(text, "nothing stands after the @")
    if '"' in local:
        raise _refused(text, "quotes before the @ are not supported")
    if domain.startswith("["):
        raise _refused(text, "an IP address after the @ is not supported")
    if not set(".。．｡") & set(domain):  # UTS 46, 4: all of them part labels
        raise _refused(text, "there is no dot after the @")
    if "@" in local:
        several = re.search(r"@[^@]*[,;\s/|]", local)
        raise _refused(text, "these are several addresses" if several else "there is more than one @ in it")


def _refused(text: str, why: str) -> errors.AddressError:
    return errors.AddressError(text, f"{shortened(text)} is no address: {why}")


def shortened(text: str, limit: int = 80) -> str:
    """A text in quotes, with escapes for what cannot be seen, as messages show it."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def clean_name(text: str) -> str:
    """A person's name on one line: NFC, blanks squashed, nothing unseen or that turns text; 200 characters."""
    if text.isascii() and text.isprintable() and "  " not in text and len(text) <= NAME_CHARACTERS:
        return text.strip()
    one_line = " ".join(_NOT_IN_NAMES.sub("", text).split())
    return unicodedata.normalize("NFC", one_line)[:NAME_CHARACTERS].rstrip()
