"""Dates as people and programs write them."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter.sources import published

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)


def at(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        # ISO 8601, W3C-DTF
        ("2026-09-01T10:14:55Z", "2026-09-01T10:14:55"),
        ("2026-09-01T10:14:55.1234Z", "2026-09-01T10:14:55"),
        ("2026-09-01t10:14z", "2026-09-01T10:14"),
        ("20260901T101455Z", "2026-09-01T10:14:55"),
        ("2026-09-01T10:14:55-08:00", "2026-09-01T18:14:55"),
        ("2026-09-01 10:14:55 +0200", "2026-09-01T08:14:55"),
        ("2026-09-01 10:14:55.0", "2026-09-01T10:14:55"),
        ("2026-09-01 10:14:55 UTC", "2026-09-01T10:14:55"),
        ("2026-09-01 00:00:00-13:00", "2026-09-01T00:00:00"),  # no place is that far west
        ("2026-06-30T23:59:60Z", "2026-06-30T23:59:59"),  # a leap second
        # RFC 5322 and its zones
        ("Tue, 01 Sep 2026 09:39:21 GMT", "2026-09-01T09:39:21"),
        ("Tue, 1 Sep 2026 09:39 +0000", "2026-09-01T09:39"),
        ("Tue, 01 Sep 26 09:39:21 EDT", "2026-09-01T13:39:21"),
        ("Tue, 01 Sep 2026 09:39:21 EST", "2026-09-01T14:39:21"),
        ("Tue, 01 Sep 2026 09:39:21 CEST", "2026-09-01T07:39:21"),
        ("Tue, 01 Sep 2026 09:39:21 PT", "2026-09-01T17:39:21"),
        ("Tue, 01 Sep 2026 09:39:21 GMT-07:00", "2026-09-01T16:39:21"),
        ("Tue, 01 Sep 2026 09:39:21 Europe/Brussels", "2026-09-01T07:39:21"),
        ("Tue, 01 Sep 2026 09:39:21 -0000", "2026-09-01T09:39:21"),
        ("Tue Sep 01 2026 09:39:21 GMT+0200 (CEST)", "2026-09-01T07:39:21"),
        ("Tue Sep  1 09:39:21 2026", "2026-09-01T09:39:21"),
        ("Tue Sep 01 09:39:21 +0000 2026", "2026-09-01T09:39:21"),
        ("Tue,1 Sep 2026 09:39:21 +0800", "2026-09-01T01:39:21"),
        # what people write
        ("Tuesday, September 1, 2026 - 3:07pm", "2026-09-01T15:07"),
        ("Sept. 1, 2026, 10:57 a.m.", "2026-09-01T10:57"),
        ("September 1 2026 12:02:38 AM", "2026-09-01T00:02:38"),
        ("Tue, 1st Sep 2026 13:16:28 GMT", "2026-09-01T13:16:28"),
        ("Di, 01 Sept 2026 00:00:00 +0100", "2026-08-31T23:00:00"),
        ("mar., 01 sept. 2026 16:11:02 +0000", "2026-09-01T16:11:02"),
        ("sam., 01 août 2026 16:11:02 +0000", "2026-08-01T16:11:02"),
        ("Dienstag, 3. März 2026 - 15:54", "2026-03-03T15:54"),
        ("Τρί, 11 Αυγ 2026 12:00:00 EST", "2026-08-11T17:00:00"),
        ("2026년 05월 28일  01:31:15", "2026-05-27T16:31:15"),
        ("2026-05-25 오후 11:23:17", "2026-05-25T14:23:17"),
        ("2026/6/29 15:07:41", "2026-06-29T15:07:41"),
        ("08/30/26 21:55:58", "2026-08-30T21:55:58"),
        ("12-04-2026 09:30", "2026-04-12T09:30"),
        ("30.08.2026 09:30", "2026-08-30T09:30"),
        ("2026/05/28 7:01:33 PM GMT+2", "2026-05-28T17:01:33"),
        ("Sat, 11 04 2026 08:51:49 +0100", "2026-04-11T07:51:49"),
        ("1788253161", "2026-09-01T08:59:21"),
        ("1788253161000", "2026-09-01T08:59:21"),
        ("\n Tue, 01 Sep\t2026 09:39:21 GMT ", "2026-09-01T09:39:21"),
    ],
)
def test_a_date_is_read_as_that_instant(text, instant):
    assert published.parse(text, now=NOW) == (at(instant), False)


@pytest.mark.parametrize(
    "text", ["2026-09-01", "20260901", "1 Sep 2026", "Tuesday 01 September 2026", "1 Sep 2026 GMT", "09/30/2025"]
)
def test_a_date_without_a_time_is_that_day(text):
    moment, is_date = published.parse(text, now=NOW)
    assert is_date
    assert (moment.hour, moment.minute) == (0, 0)
    assert moment.tzinfo is dt.UTC


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("-0312", "2003-12-01"), ("-03-12", "2003-12-01"), ("03-12-31", "2003-12-31"), ("99-05-17", "1999-05-17"),
        ("00-05-17", "2000-05-17"), ("24-05-31", "2024-05-31"),
    ],
)  # fmt: skip
def test_short_date_has_its_year_first_where_it_can_be_nothing_else(text, day):
    assert published.parse(text, now=NOW) == (at(day), True)


@pytest.mark.parametrize(
    "text", ["10-11-12", "03-12-26", "26-05-24", "-0313", "-03-00", "03-13-31", "-2603-1", "31-2-03"]
)
def test_short_date_that_may_be_two_days_is_none(text):
    assert published.parse(text, now=NOW) is None


@pytest.mark.parametrize(
    "text",
    [
        "", "invalid", "yesterday", "2 days ago", "sometime in spring", "0000-00-00", "2026-02-30", "2026-13-01",
        "Sun, 16 Dec 2025 1:2:3:4 GMT", "Sun, Dec x 2025 11:47:32 GMT", "Sun, 16 Dec 2025 11:47:32 +zz:00",
        "2026-01-28T11:30:00-06:00Textra", "2026-01-28T10:61:55Z", "2026-01-28T10:14:61Z", "2026-xx-27", "013", "99999",
        "4/5/2026", "Tue, 01 Sep 2026 13:00 pm", "Tue, 01 Sep 2026 09:39:21 XYZT", "2026-01-28T09:00:00+00:xx",
        "9999-12-31T23:59:59-99:99", "Session 12 of 2025", "May 2026 be a good year 1", "1 Mar Apr 2026", "x" * 5000, "9" * 400,
    ],
)  # fmt: skip
def test_no_date_is_better_than_a_wrong_one(text):
    assert published.parse(text, now=NOW) is None


@pytest.mark.parametrize(
    ("text", "is_believed"),
    [
        ("1989-12-31T23:59:59Z", False), ("1990-01-01T00:00:00Z", True), ("2026-09-12T12:00:00Z", True),
        ("2026-09-12T12:00:01Z", False), ("9999-01-01", False), ("0001-01-01T00:00:00+14:00", False), ("1901-01-01", False),
    ],
)  # fmt: skip
def test_only_dates_from_1990_to_two_days_ahead_are_believed(text, is_believed):
    assert (published.parse(text, now=NOW) is not None) is is_believed


@given(st.text(max_size=100))
def test_any_text_is_a_date_or_none(text):
    found = published.parse(text, now=NOW)
    assert found is None or published.EARLIEST <= found[0] <= NOW + published.AHEAD


@given(
    st.datetimes(at("1990-01-02").replace(tzinfo=None), at("2026-09-09").replace(tzinfo=None)),
    st.integers(-12 * 60, 14 * 60),
)
def test_what_programs_write_is_read_back(moment, east):
    aware = moment.replace(microsecond=0, tzinfo=dt.timezone(dt.timedelta(minutes=east)))
    for text in (aware.isoformat(), aware.strftime("%a, %d %b %Y %H:%M:%S %z"), aware.strftime("%Y-%m-%d %H:%M:%S%z")):
        assert published.parse(text, now=NOW) == (aware.astimezone(dt.UTC), False)
