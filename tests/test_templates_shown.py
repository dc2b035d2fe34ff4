"""Every shipped template as a reader gets it: in a browser, in each language, light and dark; and to a spam filter."""

import dataclasses
import datetime as dt
import os
import shutil

import pytest
from test_render import TEMPLATES, edition, entry, issue, section
from test_templates import ABOUT

from newsletter import render, types
from newsletter.app import judging
from newsletter.deliver import message
from newsletter.render import views

CHROMIUM = "/usr/bin/chromium"
IN_CI = os.environ.get("HYPOTHESIS_PROFILE") == "ci"  # where nothing may pass because a program is missing
LANGUAGES = ("en-GB", "de", "fr", "es", "ar")
FIELDS = {
    "email": "ada@example.org",
    "name": "Ada",
    "unsubscribe_url": "https://news.example.org/unsubscribe/a",
    "preferences_url": "https://news.example.org/preferences/a",
}
ARABIC = "يقدّم الباحثون نموذجًا لمدينة يسكنها 40,000 شخص فيها مضختان وبلا جدار، بنتيجة +10.2 على SWE-bench."

pytestmark = pytest.mark.slow


def shown(tag):
    """(name, edition) of every template in a language."""
    made = issue(
        section(
            entry("Okafor et al. fitted 140 sensors to a kelp bed in the bay.", url="https://example.org/1"),
            entry(ARABIC, url="https://example.org/2"),
            entry("A summary of its own.", "A title of its own", "https://example.org/3"),
            more=7,
        ),
        section(entry("- one\n- two", topics=("trams",)), slug="trams", title="Trams", more=2),
        language=tag,
        title="أخبار بلا ضجيج" if tag == "ar" else "News without the noise",
        intro="A quiet week. **Two** things stand out.",
        sender="News <news@example.org>",
        accent="#00587a",
        footer="Set by hand.",
    )
    letter = views.newsletter(made, made.base_url)
    yield "issue", edition(made)
    for name in ("confirm", "welcome", "address", "goodbye"):
        yield name, render.mail(TEMPLATES, f"mail/{name}", letter, ABOUT)


def filled(text):
    for field, value in FIELDS.items():
        text = text.replace(types.mark(field), value)
    return text


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        launched = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


# What is wrong with a page that a reader's eye would see.
LOOK = """() => {
  const start = document.dir === "rtl" ? "right" : "left", faults = [];
  const box = (element) => { const range = document.createRange(); range.selectNodeContents(element);
                             return range.getBoundingClientRect(); };
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) faults.push("scrolls sideways");
  const page = document.querySelector("h1").parentElement.getBoundingClientRect();
  for (const element of document.querySelectorAll("h1, h2, h3, p")) {
    if (!element.innerText.trim()) continue;
    const own = element.dir && element.align ? element.align : start;
    if (Math.abs(box(element)[own] - page[own]) > 30) faults.push(`not at the ${own}: ${element.innerText}`);
  }
  for (const element of document.querySelectorAll("[dir=ltr]:not(html)"))
    if (/^[\\u0600-\\u06ff]/.test(element.innerText)) faults.push(`turned: ${element.innerText}`);
  return faults;
}"""


@pytest.mark.skipif(
    not os.path.exists(CHROMIUM) and not IN_CI, reason=f"no {CHROMIUM}; on Debian: apt install chromium"
)
@pytest.mark.parametrize("tag", LANGUAGES)
def test_each_template_fits_its_page_stands_at_the_right_side_of_it_and_everybody_can_use_it(browser, tag):
    from axe_playwright_python.sync_playwright import Axe

    for width, scheme in ((375, "dark"), (760, "light")):
        page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
        for name, made in shown(tag):
            page.set_content(filled(made.html))
            assert page.evaluate(LOOK) == [], (name, width)
            found = Axe().run(page).response["violations"]
            assert not [(each["id"], [node["html"] for node in each["nodes"]]) for each in found], (name, width)
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert paper == ("rgb(23, 22, 20)" if scheme == "dark" else "rgb(250, 248, 244)")
        page.context.close()


@pytest.mark.skipif(shutil.which("spamassassin") is None and not IN_CI, reason="SpamAssassin is not installed")
@pytest.mark.parametrize("tag", LANGUAGES)
def test_no_template_costs_a_point(tag):
    reader = types.Recipient(1, "ada@example.org", "Ada", "t" * 43, "p" * 43, "b" * 43)
    sender = dataclasses.replace(issue(), sender="News <news@example.org>")
    letterhead = message.letterhead(sender, [])
    for name, made in shown(tag):
        built = message.build(
            message.encode(made, letterhead), reader, message_token="m" * 30, at=dt.datetime.now(dt.UTC)
        )
        score, _ = judging.check(built.octets)
        assert score is not None
        assert score.score <= 0.0, (name, score)
