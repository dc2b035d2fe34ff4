"""The fetcher against real servers on the loopback interface."""

import asyncio
import datetime as dt
import gzip
import ipaddress
import ssl
import time
import tracemalloc

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from httpd import Reply, serve
from test_unpack import packed

from newsletter import config, errors, types
from newsletter.sources import fetch, manners, reach

NOW = dt.datetime(2026, 9, 10, 12, tzinfo=dt.UTC)
LIMITS = config.Collect(allow_private=["127.0.0.1"], deadline=dt.timedelta(seconds=5))


def get(url, limits=LIMITS, validators=None):
    return asyncio.run(fetch.fetch(url, limits, user_agent="newsletter/test", now=NOW, validators=validators))


def fault(url, limits=LIMITS, validators=None):
    with pytest.raises(errors.FetchError) as caught:
        get(url, limits, validators)
    message = str(caught.value)
    assert "\n" not in message
    assert 8 <= len(message) <= 200
    return caught.value


def limited(**changes):
    return LIMITS.model_copy(update=changes)


def test_a_body_comes_with_its_validators_and_our_name_is_told():
    headers = {"ETag": '"v1"', "Last-Modified": "Wed, 09 Sep 2026 10:00:00 GMT", "Content-Type": "text/xml"}
    with serve({"/feed": Reply(b"<rss/>", headers=headers)}) as server:
        found = get(server.url("/feed"))
    assert found.body == b"<rss/>"
    assert found.content_type == "text/xml"
    assert found.validators == types.Validators('"v1"', "Wed, 09 Sep 2026 10:00:00 GMT")
    assert found.moved_to is None
    assert server.asked[0].headers["user-agent"] == "newsletter/test"
    assert server.asked[0].headers["host"] == f"127.0.0.1:{server.port}"


def test_validators_are_sent_and_304_is_nothing_new():
    with serve({"/feed": Reply(status=304)}) as server:
        known = types.Validators('W/"x"', "Wed, 09 Sep 2026 10:00:00 GMT")
        found = get(server.url("/feed"), validators=known)
    assert found.body is None
    assert found.validators == known
    assert server.asked[0].headers["if-none-match"] == 'W/"x"'
    assert server.asked[0].headers["if-modified-since"] == "Wed, 09 Sep 2026 10:00:00 GMT"


def test_304_that_nobody_asked_for_is_a_fault():
    with serve({"/feed": Reply(status=304)}) as server:
        assert "304" in str(fault(server.url("/feed")))


@pytest.mark.parametrize("modified", ["Fri, 01 Jan 2041 00:00:00 GMT", "yesterday", ""])
def test_a_last_modified_that_cannot_be_true_is_not_kept(modified):
    with serve({"/feed": Reply(b"x", headers={"Last-Modified": modified, "ETag": '"e"'})}) as server:
        assert get(server.url("/feed")).validators == types.Validators('"e"', None)


def chain(server, *codes):
    """A chain of redirects /0 -> /1 -> … -> /end, one a code."""
    names = [f"/{i}" for i in range(len(codes))] + ["/end"]
    for i, code in enumerate(codes):
        server.routes[names[i]] = Reply(status=code, headers={"Location": names[i + 1]})
    server.routes["/end"] = Reply(b"here")
    return server.url(names[0])


@pytest.mark.parametrize(
    ("codes", "moved"), [((301,), True), ((301, 308), True), ((302,), False), ((301, 307), False), ((303, 301), False)]
)
def test_a_source_has_moved_only_when_every_hop_was_permanent(codes, moved):
    with serve() as server:
        found = get(chain(server, *codes))
        assert found.body == b"here"
        assert found.moved_to == (server.url("/end") if moved else None)


def test_five_hops_are_followed_and_six_are_not():
    with serve() as server:
        assert get(chain(server, *[302] * 5)).body == b"here"
        assert "more than 5 times" in str(fault(chain(server, *[302] * 6)))


def test_a_cookie_that_a_site_waits_for_is_brought_back():
    def answer(asked):
        if "seen=yes" in asked.headers.get("cookie", ""):
            return Reply(b"in")
        return Reply(status=302, headers={"Location": "/feed", "Set-Cookie": "seen=yes; Path=/"})

    with serve({"/feed": answer}) as server:
        assert get(server.url("/feed")).body == b"in"


