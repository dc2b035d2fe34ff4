"""Everything that can go wrong and that a person can mend.

    NewsletterError                  one root; `exit_code` is what the command line returns
    ├── UsageError                   what was asked for makes no sense                     (2)
    ├── ConfigError                  newsletter.toml, the environment or a secret is wrong (2)
    │   └── WorkspaceError           there is no workspace, or it lacks a part
    ├── NotFound                     no such newsletter, issue, entry, subscriber
    │   ├── UnknownNewsletter        the settings have no such newsletter                  (2)
    │   └── UnknownTopic             the settings have no such topic                       (2)
    ├── DraftError                   a draft cannot be read; carries file and lines
    ├── TemplateError                a template is broken; carries file and line
    ├── CheckError                   an issue has errors and may not go out
    ├── StateError                   an issue is not in a state in which this can be done
    ├── AddressError                 this is no address that can be mailed
    ├── HeaderError                  a value that may not stand in a header
    ├── TokenError                   a signed link is forged, foreign or damaged
    ├── FetchError                   a source could not be fetched
    ├── FeedError                    a source was fetched but cannot be read
    ├── ServerError                  the mail server cannot be reached or refuses everybody
    └── StoreError                   the database is locked, damaged, too new or too old

Messages say what to do. A batch returns its outcomes as values: these are raised where a whole verb cannot go on.
"""

from __future__ import annotations

import re


def masked(text: str) -> str:
    """A text for people and logs: passwords in addresses (`https://me:secret@host/`) as `**********`."""
    return re.sub(r"(://[^/\s:@]*:)[^/\s@]+@", r"\1**********@", text)


class NewsletterError(Exception):
    """Something that a person can mend; the message says how."""

    exit_code = 1


class UsageError(NewsletterError):
    """What was asked for makes no sense."""

    exit_code = 2


class ConfigError(NewsletterError):
    """The settings are wrong. `problems` holds a line for each fault, all of them at once."""

    exit_code = 2

    def __init__(self, problems: list[str] | str) -> None:
        self.problems = [problems] if isinstance(problems, str) else problems
        super().__init__("\n".join(self.problems))


class WorkspaceError(ConfigError):
    """There is no workspace here, or it lacks a part."""


class NotFound(NewsletterError):
    """Nothing of that name."""


class UnknownNewsletter(NotFound):
    """The settings have no newsletter of that name: wrong use, as with `UnknownTopic`."""

    exit_code = 2


class UnknownTopic(NotFound):
    """The settings have no topic of that name: wrong use, like an option that there is not."""

    exit_code = 2


class DraftError(NewsletterError):
    """A draft cannot be read. `problems` are (line, what), lines counted from 1."""

    def __init__(self, path: str, problems: list[tuple[int, str]]) -> None:
        self.path = path
        self.problems = problems
        super().__init__("\n".join(f"{path}:{line}: {what}" for line, what in problems))


class TemplateError(NewsletterError):
    """A template is broken. `name` and `line` say where."""

    def __init__(self, name: str, line: int | None, what: str) -> None:
        self.name = name
        self.line = line
        where = f"templates/{name}" + (f":{line}" if line else "")
        super().__init__(f"{where}: {what}")


class CheckError(NewsletterError):
    """An issue has errors and may not go out. `findings` are the messages."""

    def __init__(self, issue: str, findings: list[str]) -> None:
        self.issue = issue
        self.findings = findings
        super().__init__("\n".join([f"{issue} has {len(findings)} error(s) and may not go out:", *findings]))


class StateError(NewsletterError):
    """The issue is not in a state in which this can be done."""


class AddressError(NewsletterError):
    """This is no address that can be mailed. `value` is what was given, `reason` why not."""

    def __init__(self, value: str, reason: str) -> None:
        self.value = value
        self.reason = reason
        super().__init__(reason)


class HeaderError(NewsletterError):
    """A value that may not stand in a header (a line break, a control character)."""


class TokenError(NewsletterError):
    """A signed link is forged, foreign or damaged."""


class FetchError(NewsletterError):
    """A source could not be fetched. `retry_after` is in seconds, when the server asked for it."""

    def __init__(self, url: str, what: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        self.url = url
        self.status = status
        self.retry_after = retry_after
        super().__init__(what)


class FeedError(NewsletterError):
    """A source was fetched but is no feed that can be read."""


class ServerError(NewsletterError):
    """The mail server cannot be reached, or refuses everybody."""


class StoreError(NewsletterError):
    """The database is locked, damaged, too new or too old."""
