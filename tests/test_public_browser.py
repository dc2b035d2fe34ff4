"""The public pages in a real browser: every form by keyboard alone, on a phone and a desk, light and dark, for everybody."""

import os
import re

import publicd
import pytest
from conftest import Bench
from test_preview_browser import CHROMIUM, SCHEMES, WIDTHS, Window, browser  # noqa: F401 - a fixture
from test_public import active, leave_path, preferences_path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.path.exists(CHROMIUM) and os.environ.get("HYPOTHESIS_PROFILE") != "ci",
        reason=f"no {CHROMIUM}; on Debian: apt install chromium",
    ),
]
ANNA = "anna@example.org"


@pytest.fixture
def site(bench):
    with publicd.serve(bench) as running:
        yield running


def opened(browser, site, path, width=1280, **options):  # noqa: F811
    return Window(browser, site.url + path, viewport={"width": width, "height": 800}, **options)


def tab_to(window, target):
    """Press the tab key until an element has the focus, which must be seen."""
    for _ in range(40):
        window.page.keyboard.press("Tab")
        if window.page.evaluate("document.activeElement.id") == target:
            assert window.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"{target} cannot be reached")


def main(window):
    return window.page.locator("main").inner_text()


@pytest.mark.parametrize("width", WIDTHS)
def test_from_the_form_to_leaving_by_keyboard_alone(browser, site, width):  # noqa: F811
    with opened(browser, site, "/subscribe", width) as window:
        keys = window.page.keyboard
        tab_to(window, "topic-1-2")
        keys.press("Space")
        tab_to(window, "email")
        keys.type("nobody")
        keys.press("Enter")
        window.page.wait_for_selector("#email-mistake")
        assert window.page.evaluate("document.activeElement.id") == "email"  # at the mistake, with what was typed
        assert window.page.is_checked("#topic-1-2")
        keys.press("Control+A")
        keys.type(ANNA)
        tab_to(window, "name")
        keys.type("Anna")
        tab_to(window, "language")
        tab_to(window, "subscribe")
        keys.press("Enter")
        window.until(lambda: "Look into your inbox" in main(window))
        assert ANNA in main(window)

        window.page.goto(site.url + site.link(ANNA))
        tab_to(window, "yes")
        keys.press("Enter")
        window.until(lambda: "Welcome" in main(window))
        assert "Friday 11 Sept 2026" in main(window)
        assert site.person().topics == ("weekly/robots",)
        assert site.person().name == "Anna"

        window.page.get_by_role("link", name="your preferences").press("Enter")
        window.page.wait_for_selector("#save")
        tab_to(window, "topic-1-1")
        keys.press("Space")
        tab_to(window, "save")
        keys.press("Enter")
        window.until(lambda: "Saved." in main(window))
        assert site.person().topics == ("weekly/rl-agents", "weekly/robots")
        tab_to(window, "pause")
        keys.press("Enter")
        window.until(lambda: "No issue comes before Thursday 8 Oct 2026" in main(window))
        tab_to(window, "resume")
        keys.press("Enter")
        window.until(lambda: "will reach you again" in main(window))
        tab_to(window, "email")
        keys.type("anna.new@example.net")
        keys.press("Enter")
        window.until(lambda: "on its way to the new address" in main(window))
        tab_to(window, "leave")
        keys.press("Enter")
        window.until(lambda: "You have left." in main(window))
        assert site.state() == "unsubscribed"
        assert not [each for each in window.errors if "422" not in each]


@pytest.mark.parametrize("width", WIDTHS)
def test_leaving_with_a_reason_by_keyboard_alone(browser, bench, width):  # noqa: F811
    active(bench, ANNA)
    with publicd.serve(bench, mails=False) as site, opened(browser, site, "/nothing", width) as window:
        window.page.goto(site.url + leave_path(site))
        window.page.keyboard.press("Tab")
        assert window.page.evaluate("document.activeElement.type") == "radio"
        window.page.keyboard.press("ArrowDown")
        tab_to(window, "leave")
        window.page.keyboard.press("Enter")
        window.until(lambda: "You have left" in main(window))
        assert site.state() == "unsubscribed"
        window.page.get_by_role("link", name="Your preferences").press("Enter")
        window.until(lambda: "To come back" in main(window))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", ["en-GB", "ar"])
