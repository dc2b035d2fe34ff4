"""Issue and templates -> edition: who sees what, how it reads, and that hostile text is only text."""

import dataclasses
import datetime as dt
import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsletter import errors, render, types, workspace
from newsletter.render import mjml, views

TEMPLATES = render.Templates.load((workspace.starter() / "templates",))
SEPTEMBER = dt.datetime(2026, 9, 1, tzinfo=dt.UTC)


def entry(body, title=None, url=None, byline="6 Sept 2026", topics=("tides",), day=6):
    return types.IssueEntry(None, title, url, byline, body, topics, SEPTEMBER.replace(day=day))


def issue(*sections, **changes):
    made = types.Issue(
        newsletter="weekly",
        period="2026-09-11",
        title="News without the noise",
        language="en-GB",
        date=dt.date(2026, 9, 11),
        number=37,
        subject="Kelp, trams and a late 14",
        preheader="",
        intro="",
        sections=sections,
        base_url="https://news.example.org",
        postal_address="1 Example Street, London",
    )
    return dataclasses.replace(made, **changes)


def section(*entries, slug="tides", title="Living with the tide", text="", more=0):
    return types.IssueSection(slug, title, text, entries, more)


def edition(made, topics=None, templates=TEMPLATES):
    return render.edition(made, topics or tuple(one.slug for one in made.sections), templates)


class Seen(HTMLParser):
    """What a reader sees of the HTML: .words, .links [(address, words)], .tags [(tag, attributes)]."""

    def __init__(self, html):
        super().__init__()
        self.words, self.links, self.tags, self.skip, self.open = "", [], [], 0, None
        self.feed(html)
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        self.skip += tag in ("style", "title") or "display:none" in given.get("style", "")
        if tag == "a":
            self.open = [given["href"], ""]
        if tag in ("p", "div", "h1", "h2", "h3", "li"):
            self.words += " "

    def handle_endtag(self, tag):
        if tag in ("style", "title") or (tag == "div" and self.skip):
            self.skip -= 1
        if tag == "a":
            self.links.append(tuple(self.open))
            self.open = None

    def handle_data(self, data):
        if not self.skip:
            self.words += data
            if self.open:
                self.open[1] += data


GOLDEN_TEXT = f"""\
News without the noise
Friday 11 Sept 2026 · Issue 37 · 1 minute

A quiet week. Two things stand out.

{"-" * 72}

2 articles
Living with the tide

Kelp slows the tide
Okafor et al. fitted 140 sensors to a kelp bed and found that it takes
31% out of the height of a spring tide.
10 Sept 2026 · Coastal Letters
https://example.org/kelp

The authors model a town of 40,000 with two pumps and no wall.
8 Sept 2026
https://example.org/pumps

and 7 more:
https://news.example.org/weekly/topics/tides

{"-" * 72}

1 article
Trams

Sent in by a reader.

Trams that brake early save a tenth of their current.
5 Sept 2026

{"-" * 72}

Read on the web:
https://news.example.org/weekly/2026-09-11

You get this because you subscribed to News without the noise as
{types.mark("email")}

Change topics:
{types.mark("preferences_url")}

Unsubscribe:
{types.mark("unsubscribe_url")}

1 Example Street, London

No tracking: nobody sees what you open or follow.
"""


def two_topics():
    return issue(
        section(
            entry(
                "Okafor et al. fitted 140 sensors to a kelp bed and found that it takes 31% out of the height of a spring tide.",
                "Kelp slows the tide",
                "https://example.org/kelp",
                "Okafor et al. · 10 Sept 2026 · Coastal Letters",
            ),
            entry(
                "The authors model a town of 40,000 with two pumps and no wall.",
                None,
                "https://example.org/pumps",
                "8 Sept 2026",
            ),
            more=7,
        ),
        section(
            entry("Trams that brake early save a tenth of their current.", None, None, "5 Sept 2026", ("trams",)),
            slug="trams",
            title="Trams",
            text="Sent in by a reader.",
        ),
        intro="A quiet week. **Two** things stand out.",
    )


