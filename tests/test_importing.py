"""`subscribers import`: what other services export, topics from groups, and rehearsals of any length."""

import json

import pytest
import sqlmodel
from conftest import THURSDAY
from hypothesis import given, settings
from hypothesis import strategies as st

from newsletter import cli, errors, subscriberfile, types
from newsletter.app import importing, people
from newsletter.store import tables

S = types.SubscriberState
MAILCHIMP = "Email Address,First Name,Last Name,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP"
TAGS = "LEID,EUID,NOTES,TAGS"


@pytest.fixture
def take(bench):
    """Import a text; returns the result."""

    def command(text, name="people.csv", *, topics=("rl-agents",), state=None, **options):
        path = bench.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        wanted = S(state) if state else None
        with bench.app(THURSDAY) as app:
            return importing.import_file(app, str(path), topics=topics, state=wanted, **options)

    return command


def listed(bench):
    with bench.app() as app:
        return {person.email: person for person in people.listing(app)}


def records(bench, what=None):
    with bench.app() as app, app.store.read() as session:
        rows = session.exec(sqlmodel.select(tables.Consent).order_by(tables.Consent.at, tables.Consent.id)).all()
        return [(row.what, f"{row.at:%F %T}", row.ip, row.words) for row in rows if what in (None, row.what)]


def counted(result):
    return result.added, result.updated, result.unchanged, result.suppressed, len(result.rejected)


# -- services --------------------------------------------------------------------------------------------------------