def test_everybody_can_use_every_page_and_nothing_overflows(browser, site, width, scheme, language):  # noqa: F811
    from axe_playwright_python.sync_playwright import Axe

    # the person's own language comes before the browser's, so both say the same
    preferences = site.join(ANNA, language=language)
    site.subscribe("ben@example.org", language=language)
    confirm, leave = site.link("ben@example.org"), leave_path(site)
    options = {"color_scheme": scheme, "locale": language, "bypass_csp": True}

    def judge(window, name):
        window.page.wait_for_load_state()
        found = Axe().run(window.page).response["violations"]
        assert not [(name, each["id"], [node["html"] for node in each["nodes"]]) for each in found]
        assert window.page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert window.page.evaluate("document.documentElement.lang") == language, name
        assert window.page.evaluate("document.documentElement.dir") == ("rtl" if language == "ar" else "ltr"), name
        small = window.page.evaluate(
            "[...document.querySelectorAll('button, .button, select, main input:not([type=hidden]):not([tabindex])')]"
            ".filter(e => e.getBoundingClientRect().height < (['checkbox','radio'].includes(e.type) ? 20 : 44)).map(e => e.id)"
        )
        assert not small, name

    with opened(browser, site, "/subscribe", width, **options) as window:
        for path in ("/subscribe", "/subscribe/embed", confirm, preferences, leave, "/nothing", "/confirm/none"):
            window.page.goto(site.url + path)
            judge(window, path)
        window.page.goto(site.url + "/subscribe")
        window.page.fill("#email", "x" * 200)
        window.page.click("#subscribe")
        judge(window, "mistakes")
        window.page.goto(site.url + "/subscribe")
        window.page.check("#topic-1-1")
        window.page.fill("#email", "carl." + "x" * 55 + "@" + "long" * 14 + ".example.org")
        window.page.click("#subscribe")
        judge(window, "sent")
        window.page.goto(site.url + confirm)
        window.page.click("#yes")
        judge(window, "welcome")
        for path, button in (
            (preferences, "#pause"),
            (preferences, "#address"),
            (leave, "#leave"),
            (preferences, "#save"),
        ):
            window.page.goto(site.url + path)
            window.page.click(button)
            judge(window, button)


@pytest.mark.parametrize("width", (375, 768, 1600))
def test_one_column_of_600_pixels_at_most_in_the_middle(browser, bench, width):  # noqa: F811
    active(bench, ANNA)
    with publicd.serve(bench, mails=False) as site, opened(browser, site, preferences_path(site), width) as window:
        box = window.page.locator("main").bounding_box()
        assert box["width"] <= 600
        assert abs(box["x"] * 2 + box["width"] - width) <= 2


def test_form_in_a_frame_of_another_site_works_there_and_nowhere_else(browser, tmp_path):  # noqa: F811
    import httpd

    with httpd.serve({}) as host:
        other = f"http://localhost:{host.port}"
        bench = Bench(tmp_path / "letter")
        with publicd.serve(bench, settings=f'embed_on = ["{other}"]') as site:
            frame = f'<iframe src="{site.url}/subscribe/embed" width="400" height="900" title="Subscribe"></iframe>'
            host.routes["/"] = httpd.Reply(frame.encode(), headers={"content-type": "text/html"})
            with Window(browser, other + "/") as window:
                inside = window.page.frame_locator("iframe")
                inside.locator("#topic-1-1").check()
                inside.locator("#email").fill(ANNA)
                inside.locator("#subscribe").click()
                inside.get_by_text("Look into your inbox").wait_for()
                assert site.mails(ANNA)
            with Window(browser, f"http://127.0.0.1:{host.port}/") as window:
                window.until(lambda: any("frame-ancestors" in each for each in window.errors))


def test_name_that_means_harm_is_words(browser, site):  # noqa: F811
    path = site.join(ANNA, name="<img src=x onerror=pwned=1>\u202egnp.exe {{ 7 * 191 }}")
    with opened(browser, site, path) as window:
        assert window.page.evaluate("window.pwned === undefined")
        assert "1337" not in window.page.content()
        assert window.page.input_value("#name").startswith("<img")
        assert {re.match(r"[a-z]+://[^/]*", url)[0] for url in window.asked if not url.startswith("data:")} == {
            site.url
        }