def test_the_text_part_reads_like_this():
    assert edition(two_topics()).text == GOLDEN_TEXT


def test_the_html_says_the_same_in_the_same_order():
    seen = Seen(edition(two_topics()).html)
    mark = types.mark
    assert seen.words == (
        "Choose your topics · Leave · Read on the web "
        "News without the noise Friday 11 Sept 2026 · Issue 37 · 1 minute A quiet week. Two things stand out. "
        "2 articles Living with the tide "
        "Kelp slows the tide Okafor et al. fitted 140 sensors to a kelp bed and found that it takes 31% out of the "
        "height of a spring tide. 10 Sept 2026 · Coastal Letters "
        "The authors model a town of 40,000 with two pumps and no wall. 8 Sept 2026 "
        "and 7 more in Living with the tide "
        "1 article Trams Sent in by a reader. Trams that brake early save a tenth of their current. 5 Sept 2026 "
        f"You get this because you subscribed to News without the noise as {mark('email')}. "
        "Change topics · Unsubscribe 1 Example Street, London No tracking: nobody sees what you open or follow."
    )
    assert seen.links == [
        (mark("preferences_url"), "Choose your topics"),
        (mark("unsubscribe_url"), "Leave"),
        ("https://news.example.org/weekly/2026-09-11", "Read on the web"),
        ("https://example.org/kelp", "Kelp slows the tide"),
        ("https://example.org/pumps", "The authors"),
        ("https://news.example.org/weekly/topics/tides", "and 7 more in Living with the tide"),
        (mark("preferences_url"), "Change topics"),
        (mark("unsubscribe_url"), "Unsubscribe"),
    ]


def test_headings_tables_language_and_title_are_there_for_a_screen_reader():
    seen = Seen(edition(two_topics()).html)
    assert [tag for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)] == ["h1", "h2", "h3", "h2"]
    tables = re.findall(r"<table[^>]*>", edition(two_topics()).html)  # those for Outlook too
    assert all('role="presentation"' in table for table in tables)
    assert [given["aria-label"] for _, given in seen.tags if given.get("role") == "main"] == [
        "Kelp, trams and a late 14"
    ]
    assert dict(seen.tags)["html"]["lang"] == "en-GB"
    assert "<title>Kelp, trams and a late 14</title>" in edition(two_topics()).html
    assert [given["role"] for tag, given in seen.tags if given.get("role") == "listitem"] == ["listitem"] * 3


def test_whatever_has_a_colour_has_another_in_the_dark():
    html = edition(two_topics()).html
    (dark,) = re.findall(r"prefers-color-scheme:dark\)\{\n(.*?)\n\}", html, re.DOTALL)
    coloured = {
        f".{given['class']}" if given.get("class") and tag not in ("a", "div") else tag
        for tag, given in Seen(html).tags
        if re.search(r"(?<!-)color:", given.get("style", ""))
    }
    assert coloured == {"div", "a", ".handle", ".quiet", ".accent"}
    for selector in coloured:
        assert re.search(rf"\.words {re.escape(selector)}[,{{][^}}]*\bcolor:", dark), selector
        assert f"[data-ogsc] .words {selector}" in html


def test_nothing_is_fetched_and_nobody_is_watched():
    html = edition(two_topics()).html
    assert not re.search(r"<(?:img|link|script|iframe)\b|@import|@font-face|url\(|fonts\.", html)


def test_a_language_written_from_the_right_turns_the_page():
    html = edition(dataclasses.replace(two_topics(), language="ar")).html
    assert '<html lang="ar" dir="rtl"' in html
    assert "text-align:right" in html
    assert "direction:ltr" not in html
    assert "الجمعة، 11 سبتمبر 2026" in html


def test_without_a_number_the_date_line_has_none():
    made = edition(dataclasses.replace(two_topics(), number=None))
    assert "Friday 11 Sept 2026 · 1 minute" in Seen(made.html).words
    assert "Friday 11 Sept 2026 · 1 minute\n" in made.text