SERVICES = {
    "Mailchimp, subscribed": (
        f"{MAILCHIMP},LAST_CHANGED,{TAGS}\n"
        'anna@example.org,Anna,A,2,2018-02-05 19:28:23,192.0.2.1,2018-02-05 19:30:00,192.0.2.2,2020-01-01 00:00:00,1,a,,"""VIP"",""Blog"""\n',
        ("active", "Anna A", "2018-02-05", ("Blog", "VIP")),
    ),
    "Mailchimp, unsubscribed": (
        f"{MAILCHIMP},UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER,{TAGS}\n"
        "anna@example.org,Anna,A,2,2018-02-05 19:28:23,,,,,,,,,1,a,,\n",
        ("unsubscribed", "Anna A", "2018-02-05", ()),
    ),
    "Mailchimp, cleaned": (
        f"{MAILCHIMP},CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID,{TAGS}\n"
        "anna@example.org,Anna,A,2,2018-02-05 19:28:23,,,,2020-03-23 17:30:05,,,1,a,,\n",
        ("bounced", "Anna A", "2018-02-05", ()),
    ),
    "Substack": (
        "email,active_subscription,expiry,plan,email_disabled,created_at,first_payment_at\n"
        "anna@example.org,false,,other,false,2021-07-06T16:20:44.000Z,\n",
        ("active", "", "2021-07-06", ()),
    ),
    "Substack, disabled": (
        "email,expiry,email_disabled,prefer_digests,stripe_connected_customer_id,type\nanna@example.org,,true,false,,paid\n",
        ("unsubscribed", "", None, ()),
    ),
    "Ghost": (
        "id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at,deleted_at,labels,tiers\n"
        ",anna@example.org,Anna,,true,,,2019-10-30T14:52:08.000Z,,vip,\n",
        ("active", "Anna", "2019-10-30", ()),
    ),
    "listmonk": (
        "uuid,email,name,attributes,status,created_at,updated_at\n"
        '6a,anna@example.org,Anna,"{""city"": ""Oslo""}",enabled,2024-01-02 10:11:12.131415 +0000 UTC,\n',
        ("active", "Anna", "2024-01-02", ()),
    ),
    "listmonk, two columns of states": (
        "email,name,status,subscription_status\nanna@example.org,Anna,enabled,unsubscribed\n",
        ("unsubscribed", "Anna", None, ()),
    ),
    "Buttondown": (
        "id,email_address,type,creation_date,notes,tags,unsubscription_date,unsubscription_reason,undeliverability_date\n"
        "s1,anna@example.org,regular,2022-05-06T07:08:09Z,,donor,,,\n",
        ("active", "", "2022-05-06", ("donor",)),
    ),
    "Buttondown, left": (
        "email,subscriber_type,unsubscription_date\nanna@example.org,regular,2023-01-01T00:00:00Z\n",
        ("unsubscribed", "", None, ()),
    ),
    "beehiiv": (
        "email,First Name,Last Name,status,tier,created_at,stripe_customer_id,Free Tier,unsubscribed_at\n"
        "anna@example.org, Anna ,,active,free,2023-03-24 10:23:10 UTC,,Yes,\n",
        ("active", "Anna", "2023-03-24", ()),
    ),
    "Kit": ("first_name,email,created_at,status\nAnna,anna@example.org,2022-09-10T11:12:13Z,cancelled\n", ("unsubscribed", "Anna", "2022-09-10", ())),
    "Brevo": (
        "EMAIL;LASTNAME;FIRSTNAME;SMS;EMAIL_BLACKLISTED;SMS_BLACKLISTED;ADDED_TIME;MODIFIED_TIME\n"
        "anna@example.org;A;Anna;;No;No;24-12-2022 09:30;25-12-2022 10:00\n",
        ("active", "Anna A", "2022-12-24", ()),
    ),
    "MailerLite": (
        "Subscriber,Status,Subscribed,Sent,Opens,Clicks,Location,First name,Last name\n"
        'anna@example.org,Active,2024-05-06 07:08:09,12,5,1,"Lyon, France",Anna,A\n',
        ("active", "Anna A", "2024-05-06", ()),
    ),
    "MailerLite, left": (
        "Email,Status,Unsubscribed\nanna@example.org,Active,2024-05-06 07:08:09\n",
        ("unsubscribed", "", None, ()),
    ),
    "phpList": (
        "id\tEmail\tIs this subscriber confirmed\tIs this subscriber blacklisted\tNumber of bounces\tEntered\tIs this account disabled?\t\n"
        "1\tanna@example.org\t1\t0\t3\t2023-01-02 03:04:05\t0\t\n",
        ("active", "", "2023-01-02", ()),
    ),
    "Google": (
        "First Name,Middle Name,Last Name,Labels,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Value\n"
        "Anna,,A,* myContacts ::: Friends,*,anna@example.org,other@example.org\n",
        ("active", "Anna A", None, ()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("service", SERVICES)
def test_what_a_service_exports_is_understood_as_it_is(bench, take, service):
    text, (state, name, since, tags) = SERVICES[service]
    result = take(text, state="active")
    assert not result.rejected
    gone = state != "active"
    assert (result.added, result.suppressed, result.noted) == (not gone, gone, gone)
    person = listed(bench)["anna@example.org"]
    assert (person.state.value, person.name, person.tags) == (state, name, tags)
    assert f"{person.since:%F}" == (since or f"{THURSDAY:%F}")
    assert person.topics == (() if gone else ("weekly/rl-agents",))
    again = take(text, state="active")
    assert (again.added, again.updated, again.suppressed, again.unchanged) == (0, 0, 0, 1)


def test_the_time_and_the_address_of_a_consent_are_kept(bench, take):
    take(SERVICES["Mailchimp, subscribed"][0])
    assert records(bench) == [
        ("subscribed", "2018-02-05 19:28:23", "192.0.2.1", None),
        ("confirmed", "2018-02-05 19:30:00", "192.0.2.2", None),
        ("imported", f"{THURSDAY:%F %T}", None, None),
    ]
    take(SERVICES["Mailchimp, subscribed"][0])
    assert len(records(bench)) == 3


def test_when_and_why_somebody_left_is_kept(bench, take):
    take(
        f"{MAILCHIMP},UNSUB_TIME,UNSUB_CAMPAIGN_ID,UNSUB_REASON\n"
        "anna@example.org,,,,,,,,2020-03-23 17:30:05,7,No longer interested\nbo@example.org,,,,,,,,2020-03-24 17:30:05,7,Spam\n"
    )
    assert records(bench, "unsubscribed") == [("unsubscribed", "2020-03-23 17:30:05", None, "No longer interested")]
    assert records(bench, "complained") == [("complained", "2020-03-24 17:30:05", None, "Spam")]


def test_a_time_that_is_still_to_come_proves_nothing(bench, take):
    take("email,optin_time,optin_ip,confirm_time\nanna@example.org,2099-01-01,192.0.2.1,soon\n")
    assert [what for what, *_ in records(bench)] == ["imported"]
    assert f"{listed(bench)['anna@example.org'].since:%F}" == f"{THURSDAY:%F}"


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("subscribed_segment_export_8a.csv", "active"),
        ("Subscribed_segment_export_8a.csv", "active"),
        ("Unsubscribed_segment_export_8a.csv", "unsubscribed"),
        ("cleaned_members_export_8a.csv", "bounced"),
        ("nonsubscribed_email_audience_export_8a.csv", "pending"),
    ],
)
def test_the_name_of_mailchimps_files_says_who_is_in_them(bench, take, name, state):
    take("Email Address,First Name\nanna@example.org,Anna\n", name, state="active")
    assert listed(bench)["anna@example.org"].state.value == state


def test_repaired_spellings_of_one_address_are_one_person(bench, take):
    text = (
        "email,name\nAnna <ANNA@bücher.example>,\n anna@xn--bcher-kva.example ,Anna\nmailto:anna@BÜCHER.example,\n"
        '"""Å, Anna"" <anna@bücher.example>",\n\ufeffanna@bücher.example\u200b,\n'
    )
    result = take(text)
    assert (result.rows, result.added, len(result.rejected)) == (5, 1, 0)
    assert [person.name for person in listed(bench).values()] == ["Anna"]


# -- topics ----------------------------------------------------------------------------------------------------------

GROUPS = (
    'Email,Groups\nanna@example.org,"Old agents, ROBOTS"\nbo@example.org,Robots that learn; VIP\ncleo@example.org,VIP\n'
    "di@example.org,\neve@example.org,Staff\nleft@example.org,Nobody knows\n"
)


def test_groups_become_topics_and_what_is_none_is_reported_once(bench, take):
    take("email,status\nleft@example.org,unsubscribed\n")
    groups = importing.Groups("Groups", {"old agents": "rl-agents", "staff": ""})
    result = take(GROUPS, topics=(), state="active", groups=groups)
    assert {email: person.topics for email, person in listed(bench).items()} == {
        "left@example.org": (),
        "anna@example.org": ("weekly/rl-agents", "weekly/robots"),
        "bo@example.org": ("weekly/robots",),
        "di@example.org": (),
        "eve@example.org": (),
    }
    assert dict(result.unmapped) == {"VIP": 2, "Nobody knows": 1}
    assert [(bad.line, bad.value) for bad in result.rejected] == [(4, "cleo@example.org"), (7, "left@example.org")]
    assert "none of its groups is a topic here ('VIP'); --map-topic" in result.rejected[0].reason
    assert result.idle == 2


def test_a_named_topic_is_given_on_top_of_the_groups(bench, take):
    take(GROUPS, topics=("rl-agents",), groups=importing.Groups("groups"))
    assert {person.topics for person in listed(bench).values()} == {
        ("weekly/rl-agents", "weekly/robots"),
        ("weekly/rl-agents",),
    }


def test_the_command_names_values_that_are_no_topic(bench, capsys):
    path = bench.folder / "people.csv"
    path.write_text(GROUPS)
    command = [
        "-C",
        str(bench.folder),
        "subscribers",
        "import",
        str(path),
        "--topic-from",
        "Groups",
        "--tags-from",
        "Groups",
    ]
    assert cli.run([*command, "--map-topic", "Old agents=weekly/rl-agents", "--map-topic", "VIP=", "--dry-run"]) == 1
    err = capsys.readouterr().err
    assert "'Staff' is no topic here (1 row); --map-topic 'GROUP=TOPIC' says which\n" in err
    assert "'VIP'" not in err
    assert "2 of those added have no topic: they get nothing" in err
    assert listed(bench) == {}
    assert cli.run([*command, "--map-topic", "VIP=nope"]) == 2
    assert cli.run([*command, "--map-topic", "VIP"]) == 2
    capsys.readouterr()
    assert cli.run([*command, "--topic", "robots", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unmapped"] == {"Old agents": 1, "VIP": 2, "Staff": 1, "Nobody knows": 1}
    assert listed(bench)["bo@example.org"].tags == ("Robots that learn", "VIP")


def test_a_column_that_is_not_there_is_wrong_use(take):
    with pytest.raises(errors.UsageError, match="no line of the file has the columns"):
        take(GROUPS, groups=importing.Groups("Lists"))


def test_a_hostile_column_of_groups_costs_no_more_than_a_thousand_names(take):
    text = "email,g\n" + "".join(f"r{i}@example.org,group {i}\n" for i in range(importing.UNMAPPED + 50))
    result = take(text, groups=importing.Groups("g"))
    assert len(result.unmapped) == importing.UNMAPPED + 1
    assert result.unmapped[importing.OTHERS] == 50


# -- rehearsals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows_a_transaction", [3, 10_000])
def test_a_rehearsal_reports_what_the_import_will_and_leaves_no_trace(bench, take, monkeypatch, rows_a_transaction):
    monkeypatch.setattr(importing, "ROWS_A_TRANSACTION", rows_a_transaction)
    take("email,status,tags\nleft@example.org,unsubscribed,\nhere@example.org,active,a\n")
    with bench.app() as app:
        people.suppress(app, "never@example.org")
        people.erase(app, "here@example.org")
    text = (
        "email,name,tags\n" + "".join(f"r{i % 5}@example.org,,\n" for i in range(8))
        + "left@example.org,,\nnever@example.org,,\nHERE@example.org,,\nbad@,,\nr1@example.org,New name,b\n"
    )  # fmt: skip
    before = listed(bench)
    files = {path.name for path in (bench.folder / "subscribers").rglob("*")}
    foretold = take(text, dry_run=True)
    assert listed(bench) == before
    assert {path.name for path in (bench.folder / "subscribers").rglob("*")} == files
    assert foretold == take(text)
    assert counted(foretold) == (5, 1, 3, 3, 1)


def test_a_rehearsal_keeps_nobody_from_writing(bench, take, monkeypatch):
    monkeypatch.setattr(importing, "ROWS_A_TRANSACTION", 2)
    begun = []

    def rows(real):
        for row in real:
            begun.append(people.suppress(app, f"s{len(begun)}@example.org"))
            yield row

    real = subscriberfile.read
    with bench.app() as app:
        monkeypatch.setattr(
            subscriberfile,
            "read",
            lambda *given, **named: subscriberfile.People(False, rows(real(*given, **named))),
        )
        path = bench.folder / "p.csv"
        path.write_text("email\n" + "".join(f"r{i}@example.org\n" for i in range(6)))
        assert importing.import_file(app, str(path), topics=["robots"], dry_run=True).added == 6
    assert len(begun) == 6


# -- hostile files ---------------------------------------------------------------------------------------------------

HOSTILE = [
    b"email,name\nanna@example.org\r\nBcc: bo@example.org,Anna\n",
    b'email,name\n"anna@example.org\r\nBcc: bo@example.org",Anna\n',
    b"email,name\nanna@example.org%0d%0aBcc:bo@example.org,Anna\n",
    b"email,name\nanna@example.org'; DROP TABLE subscriber; --,Robert'); DROP TABLE subscriber;--\n",
    b"email,name\n" + b"a" * 10_000_000 + b"@example.org,x\n",
    b"email,name\nanna@example.org," + b"x" * 10_000_000 + b"\n",
    "email,name\nаnna@exаmple.org,\u202egro.elpmaxe@anna\n".encode(),  # Cyrillic а
    b"email,name\n\x00\x01\x02,\xff\xfe\n",
    b'email,name,tags\nanna@example.org,=cmd|"/C calc"!A0,"=1+1;@x"\n',
    b"email,state,since,paused_until,optin_time,optin_ip,topics\nanna@example.org,,,9999-99-99,x,y,../../etc/passwd\n",
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_file_is_boring(bench, take, data):
    result = take(data + b"last@example.org,Last\n" if data.count(b",") < 4 else data)
    assert result.rows == sum(counted(result))
    for person in listed(bench).values():
        assert not set(person.email + person.name) & set("\r\n\0<>\u202e")
        assert len(person.name) <= 200
    with bench.app() as app:
        assert [row.address.email for row in people.exported(app)] == list(listed(bench))


CELL = st.text(max_size=20) | st.sampled_from(
    ["anna@example.org", "a@b", "=1+1", "unsubscribed", "2024-01-01", "1.2.3.4", '"']
)


@settings(max_examples=40)
@given(st.lists(st.lists(CELL, min_size=14, max_size=14), max_size=3))
def test_any_cells_make_rows_or_bad_rows(rows):
    heading = ",".join([*subscriberfile.COLUMNS, "unsubscribed_at"])
    text = "\n".join([heading, *(",".join(f'"{c.replace(chr(34), chr(34) * 2)}"' for c in row) for row in rows)])
    found = list(subscriberfile.read(text.encode("utf-8", "surrogatepass")))
    assert all(isinstance(row, subscriberfile.Row | types.BadRow) for row in found)
