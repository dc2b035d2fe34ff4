"""`subscribers …` for many at once, for one person's whole story, and for one who is to be forgotten."""

import datetime as dt
import io
import json
import sys

import pytest
import sqlmodel
from conftest import ISSUE, THURSDAY, WEDNESDAY

from newsletter import cli, errors, types
from newsletter.app import people
from newsletter.store import audience, signups, tables

S = types.SubscriberState
ANNA, BO, CLEO = "anna@example.org", "bo@example.org", "cleo@example.org"


@pytest.fixture
def run(bench, capsys):
    """Run `subscribers …` in the workspace; returns (exit code, stdout, stderr)."""

    def command(*args, now=WEDNESDAY):
        capsys.readouterr()
        code = cli.run(["-C", str(bench.folder), "--now", now.isoformat(), "subscribers", *map(str, args)])
        return code, *capsys.readouterr()

    return command


def told(run, *args, **options):
    code, out, _ = run(*args, "--json", **options)
    return code, json.loads(out)


def emails(run, *args):
    return [person["email"] for person in told(run, "list", *args)[1]["subscribers"]]


# -- whom to list ----------------------------------------------------------------------------------------------------


@pytest.fixture
def crowd(bench, run):
    bench.people(ANNA, BO)
    bench.people(CLEO, topics=("robots",), now=THURSDAY)
    run("add", "zoë@bücher.example", "--name", "ÉMILE Zöe_%", "--topic", "robots")
    run("tag", "donor", ANNA, CLEO)
    run("unsubscribe", BO)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ((), [ANNA, BO, CLEO, "zoë@bücher.example"]),
        (("--topic", "robots"), [CLEO, "zoë@bücher.example"]),
        (("--newsletter", "weekly", "--state", "active"), [ANNA, CLEO]),
        (("--since", "2026-09-10"), [CLEO]),
        (("--since", "2026-09-10T11:00:00+00:00"), [CLEO]),
        (("--source", "People.csv"), [ANNA, BO, CLEO]),
        (("--source", "cli"), [BO, "zoë@bücher.example"]),
        (("--match", "EXAMPLE.org"), [ANNA, BO, CLEO]),
        (("--match", "émile zö"), ["zoë@bücher.example"]),
        (("--match", "xn--bcher-kva"), ["zoë@bücher.example"]),
        (("--match", "_%"), ["zoë@bücher.example"]),
        (("--match", "' OR 1=1 --"), []),
        (("--tag", "donor"), [ANNA, CLEO]),
        (("--tag", "donor", "--topic", "rl-agents"), [ANNA]),
    ],
)
def test_a_listing_and_an_export_let_through_who_fits(run, crowd, filters, found):
    assert emails(run, *filters) == found
    code, document = told(run, "export", *filters)
    assert (code, [person["email"] for person in document["subscribers"]]) == (0, found)
    assert run("export", *filters)[1].count("\n") == len(found) + 1


def test_a_date_that_is_none_is_wrong_use(run):
    code, _, err = run("list", "--since", "soon")
    assert (code, "write it like 2026-09-01" in err) == (2, True)


# -- many ------------------------------------------------------------------------------------------------------------


def test_many_are_done_and_those_whom_it_does_not_fit_are_named(bench, run):
    bench.people(ANNA, BO)
    code, _, err = run("unsubscribe", "ANNA@example.org", "nobody@example.org", "foo@", BO, ANNA)
    assert code == 1
    assert err.splitlines() == [
        "ANNA@example.org has left weekly/rl-agents",
        f"{BO} has left weekly/rl-agents",
        "nobody@example.org is not on file; `newsletter subscribers list` shows who is",
        "'foo@' is no address: nothing stands after the @",
        "2 done, 2 refused",
    ]
    assert emails(run, "--state", "unsubscribed") == [ANNA, BO]


def test_addresses_come_from_a_list_a_csv_or_stdin(bench, run, monkeypatch):
    bench.people(ANNA, BO, CLEO)
    listed, sheet = bench.folder / "gone.txt", bench.folder / "gone.csv"
    listed.write_text(f"{ANNA}\n\nno address\n")
    sheet.write_text(f"Name;E-Mail\nBo;{BO}\n")
    code, document = told(run, "suppress", "--file", listed, "--reason", "asked")
    assert code == 1
    assert document["results"] == [{"email": ANNA, "suppressed": True, "changed": True}]
    assert [(bad["line"], bad["value"]) for bad in document["refused"]] == [(3, "no address")]
    assert told(run, "suppress", "--file", sheet)[1]["results"][0]["email"] == BO
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{CLEO}\n{CLEO.upper()}\n".encode())))
    assert told(run, "suppress", "-")[1]["results"] == [{"email": CLEO, "suppressed": True, "changed": True}]
    assert [p["suppressed"] for p in told(run, "list")[1]["subscribers"]] == ["asked", "by hand", "by hand"]
    assert run("unsuppress")[0] == 2


