"""The catch-all and its page: real SMTP in, real HTTP out, hostile mail in between."""

import email.message
import email.policy
import os
import re
import signal
import smtplib
import socket
import subprocess
import sys
import threading

import pytest
from starlette import testclient

from newsletter import errors
from newsletter.web import mailbox

SENDER = "news@example.org"


@pytest.fixture
def box(tmp_path):
    with mailbox.CatchAll(tmp_path / "mail") as running:
        yield running


@pytest.fixture
def page(tmp_path):
    with testclient.TestClient(mailbox.mailbox_app(tmp_path / "mail"), base_url="http://127.0.0.1:8025") as client:
        yield client


def letter(**headers):
    message = email.message.EmailMessage(policy=email.policy.SMTP)
    for name, value in {"From": SENDER, "To": "Jörg <joerg@example.org>", "Subject": "Grüße", **headers}.items():
        message[name] = value
    message.set_content("Hello in text\n")
    message.add_alternative("<html><head></head><body><p>Hello in HTML</p></body></html>", subtype="html")
    return message.as_bytes()


def post(box, raw, to="joerg@example.org", options=()):
    with smtplib.SMTP("127.0.0.1", box.port, timeout=10) as client:
        client.ehlo("client.example.org")
        client.sendmail(SENDER, [to], raw, mail_options=options)


def only(box):
    [message] = mailbox.stored(box.maildir)
    return message


def drop(page_folder, raw, name="1700000000.M000001P1Q1.host"):
    for part in ("tmp", "new", "cur"):
        (page_folder / part).mkdir(parents=True, exist_ok=True)
    (page_folder / "new" / name).write_bytes(raw)
    return name


def test_message_is_stored_octet_for_octet(box):
    raw = letter()
    post(box, raw)
    assert only(box).path.read_bytes() == raw


def test_lines_that_begin_with_dots_arrive_as_they_were(box):
    raw = b"Subject: dots\r\n\r\n.one\r\n..two\r\n.\r\n...\r\n"
    post(box, raw)
    assert only(box).path.read_bytes() == raw


def test_eight_bit_bodies_arrive_as_they_were(box):
    raw = "Subject: bytes\r\n\r\nGrüße, 山田\r\n".encode() + bytes(range(0x80, 0x100)) + b"\r\n"
    post(box, raw, options=["BODY=8BITMIME"])
    assert only(box).path.read_bytes() == raw


def test_smtputf8_address_is_taken(box):
    raw = "To: 山田@例え.example.org\r\nSubject: Grüße\r\n\r\nhello\r\n".encode()
    post(box, raw, to="山田@例え.example.org", options=["SMTPUTF8", "BODY=8BITMIME"])
    assert mailbox.take_apart(only(box).path.read_bytes()).to == ("", "山田@例え.example.org")


