"""Dates for people."""

import datetime as dt

import pytest

from newsletter import dates


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ((2026, 1, 1), "1 Jan 2026"),
        ((2026, 2, 28), "28 Feb 2026"),
        ((2026, 3, 3), "3 March 2026"),
        ((2026, 4, 4), "4 April 2026"),
        ((2026, 5, 5), "5 May 2026"),
        ((2026, 6, 3), "3 June 2026"),
        ((2026, 7, 24), "24 July 2026"),
        ((2026, 8, 27), "27 Aug 2026"),
        ((2026, 9, 11), "11 Sept 2026"),
        ((2026, 10, 31), "31 Oct 2026"),
        ((2026, 11, 30), "30 Nov 2026"),
        ((2026, 12, 31), "31 Dec 2026"),
    ],
)
def test_english_dates_have_the_house_form(date, expected):
    assert dates.written(dt.date(*date), "en-GB") == expected
    assert dates.written(dt.date(*date), "EN") == expected


def test_other_languages_get_the_date_that_everyone_reads_the_same():
    assert dates.written(dt.date(2026, 9, 11), "de-CH") == "2026-09-11"
    assert dates.with_weekday(dt.date(2026, 9, 11), "de") == "2026-09-11"


def test_weekday_stands_before_the_date():
    assert dates.with_weekday(dt.date(2026, 9, 11)) == "Friday 11 Sept 2026"


def test_instant_has_the_day_of_its_zone():
    late = dt.datetime(2026, 9, 11, 23, 30, tzinfo=dt.UTC)
    assert dates.local_day(late, "Europe/London", is_date=False) == dt.date(2026, 9, 12)
    assert dates.local_day(late, "America/New_York", is_date=False) == dt.date(2026, 9, 11)


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles", "UTC"])
def test_date_without_a_time_is_that_day_everywhere(zone):
    midnight = dt.datetime(2026, 9, 11, tzinfo=dt.UTC)
    assert dates.local_day(midnight, zone, is_date=True) == dt.date(2026, 9, 11)