def test_a_dry_run_of_anything_changes_nothing(bench, run):
    bench.people(ANNA)
    run("suppress", BO)
    run("tag", "donor", ANNA)
    before = run("export")[1]
    for args in (
        ("unsubscribe", ANNA), ("suppress", ANNA), ("unsuppress", BO), ("erase", ANNA, "--yes"), ("tag", "vip", ANNA),
        ("untag", "donor", ANNA), ("move", ANNA, "new@example.org"), ("add", CLEO, "--topic", "robots"),
    ):  # fmt: skip
        code, _, err = run(*args, "--dry-run")
        assert code == 0, args
        assert "would" in err, args
    assert run("export")[1] == before


def test_more_than_one_transaction_of_addresses(bench, run):
    names = [f"r{i}@example.org" for i in range(people.AT_ONCE + 2)]
    bench.people(*names)
    file = bench.folder / "all.txt"
    file.write_text("\n".join(["stranger@example.org", *names]))
    code, document = told(run, "unsubscribe", "--file", file)
    assert (code, len(document["results"]), len(document["refused"])) == (1, len(names), 1)
    assert emails(run, "--state", "active") == []


def test_tags_are_set_and_taken_off_once(bench, run):
    bench.people(ANNA, BO)
    assert told(run, "tag", "  big  donor ", ANNA, BO)[1]["results"][1] == {
        "email": BO, "changed": ["big donor"], "tags": ["big donor"],
    }  # fmt: skip
    assert run("tag", "big donor", ANNA)[2] == f"{ANNA} has the tag already\n"
    assert run("untag", "big donor", ANNA)[2] == f"{ANNA} loses the tag big donor\n"
    assert [p["tags"] for p in told(run, "list")[1]["subscribers"]] == [[], ["big donor"]]
    assert run("tag", " ", ANNA)[0] == 2


# -- one person ------------------------------------------------------------------------------------------------------


@pytest.fixture
def known(bench, run, smtpd):
    """Anna, of whom every table knows something. Returns her id."""
    bench.settings()
    toml = bench.folder / "newsletter.toml"
    toml.write_text(
        toml.read_text()
        .replace("port = 9", f"port = {smtpd.port}")
        .replace("[smtp]", '[site]\nbase_url = "http://127.0.0.1:8000"\n[smtp]')
    )
    bench.people(ANNA, BO)
    run("tag", "donor", ANNA)
    bench.entries("one")
    bench.compose()
    bench.approve()
    with bench.app(THURSDAY + dt.timedelta(hours=21)) as app:
        app.send(ISSUE)
    with bench.app() as app, app.store.write() as session:
        who = audience.get(session, ANNA).id
        proof = signups.Proof("page", "192.0.2.7", "Yes, send it to me", "v1")
        signups.pause(session, who, THURSDAY + dt.timedelta(days=30), proof, THURSDAY)
        signups.ask_address(
            session, who, "anna.two@example.org", "weekly", token="secret-token", digest="d1", proof=proof,
            digests=app.digests, now=THURSDAY,
        )  # fmt: skip
        session.add(tables.ApiKey(id=1, name="shop", token_hash="h", scope="write", created_at=THURSDAY))
        session.flush()
        for key, email in (("a", ANNA), ("b", BO)):
            body = json.dumps({"email": email})
            session.add(tables.ApiAnswer(api_key_id=1, key=key, request_hash="r", status=201, body=body, at=THURSDAY))
        other = audience.get(session, BO).id
        signups.ask_address(
            session,
            other,
            ANNA.upper(),
            "weekly",
            token="t2",
            digest="d2",
            proof=proof,
            digests=app.digests,
            now=THURSDAY,
        )
        session.execute(
            sqlmodel.update(tables.Delivery)
            .where(tables.Delivery.subscriber_id == who)
            .values(reply=f"550 no <{ANNA}> here", rcpt_name="Anna Forgettable")
        )
        session.add(
            tables.Feedback(
                fingerprint="f", subscriber_id=who, kind="bounce", action="noted", at=THURSDAY, raw=f"To: {ANNA}"
            )
        )
    run("suppress", ANNA, "--newsletter", "weekly", "--reason", "asked Anna")
    return who


