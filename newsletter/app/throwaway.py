"""Addresses that last for minutes: the domains of `site.refuse_domains_file`, which nobody may subscribe with."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from newsletter import addresses, errors

if TYPE_CHECKING:
    from newsletter.app import Newsletter


class RefusedDomain(errors.AddressError):
    """The address is at a provider that this site takes none of."""


def check(app: Newsletter, email: str) -> None:
    """Raise `errors.AddressError` for what is no address, `RefusedDomain` for one that may not subscribe here."""
    domain = addresses.parse(email).norm.rpartition("@")[2]
    parents = {domain.split(".", count)[-1] for count in range(domain.count(".") + 1)}
    if parents & refused_domains(app):
        raise RefusedDomain(email, "addresses of this provider are not taken here")


def refused_domains(app: Newsletter) -> frozenset[str]:
    """The domains of `site.refuse_domains_file`, IDNA-encoded; raises `errors.ConfigError` when it cannot be read."""
    name = app.settings.site.refuse_domains_file
    if not name:
        return frozenset()
    path = app.settings.folder / name
    try:
        return _domains(path, path.stat().st_mtime_ns)
    except (OSError, UnicodeDecodeError) as error:
        raise errors.ConfigError(f"site.refuse_domains_file: {name} cannot be read: {error}") from None


@functools.lru_cache(maxsize=2)
def _domains(path: Path, _changed: int) -> frozenset[str]:
    lines = (line.partition("#")[0].strip().lower().strip(".") for line in path.read_text("utf-8").splitlines())
    return frozenset(line if line.isascii() else _in_ascii(line) for line in lines if line)


def _in_ascii(domain: str) -> str:
    try:
        return addresses.parse(f"x@{domain}").norm.rpartition("@")[2]
    except errors.AddressError as error:
        raise errors.ConfigError(f"site.refuse_domains_file: {error}") from None
