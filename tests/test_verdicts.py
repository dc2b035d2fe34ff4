"""What a server's answer means."""

from __future__ import annotations

import pytest

from newsletter.deliver import verdicts
from newsletter.types import Verdict

TABLE = [
    # stage, code, text -> verdict, enhanced code
    ("mail", 421, "4.3.2 too busy", Verdict.SERVER, "4.3.2"),
    ("mail", 451, "4.3.0 not now", Verdict.SERVER, "4.3.0"),
    ("mail", 550, "5.7.1 you may not", Verdict.POLICY, "5.7.1"),
    ("mail", 552, "5.3.4 too big", Verdict.POLICY, "5.3.4"),
    ("mail", 530, "5.7.0 log in", Verdict.POLICY, "5.7.0"),
    ("mail", 0, "", Verdict.SERVER, ""),
    ("rcpt", 550, "5.1.1 no such user", Verdict.NEVER, "5.1.1"),
    ("rcpt", 550, "no such user", Verdict.NEVER, ""),
    ("rcpt", 552, "5.2.2 full", Verdict.NEVER, "5.2.2"),
    ("rcpt", 550, "5.7.1 blocked", Verdict.POLICY, "5.7.1"),
    ("rcpt", 450, "4.2.0 greylisted", Verdict.LATER, "4.2.0"),
    ("rcpt", 452, "4.2.2 full", Verdict.LATER, "4.2.2"),
    ("rcpt", 421, "4.7.0 slow down", Verdict.SERVER, "4.7.0"),
    ("rcpt", 999, "what", Verdict.SERVER, ""),
    ("rcpt", 354, "go ahead", Verdict.SERVER, ""),
    ("rcpt", 0, "", Verdict.SERVER, ""),
    ("data", 451, "4.3.0 later", Verdict.LATER, "4.3.0"),
    ("data", 554, "5.5.1 no valid recipients", Verdict.NEVER, "5.5.1"),
    ("data", 250, "what", Verdict.SERVER, ""),
    ("data", 0, "", Verdict.SERVER, ""),
    ("body", 250, "2.0.0 ok", Verdict.SENT, "2.0.0"),
    ("body", 252, "well", Verdict.SENT, ""),
    ("body", 451, "4.3.0 later", Verdict.LATER, "4.3.0"),
    ("body", 421, "4.3.2 going down", Verdict.SERVER, "4.3.2"),
    ("body", 554, "5.6.0 refused", Verdict.NEVER, "5.6.0"),
    ("body", 550, "5.7.26 unauthenticated", Verdict.POLICY, "5.7.26"),
    ("body", 354, "more?", Verdict.DOUBT, ""),
    ("body", 999, "what", Verdict.DOUBT, ""),
    ("body", 0, "", Verdict.DOUBT, ""),
    ("rcpt", 550, "4.1.1 contradicts itself", Verdict.NEVER, ""),
    ("rcpt", 550, "5.1.1.1 is no code", Verdict.NEVER, ""),
]


@pytest.mark.parametrize(("stage", "code", "text", "verdict", "enhanced"), TABLE)
def test_an_answer_means(stage, code, text, verdict, enhanced):
    found = verdicts.outcome(stage, code, text)

    assert (found.verdict, found.enhanced, found.stage, found.code) == (verdict, enhanced, stage, code)


@pytest.mark.parametrize(
    ("stage", "code", "text", "yes"),
    [
        ("rcpt", 550, "5.1.1 no such user", True),
        ("rcpt", 550, "5.1.10 no such user", True),
        ("rcpt", 550, "no such user", False),
        ("rcpt", 550, "5.1.2 no such domain", False),
        ("rcpt", 552, "5.2.2 full", False),
        ("rcpt", 550, "5.7.1 blocked", False),
        ("rcpt", 450, "4.1.1 not yet", False),
        ("body", 550, "5.1.1 too late to say", False),
        ("mail", 550, "5.1.1 about the sender", False),
    ],
)
def test_only_one_answer_says_that_an_address_does_not_exist(stage, code, text, yes):
    assert verdicts.is_bounce(verdicts.outcome(stage, code, text)) is yes


def test_a_reply_is_kept_short_and_on_one_line():
    assert verdicts.outcome("rcpt", 550, "5.1.1 a\n  b\t" + "c" * 999).reply == ("5.1.1 a b " + "c" * 999)[:300]