def test_show_tells_the_whole_story(run, known):
    code, document = told(run, "show", "Anna@example.org")
    assert code == 0
    (person,) = document["subscribers"]
    assert (person["email"], person["tags"], person["suppressed"]) == (ANNA, ["donor"], "weekly: asked Anna")
    assert person["paused_until"] == "2026-10-10T11:00:00+00:00"
    story = document["story"]
    assert [(each["what"], each["how"], each["ip"]) for each in story["consent"]] == [
        ("imported", "people.csv", None), ("paused", "page", "192.0.2.7"),
    ]  # fmt: skip
    assert [(each["topic"], each["until"]) for each in story["subscription"]] == [("rl-agents", None)]
    assert [(each["issue"], each["state"], each["reply"]) for each in story["delivery"]] == [
        (ISSUE, "sent", f"550 no <{ANNA}> here")
    ]
    assert [each["kind"] for each in story["service_mail"]] == ["address"]
    assert [each["kind"] for each in story["feedback"]] == ["bounce"]
    assert [each["reason"] for each in story["suppression"]] == ["asked Anna"]
    assert "secret-token" not in json.dumps(document)
    _, out, _ = run("show", ANNA)
    for text in ("donor", "paused until 2026-10-10", "consent", "deliveries", ISSUE, "550 no", "feedback", "192.0.2.7"):
        assert text in out


def test_a_person_gets_all_their_data_and_a_stranger_what_is_kept_of_them(bench, run, known):
    file = bench.folder / "anna.json"
    assert run("export", "--person", ANNA, "--out", file)[0] == 0
    assert file.stat().st_mode & 0o077 == 0
    document = json.loads(file.read_text())
    assert document["subscriber"]["email"] == ANNA
    assert document["story"]["confirmation"][0]["wanted"] == {"email": "anna.two@example.org"}
    assert document["story"]["feedback"][0]["raw"] == f"To: {ANNA}"
    run("suppress", "stranger@example.org", "--reason", "asked")
    kept = json.loads(run("export", "--person", "Stranger@example.org")[1])
    assert (kept["subscriber"], kept["story"]["suppression"][0]["reason"]) == (None, "asked")
    assert run("export", "--person", "nobody@example.org")[0] == 1
    assert run("export", "--person", ANNA, "--state", "active")[0] == 2


def test_a_person_moves_with_their_story_and_old_preference_links_end(bench, run):
    bench.people(ANNA)
    with bench.app() as app:
        before = app.store.read
        with before() as session:
            version = session.exec(sqlmodel.select(tables.Subscriber.token_version)).one()
    code, document = told(run, "move", ANNA, "Anna Två <ANNA@bücher.example>", now=THURSDAY)
    assert (code, document["subscribers"][0]["email"]) == (0, "ANNA@bücher.example")
    assert document["subscribers"][0]["topics"] == ["weekly/rl-agents"]
    story = told(run, "show", "anna@bücher.example")[1]["story"]
    assert (story["consent"][-1]["what"], story["consent"][-1]["words"]) == (
        "moved",
        f"from {ANNA} to ANNA@bücher.example",
    )
    with bench.app() as app, app.store.read() as session:
        assert session.exec(sqlmodel.select(tables.Subscriber.token_version)).one() == version + 1
    assert run("show", ANNA)[0] == 1


def test_nobody_moves_to_an_address_that_is_somebody_elses_or_suppressed(bench, run):
    bench.people(ANNA, BO)
    run("suppress", "no@example.org", CLEO)
    for old, new, why in (
        (ANNA, BO.upper(), "somebody else's"), (ANNA, "No@example.org", "suppressed (by hand)"),
        ("nobody@example.org", "x@example.org", "not on file"), (ANNA, "x@", "no address"),
    ):  # fmt: skip
        code, out, err = run("move", old, new)
        assert (code, out) == (1, ""), err
        assert why in err
    run("suppress", ANNA)
    assert "suppressed" in run("move", ANNA, "x@example.org")[2]
    run("erase", BO, "--yes")
    assert "suppressed (erased)" in run("move", ANNA, BO)[2]


def test_who_bounced_may_move_and_waits_for_their_own_yes(bench, run):
    path = bench.folder / "people.csv"
    path.write_text(f"email,status\n{ANNA},bounced\n")
    run("import", path, "--topic", "robots")
    assert run("move", ANNA, "new@example.org")[2] == f"{ANNA} is new@example.org now; bounced\n"


# -- forgetting ------------------------------------------------------------------------------------------------------


