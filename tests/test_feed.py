"""Feeds as they are in the wild: each defect has a small twin here."""

import datetime as dt
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsletter import errors
from newsletter.sources import bylines, feed, plain

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
URL = "https://feeds.test/blog/feed.xml"


def rss(*items, head="<title>A feed</title>"):
    namespaces = (
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" '
        'xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0"'
    )
    body = "".join(f"<item>{item}</item>" for item in items)
    return (
        f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0" {namespaces}><channel>{head}{body}</channel></rss>'
    )


def atom(*entries, base=""):
    body = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return f'<feed xmlns="http://www.w3.org/2005/Atom"{base}><title>A feed</title>{body}</feed>'


def read(document, url=URL):
    return feed.parse(document if isinstance(document, bytes) else document.encode(), url=url, now=NOW)[1]


def one(document, url=URL):
    (entry,) = read(document, url)
    return entry


def refusal(body):
    with pytest.raises(errors.FeedError) as caught:
        feed.parse(body, url=URL, now=NOW)
    message = str(caught.value)
    assert "\n" not in message
    return message


# -- entries ---------------------------------------------------------------------------------------------------------


def test_an_rss_item_becomes_an_entry():
    item = (
        "<title>Otters &amp;amp; herons</title><link>https://site.test/a</link><guid>g-1</guid><dc:creator>Ann Lee</dc:creator>"
        "<pubDate>Tue, 01 Sep 2026 10:00:00 CEST</pubDate><category>Rivers</category><category>Rivers</category>"
        "<description>&lt;p&gt;One.&lt;/p&gt;&lt;p&gt;Two &amp;lt; three.&lt;/p&gt;</description>"
    )
    entry = one(rss(item))
    assert entry.title == "Otters & herons"
    assert entry.url == "https://site.test/a"
    assert entry.guid == "g-1"
    assert entry.authors == ("Ann Lee",)
    assert entry.published == dt.datetime(2026, 9, 1, 8, tzinfo=dt.UTC)
    assert entry.summary == "One.\n\nTwo < three."
    assert entry.categories == ("Rivers",)


def test_an_atom_entry_becomes_an_entry():
    entry = one(
        atom(
            '<title type="html">&lt;b&gt;Otters&lt;/b&gt; return</title><id>urn:x:1</id><link rel="edit" href="https://site.test/edit"/>'
            '<link rel="alternate" href="https://site.test/a"/><author><name>Ann Lee</name></author><author><name>Bo Chen</name></author>'
            "<updated>2026-09-03T10:00:00Z</updated><published>2026-09-01T10:00:00Z</published>"
            '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>One.</p><p>Two.</p></div></content>'
        )
    )
    assert (entry.title, entry.url, entry.summary) == ("Otters return", "https://site.test/a", "One.\n\nTwo.")
    assert entry.authors == ("Ann Lee", "Bo Chen")
    assert entry.published == dt.datetime(2026, 9, 1, 10, tzinfo=dt.UTC)


def test_entries_without_title_link_or_both_are_kept_and_empty_ones_are_not():
    entries = read(
        rss(
            "<description>Only text.</description>", "<title>Only a title</title>", "<link>https://site.test/only</link>",
            "<pubDate>Tue, 01 Sep 2026 10:00:00 GMT</pubDate><guid isPermaLink='false'>x</guid>", "<title> </title>", "",
        )
    )  # fmt: skip
    assert [(e.title, e.url, e.summary) for e in entries] == [
        (None, None, "Only text."),
        ("Only a title", None, ""),
        (None, "https://site.test/only", ""),
    ]


def test_a_feed_without_entries_is_an_empty_feed():
    assert feed.parse(rss().encode(), url=URL, now=NOW) == ("A feed", ())
    assert read(atom()) == ()


