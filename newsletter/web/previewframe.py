"""A message's HTML for the preview's frame: as it is sent, but for what a browser on a desk cannot be asked to play.

    light, dark   the reader's wish for light or dark is answered in the message's own style sheet: its rules are the
                  ones that run, whatever this machine prefers
    inverted      clients that ignore those rules and turn the light colours over by force
    no-images     as light; the policy of the answer keeps images away

And links open in a tab of their own. Pure.
"""

from __future__ import annotations

import re
import urllib.parse

SCHEMES = ("light", "dark", "inverted", "no-images")
_SHEET = re.compile(r"(<style\b[^>]*>)(.*?)(</style\s*>)", re.IGNORECASE | re.DOTALL)
_META = re.compile(r"<meta\b[^>]*\bname=[\"']?color-scheme[\"']?[^>]*>", re.IGNORECASE)
_MEDIA = re.compile(r"(\smedia=)(\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_WISH = re.compile(r"\(\s*prefers-color-scheme\s*:\s*(light|dark)\s*\)", re.IGNORECASE)
_OFFER = re.compile(r"(?<![-\w])color-scheme\s*:\s*[^;}]+", re.IGNORECASE)
_TURNED = (
    "<style>html{filter:invert(1) hue-rotate(180deg)!important;background-color:#fff}"
    "img{filter:invert(1) hue-rotate(180deg)!important}</style>"
)


def shown(html: str, scheme: str) -> str:
    """The message as a reader with that scheme sees it."""
    wish = "dark" if scheme == "dark" else "light"
    html = _META.sub(f'<meta name="color-scheme" content="{wish}">', html)
    html = _SHEET.sub(lambda found: found[1] + _answered(found[2], wish) + found[3], html)
    html = _MEDIA.sub(lambda found: found[1] + _answered(found[2], wish), html)
    return _in_head(html, '<base target="_blank">' + (_TURNED if scheme == "inverted" else ""))


def _answered(css: str, wish: str) -> str:
    """A style sheet, or a media query, that knows what is wished. A width of at least nothing is always true."""
    css = _OFFER.sub(f"color-scheme:{wish}", css)
    return _WISH.sub(lambda found: "(min-width:0)" if found[1].lower() == wish else "(max-width:0)", css)


def _in_head(html: str, what: str) -> str:
    head = re.search(r"<head(?:\s[^>]*)?>", html, re.IGNORECASE)
    return html[: head.end()] + what + html[head.end() :] if head else what + html


def policy(scheme: str, site: str) -> str:
    """The Content-Security-Policy of a frame: words, styles, and the images of the own site; no script, nothing else.

    Without `allow-scripts` nothing in it can run; `allow-same-origin` lets the page around it keep the scroll position
    when the message is loaded again.
    """
    parts = urllib.parse.urlsplit(site)
    origin = f"{parts.scheme}://{parts.netloc}" if re.fullmatch(r"[A-Za-z0-9.\-:\[\]]+", parts.netloc) else "'none'"
    images = "'none'" if scheme == "no-images" else origin
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src {images}; base-uri 'none'; form-action 'none'; "
        f"frame-ancestors 'self'; sandbox {SANDBOX}"
    )


SANDBOX = "allow-same-origin allow-popups allow-popups-to-escape-sandbox"