def traces(bench, *words):
    """The files in the workspace where one of these stands, but for what the admin wrote, and examples."""
    return {
        path.name
        for path in bench.folder.rglob("*")
        if path.is_file() and path.suffix not in (".csv", ".md")
        if any(word.encode() in path.read_bytes().lower() for word in words)
    }


def test_nothing_of_an_erased_person_is_left_in_any_table_or_file(bench, run, known):
    assert "newsletter.db" in traces(bench, "anna")
    kept = bench.folder / "subscribers" / "old.csv"
    kept.write_text(f"email\n{ANNA.upper()}\n")
    code, document = told(run, "erase", ANNA, "--yes")
    assert (code, document["results"]) == (0, [{"email": ANNA, "erased": True}])
    assert document["files"] == ["subscribers/old.csv"]
    assert emails(run) == [BO]
    with bench.app() as app, app.store.read() as session:
        for table in tables.metadata.sorted_tables:
            rows = [str(tuple(row)).lower() for row in session.execute(sqlmodel.select(table))]
            assert not [row for row in rows if "anna" in row or "192.0.2.7" in row], table.name
        delivery = session.exec(sqlmodel.select(tables.Delivery).where(tables.Delivery.subscriber_id == known)).one()
        assert (delivery.state, delivery.reply) == ("sent", None)
        assert [row.key for row in session.exec(sqlmodel.select(tables.ApiAnswer))] == ["b"]
    assert traces(bench, "anna", "forgettable", "secret-token") == set()


def test_what_was_overwritten_before_is_gone_from_the_file_too(bench, run):
    bench.people(*(f"r{i}@example.org" for i in range(50)), ANNA, *(f"s{i}@example.org" for i in range(50)))
    run("move", ANNA, "hanna@example.net")
    run("tag", "hannas-choir", "hanna@example.net")
    run("untag", "hannas-choir", "hanna@example.net")
    run("erase", "hanna@example.net", "--yes")
    assert traces(bench, "anna") == set()


@pytest.mark.parametrize("rotated", [False, True])
def test_an_erased_address_comes_back_by_no_file_form_or_command_until_it_is_let_in(bench, run, rotated):
    bench.people(ANNA)
    run("move", ANNA, "anna@bücher.example")
    assert run("erase", "anna@xn--bcher-kva.example", "--yes")[0] == 0
    if rotated:
        key = bench.folder / "secret.key"
        key.chmod(0o600)
        key.write_text("another-key-of-more-than-sixteen\n" + key.read_text())
    for address in ("ANNA@BÜCHER.example", ANNA):  # also the one they had before: it stands in old lists
        result = bench.people(address)
        assert (result.added, result.suppressed) == (0, 1)
        assert "is suppressed (erased)" in run("add", address, "--topic", "robots")[2]
        with bench.app() as app, app.store.write() as session:
            proof = signups.Proof("page")
            assert not signups.ask(
                session,
                address,
                [("weekly", "robots")],
                token="t",
                digest="d",
                proof=proof,
                digests=app.digests,
                now=THURSDAY,
            )
        assert json.loads(run("export", "--person", address)[1])["story"]["suppression"][0]["reason"] == "erased"
        assert run("unsuppress", address)[0] == 0
        assert bench.people(address).added == 1
    assert emails(run, "--state", "active") == ["ANNA@bücher.example", ANNA]
    assert run("erase", "anna@bücher.example", ANNA, "--yes")[0] == 0
    assert emails(run) == []


def test_erasing_one_leaves_a_longer_address_alone(bench, run):
    bench.people("bo@example.org", "jumbo@example.org")
    with bench.app() as app, app.store.write() as session:
        signups.ask_address(
            session, audience.get(session, "jumbo@example.org").id, "limbo@example.org", "weekly", token="t", digest="d",
            proof=signups.Proof("page"), digests=app.digests, now=THURSDAY,
        )  # fmt: skip
    run("erase", "bo@example.org", "--yes")
    with bench.app() as app, app.store.read() as session:
        assert [row.wanted for row in session.exec(sqlmodel.select(tables.Confirmation))] == [
            {"email": "limbo@example.org"}
        ]


def test_a_statement_that_fails_does_not_name_anybody(bench):
    with bench.app() as app, pytest.raises(Exception, match="UNIQUE") as told, app.store.write() as session:
        for _ in range(2):
            session.add(tables.Subscriber(email=ANNA, email_norm=ANNA, created_at=THURSDAY))
            session.flush()
    assert ANNA not in str(told.value)
    assert not isinstance(told.value, errors.NewsletterError)
