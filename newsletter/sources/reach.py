"""Which addresses of a host may be reached: the guard against sources that point into our own network (SSRF).

A host is looked up once, each address is checked, and the connection goes to a checked address, never to the name: a
name server that answers differently the second time gains nothing. Private, loopback, link-local, shared (RFC 6598),
multicast and reserved addresses are closed unless the settings open them.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import socket
from collections.abc import Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address


class Unreachable(Exception):
    """No address of a host may or can be reached; the text says why, in words for a person."""


def networks(allowed: Sequence[str]) -> list[Network]:
    """The settings' `allow_private` as networks."""
    return [_network(text) for text in allowed]


@functools.cache
def _network(text: str) -> Network:
    return ipaddress.ip_network(text, strict=False)


def meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for (mapped, 6to4, Teredo, NAT64), else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None) or address


def is_open(address: Address, allowed: Sequence[Network]) -> bool:
    """May this address be connected to?"""
    real = meant(address)
    if any(real in network for network in allowed if network.version == real.version):
        return True
    return real.is_global and not (
        real.is_multicast or real.is_reserved or real.is_unspecified or real.is_loopback or real.is_link_local
    )


def is_private(addresses: Sequence[str]) -> bool:
    """Are all these addresses our own network's, opened by the settings?"""
    return not any(is_open(ipaddress.ip_address(text), ()) for text in addresses)


async def addresses(host: str, port: int, allowed: Sequence[Network]) -> list[str]:
    """The addresses of a host that may be connected to, in the resolver's order. Raises `Unreachable`."""
    known = [host] if _is_address(host) else await _looked_up(host, port)
    good = [text for text in known if is_open(ipaddress.ip_address(text), allowed)]
    if not good:
        closed = ", ".join(known[:3])
        where = closed if closed == host else f"{host} is at {closed}, which"
        raise Unreachable(
            f"{where} is a private address; if it is meant, add it to allow_private in [collect] of newsletter.toml"
        )
    return good


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _looked_up(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise Unreachable(f"the name {host} cannot be looked up just now (DNS)") from None
        raise Unreachable(f"there is no host named {host} (DNS)") from None
    except (UnicodeError, OSError, ValueError):
        raise Unreachable(f"{host[:60]} is no name that a host can have") from None
    return list(dict.fromkeys(str(info[4][0]) for info in found))
