"""The editor's page in a real browser: what is seen, what stays when it reloads, and what cannot run."""

import os
import re

import previewd
import pytest
import test_preview
from conftest import ISSUE

from newsletter.web import mailbox

CHROMIUM = "/usr/bin/chromium"
WIDTHS, SCHEMES = (375, 1280), ("light", "dark")
VIEWS = ("Desktop", "Phone", "Dark", "Inverted", "Images off", "Text", "Headers", "Source")
NOW_SHOWN = "() => document.querySelector('iframe:not(.coming)').contentDocument?.body?.innerText ?? ''"
drafted, standing = test_preview.drafted, test_preview.standing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        # .ci/run (this profile is its own) must not pass because a browser is missing
        not os.path.exists(CHROMIUM) and os.environ.get("HYPOTHESIS_PROFILE") != "ci",
        reason=f"no {CHROMIUM}; on Debian: apt install chromium",
    ),
]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        launched = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


class Window:
    """A browser's window on a page, and what went wrong in it."""

    def __init__(self, browser, url, **options):
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.errors, self.asked = [], []
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.url = url
        self.page.goto(url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def press(self, name):
        """Choose a view, and wait until it is there."""
        self.page.get_by_role("link", name=name, exact=True).click()
        self.until(lambda: self.page.locator("#views [aria-current]").inner_text() == name)
        self.settled()

    def settled(self):
        """No message is on its way."""
        self.until(lambda: self.page.locator("iframe.coming").count() == 0)

    def until(self, true):
        previewd.until(lambda: self.page.wait_for_timeout(20) or true())

    def message(self, script):
        """What a script finds in the message."""
        return self.page.evaluate(
            f"(() => {{ const w = document.querySelector('iframe').contentWindow; return {script} }})()"
        )

    def words(self):
        return self.message("w.document.body.innerText")


@pytest.fixture
def page(drafted):
    with previewd.serve(drafted) as running:
        yield running


def test_views_are_as_wide_as_they_say_and_show_the_message(browser, page):
    with Window(browser, page.url) as window:
        for name, width in (("Phone", 375), ("Desktop", 600), ("Phone", 375), ("Dark", 375), ("Desktop", 600)):
            window.press(name)
            inner = window.message("w.innerWidth")
            assert inner == 375 if width == 375 else inner >= 600
            assert "About one." in window.words()
        window.press("Text")
        assert "https://papers.example/one" in window.page.locator("#stage pre").inner_text()
        window.press("Headers")
        assert window.page.locator("th", has_text="List-Unsubscribe").count() == 2
        window.press("Source")
        assert "Content-Transfer-Encoding: quoted-printable" in window.page.locator("#stage pre").inner_text()
        assert not window.errors


@pytest.mark.parametrize("machine", SCHEMES)
@pytest.mark.parametrize(("view", "scheme"), [("desktop", "light"), ("dark", "dark")])
def test_light_and_dark_look_as_in_a_client_that_prefers_them(browser, drafted, page, machine, view, scheme):
    with drafted.app() as app:
        _, html, _ = app.render(ISSUE)
    with Window(browser, f"{page.url}/{ISSUE}/message?scheme={scheme}", color_scheme=machine) as shown:
        seen = shown.page.screenshot()
    with Window(browser, "about:blank", color_scheme=scheme) as native:
        native.page.set_content(html)
        assert native.page.screenshot() == seen
    with Window(browser, f"{page.url}/{ISSUE}?view={view}", color_scheme=machine) as framed:
        paper = framed.message("w.getComputedStyle(w.document.querySelector('.page')).backgroundColor")
    assert paper == {"light": "rgb(250, 248, 244)", "dark": "rgb(23, 22, 20)"}[scheme]


def test_forced_inversion_turns_the_light_message_dark(browser, page):
    with Window(browser, f"{page.url}/{ISSUE}?view=inverted") as window:
        assert "invert(1)" in window.message("w.getComputedStyle(w.document.documentElement).filter")
        assert "248, 244" in window.message("w.getComputedStyle(w.document.querySelector('.page')).backgroundColor")


def test_saved_draft_is_shown_and_scroll_view_and_what_is_typed_stay(browser, drafted, page):
    with Window(browser, page.url, viewport={"width": 1280, "height": 500}) as window:
        window.press("Phone")
        window.message("w.scrollTo(0, 200)")
        window.page.fill("#to", "me@exam")
        window.page.locator("#links-all summary").click()
        window.page.locator("#view-dark").focus()
        drafted.edit("About one.", "Fresh words.")
        window.until(lambda: "Fresh words." in window.words())
        window.settled()
        window.until(lambda: window.page.locator("iframe").count() == 1)
        assert window.message("w.scrollY") == 200
        assert window.message("w.innerWidth") == 375
        assert window.page.input_value("#to") == "me@exam"
        assert window.page.locator("#links-all").get_attribute("open") is not None
        assert window.page.evaluate("document.activeElement.id") == "view-dark"
        window.press("Text")
        drafted.edit("Fresh words.", "Other words.")
        window.until(lambda: "Other words." in window.page.locator("#stage pre").inner_text())
        assert not window.errors


def test_what_is_saved_while_the_last_save_is_still_loading_is_shown(browser, drafted, page):
    with Window(browser, page.url) as window:
        for turn in range(16):  # each as soon as the one before is seen: its page is then on its way
            drafted.edit("About one." if not turn else f"Draft {turn - 1}.", f"Draft {turn}.")
            window.until(lambda turn=turn: f"Draft {turn}." in window.page.evaluate(NOW_SHOWN))
        assert not window.errors


def test_broken_draft_is_named_and_the_last_good_message_stays(browser, drafted, page):
    with Window(browser, page.url) as window:
        drafted.edit("{#rl-agents}", "{#nowhere}")
        fault = window.page.locator("#fault")
        window.until(lambda: "cannot be read" in fault.inner_text())
        assert f"issues/{ISSUE}.md:" in fault.inner_text()
        assert "About one." in window.words()
        drafted.edit("{#nowhere}", "{#rl-agents}")
        window.until(lambda: not fault.inner_text())
        assert not window.errors


def test_keys_choose_views_and_editions_unless_they_are_switched_off(browser, page):
    with Window(browser, page.url) as window:
        current = window.page.locator("#views [aria-current]")
        window.page.keyboard.press("p")
        window.until(lambda: current.inner_text() == "Phone")
        window.settled()
        window.page.frame_locator("iframe").locator("h1").click()
        window.page.keyboard.press("t")  # also with the focus in the message
        window.until(lambda: current.inner_text() == "Text")
        window.page.keyboard.press("j")
        window.until(lambda: window.page.locator("#editions [aria-current]").inner_text() == "Robots that learn")
        window.page.locator("#to").focus()
        window.page.keyboard.type("skid")
        assert window.page.input_value("#to") == "skid"
        window.page.locator("#keys-all summary").click()
        window.page.locator("#keys-on").uncheck()
        window.page.locator("#view-text").focus()
        window.page.keyboard.press("s")
        window.page.wait_for_timeout(200)
        assert current.inner_text() == "Text"
        window.page.go_back()
        window.until(lambda: window.page.locator("#editions [aria-current]").inner_text() == "all topics")
        assert not window.errors


def test_everything_can_be_reached_with_the_tab_key_and_the_focus_is_seen(browser, page):
    with Window(browser, page.url) as window:
        reached = []
        for _ in range(40):
            window.page.keyboard.press("Tab")
            reached.append(window.page.evaluate("document.activeElement.id || document.activeElement.tagName"))
            if reached[-1] not in ("BODY", "IFRAME"):
                assert window.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", reached
        views = [f"view-{name.lower().replace('images off', 'no-images')}" for name in VIEWS]
        wanted = ["A", *views, "IFRAME", "as", "reader-button", "to", "test-button", "SUMMARY"]
        rest = iter(reached)
        assert all(name in rest for name in wanted), reached


def test_approval_with_the_keyboard_alone(browser, drafted, page):
    with Window(browser, page.url) as window:
        window.page.locator("#approve > summary").focus()
        window.page.keyboard.press("Enter")
        window.page.keyboard.press("Tab")
        while window.page.evaluate("document.activeElement.id") != "approve-button":
            window.page.keyboard.press("Tab")
        window.page.keyboard.press("Enter")
        window.until(lambda: "is approved, for 2 people" in window.page.locator("#note").inner_text())
        window.until(lambda: "frozen" in window.page.locator("#approval").inner_text())
        assert "is approved" in window.page.locator("#note").inner_text()
        assert not window.errors
    assert test_preview.state(drafted) == "approved"


def test_test_mail_from_the_page_and_the_address_is_remembered(browser, drafted, tmp_path):
    settings = drafted.folder / "newsletter.toml"
    with mailbox.CatchAll(tmp_path / "mail") as box:  # has a thread of its own: playwright's loop runs in this one
        settings.write_text(settings.read_text("utf-8").replace("port = 9", f"port = {box.port}"), "utf-8")
        with previewd.serve(drafted) as page, Window(browser, page.url) as window:
            window.page.fill("#to", "me@example.org")
            window.page.get_by_role("button", name="Send a test to me").click()
            window.until(lambda: "on its way to me@example.org" in window.page.locator("#note").inner_text())
            window.page.reload()
            assert window.page.input_value("#to") == "me@example.org"
            assert not window.errors
        [message] = mailbox.stored(box.maildir)
    assert mailbox.take_apart(message.path.read_bytes()).to == ("", "me@example.org")


def test_it_works_without_its_script(browser, drafted, page):
    with Window(browser, page.url, java_script_enabled=False) as window:
        window.page.get_by_role("link", name="Text", exact=True).click()
        assert "About one." in window.page.locator("#stage pre").inner_text()
        window.page.fill("#as", "ben@example.org")
        window.page.click("#reader-button")
        assert "About one." not in window.page.locator("#stage pre").inner_text()
        window.page.locator("#approve > summary").click()
        window.page.click("#approve-button")
        assert "is approved, for 2 people" in window.page.locator("#note").inner_text()
    assert test_preview.state(drafted) == "approved"


def test_hostile_text_runs_nothing_and_calls_nobody(browser, bench):
    test_preview.hostile(bench)
    with previewd.serve(bench) as page, Window(browser, page.url) as window:
        for name in VIEWS:
            window.press(name)
            window.page.wait_for_timeout(100)
            for frame in window.page.frames:
                assert frame.evaluate("window.pwned === undefined")
        assert {re.match(r"[a-z]+://[^/]*", url)[0] for url in window.asked if not url.startswith("data:")} == {
            page.url
        }
        assert not window.errors


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_everybody_can_use_it_and_nothing_overflows(browser, drafted, page, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    drafted.edit("About one.", "See [it](relative.html), " + "longword" * 40)
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "bypass_csp": True}
    with Window(browser, page.url, **options) as window:
        for name in VIEWS:
            window.press(name)
            window.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
            found = Axe().run(window.page).response["violations"]
            assert not [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
            assert window.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_shown_and_the_hidden_tab_take_turns_with_the_connection(browser, page):
    with Window(browser, page.url) as window:
        window.until(lambda: any("/events" in url for url in window.asked))
        before = len([url for url in window.asked if "/events" in url])
        for hidden in ("true", "false"):
            window.page.evaluate(
                f"Object.defineProperty(document, 'hidden', {{ value: {hidden}, configurable: true }});"
                "document.dispatchEvent(new Event('visibilitychange'))"
            )
        window.until(lambda: len([url for url in window.asked if "/events" in url]) == before + 1)


def test_page_says_that_the_preview_has_stopped_and_goes_on_with_the_next(browser, drafted):
    with previewd.serve(drafted) as first, Window(browser, first.url) as window:
        note = window.page.locator("#note")
        window.until(lambda: any("/events" in url for url in window.asked))
        first.stop()
        window.until(lambda: "has stopped" in note.inner_text())
        drafted.edit("About one.", "Fresh words.")
        with previewd.serve(drafted, port=int(first.url.rpartition(":")[2])):
            window.until(lambda: "Fresh words." in window.words())
            window.until(lambda: not note.inner_text())