def test_a_cookie_is_not_carried_to_another_host_at_the_same_address():
    with serve() as server:
        other = f"http://localhost:{server.port}/end"
        server.routes["/feed"] = Reply(status=302, headers={"Location": other, "Set-Cookie": "secret=1; Path=/"})
        server.routes["/end"] = Reply(b"x")
        get(server.url("/feed"))
        assert "cookie" not in server.asked[-1].headers
        assert server.asked[-1].headers["host"] == f"localhost:{server.port}"


@pytest.mark.parametrize("target", ["file:///etc/hostname", "gopher://127.0.0.1:70/_x", "ftp://127.0.0.1/f", "data:,x"])
def test_no_hop_leads_out_of_the_web(target):
    with serve({"/feed": Reply(status=302, headers={"Location": target})}) as server:
        assert f"“{target.partition(':')[0]}:”" in str(fault(server.url("/feed")))


@pytest.mark.parametrize("target", ["http://", "http://[::1", "//", "http://a b/"])
def test_a_hop_to_nonsense_is_named(target):
    with serve({"/feed": Reply(status=302, headers={"Location": target})}) as server:
        fault(server.url("/feed"))


def test_a_hop_to_a_private_address_is_never_asked():
    with serve(host="127.0.0.2") as secret, serve() as server:
        secret.routes["/"] = Reply(b"secret")
        server.routes["/feed"] = Reply(status=302, headers={"Location": secret.url("/")})
        error = fault(server.url("/feed"))
        assert "127.0.0.2" in str(error)
        assert "allow_private" in str(error)
        assert not secret.asked


@pytest.mark.parametrize(
    "host",
    ["127.0.0.2", "2130706434", "0x7f000002", "127.2", "[::ffff:127.0.0.2]", "127.0.0.1@127.0.0.2", "0.0.0.0", "[::1]"],
)
def test_no_spelling_of_a_private_address_is_asked(host):
    with serve(host="127.0.0.2") as secret:
        assert fault(f"http://{host}:{secret.port}/")
        assert not secret.asked


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("93.184.216.34", True), ("2606:2800:220:1::1", True),
        ("10.0.0.1", False), ("172.16.0.1", False), ("192.168.1.1", False), ("127.0.0.1", False), ("169.254.169.254", False),
        ("100.64.0.1", False), ("0.0.0.0", False), ("255.255.255.255", False), ("224.0.0.1", False), ("240.0.0.1", False),
        ("192.0.0.1", False), ("198.18.0.1", False), ("::", False), ("::1", False), ("fe80::1", False), ("fe80::1%eth0", False),
        ("fc00::1", False), ("ff02::1", False), ("::ffff:10.0.0.1", False), ("::ffff:93.184.216.34", True),
        ("64:ff9b::10.0.0.1", False), ("64:ff9b::93.184.216.34", True), ("2002:a00:1::", False),
        ("2001:0:4136:e378:8000:63bf:f5ff:fffe", False),
    ],
)  # fmt: skip
def test_addresses_that_are_not_public_are_closed(text, is_open):
    assert reach.is_open(ipaddress.ip_address(text), []) is is_open


def test_a_network_of_the_settings_is_open_and_nothing_beside_it():
    allowed = reach.networks(["10.1.0.0/16", "fd00::/8"])
    assert reach.is_open(ipaddress.ip_address("10.1.2.3"), allowed)
    assert reach.is_open(ipaddress.ip_address("::ffff:10.1.2.3"), allowed)
    assert reach.is_open(ipaddress.ip_address("fd12::1"), allowed)
    assert not reach.is_open(ipaddress.ip_address("10.2.2.3"), allowed)


def test_a_host_of_which_one_address_is_allowed_is_asked_there_alone():
    assert asyncio.run(reach.addresses("localhost", 80, reach.networks(["127.0.0.1"]))) == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("kind", "coding"),
    [("gzip", "gzip"), ("deflate", "deflate"), ("raw", "deflate"), ("many", "x-gzip"), ("br", "br"), ("zstd", "zstd")],
)
def test_packed_answers_are_unpacked(kind, coding):
    data = b"<rss>" + bytes(range(256)) * 300
    with serve({"/f": Reply(packed(kind, data), headers={"Content-Encoding": coding})}) as server:
        assert get(server.url("/f")).body == data
        assert server.asked[0].headers["accept-encoding"] == "gzip, deflate, br, zstd"


