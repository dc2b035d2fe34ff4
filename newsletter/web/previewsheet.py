"""What the editor's page is made of: what was chosen, what there is to show, and texts made safe. Pure."""

from __future__ import annotations

import dataclasses
import html
import re
import urllib.parse
from collections.abc import Sequence

from newsletter.app import letters, previewing, reports
from newsletter.types import IssueState
from newsletter.web import previewframe

VIEWS = {  # name -> (label, key)
    "desktop": ("Desktop", "d"),
    "phone": ("Phone", "p"),
    "dark": ("Dark", "k"),
    "inverted": ("Inverted", "i"),
    "no-images": ("Images off", "o"),
    "text": ("Text", "t"),
    "headers": ("Headers", "h"),
    "source": ("Source", "s"),
}
FRAMED = ("desktop", "phone", "dark", "inverted", "no-images")
STATES = {
    IssueState.DRAFT: "draft",
    IssueState.APPROVED: "approved, frozen",
    IssueState.SENDING: "being sent",
    IssueState.SENT: "sent",
    IssueState.HELD: "held",
    IssueState.CANCELLED: "cancelled",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """What the editor wants to see. `topics` empty: all of them; `phone`: the narrow frame, in any scheme."""

    view: str = "desktop"
    phone: bool = False
    topics: tuple[str, ...] = ()
    reader: str = ""

    def query(self) -> str:
        """As the address has it; nothing for what is usual."""
        wanted = {
            "view": self.view if self.view != "desktop" else "",
            "width": "phone" if self.phone and self.view not in ("desktop", "phone") else "",
            "edition": ",".join(self.topics),
            "as": self.reader,
        }
        given = {name: value for name, value in wanted.items() if value}
        return "?" + urllib.parse.urlencode(given, safe=",@") if given else ""

    @property
    def scheme(self) -> str:
        """How the frame is coloured."""
        return self.view if self.view in previewframe.SCHEMES else "light"


@dataclasses.dataclass(frozen=True, slots=True)
class Sheet:
    """All that one page shows. `letter` None: nothing could be shown yet. `stamp` changes when the page would."""

    look: previewing.Look
    letter: letters.Letter | None
    report: reports.CheckReport
    editions: Sequence[previewing.EditionView]
    names: Sequence[str]
    samples: Sequence[previewing.Sample]
    choice: Choice
    stamp: str
    token: str
    server: str
    note: str = ""
    failed: bool = False

    @property
    def path(self) -> str:
        """The page's own."""
        return f"/{self.look.name}"

    def source(self, name: str, **more: str) -> str:
        """Where the message that is shown comes from: for the frame, or as a file."""
        wanted = {**more, "edition": ",".join(self.choice.topics), "as": self.choice.reader}
        given = {key: value for key, value in wanted.items() if value}
        return f"{self.path}/{name}" + ("?" + urllib.parse.urlencode(given, safe=",@") if given else "")

    def link(self, **changes: object) -> str:
        """The page with another choice."""
        return html.escape(self.path + dataclasses.replace(self.choice, **changes).query())  # type: ignore[arg-type]


def kilo(octets: int) -> str:
    """A size in kilobytes, of 1,000 octets."""
    return f"{octets / 1000:,.1f} KB"


def bdi(text: str) -> str:
    """Somebody else's text, escaped and kept from turning the line around it from right to left."""
    return f"<bdi>{html.escape(text)}</bdi>"


def coded(text: str) -> str:
    """A message, its `commands` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
