"""One connection against a server that misbehaves at every stage: the answer to this message is never the next one's."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import smtpd as smtp_server
import socket
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from newsletter import config, errors, types
from newsletter.deliver import message, smtp
from newsletter.types import Verdict

BODY = b"Subject: hello\r\n\r\n" + b"a line of text\r\n" * 40


def letter(rcpt: str, octets: bytes = BODY, mail_from: str = "bounce+x@example.org") -> message.Message:
    return message.Message(mail_from, rcpt, "<m@example.org>", octets)


def settings(port: int, **more) -> config.Smtp:
    return config.Smtp(host="127.0.0.1", port=port, ehlo="client.test", **more)


async def hand_over(connection: smtp.Connection, found: message.Message) -> types.Outcome:
    return await connection.envelope(found) or await connection.data() or await connection.body(found)


def deliver(server: smtp_server.Server, *rcpts: str, **changes) -> list[types.Outcome | bool]:
    """Hand a message over to each, on one connection for as long as it is open; at the end: is it open?"""

    async def work() -> list[types.Outcome | bool]:
        connection = await smtp.connect(settings(server.port))
        found: list[types.Outcome | bool] = []
        for rcpt in rcpts:
            if not connection.open:
                connection = await smtp.connect(settings(server.port))
            found.append(await hand_over(connection, letter(rcpt, **changes)))
        found.append(connection.open)
        await connection.quit()
        return found

    return asyncio.run(work())


FAULTS = [
    # fault, verdict, stage, code, is the connection kept
    ("nobody", Verdict.NEVER, "rcpt", 550, True),
    ("policy", Verdict.POLICY, "rcpt", 550, True),
    ("full", Verdict.LATER, "rcpt", 452, True),
    ("grey", Verdict.LATER, "rcpt", 451, True),
    ("busy", Verdict.SERVER, "rcpt", 421, False),
    ("garbage", Verdict.SERVER, "rcpt", 0, False),
    ("badcode", Verdict.SERVER, "rcpt", 999, False),
    ("half", Verdict.SERVER, "rcpt", 0, False),
    ("endless", Verdict.SERVER, "rcpt", 0, False),
    ("at_data", Verdict.SERVER, "data", 0, False),
    ("in_body", Verdict.DOUBT, "body", 0, False),
    ("after_body", Verdict.DOUBT, "body", 0, False),
    ("spam", Verdict.POLICY, "body", 550, True),
    ("refused", Verdict.NEVER, "body", 554, True),
    ("later", Verdict.LATER, "body", 451, True),
    ("nonsense", Verdict.DOUBT, "body", 354, False),
    ("octets", Verdict.SENT, "body", 250, True),
    ("many", Verdict.SENT, "body", 250, True),
    ("forward", Verdict.SENT, "body", 250, True),
    ("odd", Verdict.SENT, "body", 299, True),
]


@pytest.mark.parametrize("keywords", [smtp_server.KEYWORDS, ("8BITMIME", "SMTPUTF8"), ()], ids=["all", "some", "none"])
@pytest.mark.parametrize(("fault", "verdict", "stage", "code", "kept"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_fault_is_told_apart_and_the_next_one_gets_it(smtpd, keywords, fault, verdict, stage, code, kept):
    smtpd.keywords = keywords
    outcome, is_open = deliver(smtpd, f"{fault}.anna@example.org")
    first, then, _ = deliver(smtpd, f"{fault}.ben@example.org", "cy@example.org")

    assert (outcome.verdict, outcome.stage, outcome.code, is_open) == (verdict, stage, code, kept)
    assert first == outcome
    assert then.verdict is Verdict.SENT
    assert smtpd.got().count("cy@example.org") == 1
    assert smtpd.objections == []


def test_a_message_arrives_octet_for_octet(smtpd):
    octets = b"Subject: x\r\n\r\n" + b"text = text\r\n" * 20_000
    deliver(smtpd, "anna@example.org", octets=octets)

    assert smtpd.taken == [smtp_server.Taken("bounce+x@example.org", "anna@example.org", octets)]


@pytest.mark.parametrize("keywords", [smtp_server.KEYWORDS, ()], ids=["pipelining", "none"])
def test_many_messages_travel_on_one_connection(smtpd, keywords):
    smtpd.keywords = keywords
    rcpts = [f"{prefix}{i}@example.org" for i in range(10) for prefix in ("a", "nobody.b", "full.c")]
    deliver(smtpd, *rcpts)

    assert smtpd.got() == sorted(rcpt for rcpt in rcpts if rcpt.startswith("a"))
    assert smtpd.connections == 1
    assert smtpd.objections == []


def test_a_goodbye_behind_an_answer_is_not_the_next_ones(smtpd):
    first, second, _ = deliver(smtpd, "farewell.anna@example.org", "ben@example.org")

    assert first.verdict is Verdict.SENT
    assert (second.verdict, second.stage, second.code) == (Verdict.SERVER, "mail", 0)
    assert smtpd.got() == ["farewell.anna@example.org"]


def test_a_server_that_knows_no_ehlo_is_spoken_to_in_helo(smtpd):
    smtpd.helo_only = True
    outcome, _ = deliver(smtpd, "anna@example.org")

    assert outcome.verdict is Verdict.SENT
    assert smtpd.commands[:2] == ["EHLO client.test", "HELO client.test"]
    assert smtpd.objections == []


@pytest.mark.parametrize("keywords", [("8BITMIME",), ()])
def test_a_foreign_local_part_fails_alone_where_the_server_knows_none(smtpd, keywords):
    smtpd.keywords = keywords
    first, second, _ = deliver(smtpd, "jörg@example.org", "anna@example.org")

    assert (first.verdict, first.code) == (Verdict.NEVER, 0)
    assert "SMTPUTF8" in first.reply
    assert second.verdict is Verdict.SENT


def test_a_foreign_local_part_goes_where_it_is_known(smtpd):
    octets = "To: <jörg@example.org>\r\n\r\ntext\r\n".encode()
    outcome, _ = deliver(smtpd, "jörg@example.org", octets=octets)

    assert outcome.verdict is Verdict.SENT
    assert smtpd.taken[0].octets == octets
    assert smtpd.objections == []


def test_a_foreign_sender_needs_it_as_well(smtpd):
    outcome, _ = deliver(smtpd, "anna@example.org", mail_from="jörg@example.org")
    smtpd.keywords = ()
    refused, _ = deliver(smtpd, "anna@example.org", mail_from="jörg@example.org")

    assert outcome.verdict is Verdict.SENT
    assert "SMTPUTF8" in refused.reply
    assert smtpd.objections == []


def test_a_message_that_is_too_big_is_not_tried(smtpd):
    smtpd.size = 100
    outcome, is_open = deliver(smtpd, "anna@example.org")

    assert (outcome.verdict, outcome.enhanced, is_open) == (Verdict.POLICY, "5.3.4", True)
    assert "100" in outcome.reply
    assert not [line for line in smtpd.commands if line.startswith("MAIL")]


@pytest.mark.parametrize("keywords", [smtp_server.KEYWORDS, ()], ids=["pipelining", "none"])
@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (b"421 4.3.2 down\r\n", Verdict.SERVER),
        (b"451 4.3.0 no disk\r\n", Verdict.SERVER),
        (b"550 5.7.1 not you\r\n", Verdict.POLICY),
        (b"", Verdict.SERVER),
    ],
)
def test_what_is_said_of_mail_is_never_the_recipients(smtpd, keywords, reply, verdict):
    smtpd.keywords, smtpd.mail_reply = keywords, reply
    outcome, _ = deliver(smtpd, "nobody.anna@example.org")

    assert (outcome.verdict, outcome.stage) == (verdict, "mail")


def test_giving_up_an_answer_closes_the_connection(smtpd):
    """Else the next recipient would get it."""
    smtpd.held = {"anna@example.org"}

    async def work() -> tuple[bool, types.Outcome]:
        connection = await smtp.connect(settings(smtpd.port))
        task = asyncio.create_task(hand_over(connection, letter("anna@example.org")))
        await asyncio.to_thread(smtpd.waiting.wait, 10)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        smtpd.let_go()
        return task.cancelled(), await connection.envelope(letter("ben@example.org"))

    cancelled, then = asyncio.run(work())
    assert cancelled
    assert (then.verdict, then.stage, then.code) == (Verdict.SERVER, "mail", 0)


def test_a_server_that_says_nothing_is_given_up(smtpd, monkeypatch):
    monkeypatch.setattr(smtp, "FINAL_DOT", 0.05)
    smtpd.held = {"anna@example.org"}
    outcome, is_open = deliver(smtpd, "anna@example.org")

    assert (outcome.verdict, outcome.code, is_open) == (Verdict.DOUBT, 0, False)
    assert "did not answer" in outcome.reply


@pytest.mark.parametrize("greeting", [b"554 5.7.1 go away\r\n", b"421 4.3.2 not now\r\n", b"hello\r\n"])
def test_a_server_that_will_not_have_us_is_an_error_that_a_person_can_read(smtpd, greeting):
    smtpd.greeting = greeting
    with pytest.raises(errors.ServerError, match=rf"the mail server 127\.0\.0\.1:{smtpd.port} "):
        deliver(smtpd, "anna@example.org")


def test_nobody_there_is_an_error_that_says_what_to_do():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with pytest.raises(errors.ServerError, match="nothing listens there"):
        asyncio.run(smtp.connect(settings(port)))


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """A server's TLS context for `localhost`, whose certificate this process trusts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(path)
    return context


