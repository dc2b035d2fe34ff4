"""When to ask again."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import types
from newsletter.sources import timing

NOW = dt.datetime(2026, 9, 10, 12, 30, tzinfo=dt.UTC)  # a Thursday
HOUR = 3600.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Cache-Control": "public, max-age=7200"}, 7200),
        ({"Cache-Control": "max-age=7200", "Age": "1200"}, 6000),
        ({"Cache-Control": 'MAX-AGE="60"', "Expires": "Thu, 10 Sep 2026 23:00:00 GMT"}, 60),
        ({"Cache-Control": "max-age=99999999"}, 86400),
        ({"Cache-Control": f"max-age={'9' * 4000}"}, 86400),
        ({"Cache-Control": "max-age=7200", "Age": "9" * 20}, None),
        ({"Cache-Control": "no-cache, max-age=7200"}, None),
        ({"Cache-Control": "max-age=0"}, None),
        ({"Cache-Control": "s-maxage=50"}, None),
        ({"Expires": "Thu, 10 Sep 2026 13:30:00 GMT"}, 3600),
        ({"Expires": "Thu, 10 Sep 2026 13:30:00 GMT", "Date": "Thu, 10 Sep 2026 13:00:00 GMT"}, 1800),
        ({"Expires": "0"}, None),
        ({"Expires": "Thu, 10 Sep 2020 13:30:00 GMT"}, None),
        ({}, None),
    ],
)
def test_freshness_is_what_the_headers_say(headers, seconds):
    assert timing.fresh_for(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "120"}, 120),
        ({"Retry-After": "99999999999"}, 31 * 86400),
        ({"Retry-After": "99999999999999"}, 31 * 86400),
        ({"Retry-After": "9" * 4000}, 31 * 86400),
        ({"Retry-After": "Thu, 10 Sep 2026 12:05:00 GMT", "Date": "Thu, 10 Sep 2026 12:04:00 GMT"}, 60),
        ({"Retry-After": "Thu, 10 Sep 2026 11:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date_by_the_servers_clock(headers, seconds):
    assert timing.retry_after(headers, NOW) == seconds


RSS = b"""<rss version="2.0"><channel><title>t</title><ttl> 180 </ttl>
<skipHours><hour>0</hour><hour>24</hour><hour>13</hour><hour>99</hour></skipHours>
<skipDays><day>Saturday</day><day>Sunday</day><day>Someday</day></skipDays>
<item><title>x</title><description>&lt;ttl&gt;</description><ttl>5</ttl><day>Monday</day></item></channel></rss>"""


def test_a_feed_says_when_it_is_not_written():
    assert timing.pauses(RSS) == types.Pauses(180, (0, 13), (5, 6))
    assert timing.pauses(b"<feed><entry><ttl>5</ttl></entry></feed>") == types.Pauses()
    assert timing.pauses(b"<rss><ttl>99999999999999</ttl>").ttl == 999_999
    everything = b"".join(b"<hour>%d</hour>" % hour for hour in range(24))
    assert timing.pauses(b"<rss>" + everything) == types.Pauses()


@pytest.mark.parametrize(
    ("fresh", "pauses", "hours"),
    [
        (None, types.Pauses(), None),
        (600, types.Pauses(), 1),
        (3 * HOUR, types.Pauses(ttl=60), 3),
        (60, types.Pauses(ttl=180), 3),
        (None, types.Pauses(ttl=999_999), 24),
        (None, types.Pauses(hours=(13, 14)), 2.5),  # from 12:30 over 13:30 to 15:00
        (None, types.Pauses(days=(3,)), 11.5),  # until midnight
        (None, types.Pauses(days=(3, 4, 5)), 11.5 + 48),  # all of Friday and Saturday too
        (None, types.Pauses(days=(3,), hours=(0, 1)), 13.5),  # midnight is no use: its hour is skipped
        (None, types.Pauses(days=tuple(range(7))), 1),  # never: not believed
        (None, types.Pauses(hours=tuple(range(24))), 1),
    ],
)
def test_hints_push_the_next_check(fresh, pauses, hours):
    assert timing.wait(fresh, pauses, NOW) == (hours * HOUR if hours else None)


@given(
    st.none() | st.floats(0, 1e6),
    st.builds(
        types.Pauses,
        st.none() | st.integers(0, 10**6),
        st.sets(st.integers(0, 23)).map(tuple),
        st.sets(st.integers(0, 6)).map(tuple),
    ),
    st.timedeltas(dt.timedelta(0), dt.timedelta(days=999)).map(NOW.__add__),
)
def test_next_check_is_the_first_instant_that_is_in_no_pause(fresh, pauses, now):
    wait = timing.wait(fresh, pauses, now)
    if wait is None:
        assert (fresh, pauses) == (None, types.Pauses())
        return
    assert 3600 <= wait <= 8 * 86400
    if len(pauses.hours) < 24 and len(pauses.days) < 7:
        moment = now + dt.timedelta(seconds=wait)
        assert not timing.is_paused(pauses, moment)
        asked = min(max(fresh or 0, (pauses.ttl or 0) * 60, 3600), 86400)
        before = [now + dt.timedelta(seconds=asked + 60 * i) for i in range(int((wait - asked) // 60))]
        assert all(timing.is_paused(pauses, each) for each in before)


def test_two_skipped_days_lead_to_the_third():
    sunday = dt.datetime(2026, 9, 13, 23, 10, tzinfo=dt.UTC)
    wait = timing.wait(None, types.Pauses(days=(0, 1)), sunday)
    assert sunday + dt.timedelta(seconds=wait) == dt.datetime(2026, 9, 16, tzinfo=dt.UTC)