def test_a_date_that_cannot_be_read_gives_way_to_the_next():
    entry = one(rss("<title>t</title><pubDate>soon</pubDate><dc:date>2026-09-01</dc:date>"))
    assert (entry.published, entry.published_is_date) == (dt.datetime(2026, 9, 1, tzinfo=dt.UTC), True)
    assert one(rss("<title>t</title><pubDate>0000-00-00</pubDate>")).published is None


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("/post", "https://feeds.test/post"),
        ("post", "https://feeds.test/blog/post"),
        ("//site.test/a", "https://site.test/a"),
        ("  https://site.test/a b\n", "https://site.test/a%20b"),
        ("HTTPS://Site.Test/A", "https://site.test/A"),
        ("https://user:pw@site.test/", "https://site.test/"),
        ("https://bücher.test/ü", "https://xn--bcher-kva.test/%C3%BC"),
        ('https://site.test/?q="&gt;', "https://site.test/?q=%22%3E"),
        ("https://www.google.com/url?rct=j&amp;url=https://real.test/x&amp;ct=ga", "https://real.test/x"),
        ("javascript:alert(1)", None),
        ("tag:site.test,2026:1", None),
        ("data:text/html,x", None),
        ("https://", None),
        ("https://site.test:99999/", None),
        ("https://a b.test/", None),
    ],
)
def test_links_are_absolute_web_addresses_or_nothing(link, url):
    assert one(rss(f"<title>t</title><link>{link}</link>")).url == url


def test_xml_base_is_where_relative_links_start():
    document = atom('<title>t</title><link href="post"/>', base=' xml:base="https://real.test/x/"')
    assert one(document).url == "https://real.test/x/post"


def test_a_guid_is_what_the_source_says_wherever_the_feed_lives():
    document = rss("<title>t</title><guid>post-1</guid>", "<title>t</title><guid>/post/2</guid>")
    assert [(entry.guid, entry.url) for entry in read(document)] == [
        ("post-1", None),
        ("/post/2", "https://feeds.test/post/2"),
    ]
    assert [entry.guid for entry in read(document, "https://moved.test/")] == ["post-1", "/post/2"]


def test_an_id_or_an_enclosure_stands_in_for_a_missing_link():
    assert one(atom("<title>t</title><id>https://site.test/1</id>")).url == "https://site.test/1"
    assert one(atom("<title>t</title><id>urn:x:1</id>")).url is None
    assert (
        one(rss('<title>t</title><enclosure url="https://site.test/a.mp3" type="audio/mpeg" length="1"/>')).url
        == "https://site.test/a.mp3"
    )


def test_feedburners_own_link_is_not_the_articles():
    item = "<title>t</title><link>https://burn.test/~r/1</link><feedburner:origLink>https://site.test/a</feedburner:origLink>"
    assert one(rss(item)).url == "https://site.test/a"


@pytest.mark.parametrize(
    ("description", "summary"),
    [
        ("a&lt;br/&gt;b &lt;b&gt;c&lt;/b&gt;d", "a b cd"),
        ("&lt;ul&gt;&lt;li&gt;a&lt;/li&gt;&lt;li&gt;b&lt;/li&gt;&lt;/ul&gt;", "a\n\nb"),
        ("x&lt;script&gt;alert(1)&lt;/script&gt;&lt;style&gt;p{}&lt;/style&gt;y", "xy"),
        ("&lt;img src=x onerror=alert(1)&gt;text", "text"),
        ("<![CDATA[<p>R &amp; D&nbsp;x</p>]]>", "R & D x"),
        ("<![CDATA[<pre>&lt;b&gt; stays</pre>]]>", "<b> stays"),
        ("plain 1 &lt; 2 &amp;&amp; 3 &gt; 2", "plain 1 < 2 && 3 > 2"),
        ("don\x92t", "don’t"),
        ("a\ue000b\ue001c\u200bd\x1be", "abc\u200bde"),
        ("<![CDATA[<p>a &#57344;&#1;&#xD800;</p>]]>", "a �"),
        ("Text. submitted by /u/someone [link] [comments]", "Text."),
        ("arXiv:2609.01234v1 Announce Type: new\nAbstract: Patient planners.", "Patient planners."),
    ],
)
def test_a_summary_is_plain_text(description, summary):
    assert one(rss(f"<title>t</title><description>{description}</description>")).summary == summary


