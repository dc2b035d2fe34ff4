"""SpamAssassin's opinion of a message, by its offline rules. A second a message, so only when it is asked for."""

from __future__ import annotations

import re
import shutil
import subprocess

from newsletter import types
from newsletter.app.reports import SpamScore
from newsletter.render.check.rules import found

COMMAND = "spamassassin"
SECONDS = 30.0
_DETAILS = re.compile(r"Content analysis details:\s+\((-?[\d.]+) points, ([\d.]+) required\)")
_RULE = re.compile(r"(?m)^\s*(-?\d+\.\d+) ([A-Z][A-Z0-9_]+)\b")


def installed() -> bool:
    """Is there a SpamAssassin?"""
    return shutil.which(COMMAND) is not None


def check(octets: bytes) -> tuple[SpamScore | None, list[types.Finding]]:
    """(score, findings); what keeps SpamAssassin from judging is a finding, no error."""
    program = shutil.which(COMMAND)
    if program is None:
        return None, [_unknown(f"{COMMAND} is not installed", "install it (Debian: apt-get install spamassassin)")]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            [program, "--local", "--test-mode", "--nocreate-prefs"],
            input=octets,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, [_unknown(f"{COMMAND} gave no answer within {SECONDS:g} s")]
    except OSError as error:
        return None, [_unknown(f"{COMMAND} cannot be run: {error.strerror}")]
    score = read(done.stdout.decode("utf-8", "replace"))
    if score is None:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return None, [_unknown(f"{COMMAND} ended with {done.returncode}: {said[-1][:200] if said else 'no report'}")]
    costly = {name: points for name, points in score.rules.items() if points > 0}
    if not costly or score.score <= 0:
        return score, []
    told = ", ".join(f"{name} {points:g}" for name, points in costly.items())
    what = f"SpamAssassin gives {score.score:g} of {score.required:g} points: {told}"
    return score, [found("spam-score", what, "message")]


def _unknown(what: str, mend: str | None = None) -> types.Finding:
    return found("spam-unknown", what, COMMAND, mend)


def read(report: str) -> SpamScore | None:
    """The score in a report of `spamassassin --test-mode`; None where there is none."""
    details = _DETAILS.search(report)
    if not details:
        return None
    rules = {match[2]: float(match[1]) for match in _RULE.finditer(report, details.end())}
    return SpamScore(float(details[1]), float(details[2]), rules)
