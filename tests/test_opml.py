"""OPML: what people export comes in, what attacks is harmless, and what we write is read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors
from newsletter.sources import opml
from newsletter.sources.opml import Feed


def document(body, head='<?xml version="1.0"?>'):
    return f'{head}<opml version="2.0"><head/><body>{body}</body></opml>'.encode()


def urls(found):
    return [feed.url for feed in found.feeds]


def test_folders_are_kept_from_the_outermost_in():
    found = opml.read(document(
        '<outline text="A"><outline title="B" text="no"><outline text="F" xmlUrl="https://f.test/"/></outline></outline>'
        '<outline text="G" xmlUrl=" https://g.test/ "/>'
    ))  # fmt: skip
    assert found == opml.Outlines((Feed("https://f.test/", "F", ("A", "B")), Feed("https://g.test/", "G")))


def test_category_stands_in_for_a_folder():
    (feed,) = opml.read(document('<outline xmlUrl="https://f.test/" category="/Boston/Weather,x"/>')).feeds
    assert feed.folder == ("Boston/Weather",)


@pytest.mark.parametrize("tag", ["xmlUrl", "xmlurl", "XMLURL"])
def test_attribute_may_be_written_in_any_case(tag):
    assert urls(opml.read(document(f'<OUTLINE text="F" {tag}="https://f.test/"/>'))) == ["https://f.test/"]


def test_feed_scheme_is_understood():
    found = opml.read(document('<outline xmlUrl="feed://f.test/a"/><outline xmlUrl="feed:https://f.test/b"/>'))
    assert urls(found) == ["http://f.test/a", "https://f.test/b"]


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ('xmlUrl="exec:/bin/true"', "a command is never run"),
        ('xmlUrl="|touch pwned"', "a command is never run"),
        ('xmlUrl="file:///etc/passwd"', "only http: and https:"),
        ('xmlUrl="javascript:alert(1)"', "only http: and https:"),
        ('xmlUrl="https://f.test/" filtercmd="rm"', "a program would filter it"),
        ('xmlUrl="https://f.test/&quot;]&#10;x"', "no web address"),
        ('xmlUrl="https://"', "no web address"),
        ('type="rss" text="F"', "no xmlUrl"),
    ],
)
def test_outline_that_is_no_feed_is_refused_with_its_line(attributes, reason):
    found = opml.read(document(f'\n<outline {attributes}/><outline xmlUrl="https://good.test/"/>'))
    assert urls(found) == ["https://good.test/"]
    ((line, text),) = [(bad.line, bad.reason) for bad in found.rejected]
    assert line == 2
    assert reason in text


def test_links_and_notes_are_no_feeds_and_no_fault():
    found = opml.read(document('<outline type="link" url="https://l.test/"/><outline text="A note"/>'))
    assert found == opml.Outlines(())


@pytest.mark.parametrize(
    "data",
    [b"", b"garbage", b"<html><body/></html>", b'{"opml": 1}', b"\x00\xff", b"<rss><outline xmlUrl='https://a.test/'/></rss>"],
)  # fmt: skip
def test_what_is_no_opml_is_a_clear_error(data):
    with pytest.raises(errors.FeedError, match="this is no OPML"):
        opml.read(data)


def test_file_that_is_too_large_is_a_clear_error():
    with pytest.raises(errors.FeedError, match="larger than 5 MB"):
        opml.read(b" " * (opml.MOST_BYTES + 1))


@pytest.mark.parametrize(
    "broken",
    [
        '<outline text="Wallace & Gromit" xmlUrl="https://f.test/?a=1&amp;b=2"/>',
        '<outline text="x < 12" xmlUrl="https://f.test/?a=1&amp;b=2"/>',
        '<outline text="A"><outline text="F" xmlUrl="https://f.test/?a=1&amp;b=2"/>',
        "<!-- <outline xmlUrl=\"https://no.test/\"/> --><outline xmlUrl='https://f.test/?a=1&b=2'/><br>",
        '<outline text="caf\u00e9" xmlUrl="https://f.test/?a=1&b=2" />&nbsp;',
    ],
)
def test_what_can_be_saved_of_a_broken_file_is_saved_and_the_fault_told(broken):
    found = opml.read(document(broken))
    assert urls(found) == ["https://f.test/?a=1&b=2"]
    assert "not well-formed XML (line 1" in found.fault


def test_file_that_ends_in_the_middle_gives_what_came_before():
    data = document(
        '<outline text="A"><outline xmlUrl="https://a.test/"/><outline xmlUrl="https://b.test/"/></outline>'
    )
    found = opml.read(data[: data.index(b"b.test")])
    assert [(feed.url, feed.folder) for feed in found.feeds] == [("https://a.test/", ("A",))]
    assert found.fault


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_encoding_is_the_declared_one(encoding):
    text = document(
        '<outline text="Caf\u00e9" xmlUrl="https://a.test/"/>', f'<?xml version="1.0" encoding="{encoding}"?>'
    )
    assert opml.read(text.decode().encode(encoding)).feeds[0].title == "Caf\u00e9"


def test_encoding_that_nobody_knows_costs_the_words_alone():
    found = opml.read(document('<outline xmlUrl="https://a.test/"/>', '<?xml version="1.0" encoding="x-odd"?>'))
    assert urls(found) == ["https://a.test/"]
    assert found.fault


# -- attacks ---------------------------------------------------------------------------------------------------------


def test_entities_are_not_read(tmp_path):
    (tmp_path / "secret").write_text("TOPSECRET", encoding="utf-8")
    laughs = '<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {x} "{f"&{y};" * 10}">' for x, y in zip("bcdefghi", "abcdefgh", strict=True)
    )
    head = f'<!DOCTYPE opml [<!ENTITY x SYSTEM "file://{tmp_path}/secret">{laughs}]>'
    body = '<outline text="&x;&i;" xmlUrl="https://a.test/"/><outline xmlUrl="https://b.test/&x;"/>'
    found = opml.read(document(body, head))
    assert urls(found) == ["https://a.test/"]
    assert [bad.reason for bad in found.rejected] == ["its address is made of an entity, which is not read"]
    assert "document type" in found.fault
    assert "TOPSECRET" not in repr(found)
    assert len(found.feeds[0].title) < 50


@pytest.mark.parametrize("end", ["</outline>", ""])
def test_nesting_is_capped(end):
    deep = '<outline text="d">' * 20_000 + '<outline xmlUrl="https://deep.test/"/>' + end * 20_000
    found = opml.read(document(f'<outline xmlUrl="https://a.test/"/>{deep}'))
    assert urls(found) == ["https://a.test/"]
    assert "nested deeper" in found.fault


def test_number_of_feeds_is_capped():
    found = opml.read(document('<outline xmlUrl="https://a.test/"/>' * (opml.MOST_FEEDS + 1)))
    assert len(found.feeds) == opml.MOST_FEEDS
    assert "over 10,000 feeds" in found.fault


@pytest.mark.parametrize("unit", ["<a ", "<!--", "<outline a='", "<a>", "</b><a>", "&x;", "<![CDATA["])
def test_time_grows_no_faster_than_the_file(unit):
    """A test without a clock: what is quadratic would not end within the runner's patience."""
    with pytest.raises(errors.FeedError):
        opml.read((unit * (1_000_000 // len(unit))).encode())


# -- and back --------------------------------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8"), max_size=40)
addresses = st.text(st.sampled_from("abc019-._~/?#[]@!$&()*+,;=%:"), max_size=30).map("https://host.test/{}".format)


@given(st.lists(st.tuples(texts, st.lists(st.tuples(addresses, texts), max_size=4)), max_size=4))
def test_what_is_written_is_read_back(folders):
    text = opml.write("Any <title>", [(name, [Feed(url, title) for url, title in rows]) for name, rows in folders])
    found = opml.read(text.encode())
    assert not found.rejected
    assert not found.fault

    def line(words):
        return opml.plain.line(words, 200)

    assert found.feeds == tuple(
        Feed(url, "" if line(title or url) == url else line(title), (line(name),) if line(name) else ())
        for name, rows in folders
        for url, title in rows
    )


@given(st.binary(max_size=300), st.integers(0, 300))
def test_no_file_does_anything_but_give_feeds_or_a_clear_error(noise, at):
    good = document('<outline text="A"><outline text="F" xmlUrl="https://f.test/"/></outline>')
    for data in (noise, good[:at] + noise + good[at:]):
        try:
            found = opml.read(data)
        except errors.FeedError:
            continue
        assert all(url.startswith(("http://", "https://")) for url in urls(found))


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("http://A.test/feed/", "https://a.test:443/feed", True),
        ("https://a.test", "https://a.test/", True),
        ("https://a.test/feed?x=1", "https://a.test/feed?x=2", False),
        ("https://a.test/Feed", "https://a.test/feed", False),
        ("https://a.test:8000/feed", "https://a.test/feed", False),
    ],
)
def test_addresses_that_mean_one_feed(one, other, are_same):
    assert (opml.same(one) == opml.same(other)) is are_same
