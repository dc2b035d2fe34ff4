"""Octets that are not what they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter.sources import octets

HEAD = '<?xml version="1.0" encoding="{}"?>'
TEXT = "<p>Søndag på Brøndby – en høj fløjte</p>"


@pytest.mark.parametrize("says", ["iso-8859-1", "windows-1252", "us-ascii", "utf-16", "koi8-r"])
def test_utf_8_is_read_as_utf_8_whatever_it_says(says):
    assert octets.repaired((HEAD.format(says) + TEXT).encode()) == (HEAD.format("utf-8") + TEXT).encode()


@pytest.mark.parametrize("says", ["utf-8", "iso-8859-1"])
def test_a_few_octets_of_windows_do_not_spoil_the_rest(says):
    body = (HEAD.format(says) + TEXT).encode() + "<p>caf\u00e9 \u2019</p>".encode("cp1252")
    assert octets.repaired(body).decode() == HEAD.format("utf-8") + TEXT + "<p>café ’</p>"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("iso-8859-1", TEXT.replace("–", "-")),
        ("windows-1251", "<p>Новости Оренбурга и области</p>"),
        ("koi8-r", "<p>Первая новость</p>"),
        ("shift_jis", "<p>カワウソが川に帰ってきた</p>"),
        ("euc-kr", "<p>수달이 강으로 돌아왔다</p>"),
        ("gb2312", "<p>水獭回到了河里，没有人知道原因</p>"),
        ("utf-16", TEXT),
    ],
)
def test_what_tells_the_truth_stays_as_it_is(encoding, text):
    body = (HEAD.format(encoding) + text).encode(encoding)
    assert octets.repaired(body) == body


def test_escaped_html_becomes_cdata_and_says_the_same():
    text = "&lt;p title=&quot;a &amp;gt; b&quot;&gt;A &amp;amp; B &#8217; &eacute; &lt;/p&gt;" * 99
    item = f'<a title="1 > 2 &lt;&lt;&lt;&lt;&lt;&lt;">x</a><!-- > {text} --><![CDATA[> {text} ]]><d>{text}</d><e>]] {text}</e>'
    found = octets.repaired(item.encode()).decode()
    one = '<p title="a &gt; b">A &amp; B ]]>&#8217;<![CDATA[ ]]>&eacute;<![CDATA[ </p>'
    assert found == item.replace(f"<d>{text}</d>", f"<d><![CDATA[{one * 99}]]></d>")


@given(st.binary(max_size=200), st.sampled_from(["utf-8", "iso-8859-1", "big5", "nonsense"]))
def test_any_octets_are_survived_and_a_second_time_changes_nothing(body, says):
    found = octets.repaired(HEAD.format(says).encode() + body)
    assert octets.repaired(found) == found