def test_many_connections_at_once_lose_nothing(box):
    threads = [threading.Thread(target=lambda: [post(box, letter()) for _ in range(10)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(mailbox.stored(box.maildir)) == 80
    assert not list((box.maildir / "tmp").iterdir())


def test_server_says_who_it_is_and_what_it_can(box):
    with smtplib.SMTP("127.0.0.1", box.port, timeout=10) as client:
        client.ehlo("client.example.org")
        assert client.esmtp_features["size"] == str(mailbox.SIZE_LIMIT)
        assert {"smtputf8", "8bitmime"} <= set(client.esmtp_features)
    with socket.create_connection(("127.0.0.1", box.port), timeout=10) as connection:
        assert re.match(rb"220 \[127\.0\.0\.1\] newsletter .* delivers nothing", connection.recv(200))


def test_full_disk_is_a_temporary_refusal(box):
    (box.maildir / "tmp").rmdir()
    with pytest.raises(smtplib.SMTPDataError) as refused:
        post(box, letter())
    assert refused.value.smtp_code == 452


def test_stopping_leaves_no_connection_open(tmp_path):
    with mailbox.CatchAll(tmp_path / "mail") as running:
        connection = socket.create_connection(("127.0.0.1", running.port), timeout=10)
        connection.recv(200)
    with connection:
        assert connection.recv(200) == b""


def test_taken_port_is_one_plain_line(box, tmp_path):
    with pytest.raises(errors.NewsletterError, match=f"port {box.port}: address already in use") as told:
        mailbox.CatchAll(tmp_path / "other", port=box.port).__enter__()
    assert "\n" not in str(told.value)


def test_list_shows_newest_first_with_recipient_and_subject(box, page):
    post(box, letter())
    post(box, letter(Subject="Second", To='"Lund, Häagen & Co." <office@example.org>'))
    shown = page.get("/").text
    assert shown.index("Second") < shown.index("Grüße")
    assert "<bdi>Lund, Häagen &amp; Co.</bdi>" in shown
    assert "office@example.org" in shown
    assert "2 messages" in shown


def test_empty_mailbox_says_what_to_do(page):
    assert "Nothing has come yet" in page.get("/").text


def test_list_of_many_is_turned_page_by_page(tmp_path, page):
    for number in range(mailbox.PAGE + 1):
        drop(tmp_path / "mail", b"Subject: s%d\r\n\r\n" % number, f"17000{number:05}.M000001P1Q1.host")
    first, second = page.get("/").text, page.get("/?page=2").text
    assert first.count("<li>") == mailbox.PAGE
    assert second.count("<li>") == 1
    assert ">s0<" in second
    assert page.get("/?page=999").text == second


def test_message_shows_all_its_views(box, page):
    post(box, letter())
    key = only(box).key
    shown = page.get(f"/m/{key}").text
    for name in ("Desktop", "Phone", "Text", "Headers", "Source"):
        assert f">{name}</label>" in shown
    assert "Hello in text" in shown
    assert "Hello in HTML" in page.get(f"/m/{key}/html").text
    assert page.get(f"/m/{key}/raw").content == only(box).path.read_bytes()


def test_message_that_a_reader_has_flagged_keeps_its_address(box, page):
    post(box, letter())
    message = only(box)
    message.path.rename(box.maildir / "cur" / f"{message.key}:2,S")
    assert page.get(f"/m/{message.key}").status_code == 200


def test_letter_may_neither_run_nor_fetch_anything(box, page):
    post(box, letter())
    answer = page.get(f"/m/{only(box).key}/html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    assert "sandbox" in policy
    assert "allow-scripts" not in policy + page.get(f"/m/{only(box).key}").text
    assert "allow-same-origin" not in policy + page.get(f"/m/{only(box).key}").text


HOSTILE = [
    b"Subject: <script>alert(1)</script>\r\nTo: <img src=x onerror=alert(1)>\r\nX-<b>: <b>\r\n\r\n<script>alert(2)</script>",
    b"Subject: =?utf-8?q?=3Cscript=3Ealert(1)?=\r\nTo: =?utf-8?q?=3Cscript=3E?= <a@b>\r\n\r\n",
    b'Content-Type: text/plain; charset="no-such-charset"\r\n\r\n<script>alert(1)</script>',
    b"Content-Type: text/html; charset*=x'y'<script>\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!!",
    b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<script>1</script>",
    b"Content-Type: multipart/mixed; boundary=\r\n\r\n--\r\n\r\n",
    b"Subject: =?x?b?////?= =?utf-8?b?!?=\r\n\r\n",
    b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(3000)),
    b"\xff\xfe\x00: \x00\r\n\r\n\x00",
    b"",
    b"no header at all <script>alert(1)</script>",
]


@pytest.mark.parametrize("raw", HOSTILE)
def test_hostile_message_is_harmless(tmp_path, page, raw):
    key = drop(tmp_path / "mail", raw)
    for path in ("/", f"/m/{key}"):
        answer = page.get(path)
        assert answer.status_code == 200
        assert "<script" not in answer.text
        assert "<img" not in answer.text
    assert page.get(f"/m/{key}/raw").content == raw
    assert page.get(f"/m/{key}/html").status_code in (200, 404)


def test_broken_message_is_shown_raw(tmp_path, page):
    key = drop(tmp_path / "mail", HOSTILE[7])
    shown = page.get(f"/m/{key}").text
    assert "cannot be taken apart" in shown
    assert "boundary=b0" in shown


@pytest.mark.parametrize(
    "key", ["..%2F..%2Fsecret", "..%2fsecret", "%2e%2e", "secret", "x/../../secret", ".hidden", "a%00b", "new", "tmp"]
)
def test_nothing_outside_the_maildir_can_be_read(tmp_path, page, key):
    drop(tmp_path / "mail", b"Subject: x\r\n\r\n")
    (tmp_path / "secret").write_text("top secret")
    (tmp_path / "mail" / "new" / "link").symlink_to(tmp_path / "secret")
    for path in (f"/m/{key}", f"/m/{key}/raw", f"/m/{key}/html", "/m/link/raw"):
        answer = page.get(path)
        assert answer.status_code == 404
        assert "top secret" not in answer.text


@pytest.mark.parametrize("path", ["/", "/m/unknown", "/nowhere", "/style.css", "/?page=x"])
def test_every_answer_has_the_safe_headers(page, path):
    answer = page.get(path)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example"])
def test_foreign_host_names_are_refused(page, host):
    assert page.get("/", headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["127.0.0.1:8025", "localhost:8025", "[::1]:8025"])
def test_this_machines_names_are_answered(page, host):
    assert page.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_the_page_only_reads(page, method):
    assert page.request(method, "/").status_code == 405


def test_pages_have_no_script_and_nothing_from_elsewhere(box, page):
    post(box, letter())
    for path in ("/", f"/m/{only(box).key}", "/style.css"):
        shown = page.get(path).text
        assert "<script" not in shown
        assert "http://" not in shown.replace(SENDER, "")
        assert "https://" not in shown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_command_runs_until_a_signal_and_ends_well(tmp_path, number):
    command = [sys.executable, "-W", "error", "-m", "newsletter", "mailbox", "--port", "0", "--web-port", "0"]
    command += ["--dir", str(tmp_path / "mail")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEWSLETTER_")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as process:
        try:
            smtp = re.match(r"SMTP +127\.0\.0\.1:(\d+)", process.stderr.readline())
            assert process.stderr.readline().split()[1] == str(tmp_path / "mail")
            assert process.stderr.readline().startswith("page ")
            with smtplib.SMTP("127.0.0.1", int(smtp[1]), timeout=10) as client:
                client.sendmail(SENDER, ["a@example.org"], letter())
        finally:
            process.send_signal(number)
        rest = process.stderr.read()
    assert process.returncode == 0
    assert rest == "stopped\n"
    assert len(mailbox.stored(tmp_path / "mail")) == 1


def test_command_says_in_one_line_that_the_port_is_taken(box, tmp_path):
    command = [sys.executable, "-m", "newsletter", "mailbox", "--port", str(box.port), "--dir", str(tmp_path / "other")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "choose another port" in done.stderr