def test_the_preheader_is_the_editors_or_how_the_first_entry_begins():
    def preheader(made):
        return re.search(r'mso-hide:all" aria-hidden="true">([^\u034f]*)', edition(made).html)[1]

    assert preheader(issue(section(entry("Okafor et al. count **kelp**.")), preheader="A & B")) == "A &amp; B"
    assert preheader(issue(section(entry("Okafor et al. count **kelp**.")))) == "Okafor et al. count kelp."
    long = preheader(issue(section(entry("Okafor et al. count " + "kelp " * 40))))
    assert long.endswith("kelp…")
    assert len(long) <= 101
    assert preheader(issue(section(entry("", "Kelp slows the tide")))) == "Kelp slows the tide"
    assert preheader(issue(section(entry("Okafor et al. count.", "Kelp slows the tide")))) == "Kelp slows the tide"


# -- handles -------------------------------------------------------------------------------------------------------


def link_texts(*bodies):
    made = issue(section(*(entry(body, url=f"https://example.org/{i}") for i, body in enumerate(bodies))))
    return [words for url, words in Seen(edition(made).html).links if "example.org/" in url and "news." not in url]


def test_a_phrase_that_begins_several_entries_goes_on_until_the_links_differ():
    assert link_texts(
        "The authors introduce SAGE, a kelp counter.",
        "Okafor et al. count kelp.",
        "The authors introduce CAFE, a tide table.",
        "The authors built a tram.",
        "Leave nothing behind.",
    ) == [
        "The authors introduce SAGE",
        "Okafor et al.",
        "The authors introduce CAFE",
        "The authors built",
        "Leave nothing behind",
    ]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.lists(st.sampled_from(["The authors", "count", "kelp", "*a*", "**tide**", "`x`", "Leave"]), min_size=1),
        max_size=6,
        unique_by=lambda words: " ".join(words).translate({42: None, 96: None}),
    )
)
def test_link_texts_are_unique_and_no_word_is_lost(bodies):
    bodies = [" ".join(words) + f" in {i} harbours." for i, words in enumerate(bodies)]
    made = issue(section(*(entry(body, url=f"https://example.org/{i}") for i, body in enumerate(bodies))))
    seen = Seen(edition(made).html)
    texts = [words.casefold() for _, words in seen.links]
    assert len(set(texts)) == len(texts)
    for body in bodies:
        assert re.sub(r"[*`]", "", body) in seen.words


def test_without_a_link_the_phrase_is_bold_and_not_underlined():
    html = edition(issue(section(entry("Okafor et al. count kelp.")))).html
    assert re.search(r'<strong class="handle" style="[^"]*">Okafor et al\.</strong> count kelp\.', html)


def test_a_handle_never_cuts_markup():
    html = edition(issue(section(entry("Why **the 14 is** late.", url="https://example.org/14")))).html
    assert re.search(r'<a class="handle" [^>]*>Why <strong>the 14 is</strong></a> late\.', html)


def test_an_entry_whose_words_cannot_carry_its_link_gets_one_of_its_own():
    made = issue(
        section(
            entry("[Elsewhere](https://example.org/b) they count kelp.", url="https://example.org/a"),
            entry("", url="https://www.example.org/only/"),
            entry("- a list", url="https://example.org/list"),
        )
    )
    links = Seen(edition(made).html).links
    assert ("https://example.org/a", "example.org/a") in links
    assert ("https://www.example.org/only/", "example.org/only") in links
    assert ("https://example.org/list", "example.org/list") in links


def test_a_dot_is_no_title():
    made = edition(issue(section(entry("Okafor et al. count kelp.", "·"))))
    assert "<h3" not in made.html
    assert "\n·\n" not in made.text