def test_a_mere_link_is_no_summary_beside_a_title():
    link = "&lt;a href='https://site.test/c'&gt;Comments&lt;/a&gt;"
    assert one(rss(f"<title>t</title><description>{link}</description>")).summary == ""
    assert one(rss(f"<description>{link}</description>")).summary == "Comments"


def test_the_full_text_stands_in_for_a_short_or_cut_description():
    full = "<content:encoded>&lt;p&gt;The whole story, from the beginning.&lt;/p&gt;</content:encoded>"
    assert one(rss(f"<description>The whole…</description>{full}")).summary == "The whole story, from the beginning."
    long = "A description that says enough. " * 6
    assert one(rss(f"<description>{long}</description>{full}")).summary == long.strip()


def test_images_that_are_written_out_leave_room_for_the_text():
    image = f"&lt;img src='data:image/png;base64,{'iVBORw0KGgo/' * 20_000}'&gt;"
    assert one(rss(f"<title>t</title><description>{image}&lt;p&gt;Text.&lt;/p&gt;</description>")).summary == "Text."


def test_what_was_escaped_once_too_often_is_read_as_it_was_meant():
    entry = one(
        rss(
            "<title>Q&amp;amp;A</title><description>&amp;lt;p&amp;gt;Yes &amp;amp;amp; no.&amp;lt;/p&amp;gt;</description>"
        )
    )
    assert (entry.title, entry.summary) == ("Q&A", "Yes & no.")
    entry = one(rss("<title>t</title><description><img src='a.png'/><![CDATA[<p>One <b>two</b>.</p>]]></description>"))
    assert entry.summary == "One two."
    entry = one(rss("<title>The &amp;lt;p&amp;gt; tag</title><description>Use &amp;lt;b&amp;gt;.</description>"))
    assert (entry.title, entry.summary) == ("The <p> tag", "Use <b>.")


@pytest.mark.parametrize(
    ("elements", "doi", "journal"),
    [
        (
            "<a:doi>10.5555/lake.77</a:doi><a:journal_ref>Lakes 7 (2026) 1-9</a:journal_ref>",
            "10.5555/lake.77",
            "Lakes 7 (2026) 1-9",
        ),
        (
            "<a:DOI>10.5555/lake.77</a:DOI><a:journal_reference>Lakes 7</a:journal_reference>",
            "10.5555/lake.77",
            "Lakes 7",
        ),
        ("<p:doi>10.5555/lake.77</p:doi><p:publicationName>Lakes</p:publicationName>", "10.5555/lake.77", "Lakes"),
        ("<dc:identifier>doi:10.5555/lake.77</dc:identifier>", "doi:10.5555/lake.77", None),
        ("<dc:identifier>9785555</dc:identifier><a:doi> </a:doi>", None, None),
    ],
)
def test_the_doi_and_the_journal_are_kept(elements, doi, journal):
    names = (
        'xmlns:a="http://arxiv.org/schemas/atom" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:p="http://prismstandard.org/namespaces/basic/2.0/"'
    )
    entry = one(f'<rss version="2.0" {names}><channel><item><title>t</title>{elements}</item></channel></rss>')
    assert (entry.doi, entry.journal) == (doi, journal)


def test_long_texts_are_cut_at_a_word():
    entry = one(rss(f"<title>{'word ' * 900}</title><description>{'word ' * 9000}</description>"))
    assert entry.title.endswith("word…")
    assert len(entry.title) <= plain.LONGEST_LINE
    assert len(entry.summary) <= plain.LONGEST_TEXT


def test_a_long_guid_is_told_by_its_hash():
    first, second = read(rss(*(f"<title>t</title><guid>{'x' * 3000}{i}</guid>" for i in "ab")))
    assert first.guid != second.guid
    assert len(first.guid) < 100


def test_a_title_is_one_line_of_plain_text():
    assert one(rss("<title>A\n  title\twith &lt;i&gt;tags&lt;/i&gt;</title>")).title == "A title with tags"
    assert one(atom('<title type="text">1 &lt; 2</title>')).title == "1 < 2"


# -- arXiv -----------------------------------------------------------------------------------------------------------


