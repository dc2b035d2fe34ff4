"""The schedule language: right on every day of the year, also when the clocks change."""

import datetime as dt
import itertools
import zoneinfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsletter import calendar

ZONES = [
    "UTC", "Europe/London", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe",
    "Africa/Cairo", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia",
]  # fmt: skip


def instants(text, zone, start, count):
    """The first `count` instants from a local time on, as local ISO texts."""
    place = zoneinfo.ZoneInfo(zone)
    begin = dt.datetime.fromisoformat(start).replace(tzinfo=place)
    found = itertools.islice(calendar.occurrences(calendar.parse(text), place, begin), count)
    return [at.astimezone(place).isoformat(timespec="minutes") for at in found]


@pytest.mark.parametrize(
    ("text", "zone", "start", "expected"),
    [
        # a plain week, and the week on either side of a change: the wall clock is kept
        ("Friday 09:00", "Europe/London", "2026-09-07T00:00", ["2026-09-11T09:00+01:00", "2026-09-18T09:00+01:00"]),
        ("Friday 09:00", "Europe/London", "2026-10-19T00:00", ["2026-10-23T09:00+01:00", "2026-10-30T09:00+00:00"]),
        ("daily 07:00", "America/New_York", "2027-03-13T08:00", ["2027-03-14T07:00-04:00", "2027-03-15T07:00-04:00"]),
        # in the gap: the first instant after it
        ("Sunday 01:15", "Europe/London", "2027-03-27T00:00", ["2027-03-28T02:00+01:00", "2027-04-04T01:15+01:00"]),
        ("daily 02:30", "America/New_York", "2027-03-13T03:00", ["2027-03-14T03:00-04:00", "2027-03-15T02:30-04:00"]),
        ("daily 02:10", "Australia/Lord_Howe", "2027-10-02T03:00", ["2027-10-03T02:30+11:00", "2027-10-04T02:10+11:00"]),
        ("daily 00:00", "America/Santiago", "2027-09-04T01:00", ["2027-09-05T01:00-03:00", "2027-09-06T00:00-03:00"]),
        # on the edges of the gap
        ("daily 02:00", "Europe/Berlin", "2027-03-28T00:00", ["2027-03-28T03:00+02:00", "2027-03-29T02:00+02:00"]),
        ("daily 03:00", "Europe/Berlin", "2027-03-28T00:00", ["2027-03-28T03:00+02:00", "2027-03-29T03:00+02:00"]),
        ("daily 01:59", "Europe/Berlin", "2027-03-28T00:00", ["2027-03-28T01:59+01:00", "2027-03-29T01:59+02:00"]),
        # in the overlap: the first of the two, once
        ("daily 02:30", "Europe/Berlin", "2027-10-30T03:00", ["2027-10-31T02:30+02:00", "2027-11-01T02:30+01:00"]),
        ("Sunday 01:30", "America/New_York", "2027-11-01T00:00", ["2027-11-07T01:30-04:00", "2027-11-14T01:30-05:00"]),
        # a day that a zone left out (Samoa, 30 December 2011), once
        ("Friday 09:00", "Pacific/Apia", "2011-12-24T00:00", ["2011-12-31T00:00+14:00", "2012-01-06T09:00+14:00"]),
        ("daily 00:00", "Pacific/Apia", "2011-12-29T00:00", ["2011-12-29T00:00-10:00", "2011-12-31T00:00+14:00", "2012-01-01T00:00+14:00"]),
        # months
        ("monthly 31 09:00", "UTC", "2027-01-31T10:00", ["2027-02-28T09:00+00:00", "2027-03-31T09:00+00:00", "2027-04-30T09:00+00:00"]),
        ("monthly 29 09:00", "UTC", "2028-02-01T00:00", ["2028-02-29T09:00+00:00", "2028-03-29T09:00+00:00"]),
        ("first Monday 09:00", "UTC", "2026-09-01T00:00", ["2026-09-07T09:00+00:00", "2026-10-05T09:00+00:00"]),
        ("last Friday 17:30", "UTC", "2026-10-01T00:00", ["2026-10-30T17:30+00:00", "2026-11-27T17:30+00:00"]),
        ("fourth Thursday 12:00", "UTC", "2026-11-01T00:00", ["2026-11-26T12:00+00:00"]),
        ("Mon,Thu 9:00", "UTC", "2026-09-08T00:00", ["2026-09-10T09:00+00:00", "2026-09-14T09:00+00:00"]),
    ],
)  # fmt: skip
def test_schedule_names_these_instants(text, zone, start, expected):
    assert instants(text, zone, start, len(expected)) == expected


def test_instant_that_is_now_counts():
    assert instants("Friday 09:00", "UTC", "2026-09-11T09:00", 1) == ["2026-09-11T09:00+00:00"]


