"""Octets that are not what they say."""

from xml.etree import ElementTree as ET

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


NEWS = "<p>Выдры переплыли реку на рассвете, и люди смотрели на них</p>"


@pytest.mark.parametrize("head", ["", '<?xml version="1.0"?>', HEAD.format("utf-8"), HEAD.format("x-bogus")])
@pytest.mark.parametrize("encoding", ["koi8-r", "windows-1251"])
def test_what_tells_nothing_or_lies_is_read_as_what_it_looks_like(head, encoding):
    assert octets.repaired(head.encode() + NEWS.encode(encoding)).decode().endswith(NEWS)


def test_what_a_server_says_counts_where_the_document_tells_nothing():
    text = "<p>Wydry budują tamy, łąki i żerdzie</p>"  # Polish: nobody could tell
    assert octets.repaired(text.encode("iso-8859-2"), "ISO-8859-2").decode() == text
    assert octets.repaired(NEWS.encode("koi8-r"), "iso-8859-1").decode() == NEWS  # what many say of anything
    for wrong in ("", "no-such", "base64", "utf-8", "euc-jp"):
        assert octets.repaired(NEWS.encode("koi8-r"), wrong).decode() == NEWS
    said = HEAD.format("koi8-r") + NEWS
    assert octets.repaired(said.encode("koi8-r"), "windows-1251") == said.encode("koi8-r")


JAPANESE = "<p>カワウソが川に帰ってきた。ﾃｽﾄ</p>"


@pytest.mark.parametrize("head", ["", HEAD.format("utf-8"), HEAD.format("iso-8859-1")])
@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("iso2022_jp", JAPANESE.replace("ﾃｽﾄ", "")),
        ("iso2022_jp_ext", JAPANESE),
        ("iso2022_kr", "<p>수달이 강으로 돌아왔다</p>"),
    ],
)
def test_shifts_of_iso_2022_tell_what_they_are(head, encoding, text):
    body = head.encode() + text.encode(encoding)
    assert octets.repaired(body).decode().endswith(text)
    assert octets.assumed(body) == encoding
    assert octets.assumed(body, encoding) is None
    assert octets.assumed(HEAD.format(encoding).encode() + body) is None
    data, assumed = octets.in_utf8(f"a\n{text}\n".encode(encoding))
    assert data.decode() == f"a\n{text}\n"
    assert (assumed.encoding, assumed.line) == (encoding, 2)


def test_octets_that_are_utf_8_without_their_controls_are_read_so():
    body = HEAD.format("iso-8859-1").encode() + b"<p>\xc3\x00\xb8\xc3\xb8</p>"
    assert octets.repaired(body).decode() == HEAD.format("utf-8") + "<p>øø</p>"


def test_escape_that_shifts_nothing_goes():
    assert octets.repaired(b"<p>\x1b[1mbold \x1b$B") == b"<p>[1mbold $B"
    assert octets.assumed(b"<p>\x1b[1mbold \x1b$B") is None


def test_what_a_server_says_counts_where_the_document_cannot_be_what_it_says():
    body = (HEAD.format("euc-jp") + JAPANESE).encode("cp932")
    assert octets.repaired(body, "Shift_JIS").decode() == HEAD.format("utf-8") + JAPANESE
    assert octets.assumed(body, "Shift_JIS") is None
    assert octets.repaired(body, "gb2312").decode() == octets.repaired(body).decode()  # neither is right
    assert octets.assumed(body) == octets.assumed(body, "iso-8859-1") == "cp932"


def test_one_broken_character_does_not_cost_the_encoding_that_a_document_names():
    body = (HEAD.format("euc-jp") + JAPANESE).encode("euc-jp") + b"<p>\xff</p>"
    assert octets.repaired(body).decode() == HEAD.format("utf-8") + JAPANESE + "<p>\ufffd</p>"
    assert octets.assumed(body) is None


@pytest.mark.parametrize(
    ("body", "served", "encoding"),
    [
        ("<p>Søndag</p>".encode(), "", None),
        (b"<p>plain</p>", "", None),
        ("<p>Søndag</p>".encode("utf-16"), "", None),
        ("<p>Søndag</p>".encode("cp1252"), "", "windows-1252"),
        ("<p>Søndag</p>".encode("cp1252"), "iso-8859-1", "windows-1252"),
        ((HEAD.format("iso-8859-1") + "<p>Søndag</p>").encode("cp1252"), "", None),
        (TEXT.encode() + b"caf\xe9", "", "windows-1252"),
        (NEWS.encode("koi8-r"), "koi8-r", None),
        (NEWS.encode("koi8-r"), "", "koi8-u"),
    ],
)
def test_guess_is_named_and_nothing_else_is(body, served, encoding):
    assert octets.assumed(body, served) == encoding


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_file_that_tells_its_encoding_becomes_utf_8_and_nothing_is_assumed(encoding):
    assert octets.in_utf8("Søndag\nTorre\n".encode(encoding)) == ("Søndag\nTorre\n".encode(), None)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("windows-1252", "a\ncafé – “naïve”\n"), ("koi8-r", "a\n" + NEWS), ("cp932", "a\nカワウソがダムを作る。\n")],
)
def test_file_that_tells_nothing_is_read_as_what_it_looks_like(encoding, text):
    data, assumed = octets.in_utf8(text.encode(encoding))
    assert data.decode() == text
    assert assumed.line == 2
    assert f"read as {assumed.encoding}" in str(assumed)
    assert text.encode(encoding).decode(assumed.encoding) == text


def test_a_few_octets_of_windows_in_a_file_of_utf_8_do_not_spoil_the_rest():
    data, assumed = octets.in_utf8("Søndag på Brøndby\n\n".encode() + b"caf\xe9\n")
    assert data.decode() == "Søndag på Brøndby\n\ncafé\n"
    assert (assumed.line, assumed.encoding) == (3, "windows-1252")


@given(st.binary(max_size=200))
def test_any_file_becomes_utf_8(data):
    text, assumed = octets.in_utf8(data)
    assert isinstance(text.decode(), str)
    assert assumed is None or 1 <= assumed.line <= data.count(b"\n") + 1


_PARTS = st.sampled_from(
    [b"&amp;", b"&lt;", b"&gt;", b"&quot;", b"&apos;", b"&eacute;", b"&#38;", b"amp;", b"lt;", b"x", b"]"]
)


@given(st.lists(_PARTS, max_size=12))
def test_html_that_is_escaped_means_the_same_as_cdata(parts):
    body = b"<d>" + b"".join(parts) + b"&lt;p" * (octets._MANY + 1) + b"</d>"
    body = body.replace(b"&eacute;", b"&#233;")  # XML knows no other names
    assert ET.fromstring(octets.repaired(body)).text == ET.fromstring(body).text