def test_a_file_that_was_packed_before_is_unpacked_too():
    with serve({"/f.gz": Reply(gzip.compress(b"<rss/>"), headers={"Content-Type": "application/gzip"})}) as server:
        assert get(server.url("/f.gz")).body == b"<rss/>"


@pytest.mark.parametrize("kind", ["gzip", "br", "zstd"])
def test_a_bomb_is_refused_in_little_memory(kind):
    bomb = packed(kind, bytes(200_000_000))
    pages = {"/bomb": Reply(bomb, headers={"Content-Encoding": kind}), "/file": Reply(bomb)}
    with serve(pages) as server:
        tracemalloc.start()
        for path in ("/bomb", "/file") if kind == "gzip" else ("/bomb",):
            assert "larger than 2 MB" in str(fault(server.url(path), limited(max_bytes=2_000_000)))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 12_000_000


def test_gzip_members_of_nothing_without_end_are_refused():
    nothing = gzip.compress(b"") * 100

    def pieces():
        while True:
            yield nothing

    with serve({"/f": Reply(pieces=pieces, headers={"Content-Encoding": "gzip"})}) as server:
        assert "larger than" in str(fault(server.url("/f"), limited(max_bytes=100_000)))


def test_a_feed_without_end_is_cut_at_the_cap():
    def pieces():
        while True:
            yield b"<item/>" * 1000

    with serve({"/endless": Reply(pieces=pieces)}) as server:
        assert "larger than 0.1 MB" in str(fault(server.url("/endless"), limited(max_bytes=100_000)))


def test_a_body_of_exactly_the_cap_is_taken_and_a_stated_length_beyond_it_is_not_waited_for():
    with serve({"/ok": Reply(b"x" * 1000), "/no": Reply(b"x", headers={"Content-Length": "1001"})}) as server:
        assert len(get(server.url("/ok"), limited(max_bytes=1000)).body) == 1000
        assert "larger" in str(fault(server.url("/no"), limited(max_bytes=1000)))


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (Reply(b"\x1f\x8b\x08junkjunkjunk", headers={"Content-Encoding": "gzip"}), "damaged"),
        (Reply(gzip.compress(b"x" * 999)[:-12], headers={"Content-Encoding": "gzip"}), "breaks off"),
        (Reply(b"\xff\xffxyz", headers={"Content-Encoding": "br"}), "damaged"),
        (Reply(b"not zstd at all", headers={"Content-Encoding": "zstd"}), "damaged"),
        (Reply(packed("zstd", b"x" * 999)[:-3], headers={"Content-Encoding": "zstd"}), "breaks off"),
        (Reply(packed("br", bytes(range(256)))[:-3], headers={"Content-Encoding": "br"}), "breaks off"),
        (Reply(b"x", headers={"Content-Encoding": "compress"}), "compress"),
        (Reply(b"x", headers={"Content-Encoding": "gzip, gzip"}), "packed"),
        (Reply(b"short", headers={"Content-Length": "900"}), "breaks off"),
    ],
)
def test_a_damaged_answer_is_named(reply, word):
    with serve({"/f": reply}) as server:
        assert word in str(fault(server.url("/f")))


def test_the_deadline_is_for_everything_together():
    with serve({"/stall": Reply(hang=True)}) as server:

        def drip():
            while not server.over.wait(0.05):
                yield b"x"

        server.routes["/drip"] = Reply(pieces=drip)
        for path in ("/stall", "/drip"):
            assert "within 0.4 s" in str(fault(server.url(path), limited(deadline=dt.timedelta(seconds=0.4))))


@pytest.mark.parametrize(
    ("status", "word"), [(404, "404 Not Found"), (410, "gone"), (403, "refuses"), (500, "500"), (418, "418"), (599, "599"), (204, "")]
)  # fmt: skip
def test_a_status_is_told_in_words(status, word):
    with serve({"/f": Reply(status=status)}) as server:
        if status == 204:
            assert get(server.url("/f")).body == b""
        else:
            error = fault(server.url("/f"))
            assert error.status == status
            assert word in str(error)


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"Retry-After": "7200"}, 7200),
        (503, {"Retry-After": "Thu, 10 Sep 2026 12:05:00 GMT", "Date": "Thu, 10 Sep 2026 12:00:00 GMT"}, 300),
        (503, {"Retry-After": "99999999999"}, 31 * 86400),
        (503, {"Retry-After": "soon"}, None),
        (429, {}, None),
    ],
)
def test_retry_after_is_handed_on_in_seconds(status, headers, seconds):
    with serve({"/f": lambda asked: Reply(status=status, headers=headers)}) as server:
        found = fault(server.url("/f")).retry_after
    # http.server adds a Date of its own before ours.
    assert found == seconds or "Date" in headers