def test_instant_that_has_just_been_does_not_count():
    start = dt.datetime(2026, 9, 11, 9, 0, 0, 1, tzinfo=dt.UTC)
    assert calendar.following("Friday 09:00", "UTC", start).day == 18


def test_following_is_local_so_that_its_day_is_the_readers():
    start = dt.datetime(2026, 9, 10, 12, 0, tzinfo=dt.UTC)
    found = calendar.following("Friday 00:30", "Pacific/Auckland", start)
    assert found.isoformat() == "2026-09-11T00:30:00+12:00"
    assert found.astimezone(dt.UTC).day == 10


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Friday 09:00", "  friday   9:00 "),
        ("Mon,Thu 09:00", "monday, thursday 09:00"),
        ("daily 07:00", "Mon,Tue,Wed,Thu,Fri,Sat,Sun 07:00"),
        ("Tues 09:00", "tuesday 09:00"),
    ],
)
def test_same_schedule_in_other_words(one, other):
    assert calendar.parse(one) == calendar.parse(other)


@pytest.mark.parametrize(
    "text",
    [
        "", "Friday", "09:00", "Friday 24:00", "Friday 9", "Friday 09:60", "Friday 9:5", "Fr 09:00", "Freitag 09:00",
        "T 09:00", "Mon Thu 09:00", "Mon,,Thu 09:00", ",Mon 09:00", "Mon, 09:00", "monthly 0 09:00",
        "monthly 32 09:00", "monthly 09:00", "fifth Monday 09:00", "first 09:00", "first Monday Tuesday 09:00",
        "daily 07:00 08:00", "every day 07:00", "0 9 * * 5", "Friday 09:00 Europe/London", "Friday ٠٩:٠٠",
    ],
)  # fmt: skip
def test_other_words_are_refused_and_say_how_it_is_written(text):
    with pytest.raises(ValueError, match=r"must be like"):
        calendar.parse(text)


def brute_force(schedule, zone, start, end):
    """Every minute of the span: when the local clock first shows the time, or jumps over it."""
    found = []
    before = (start - dt.timedelta(minutes=1)).astimezone(zone).replace(tzinfo=None)
    highest = before  # local clocks that ran already: an overlap's second pass is nothing new
    at = start
    while at < end:
        local = at.astimezone(zone).replace(tzinfo=None)
        if local > highest:
            day = highest.date()
            passed = False
            while day <= local.date():
                wanted = dt.datetime.combine(day, schedule.time)
                passed |= schedule.on(day) and highest < wanted <= local
                day += dt.timedelta(days=1)
            if passed:
                found.append(at)
            highest = local
        at += dt.timedelta(minutes=1)
    return found


@settings(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    near=st.sampled_from(
        [
            dt.date(2026, 3, 8), dt.date(2026, 3, 29), dt.date(2026, 4, 5), dt.date(2026, 4, 24), dt.date(2026, 9, 6),
            dt.date(2026, 10, 4), dt.date(2026, 10, 25), dt.date(2026, 10, 30), dt.date(2026, 11, 1),
            dt.date(2011, 12, 30), dt.date(2026, 2, 28),
        ]
    ),
    what=st.sampled_from(
        ["daily", "Sunday", "Fri,Sun", "Saturday", "monthly 29", "monthly 31", "first Sunday", "last Sunday", "last Fri"]
    ),
    hour=st.integers(0, 4),
    minute=st.sampled_from([0, 1, 15, 29, 30, 59]),
)  # fmt: skip
def test_schedule_agrees_with_watching_the_clock(zone, near, what, hour, minute):
    place = zoneinfo.ZoneInfo(zone)
    schedule = calendar.parse(f"{what} {hour:02}:{minute:02}")
    start = dt.datetime.combine(near - dt.timedelta(days=2), dt.time(12), dt.UTC)
    end = start + dt.timedelta(days=4)
    found = list(itertools.takewhile(lambda at: at < end, calendar.occurrences(schedule, place, start)))
    assert found == brute_force(schedule, place, start, end)


@settings(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    text=st.sampled_from(["daily 02:30", "Friday 09:00", "last Friday 00:00", "monthly 31 23:59"]),
    start=st.integers(10**9, 2 * 10**9).map(lambda seconds: dt.datetime.fromtimestamp(seconds, dt.UTC)),
)
def test_instants_are_in_order_each_once_and_none_is_left_out_by_starting_later(zone, text, start):
    place, schedule = zoneinfo.ZoneInfo(zone), calendar.parse(text)
    found = list(itertools.islice(calendar.occurrences(schedule, place, start), 12))
    assert found == sorted(set(found))
    assert found[0] >= start
    again = list(itertools.islice(calendar.occurrences(schedule, place, found[5]), 7))
    assert again == found[5:]
