"""Dates for people."""

import datetime as dt

import babel.localedata
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


@pytest.mark.parametrize(
    ("language", "expected", "with_weekday"),
    [
        ("en-US", "Sept 11, 2026", "Friday, Sept 11, 2026"),
        ("en-Latn-US", "Sept 11, 2026", "Friday, Sept 11, 2026"),
        ("en-AU", "11 Sept 2026", "Friday 11 Sept 2026"),
        ("de", "11. September 2026", "Freitag, 11. September 2026"),
        ("de-AT", "11. September 2026", "Freitag, 11. September 2026"),
        ("fr", "11 septembre 2026", "vendredi 11 septembre 2026"),
        ("es-MX", "11 de septiembre de 2026", "viernes, 11 de septiembre de 2026"),
        ("ar", "11 سبتمبر 2026", "الجمعة، 11 سبتمبر 2026"),
        ("ar-EG", "١١ سبتمبر ٢٠٢٦", "الجمعة، ١١ سبتمبر ٢٠٢٦"),
        ("ar-MA", "11 شتنبر 2026", "الجمعة، 11 شتنبر 2026"),
        ("fa", "۱۱ سپتامبر ۲۰۲۶", "جمعه ۱۱ سپتامبر ۲۰۲۶"),
        ("ja", "2026年9月11日", "2026年9月11日金曜日"),
        ("zh-Hant-TW", "2026年9月11日", "2026年9月11日 星期五"),
        ("it-x-unknown", "11 settembre 2026", "venerdì 11 settembre 2026"),
        ("tlh", "2026-09-11", "2026-09-11"),
    ],
)
def test_each_language_has_its_own_dates(language, expected, with_weekday):
    assert dates.written(dt.date(2026, 9, 11), language) == expected
    assert dates.with_weekday(dt.date(2026, 9, 11), language) == with_weekday


def test_the_first_of_a_month_is_an_ordinal_in_french():
    assert dates.written(dt.date(2026, 5, 1), "fr-CA") == "1er mai 2026"
    assert dates.with_weekday(dt.date(2026, 5, 1), "fr") == "vendredi 1er mai 2026"
    assert dates.written(dt.date(2026, 5, 11), "fr") == "11 mai 2026"


def test_american_months_have_the_house_form_too():
    assert dates.written(dt.date(2026, 7, 4), "en-US") == "July 4, 2026"
    assert dates.written(dt.date(2026, 8, 27), "en-PH") == "Aug 27, 2026"


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en-GB", "1,234"),
        ("de", "1.234"),
        ("fr", "1\u202f234"),
        ("es", "1234"),
        ("ar", "1,234"),
        ("ar-EG", "١٬٢٣٤"),
        ("hi", "1,234"),
        ("tlh", "1234"),
    ],
)
def test_numbers_have_the_form_of_the_language(language, expected):
    assert dates.number(1234, language) == expected
    assert dates.number(7, "de") == "7"


# Six words and more for a date, which a sentence has as well.
LONG_WINDED = ("jgo", "kcg", "mn", "tok")


@pytest.mark.parametrize("day", [dt.date(2026, 1, 1), dt.date(2026, 9, 11), dt.date(2031, 5, 31), dt.date(1999, 12, 3)])
def test_a_date_is_known_as_one_in_every_language(day):
    tags = {name.replace("_", "-") for name in babel.localedata.locale_identifiers()}
    missed = {tag for tag in tags if not dates.stands_in(f"Wang et al. · {dates.written(day, tag)} · arXiv")}
    assert {tag.partition("-")[0] for tag in missed} <= set(LONG_WINDED)


@pytest.mark.parametrize(
    "line",
    [
        "Kelp grows.",
        "In 2026 kelp grew on 3 of 14 piers and nowhere else.",
        "On 3 June 2026 kelp grew.",
        "A pump of 12345 litres",
        "",
    ],
)
def test_a_sentence_is_no_date(line):
    assert not dates.stands_in(line)


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
