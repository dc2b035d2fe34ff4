"""Every code that a finding may have: is it an error, what it says, and how to mend it. docs/checks.md is this table.

Errors keep an issue from going out; warnings are for the editor to weigh. Codes are stable.
"""

from __future__ import annotations

import dataclasses

from newsletter import types


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """What a code means. `mend` ends the message of its findings, unless a finding knows better."""

    what: str
    mend: str
    is_error: bool = False


def _error(what: str, mend: str) -> Rule:
    return Rule(what, mend, is_error=True)


_MENDED_BY_US = "mend what newsletter.toml or the templates put there; if nothing of yours is in it, report it"

RULES: dict[str, Rule] = {
    # -- the files
    "draft": _error("the draft cannot be read", "correct the line that is named"),
    "template": _error("a template is broken", "correct the line that is named"),
    "settings": _error("newsletter.toml cannot be read", "correct what is named; the last good settings stand"),
    "database": _error("the database cannot be read", "`newsletter db check` tells more"),
    "issue": _error("the issue cannot be shown as it is", "do what the message says"),
    "draft-missing": Rule("the draft of an approved issue is gone", "what was approved is sent all the same"),
    "draft-differs": Rule("the draft was edited after approval", "what was approved is sent; `unapprove` thaws it"),
    "settings-differ": Rule("settings changed after approval", "what was approved is sent; `unapprove` thaws it"),
    # -- the issue
    "issue-empty": _error("the issue has no entry and no text", "write one, or cancel it"),
    "section-empty": Rule("a section has no entry", "take its heading out"),
    "entry-undated": Rule("an entry has no date", "write it under the heading, like “6 Sept 2026”"),
    "entry-empty": Rule("an entry says nothing but its title", "write a sentence or take it out"),
    "entry-twice": Rule("two entries have the same link, title or text", "take one out"),
    "image-left-out": Rule("an image stands in the text; mails are type only", "take it out or link to it"),
    "placeholder": Rule("the text looks like a template's placeholder", "write what was meant; a draft is no template"),
    "broken-letters": Rule("letters were decoded wrongly somewhere", "write the letters again"),
    "source-silent": Rule("a source had no good fetch since the last issue", "`newsletter sources check` tells more"),
    # -- subject and preheader
    "subject-empty": _error("the subject is empty", "write one in the draft's first lines"),
    "subject-control": _error("the subject holds a line break or a control character", "make it one line"),
    "subject-capitals": Rule("the subject is all capitals, which filters take for spam", "write it as a sentence"),
    "subject-long": Rule("the subject is longer than 78 characters", "shorten it; phones show about 40"),
    "subject-again": Rule("an earlier issue had the same subject", "word it anew, or readers think they know it"),
    "subject-spam": Rule("the subject looks like spam to filters", "say plainly what is in the issue"),
    "preheader-long": Rule("the preheader is longer than a preview shows", "shorten it to about 100 characters"),
    "edition-lacks": Rule(
        "subject, preheader or introduction speak of an entry that an edition lacks",
        "word it for every reader, or give that edition a subject of its own under `subjects`",
    ),
    # -- size
    "html-size": _error(
        "the HTML of an edition has 102,400 bytes or more, and Gmail cuts it", "take entries out or lower max_entries"
    ),
    "html-size-near": Rule("the HTML of an edition has 90,000 bytes or more", "consider taking entries out"),
    "unsubscribe-late": Rule(
        "a large mail has its first unsubscribe link far down, where a clipped mail does not reach",
        "put {{ reader.unsubscribe_url }} near the top of issue.mjml as well",
    ),
    "style-size": Rule(
        "a style block has more than 8,192 characters, or all have more than 16,384; Gmail drops them",
        "shorten or split the styles in the templates",
    ),
    "style-broken": Rule(
        "a style block has a mistake, for which Gmail drops the block", "correct the CSS in the templates"
    ),
    # -- the HTML
    "html-lang": _error("the HTML names no language", 'write <mjml lang="{{ issue.language }}">'),
    "html-title": _error("the HTML has no title", "write <mj-title> in <mj-head>"),
    "html-h1": _error("the HTML has not exactly one main heading", "write exactly one <h1>"),
    "html-headings": _error("heading levels skip; screen readers lose the thread", "use the levels in order"),
    "html-active": _error("something in the HTML acts: clients drop the message or warn", "take it out"),
    "html-remote": _error(
        "a style loads a file from elsewhere, which tells who reads", "use the fonts that readers have"
    ),
    "html-tables": Rule("a table only lays out but does not say so", 'write role="presentation" on it'),
    "html-dark": Rule("the HTML says nothing about dark mode", "include parts/head.mjml"),
    "html-width": Rule("text runs over the whole width of a screen", "put it into an <mj-section>"),
    "html-small": Rule("text is smaller than 12 pixels", "make it 14 pixels at least"),
    "image-alt": _error("an image has no alt text", 'write alt="…", alt="" if it only adorns'),
    "image-dot": Rule("an image of one or two pixels looks like tracking to filters", "take it out"),
    "contrast": _error("text has too little contrast", "make it at least 4.5"),
    "contrast-dark": _error("text has too little contrast in dark mode", "make it at least 4.5"),
    "client-support": Rule(
        "the HTML or CSS uses what some mail programs lack", "do without it, or see that the mail is whole without it"
    ),
    "leftover": _error("a template left a placeholder", "mend the template"),
    "leftover-mark": _error("a personal field was not filled in", "mend the template"),
    # -- links
    "link-relative": _error("a link leads nowhere in a mail", "write a whole https:// or mailto: address"),
    "link-private": Rule("a link leads to an address that only your network has", "link to what readers can reach"),
    "link-password": Rule("a link holds a user name or a password", "take it out of the address"),
    "link-disguised": Rule(
        "a link reads like another address than the one it leads to; filters take that for fraud", "let both agree"
    ),
    "link-short": Rule("a link goes through a shortener, which filters distrust", "link to the page itself"),
    "link-text-twice": Rule("links to different places read alike", "word them apart"),
    "link-empty": Rule("a link has no words", "give it some"),
    "link-unlinked": Rule("an address can be read but is no link in the HTML", "make it a link"),
    "links-differ": _error(
        "a link of the HTML is not in the text part", "show entry.url, or the text with its links, in issue.txt"
    ),
    "link-dead": Rule("--online: a link leads to nothing", "correct it or take it out"),
    "link-unproven": Rule("--online: a link could not be tried", "follow it yourself"),
    # -- the text
    "text-empty": Rule("the text part says nothing; filters take that for spam", "mend issue.txt"),
    "text-width": Rule("a line of the text part is longer than 72 characters", "use the filter wrap"),
    "text-blank": Rule("a line of the text part ends with a blank", "mend issue.txt"),
    "text-markup": Rule(
        "the text part holds HTML; readers of plain text see the tags", "write it as text, or mend issue.txt"
    ),
    # -- what the law and the large providers ask
    "unsubscribe-missing": _error(
        "there is no way to unsubscribe", "write {{ reader.unsubscribe_url }} in the template"
    ),
    "postal-missing": _error("the postal address is missing", "write {{ issue.postal_address }} in the template"),
    "postal-late": Rule(
        "a large mail has its postal address far down, where a clipped mail does not reach",
        "put {{ issue.postal_address }} near the top of issue.mjml as well, or take entries out",
    ),
    "postal-unset": Rule(
        "no postal address is set; the law of many places asks for one in bulk mail",
        "set postal_address in newsletter.toml",
    ),
    "example-sender": _error(
        "a real mail server would get a sender of an example's domain (RFC 2606)", "set from in newsletter.toml"
    ),
    "example-address": _error(
        "a real mail server would get the postal address that `init` wrote", "set postal_address in newsletter.toml"
    ),
    "example-url": _error(
        "a real mail server would get links to an example's domain (RFC 2606)", "set site.base_url in newsletter.toml"
    ),
    "loopback-url": _error(
        "a real mail server would get links to this very machine", "set site.base_url in newsletter.toml"
    ),
    "spam-words": Rule("the text has words or signs that filters count", "say it plainly"),
    "spam-score": Rule("--spam: SpamAssassin's rules give points", "mend what the rules name"),
    "spam-unknown": Rule("--spam: SpamAssassin could not judge", "`spamassassin --lint` tells more"),
    # -- who gets it
    "audience-empty": Rule("nobody would get this issue", "`newsletter subscribers list` shows who is there"),
    "audience-topic": Rule("nobody has one of the issue's topics", "see whether its subscribers were imported"),
    "topic-gone": _error(
        "people have a topic that the settings do not",
        "`newsletter topics rename OLD NEW`, `newsletter topics retire SLUG`, or give it its slug back",
    ),
    "audience-changed": Rule(
        "over 20 % more or fewer people than got the last issue", "see whether an import or a topic went wrong"
    ),
    # -- the octets of a message (RFC 5322, 2045, 2047, 2369, 2919, 8058)
    "header": _error("a value may not stand in a header", "take the character out"),
    "header-count": _error("a header is missing or stands twice", _MENDED_BY_US),
    "header-form": _error("a header has octets or a form that it may not have", _MENDED_BY_US),
    "header-words": _error("an encoded word is too long, broken, or where none may be", _MENDED_BY_US),
    "message-id": _error(
        "the Message-ID is no name at the sending domain, or not one message's alone and always", _MENDED_BY_US
    ),
    "message-again": _error("a second try would not be the same message", _MENDED_BY_US),
    "message-date": _error("Date is no date with a zone, or lies in the future", "set the machine's clock"),
    "message-to": _error("the message is not for exactly one recipient", _MENDED_BY_US),
    "message-lines": _error("a line is too long or does not end in CRLF", _MENDED_BY_US),
    "message-parts": _error("the message is not text and HTML, in that order, in UTF-8", _MENDED_BY_US),
    "list-unsubscribe": _error(
        "List-Unsubscribe is not one https address, with a token of this reader's, and then at most a mailto",
        _MENDED_BY_US,
    ),
    "list-one-click": _error("List-Unsubscribe-Post is not what RFC 8058 asks for", _MENDED_BY_US),
    "list-id": _error("List-Id is no name of a list, or not the same for all", _MENDED_BY_US),
    "feedback-id": _error("Feedback-ID is not up to four fields without anything personal", _MENDED_BY_US),
    "dkim-fields": _error("a DKIM signature leaves a header uncovered that it must cover", _MENDED_BY_US),
}


def found(code: str, what: str, where: str = "", mend: str | None = None) -> types.Finding:
    """A finding: what is wrong, where, and how to mend it."""
    return types.Finding(code, f"{what}; {mend or RULES[code].mend}", where)


def is_error(finding: types.Finding) -> bool:
    """Does it keep the issue from going out?"""
    return RULES[finding.code].is_error