def test_arxivs_replacements_are_no_news_and_cross_lists_are():
    def item(kind, number):
        return (
            f"<title>Paper {number}</title><link>https://arxiv.org/abs/2609.0000{number}</link>"
            f"<guid isPermaLink='false'>oai:arXiv.org:2609.0000{number}v2</guid><arxiv:announce_type>{kind}</arxiv:announce_type>"
        )

    kinds = ["new", "cross", "replace", "replace-cross"]
    assert [entry.title for entry in read(rss(*(item(kind, i) for i, kind in enumerate(kinds))))] == [
        "Paper 0",
        "Paper 1",
    ]


def test_arxivs_error_entry_is_an_error():
    document = atom(
        "<id>https://arxiv.org/api/errors#bad_id</id><title>Error</title><summary>incorrect id format</summary>"
    )
    assert "incorrect id format" in refusal(document.encode())


@pytest.mark.parametrize(
    ("names", "authors"),
    [
        (["Ann Lee, Bo Chen, Cy Dee"], ("Ann Lee", "Bo Chen", "Cy Dee")),
        (["Ann Lee, Bo Chen, and Cy Dee"], ("Ann Lee", "Bo Chen", "Cy Dee")),
        (["Powell, W., Yan, N., Tse, E. K."], ("Powell, W.", "Yan, N.", "Tse, E. K.")),
        (["Ann Lee; Bo Chen"], ("Ann Lee", "Bo Chen")),
        (["Ann Lee and Bo Chen"], ("Ann Lee", "Bo Chen")),
        (["Nuts and Bolts"], ("Nuts and Bolts",)),
        (["Smith, John"], ("Smith, John",)),
        (["John Smith, Jr., Ann Lee"], ("John Smith, Jr.", "Ann Lee")),
        (["Ann Lee", "Ann Lee", "Bo"], ("Ann Lee", "Bo")),
        (['<a href="x">Ann Lee</a>, <a href="y">Bo Chen</a>'], ("Ann Lee", "Bo Chen")),
        (["ann@site.test (Ann Lee)"], ("Ann Lee",)),
        (["Ann Lee <ann@site.test>"], ("Ann Lee",)),
        (["By Ann Lee and Bo Chen"], ("Ann Lee", "Bo Chen")),
        (["Author: Ann Lee"], ("Ann Lee",)),
        (["Ann Lee (Site Inc.)", "Bo Chen (Site"], ("Ann Lee", "Bo Chen")),
        (["Byron Lee", "Von Neumann", "Texta"], ("Byron Lee", "Von Neumann", "Texta")),
        (["admin", "builder[bot]", "https://site.test/ann", "Unknown"], ()),
        (["ann@site.test", "", ",", "  "], ()),
    ],
)
def test_bylines_are_taken_apart(names, authors):
    assert bylines.authors([{"name": name} for name in names]) == authors


def test_arxivs_names_lose_their_tex_and_their_affiliations():
    names = [
        {"name": r"Andr\'e {Lima} (MIT, Boston (USA)), Bo Li (2) (for the Lake Collaboration), The Lake Collaboration"}
    ]
    assert bylines.authors(names, tex=True) == ("André Lima", "Bo Li", "The Lake Collaboration")


# -- damaged and foreign ---------------------------------------------------------------------------------------------


def test_control_characters_and_references_to_them_do_not_stop_a_feed():
    document = rss("<title>a\x0bb&#x1E;c&#19;d\x00</title><description>&#9;x &#x41;</description>").encode()
    entry = one(document)
    assert (entry.title, entry.summary) == ("abcd", "x A")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "koi8-r", "windows-1251"])
def test_encodings_are_read_from_the_octets(encoding):
    declared = encoding.removesuffix("-sig").removesuffix("-be")
    document = rss("<title>Пример ленты</title>").replace('encoding="utf-8"', f'encoding="{declared}"')
    assert one(document.encode(encoding)).title == "Пример ленты"


def test_a_wrong_declaration_is_mended():
    document = rss("<title>Prés de là</title>")
    assert one(document.encode("latin-1")).title == "Prés de là"
    assert one(document.replace("utf-8", "utf-16").encode()).title == "Prés de là"
    assert one(document.replace("utf-8", "bogus").encode()).title == "Prés de là"