def test_the_quiet_line_stands_as_written_but_for_authors_already_named():
    def quiet(byline, body):
        (one,) = views.as_text(views.parse(issue(section(entry(body, byline=byline))))).sections[0].entries
        return one.byline

    assert quiet("Okafor et al. · 6 Sept 2026", "Okafor et al. count kelp.") == "6 Sept 2026"
    assert quiet("Okafor et al. · 6 Sept 2026", "Kelp grows.") == "Okafor et al. · 6 Sept 2026"
    assert quiet("6 Sept 2026 · arXiv", "6 Sept 2026 was dry.") == "6 Sept 2026 · arXiv"
    assert quiet("", "Kelp grows.") == ""


# -- select --------------------------------------------------------------------------------------------------------


def bodies(made):
    return {one.slug: [each.body for each in one.entries] for one in made.sections}


def test_a_guest_stands_before_the_first_entry_that_is_older():
    made = issue(
        section(entry("guest", topics=("tides", "trams"), day=5), entry("undated", topics=("tides", "trams"))),
        section(
            entry("new", topics=("trams",), day=9),
            entry("same day", topics=("trams",), day=5),
            entry("old", topics=("trams",), day=2),
            entry("new again", topics=("trams",), day=8),
            slug="trams",
        ),
    )
    made = dataclasses.replace(
        made,
        sections=(
            section(made.sections[0].entries[0], dataclasses.replace(made.sections[0].entries[1], published=None)),
            made.sections[1],
        ),
    )
    assert bodies(render.select(made, ("trams",))) == {
        "trams": ["new", "same day", "guest", "old", "new again", "undated"]
    }
    assert bodies(render.select(made, ("trams", "tides"))) == bodies(made)


@pytest.mark.parametrize(
    ("topics", "subject"),
    [
        (("tides", "trams", "bins"), "All"),
        (("tides", "trams"), "All"),  # there is nothing in bins
        (("tides",), "All"),
        (("trams",), "Trams alone"),
        (("trams", "bins"), "Trams alone"),
    ],
)
def test_subject_of_those_who_lack_a_section_is_that_of_their_first(topics, subject):
    made = issue(
        section(entry("a")),
        section(entry("b", topics=("trams",)), slug="trams"),
        section(slug="bins"),
        subject="All",
        subjects=(("trams", "Trams alone"), ("bins", "Bins")),
    )
    assert edition(made, topics).subject == subject


def test_a_section_for_guests_alone_is_dropped_where_there_are_none():
    made = issue(
        section(entry("guest", topics=("tides", "trams"))), section(slug="trams"), section(slug="bins", text="Hm")
    )
    assert bodies(render.select(made, ("trams",))) == {"trams": ["guest"]}
    assert bodies(render.select(made, ("tides", "trams", "bins"))) == {"tides": ["guest"], "bins": []}


TOPICS = ("a", "b", "c", "d")


@st.composite
def issues(draw):
    slugs = draw(st.permutations(TOPICS).flatmap(lambda order: st.integers(1, 4).map(lambda n: tuple(order[:n]))))
    sections = []
    for slug in slugs:
        entries = []
        for i in range(draw(st.integers(0, 4))):
            others = draw(st.sets(st.sampled_from(TOPICS))) - {slug}
            day = draw(st.none() | st.integers(1, 28))
            made = entry(f"{slug}{i}", topics=(slug, *sorted(others)))
            entries.append(dataclasses.replace(made, published=day and SEPTEMBER.replace(day=day)))
        sections.append(section(*entries, slug=slug))
    return issue(*sections)


@given(issues(), st.sets(st.sampled_from(TOPICS)))
def test_every_entry_that_readers_may_see_stands_exactly_once(made, picked):
    chosen = render.select(made, tuple(sorted(picked)))
    slugs = [one.slug for one in made.sections]
    visible = [
        each.body
        for one in made.sections
        for each in one.entries
        if any(topic in picked and topic in slugs for topic in each.topics)
    ]
    shown = [each.body for one in chosen.sections for each in one.entries]
    assert sorted(shown) == sorted(visible)
    assert [one.slug for one in chosen.sections] == [slug for slug in slugs if slug in bodies(chosen)]
    assert all(one.slug == each.topics[0] and one.slug in picked for one in chosen.sections for each in one.entries)
    for one in chosen.sections:
        own = [each.body for each in one.entries if each.body.startswith(one.slug)]
        assert own == bodies(made)[one.slug]
    assert render.select(chosen, tuple(sorted(picked))) == chosen