def secure(server, host="localhost", **more) -> config.Smtp:
    return config.Smtp(host=host, port=server.port, ehlo="client.test", security="starttls", **more)


def test_mail_travels_encrypted_after_a_login(smtpd, certificate):
    smtpd.tls, smtpd.login = certificate, "me secret"
    octets = b"Subject: x\r\n\r\n" + b"text and more text\r\n" * 30_000

    async def work(password: str) -> types.Outcome:
        connection = await smtp.connect(secure(smtpd, username="me", password=password))
        found = await hand_over(connection, letter("anna@example.org", octets))
        await connection.quit()
        return found

    assert asyncio.run(work("secret")).verdict is Verdict.SENT
    assert [each.octets for each in smtpd.taken] == [octets]
    assert smtpd.objections == []
    with pytest.raises(errors.ServerError, match="refuses the login of 'me'"):
        asyncio.run(work("wrong"))


def test_a_certificate_of_another_name_is_not_trusted(smtpd, certificate):
    smtpd.tls = certificate
    with pytest.raises(errors.ServerError, match="certificate"):
        asyncio.run(smtp.connect(secure(smtpd, host="127.0.0.1")))


def test_without_encryption_nothing_is_said_where_it_is_wanted(smtpd):
    with pytest.raises(errors.ServerError, match="cannot be reached"):
        asyncio.run(smtp.connect(secure(smtpd)))
    assert not [line for line in smtpd.commands if line.startswith(("MAIL", "AUTH"))]


def test_the_name_we_give_is_never_localhost():
    names = [asyncio.run(smtp.ehlo_name(config.Smtp(host=host))) for host in ("127.0.0.1", "localhost", "::1")]

    assert all(("." in name or ":" in name) and not name.startswith("localhost") for name in names)
    assert asyncio.run(smtp.ehlo_name(config.Smtp(ehlo="mx.example.org"))) == "mx.example.org"