def test_broken_xml_gives_what_can_be_read():
    document = rss("<title>R & D</title><link>https://site.test/1</link>", "<title>Two&undefined;</title>")[:-23]
    assert [entry.title[:3] for entry in read(document)] == ["R &", "Two"]


def test_no_entity_reaches_a_file_or_grows(tmp_path):
    (tmp_path / "secret").write_text("hush")
    document = (
        f'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
        + rss("<title>a&x;b</title>")[38:]
    )
    assert "hush" not in repr(read(document))
    bombs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    bomb = f'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY l0 "lol">{bombs}]>' + rss("<title>x&l9;</title>")[38:]
    assert len(repr(read(bomb))) < 10_000


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "an empty answer"),
        (b" \n\x00", "an empty answer"),
        (
            b"<!DOCTYPE html><html><head><title>Hello\n there</title></head><body>x</body></html>",
            "an HTML page titled “Hello there”",
        ),
        (b"<html><body>x</body></html>", "an HTML page without a title"),
        (b"<html><head><title>Just a moment...</title></head></html>", "robots"),
        (b'<?xml version="1.0"?><urlset><url/></urlset>', "its root is <urlset>"),
        (b"%PDF-1.7 ...", "binary"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "binary"),
        (b"Not found.", "it begins with “Not found.”"),
    ],
)
def test_what_is_no_feed_is_named(body, words):
    assert words in refusal(body)


def test_feeds_that_a_page_links_to_are_named():
    page = (
        b'<html><head><title>Blog</title><link rel="alternate" type="application/rss+xml" href="/feed.xml">'
        b'<link rel="alternate" type="application/atom+xml" href="https://site.test/atom"><link rel="alternate" hreflang="de" href="/de">'
        b'<link rel="alternate" type="application/rss+xml" href="javascript:alert(1)"></head></html>'
    )
    assert refusal(page).endswith("feeds linked from it: https://feeds.test/feed.xml, https://site.test/atom")


@settings(deadline=None)
@given(
    st.binary(max_size=400),
    st.sampled_from([b"", b"<rss><channel><item><title>", b"<feed><entry><link href='", b'{"version": "']),
)
def test_any_octets_are_a_feed_or_a_feed_error(data, start):
    try:
        _, entries = feed.parse(start + data, url=URL, now=NOW)
    except errors.FeedError as error:
        assert str(error)
    else:
        for entry in entries:
            whole = "\n".join(
                [entry.title or "", entry.url or "", entry.summary, entry.guid or "", *entry.authors, *entry.categories]
            )
            assert not set(whole) & set(map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0), 0xE000, 0xE001]))
            assert whole.encode()
            assert entry.title or entry.url or entry.summary


@given(st.text(max_size=300))
def test_any_html_becomes_text_without_characters_that_nobody_writes(markup):
    text = plain.from_html(markup)
    assert not set(text) & set(map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0), 0xE000, 0xE001]))
    assert text == plain.paragraphs(text)


@pytest.mark.parametrize("tag", ["<div>", "<b>", "<x>", "<a href='", "&", "<!--", "<![CDATA[", "<b a='"])
def test_deep_and_broken_html_takes_no_time(tag):
    started = time.perf_counter()
    plain.from_html(tag * 200_000)
    assert time.perf_counter() - started < 60


@pytest.mark.parametrize(
    ("unit", "count", "what"), [("<item>", 20_001, "entries"), ("<a>", 500_001, "tags"), ("&", 2_000_001, "references")]
)
def test_a_flood_is_refused_before_it_takes_memory(unit, count, what):
    started = time.perf_counter()
    assert what in refusal(b"<rss><channel>" + unit.encode() * count)
    assert time.perf_counter() - started < 60


def test_tags_inside_cdata_are_text():
    document = rss(f"<title>t</title><description><![CDATA[{'<b>x</b>' * 10}]]></description>").encode()
    feed._refuse_floods(document.replace(b"<b>x</b>", b"<b></b>" * 40_000))
    feed._refuse_floods(b"<![CDATA[" * 300_000)
