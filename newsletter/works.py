"""What an address, a guid and a DOI say about what they name: the page, and the work that it shows. Pure.

https://www.site.test/a/?utm_source=rss#top        site.test/a        the page, to compare
https://arxiv.org/pdf/2609.01234v2                 2609.01234         the arXiv id, without its version
http://dx.doi.org/10.5555%2FLAKE.77                10.5555/lake.77    the DOI
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from newsletter import types

_TRACKING = re.compile(
    r"(?:utm|mtm|matomo|pk|piwik|hsa|vero|oly)_\w+|_?(?:fbclid|gclid|dclid|gclsrc|gbraid|wbraid|msclkid|yclid|twclid|igshid|ttclid)"
    r"|mc_[ce]id|mkt_tok|_hsenc|_hsmi|__hs\w+|ml_subscriber(?:_hash)?|ss_email_id|wickedid|srsltid|s_cid|cmpid|ncid|xtor"
    r"|rss_id|at_(?:medium|campaign|custom\d)",
    re.IGNORECASE,
)
# Parameters that only say where a click came from, when they have this value.
_FROM_A_FEED = {"rss": "1", "src": "rss", "source": "rss", "from": "rss", "ref": "rss", "partner": "rss"}
_INDEX = re.compile(r"/index\.(?:html?|php)$", re.IGNORECASE)

# arXiv's identifiers: since April 2007 and before (info.arxiv.org/help/arxiv_identifier.html).
_ARXIV_ID = r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?"
_ARXIV_URL = re.compile(rf"/(?:abs|pdf|html|format|ps)/{_ARXIV_ID}(?:\.pdf)?/?$")
_ARXIV_GUID = re.compile(rf"(?:oai:arXiv\.org:|arxiv:|https?://(?:\w+\.)?arxiv\.org/abs/){_ARXIV_ID}$", re.IGNORECASE)
_ARXIV_DOI = re.compile(rf"10\.48550/arxiv\.{_ARXIV_ID}$", re.IGNORECASE)
# A DOI's shape by Crossref's advice (crossref.org/blog/dois-and-matching-regular-expressions).
_DOI = r"(10\.\d{4,9}/[^\s?#&\"<>]+)"
_DOI_GUID = re.compile(rf"(?:doi:\s?|info:doi/|https?://(?:dx\.)?doi\.org/)?{_DOI}$", re.IGNORECASE)
_DOI_FIELD = re.compile(rf"\s*(?:doi:?\s*|info:doi/|https?://(?:dx\.)?doi\.org/)?{_DOI}", re.IGNORECASE)
_DOI_PATH = re.compile(rf"/doi/(?:abs/|full/|pdf/|epdf/|epub/|pdfdirect/|book/)?{_DOI}", re.IGNORECASE)


# -- addresses -----------------------------------------------------------------------------------------------------


def clean_url(url: str) -> str:
    """An address without tracking parameters; the rest stays as it was."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if not parts.query:
        return url
    kept = [pair for pair in parts.query.split("&") if not _tracks(pair)]
    return urlunsplit(parts._replace(query="&".join(kept)))


def _tracks(pair: str) -> bool:
    name, _, value = pair.partition("=")
    return bool(_TRACKING.fullmatch(unquote(name))) or _FROM_A_FEED.get(name.lower()) == value.lower()


@functools.lru_cache(4096)
def canonical_url(url: str) -> str:
    """What two spellings of an address have in common, to compare, not to open.

    Without scheme, user, default port, fragment, tracking parameters and a slash at the end; the host in lower case and
    without "www.", the query sorted, escapes in one form (RFC 3986, 6.2).
    """
    try:
        parts = urlsplit(clean_url(url.strip()))
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url.strip()
    if not host:
        return url.strip()
    path = quote(unquote(parts.path, errors="surrogateescape"), safe="/:@!$&'()*+,;=~-._", errors="surrogateescape")
    query = urlencode(
        sorted(parse_qsl(parts.query, keep_blank_values=True, errors="surrogateescape")), errors="surrogateescape"
    )
    # A page behind "#!" or "#/" is another page to a browser program, the same to everybody else.
    fragment = f"#{parts.fragment}" if parts.fragment.startswith(("!", "/")) else ""
    where = host.removeprefix("www.") + (f":{port}" if port not in (None, 80, 443) else "")
    return where + _INDEX.sub("/", path).rstrip("/") + (f"?{query}" if query else "") + fragment


LONGEST = 500  # characters of a key: a database indexes it


def page(url: str) -> str:
    """The key of the page that an address names: "url:" and its canonical form."""
    return short(f"url:{canonical_url(url)}")


def said(entry: types.FoundEntry) -> str | None:
    """The key of what a source says about an entry, but for where it is and what it calls it; None without a date.

    A site that moves gives all its articles new addresses and new guids; title, date and text stay.
    """
    words = [" ".join((text or "").casefold().split()) for text in (entry.title, entry.summary)]
    if entry.published is None or not any(words):
        return None
    text = "\n".join([entry.published.isoformat(), *words])
    return f"said:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def short(key: str) -> str:
    """A key that an index takes: a longer one is hashed behind its kind."""
    if len(key) <= LONGEST:
        return key
    return f"{key.partition(':')[0]}:sha256:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


# -- works ---------------------------------------------------------------------------------------------------------


def named(entry: types.FoundEntry) -> types.FoundEntry:
    """The entry with the arXiv id (without its version) and the DOI that its address and its guid tell."""
    doi = _match(_DOI_FIELD, unquote(entry.doi or ""))
    by_doi = _match(_ARXIV_DOI, doi or "")
    arxiv = entry.arxiv or by_doi or _arxiv_of_guid(entry.guid) or arxiv_of_url(entry.url)
    doi = None if by_doi else doi or _doi_of_guid(entry.guid) or doi_of_url(entry.url)
    doi = doi.rstrip("./,;").lower() if doi and not _ARXIV_DOI.fullmatch(doi) else None
    return entry if (arxiv, doi) == (entry.arxiv, entry.doi) else dataclasses.replace(entry, arxiv=arxiv, doi=doi)


def _match(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.match(text)
    return found[1] if found else None


def _arxiv_of_guid(guid: str | None) -> str | None:
    found = _ARXIV_GUID.match(guid or "") or _ARXIV_DOI.search(guid or "")
    return found[1] if found else None


def arxiv_of_url(url: str | None) -> str | None:
    """The arXiv id that an address names, without its version."""
    parts = urlsplit(url or "")
    host = parts.hostname or ""
    if host.endswith("doi.org"):
        found = _ARXIV_DOI.search(parts.path)
    else:
        found = _ARXIV_URL.search(parts.path) if re.fullmatch(r"(?:[\w-]+\.)?arxiv\.org", host) else None
    return found[1] if found else None


def _doi_of_guid(guid: str | None) -> str | None:
    return _match(_DOI_GUID, unquote(guid or ""))


def doi_of_url(url: str | None) -> str | None:
    """The DOI that an address names, as it stands there."""
    parts = urlsplit(url or "")
    path = unquote(parts.path)
    at_doi = re.fullmatch(r"(?:dx\.|www\.)?doi\.org", parts.hostname or "")
    found = re.match(rf"/{_DOI}", path) if at_doi else _DOI_PATH.search(path)
    return found[1] if found else None
