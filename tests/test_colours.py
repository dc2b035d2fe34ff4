"""Colours: contrast, and an accent that can be read on both papers."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_render import TEMPLATES

from newsletter import colours, config, errors, workspace

SAMPLE = (workspace.starter() / "newsletter.toml").read_text("utf-8")
COLOURS = st.integers(0, 0xFFFFFF).map(lambda value: f"#{value:06x}")


def read(**settings):
    lines = "\n".join(f'{key} = "{value}"' for key, value in settings.items())
    text = re.sub(r"(?m)^(?:accent|direction) = .*$", "", SAMPLE).replace(
        'slug = "weekly"', f'slug = "weekly"\n{lines}'
    )
    return config.read(text, workspace.starter(), {}).newsletter[0]


def refused(**settings):
    with pytest.raises(errors.ConfigError) as caught:
        read(**settings)
    return str(caught.value)


def test_contrast_is_that_of_wcag():
    assert round(colours.contrast("#000", "#ffffff"), 2) == 21.0
    assert round(colours.contrast("#777777", "#fff"), 2) == 4.48
    assert colours.contrast("#123456", "#123456") == 1.0


def test_the_papers_and_accents_are_those_of_the_shipped_look():
    look = TEMPLATES.sources["default:parts/look.txt"]
    for colour in (colours.PAPER, colours.DARK_PAPER, colours.ACCENT, colours.DARK_ACCENT):
        assert f'"{colour}"' in look
    assert colours.for_dark(colours.ACCENT) == colours.DARK_ACCENT


@given(COLOURS)
def test_any_accent_can_be_read_in_the_dark(colour):
    assert colours.contrast(colours.for_dark(colour), colours.DARK_PAPER) >= 4.5


@given(COLOURS)
def test_an_accent_is_taken_when_it_can_be_read_and_else_its_contrast_is_told(colour):
    ratio = colours.contrast(colour, colours.PAPER)
    if ratio >= 4.5:
        assert read(accent=colour).accent == colour
    else:
        assert f"accent: has a contrast of {int(ratio * 100) / 100:.2f} to the light paper" in refused(accent=colour)


def test_a_dark_accent_is_measured_on_dark_paper():
    assert read(dark_accent="#E0A58E").dark_accent == "#e0a58e"
    assert "dark_accent: has a contrast of 2.92 to the dark paper (#171614); text needs 4.5" in refused(
        dark_accent="#9a4a2f"
    )


def test_an_accent_is_written_in_hexadecimal_digits():
    assert read(accent="#048").accent == "#004488"
    assert read(accent="").accent == ""
    for value in ("red", "#12345", "#12345g", "004488", "#004488;x"):
        assert 'accent: must be a colour like "#9a4a2f"' in refused(accent=value)


def test_a_logo_is_an_https_address_and_says_what_it_shows():
    logo = "https://news.example.org/logo.png"
    assert read(logo=logo, logo_alt="A lighthouse").logo == logo
    assert "logo_alt: must say what the logo shows" in refused(logo=logo)
    assert "logo_alt: must say what the logo shows" in refused(logo=logo, logo_alt=" ")
    for value in (
        "http://example.org/a.png",
        "data:image/png;base64,AA",
        "logo.png",
        "https://example.org",
        "javascript:x",
    ):
        assert "logo: must be the https address of an image" in refused(logo=value, logo_alt="A lighthouse")


def test_a_direction_is_one_of_three():
    assert [read(direction=value).direction for value in ("auto", "ltr", "rtl")] == ["auto", "ltr", "rtl"]
    assert 'direction: must be "auto", "ltr" or "rtl"' in refused(direction="up")