# -- hostile text --------------------------------------------------------------------------------------------------

HOSTILE = [
    "</mj-text></mj-column></mj-section><mj-raw><script>steal()</script></mj-raw>",
    "<![CDATA[<script>steal()</script>]]>",
    "--><script>steal()</script><!-- <![endif]-->",
    "<img src=x onerror=steal()>",
    "[x](javascript:steal()) [y](JaVaScRiPt:steal()) [z](data:text/html,x) ![i](data:image/png,x)",
    "[x](java&#10;script:steal()) [x](//example.org/) [x](/relative) [x](https://) [x](http:///)",
    '[x](https://example.org/" "a\\" onmouseover=\\"steal()") https://example.org/"onmouseover="steal()',
    "{{ 7 * 191 }} {% raw %} {# x #} {{ reader.email }}",
    "\ue000email\ue001 &#xE000;name&#xE001; \x00\x08\x0b\ufffe \x85",
    "1 < 2 > 0 & 'q' \"q\" &amp; &lt;b&gt; &nbsp; &bogus;",
    "<b>" * 3000,
    "[" * 3000 + "*" * 3000 + "> " * 300,
    "e\u0301 \u200d \u00ad \\ back\\slash",
    "https://example.org/" + ")" * 30_000,
]


def active(html):
    """Whatever could act: tags that do, handlers, addresses that are no links."""
    seen = Seen(html)
    tags = [tag for tag, _ in seen.tags if tag in ("script", "iframe", "img", "form", "object", "svg", "b", "input")]
    handlers = [name for _, given in seen.tags for name in given if name.startswith("on")]
    loose = [url for url, _ in seen.links if not re.match(r"https?://[^/\s\"<>]+|mailto:[^\s<>]+@|\ue000", url)]
    return tags + handlers + loose


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(text):
    made = issue(
        section(
            entry(f"S1x {text} S2x", f"T1x {text} T2x", f"https://example.org/{text}", f"A. {text} · 6 Sept 2026"),
            entry(f"{text} U2x", None, text),
            title=f"Topic {text}",
            text=f"P1x {text}",
            more=3,
        ),
        title=f"News {text}",
        preheader=text,
        subject=f"Subject {text}",
        intro=f"I1x {text}\n\nI2x",
        postal_address=text,
    )
    got = edition(made)
    assert active(got.html) == []
    for place in ("S1x", "S2x", "T1x", "T2x", "U2x", "P1x", "I1x", "I2x"):
        assert place in Seen(got.html).words
        assert place in got.text
    assert "1337" not in got.html + got.text
    assert "javascript:" not in got.text.lower() or "javascript" in text.lower()
    fields = re.findall("\ue000([^\ue001]*)\ue001", got.html + got.text)
    assert set(fields) == {"email", "unsubscribe_url", "preferences_url"}
    assert len(fields) == 5 + 3


def test_an_address_in_plain_words_is_a_link_in_both_parts():
    made = edition(
        issue(
            section(
                entry("Okafor et al. count kelp (see https://example.org/w/Kelp_(alga)). And `https://example.org/c`.")
            )
        )
    )
    links = [url for url, _ in Seen(made.html).links if "news." not in url and "://" in url]
    assert links == ["https://example.org/w/Kelp_(alga)", "https://example.org/c"]


def test_attributes_survive_what_the_mjml_library_does_to_them():
    source = (
        '<mjml lang="en"><mj-head><mj-title>e\u0301 "q" \\</mj-title></mj-head><mj-body><mj-section><mj-column><mj-text>'
        '<a href="https://example.org/\ue000email\ue001" title=\'say "e\u0301"\\\'>x</a></mj-text></mj-column></mj-section>'
        "</mj-body></mjml>"
    )
    seen = Seen(mjml.to_html(source, "x.mjml"))
    (link,) = (given for tag, given in seen.tags if tag == "a")
    assert link == {"href": "https://example.org/\ue000email\ue001", "title": 'say "e\u0301"\\'}
    (label,) = (given["aria-label"] for _, given in seen.tags if "aria-label" in given)
    assert label == 'e\u0301 "q" \\'


