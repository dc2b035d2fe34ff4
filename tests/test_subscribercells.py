"""What stands in the cells of files of people."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import subscribercells as cells

NOON = dt.datetime(2024, 3, 14, 12, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-03-14T12:30:00Z", NOON),
        ("2024-03-14 12:30:00", NOON),  # Mailchimp: UTC without a zone
        ("2024-03-14 12:30:00 UTC", NOON),  # beehiiv
        ("2024-03-14 12:30:00 +0000 UTC", NOON),  # listmonk
        ("2024-03-14 14:30:00.131415 +0200", NOON.replace(microsecond=131415)),
        ("2024-03-14T12:30:00.000Z", NOON),  # Ghost
        ("14-03-2024 12:30", NOON),  # Brevo
        ("14.03.2024 12:30:00", NOON),
        ("14/03/2024 12:30", NOON),
        ("03/14/2024 12:30", NOON),
        ("20240314", NOON.replace(hour=0, minute=0)),
        ("03/04/2024", None),  # March or April?
        ("04/04/2024", dt.datetime(2024, 4, 4, tzinfo=dt.UTC)),
        ("31-02-2024", None),
        ("0000-00-00 00:00:00", None),
        ("1970-01-01 00:00:00", None),
        ("9999-12-31T23:59:59-12:00", None),
        ("yes", None),
        ("1", None),
        ("", None),
        ("2024" * 1000, None),
    ],
)
def test_a_time_is_read_as_services_write_it_and_not_guessed(text, moment):
    assert cells.time_of(text) == moment


@given(st.text(max_size=45))
def test_any_text_is_a_time_or_none(text):
    found = cells.time_of(text)
    assert found is None or found.tzinfo is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"Editors","Blog"', ("Editors", "Blog")),  # Mailchimp
        ('"Berlin, Mitte","The ""inner"" circle"', ("Berlin, Mitte", 'The "inner" circle')),
        ("stamkund,vip", ("stamkund", "vip")),  # Shopify
        ("a|b; a ;", ("a", "b")),
        ("* myContacts ::: Friends ::: * ", ("myContacts", "Friends")),  # Google
        ('["rocket scientist","a,b"]', ("rocket scientist", "a,b")),  # Keila
        ("[not JSON", ("[not JSON",)),
        ('{"a": 1}', ('{"a": 1}',)),
        ("[1, null]", ()),
        ("   ", ()),
        ("x\u202ey\u0000z", ("xyz",)),
    ],
)
def test_tags_and_groups_are_parted_as_services_join_them(text, words):
    assert cells.words_of(text) == words


TAG = st.text(max_size=20).map(cells.tag_of).filter(lambda tag: tag and not tag.startswith("* ") and tag != "*")


@given(st.lists(TAG, max_size=5, unique=True).map(tuple))
def test_tags_are_read_back_as_they_are_written(tags):
    assert cells.words_of(cells.words_text(tags)) == tags


@given(st.text())
def test_any_cell_of_tags_can_be_read_and_no_tag_is_long_or_breaks_a_line(text):
    for tag in cells.words_of(text):
        assert 0 < len(tag) <= cells.TAG_CHARACTERS
        assert tag.isprintable() or not any(char in tag for char in "\r\n\0")


@pytest.mark.parametrize(
    ("text", "ip"),
    [(" 192.0.2.7 ", "192.0.2.7"), ("2001:DB8::0:1", "2001:db8::1"), ("1.2.3", None), ("", None), ("300.1.1.1", None)],
)
def test_only_a_network_address_is_one(text, ip):
    assert cells.ip_of(text) == ip
