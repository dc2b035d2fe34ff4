"""What a server's answer means: stage x code x enhanced code -> Verdict. Pure, and the only place that decides it.

The rules: RFC 5321 4.2.1 (4yz: later, 5yz: never), RFC 3463 (X.1.z is about the address, X.7.z about policy), and what
follows for a newsletter: only an address that does not exist is the person's; a policy refusal is not; a server in
trouble costs nobody an attempt; and an answer that never came after the last dot is neither.
"""

from __future__ import annotations

import re

from newsletter import types
from newsletter.types import Verdict

# Enhanced codes that say "this mailbox does not exist" (RFC 3463 3.2; 5.1.10 is Exchange's form of it).
NO_SUCH_MAILBOX = frozenset({"5.1.1", "5.1.10"})
REPLY_LENGTH = 300  # what is kept of a reply
_ENHANCED = re.compile(r"\s*([245])\.(\d{1,3})\.(\d{1,3})(?=\s|$)")


def outcome(stage: str, code: int, text: str) -> types.Outcome:
    """The outcome that a reply to `stage` (mail, rcpt, data, body) means."""
    reply = " ".join(text.split())[:REPLY_LENGTH]
    match = _ENHANCED.match(text)
    enhanced = f"{match[1]}.{match[2]}.{match[3]}" if match and match[1] == str(code)[:1] else ""
    return types.Outcome(verdict(stage, code, enhanced), stage, code, enhanced, reply)


def verdict(stage: str, code: int, enhanced: str) -> Verdict:
    """See the module."""
    if code == 0:
        return Verdict.DOUBT if stage == "body" else Verdict.SERVER
    if stage == "body" and is_yes(code):
        return Verdict.SENT
    if code == 421 or not 400 <= code <= 599:  # RFC 5321 3.8; or an answer that makes no sense here
        return Verdict.DOUBT if stage == "body" and not 400 <= code <= 599 else Verdict.SERVER
    if 400 <= code <= 499:
        return Verdict.SERVER if stage in ("connect", "mail") else Verdict.LATER
    if stage in ("connect", "mail") or enhanced.startswith("5.7."):
        return Verdict.POLICY
    return Verdict.NEVER


def is_yes(code: int) -> bool:
    """Done as asked; a code that is not known means what its first digit says (RFC 5321, 4.3.2)."""
    return 200 <= code <= 299


def is_bounce(outcome: types.Outcome) -> bool:
    """Does the address not exist? Only said of RCPT, and only by an enhanced code that says just that."""
    return outcome.stage == "rcpt" and outcome.verdict is Verdict.NEVER and outcome.enhanced in NO_SUCH_MAILBOX
