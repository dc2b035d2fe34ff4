"""Colours as the eye sees them: contrast, and an accent that holds on both papers. Pure.

Text needs a contrast of 4.5 to what lies under it (WCAG 2.2, 1.4.3). The two papers are those of the shipped
`templates/parts/look.txt`; a test compares them.
"""

from __future__ import annotations

import re

PAPER, DARK_PAPER = "#faf8f4", "#171614"
ACCENT, DARK_ACCENT = "#9a4a2f", "#e0a58e"
MIN_CONTRAST = 4.5
_HEX = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})", re.IGNORECASE)


def normal(value: str) -> str:
    """`#9A4` as `#99aa44`; raises ValueError for what is no colour in hexadecimal digits."""
    if not _HEX.fullmatch(value):
        raise ValueError('must be a colour like "#9a4a2f"')
    digits = value[1:].lower()
    return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio" and "relative luminance")."""
    low, high = sorted((_luminance(_rgb(one)), _luminance(_rgb(other))))
    return (high + 0.05) / (low + 0.05)


def for_dark(accent: str) -> str:
    """The accent as it stands on dark paper: itself where it can be read there, else as much lighter as it needs.

    The shipped accent has a shipped counterpart; others go towards white, which keeps their hue.
    """
    if normal(accent) == ACCENT:
        return DARK_ACCENT
    return next(
        shade
        for step in range(21)
        if contrast(shade := _mixed(normal(accent), "#ffffff", step / 20), DARK_PAPER) >= MIN_CONTRAST + 1
    )


def _mixed(one: str, other: str, share: float) -> str:
    pairs = zip(_rgb(one), _rgb(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _rgb(colour: str) -> tuple[int, int, int]:
    digits = normal(colour)[1:]
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def _luminance(rgb: tuple[int, int, int]) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in rgb)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