SIGNS = st.text(st.sampled_from("\"'=<>\\\\&+:/ \n\tax\u00e9\u0301"), max_size=40)


@settings(max_examples=150)
@given(SIGNS, SIGNS, SIGNS)
def test_quotes_and_equals_signs_in_words_and_values_part_no_tag(title, words, value):
    def escaped(text):
        return html.escape(text, quote=False).replace('"', "&quot;")

    single = escaped(value).replace("'", "&#39;")
    made = (
        f'<mjml lang="en"><mj-head><mj-title>{escaped(title)}</mj-title></mj-head><mj-body><mj-section><mj-column>'
        f'<mj-text><p title="{escaped(value)}">{escaped(words)}</p><p\n class = "x" title = \'{single}\'>it\'s</p>'
        "</mj-text></mj-column></mj-section></mj-body></mjml>"
    )
    seen = Seen(mjml.to_html(made, "x.mjml"))
    assert [given["title"] for tag, given in seen.tags if tag == "p"] == [value, value]
    assert seen.words.split() == [*words.split(), "it's"]


@settings(max_examples=100, deadline=None)
@given(SIGNS, SIGNS, SIGNS)
def test_any_quotes_in_a_title_a_link_and_a_summary_are_shown(title, tail, body):
    one = entry(f"Okafor {body}", title=f"T {title}", url=f"https://example.org/{tail}")
    assert "T " in Seen(edition(issue(section(one, entry(f"\"http://='+ {body}"), title=f"S {title}"))).html).words


def test_a_text_may_end_with_a_heading():
    assert "Kelp" in Seen(edition(issue(section(entry("Okafor counts.\n\n#### Kelp"), entry("Kelp\n==")))).html).words


@pytest.mark.parametrize("unit", ["[a](", "![", "[", "![[", "[a][", "[[a]"])
def test_a_text_of_brackets_is_shown_as_it_stands(unit):
    text = unit * (100_000 // len(unit))
    assert Seen(edition(issue(section(entry(text)))).html).words.count(unit) >= 20_000


def test_deep_nesting_is_refused_before_it_can_end_the_process():
    deep = "<b>" * 20_000 + "</b>" * 20_000
    with pytest.raises(errors.TemplateError, match="nested deeper than 200"):
        mjml.to_html(f"<mjml><mj-body><mj-raw>{deep}</mj-raw></mj-body></mjml>", "x.mjml")


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("1 < 2", "a < that begins no tag"),
        ("<p>one", "</mj-text> stands where <p> is still open"),
        ("one</p>", "in line 2 of the MJML"),
    ],
)
def test_mjml_that_cannot_be_read_says_where(inside, said):
    source = (
        f"<mjml><mj-body><mj-section><mj-column>\n<mj-text>{inside}</mj-text></mj-column></mj-section></mj-body></mjml>"
    )
    with pytest.raises(errors.TemplateError, match=re.escape(said)) as caught:
        mjml.to_html(source, "issue.mjml")
    assert "templates/issue.mjml" in str(caught.value)


# -- size ----------------------------------------------------------------------------------------------------------


def test_nine_entries_take_less_than_24_kb_and_thirty_less_than_half_of_what_gmail_shows():
    summary = (
        "Okafor et al. fitted {0} drifting sensors to a kelp bed off the northern pier and followed them for two springs. "
        "In all {0} runs the bed took between 28% and 34% out of the height of a spring tide, more than any wall nearby."
    )
    for count, limit in ((9, 24_000), (30, 51_200)):
        entries = (entry(summary.format(i), url=f"https://example.org/papers/{i}") for i in range(count))
        assert len(edition(issue(section(*entries))).html.encode()) < limit