def test_a_robot_check_is_called_one():
    with serve({"/f": Reply(status=403, headers={"cf-mitigated": "challenge"})}) as server:
        assert "robots" in str(fault(server.url("/f")))


def test_a_closed_port_and_an_unknown_host_are_told_apart():
    with serve() as server:
        port = server.port
    assert "refuses the connection" in str(fault(f"http://127.0.0.1:{port}/"))
    assert "no host named no-such-host.invalid" in str(fault("http://no-such-host.invalid/"))


def test_a_plain_server_asked_for_tls_is_named():
    with serve({"/": Reply(b"x")}) as server:
        assert "TLS" in str(fault(f"https://127.0.0.1:{server.port}/"))


@pytest.mark.parametrize(
    "url", ["", "feed.xml", "http://", "ftp://x/", "http://[::1", "http://x..y/", "http://" + "a" * 300 + "/"]
)
def test_what_is_no_web_address_is_said_to_be_none(url):
    fault(url)


def test_the_environment_changes_nothing(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with serve({"/f": Reply(b"direct")}) as server:
        assert get(server.url("/f")).body == b"direct"


def certificate(folder, name):
    """A key and a certificate that signs itself, for a host of that name; the file that holds both."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    path = folder / f"{name}.pem"
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + signed.public_bytes(pem))
    return path


def test_a_certificate_is_checked_against_the_name_not_the_address(tmp_path, monkeypatch):
    ours, others = certificate(tmp_path, "localhost"), certificate(tmp_path, "other.test")
    trusting = ssl.create_default_context(cafile=str(ours))
    trusting.load_verify_locations(str(others))
    for path, right in ((ours, True), (others, False)):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(path)
        with serve({"/f": Reply(b"safe")}, tls=tls) as server:
            url = f"https://localhost:{server.port}/f"
            assert "certificate of localhost is not valid" in str(fault(url))
            with monkeypatch.context() as patch:
                patch.setattr(fetch, "_tls", lambda: trusting)
                if right:
                    assert get(url).body == b"safe"
                else:
                    assert "certificate of localhost is not valid: Hostname mismatch" in str(fault(url))


def test_freshness_is_told_of_a_body_and_of_a_304():
    headers = {"Cache-Control": "max-age=7200"}
    pages = {"/f": Reply(b"x", headers=headers), "/same": Reply(status=304, headers=headers)}
    with serve(pages) as server:
        assert get(server.url("/f")).fresh_for == 7200
        assert get(server.url("/same"), validators=types.Validators('"1"')).fresh_for == 7200


def test_waiting_for_a_turn_does_not_count_against_the_deadline():
    async def both(server):
        house = manners.Manners(4)
        limits = limited(deadline=dt.timedelta(seconds=0.5))
        ask = [fetch.fetch(server.url(f"/{i}"), limits, user_agent="x", now=NOW, guest=house.visit()) for i in range(4)]
        found = await asyncio.gather(*ask)
        house.close()
        return found

    def slow(_):
        time.sleep(0.2)
        return Reply(b"x")

    with serve({f"/{i}": slow for i in range(4)}) as server:
        assert [found.body for found in asyncio.run(both(server))] == [b"x"] * 4
        assert server.busiest == 1


def test_a_part_is_no_answer_since_none_was_asked_for():
    headers = {"Content-Range": "bytes 0-5/900"}
    with serve({"/feed": Reply(b"<rss/>", status=206, headers=headers)}) as server:
        found = fault(server.url("/feed"))
    assert found.status == 206
    assert "sends a part, though all was asked for: 206 Partial Content" in str(found)


def test_an_address_needs_no_looking_up():
    assert asyncio.run(reach.addresses("127.0.0.1", 80, reach.networks(["127.0.0.1"]))) == ["127.0.0.1"]
    assert asyncio.run(reach.addresses("2a00::1", 80, [])) == ["2a00::1"]
    for closed in ("127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "64:ff9b::a00:1"):
        with pytest.raises(reach.Unreachable, match="private address"):
            asyncio.run(reach.addresses(closed, 80, []))
