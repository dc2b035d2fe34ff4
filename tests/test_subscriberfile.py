"""Files of people, as services and spreadsheets write them."""

from __future__ import annotations

import csv
import datetime as dt
import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import addresses, errors, subscribercells, subscriberfile, types

S = types.SubscriberState


def read(data, **mapping):
    data = data.encode() if isinstance(data, str) else data
    return list(subscriberfile.read(data, mapping=mapping))


def people(data, **mapping):
    return [(row.address.email, row.name) for row in read(data, **mapping)]


@pytest.mark.parametrize(
    "text",
    [
        "email,name\nanna@example.org,Zoë Ø\n",
        "\ufeffEmail,Name\r\nanna@example.org,Zoë Ø\r\n",
        "name;E-Mail\nZoë Ø;anna@example.org",
        "E-mail Address\tFull Name\ranna@example.org\tZoë Ø\r",
        '"Subscriber"|"Name"\n"anna@example.org"|"Zoë Ø"\n',
        "sep=;\nNamn;E-post\nZoë Ø;anna@example.org\n",
        "Notes:\nNobody's business.\n\nFirst Name,Last Name,Email Address\nZoë,Ø,anna@example.org\n",
        "Prénom;Nom;Courriel\nZoë;Ø;anna@example.org\n",
        'email,first name,last name\nanna@example.org, "Zoë" , Ø \n',
        "Name,Surname,Email\nZoë,Ø,anna@example.org\n",
        "E-mail 1 - Type,E-mail 1 - Value,Name\nWork,anna@example.org,Zoë Ø\n",
        "email,name,city\nanna@example.org,Zoë Ø\n",
        "email,name\nanna@example.org,Zoë Ø,,\n\n,,\n",
        "anna@example.org;Zoë Ø\n",
        "name,email\nZoë Ø,Zoë <anna@example.org>\n",
    ],
)
def test_the_columns_are_found_however_they_are_written(text):
    assert people(text) == [("anna@example.org", "Zoë Ø")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
def test_the_encoding_is_found(encoding):
    text = "email,name\n" + "".join(f"reader{i}@example.org,Jörg Müller\n" for i in range(3))
    assert [name for _, name in people(text.encode(encoding))] == ["Jörg Müller"] * 3


def test_a_file_that_changes_its_encoding_half_way_is_read():
    data = b"email,name\n" + "a@example.org,Zoë\n".encode() * 2 + "b@example.org,Zoë – “Z”\n".encode("cp1252")
    assert [name for _, name in people(data)] == ["Zoë", "Zoë", "Zoë – “Z”"]


def test_a_plain_list_of_addresses_is_read_and_a_bad_one_among_them_is_named():
    rows = read("anna@example.org\n\n Bo <bo@example.org>,\nfoo@\nmailto:cleo@example.org;\n")
    assert [row.address.email for row in rows if isinstance(row, subscriberfile.Row)] == [
        "anna@example.org",
        "bo@example.org",
        "cleo@example.org",
    ]
    assert [(row.line, row.value) for row in rows if isinstance(row, types.BadRow)] == [(4, "foo@")]


def test_a_mapped_column_is_taken_and_one_that_is_not_there_is_named_with_those_that_are():
    assert people("correo,alias\nanna@example.org,Anna\n", email="Correo", name="alias") == [
        ("anna@example.org", "Anna")
    ]
    with pytest.raises(errors.UsageError, match=r"email=nope.*'correo', 'alias'"):
        read("correo,alias\nanna@example.org,Anna\n", email="nope")
    with pytest.raises(errors.UsageError, match="is no column; there is email"):
        read("email\n", colour="x")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"Username,Profile\nanna,x\n", "'Username', 'Profile'.*--map email=COLUMN"),
        (b"correu,nota\nanna@example.org,x\n", "'correu', 'nota'.*--map email=COLUMN"),
        (b'[{"email": "anna@example.org"}]', "JSON"),
        (b"BEGIN:VCARD\nEMAIL:anna@example.org\n", "vCards"),
        (b"<html><body>", "XML"),
        (b"PK\x03\x04....", "spreadsheet"),
    ],
)
def test_a_file_that_holds_no_people_is_refused_whole_with_what_to_do(data, why):
    with pytest.raises(errors.UsageError, match=why):
        read(data)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("bad@,Bad", "nothing stands after the @"),
        (",Bad", "empty"),
        ("bad@example.org,Bad,extra", "3 cells, the header 2"),
        ("bad\0@example.org,Bad", "NUL"),
        ('bad@example.org,"Bad', "not closed"),
        ('"bad@example.org,Bad', "not closed"),
        ('bad@example.org,"Bad ""one', "not closed"),
        ("bad@example.org," + "x" * 70_000, "longer than 65,536"),
        ('bad@example.org,"' + "x" * 70_000, "longer than 65,536"),
    ],
)
def test_a_bad_row_costs_one_line_and_the_rest_goes_on(line, why):
    rows = read(f'email,name\nanna@example.org,Anna\n{line}\nbo@example.org,Bo\ncleo@example.org,"Cleo, C."\n')
    assert [type(row) for row in rows] == [subscriberfile.Row, types.BadRow, subscriberfile.Row, subscriberfile.Row]
    assert rows[1].line == 3
    assert why in rows[1].reason
    assert len(rows[1].value) <= 200
    assert rows[3].name == "Cleo, C."
    assert rows[3].line == 5


def test_two_open_quotes_do_not_swallow_the_rows_between_them():
    rows = read('email,name\na@example.org,"Anna\nb@example.org,Bo\nc@example.org,Cleo"\nd@example.org,Di\n')
    assert [row.address.email for row in rows if isinstance(row, subscriberfile.Row)] == [
        "b@example.org",
        "c@example.org",
        "d@example.org",
    ]
    assert [row.line for row in rows if isinstance(row, types.BadRow)] == [2]


def test_a_quoted_cell_may_hold_line_breaks_and_delimiters():
    text = 'note,email\n"one, two\nthree",a@example.org\n"x",b@example.org\n'
    assert [(row.line, row.address.email) for row in read(text)] == [(2, "a@example.org"), (4, "b@example.org")]


def test_a_row_that_breaks_off_before_what_could_say_no_is_refused():
    rows = read("email,name,status\nanna@example.org,Anna\nbo@example.org\ncleo@example.org,,active\n")
    assert [type(row) for row in rows] == [types.BadRow, types.BadRow, subscriberfile.Row]


@pytest.mark.parametrize(
    ("heading", "cell", "state"),
    [
        ("status", "Active", S.ACTIVE),
        ("STATUS", "subscribed", S.ACTIVE),
        ("state", "enabled", S.ACTIVE),
        ("Subscription status", "Not confirmed", S.PENDING),
        ("status", "unsubscribed", S.UNSUBSCRIBED),
        ("status", "cleaned", S.BOUNCED),
        ("status", "Marked as spam", S.COMPLAINED),
        ("status", "", None),
        ("UNSUB_TIME", "2020-01-01 10:00:00", S.UNSUBSCRIBED),
        ("UNSUB_TIME", "", None),
        ("CLEAN_TIME", "2020-01-01 10:00:00", S.BOUNCED),
        ("email_disabled", "true", S.UNSUBSCRIBED),
        ("email_disabled", "false", None),
        ("subscribed_to_emails", "FALSE", S.UNSUBSCRIBED),
        ("Accepts Email Marketing", "no", S.UNSUBSCRIBED),
        ("Is this subscriber confirmed", "0", S.PENDING),
        ("type", "unactivated", S.PENDING),
        ("type", "premium", None),
        ("type", "active", None),
        ("Subscribed", "2024-05-06 07:08:09", None),
    ],
)
def test_what_a_file_says_of_a_person_is_understood(heading, cell, state):
    (row,) = read(f"email,{heading}\nanna@example.org,{cell}\n")
    assert row.state is state


def test_cells_without_a_heading_are_left_out_where_only_addresses_have_one_but_never_an_address():
    rows = read('email      \nanna@example.org   , Anna  , "{""a"": 1, ""b"": 2}" \nbo@example.org,cleo@example.org\n')
    assert [type(row) for row in rows] == [subscriberfile.Row, types.BadRow]
    assert rows[0].address.email == "anna@example.org"


def test_of_several_words_the_firmest_no_holds():
    (row,) = read("email,status,email_disabled,clean_time\nanna@example.org,active,true,2020-01-01\n")
    assert row.state is S.BOUNCED


def test_a_forbidden_address_is_a_suppression_too():
    (row,) = read("email,status\nanna@example.org,blocklisted\n")
    assert (row.state, row.suppressed) == (S.UNSUBSCRIBED, (("", "blocklisted"),))


def test_an_unknown_state_is_refused_with_those_that_are_known():
    (row,) = read("email,status\nanna@example.org,4\n")
    assert isinstance(row, types.BadRow)
    assert "'4' is no state; there is active, pending" in row.reason
    assert row.value == "anna@example.org"


def test_a_state_of_the_union_is_no_state_of_a_person():
    (row,) = read("email,city,state,zip\nanna@example.org,Austin,Texas,73301\n")
    assert row.state is None


def test_times_without_a_zone_are_utc_and_what_is_none_is_refused():
    rows = read("email,since\na@example.org,2024-03-01\nb@example.org,2024-03-01T01:00:00+01:00\nc@example.org,soon\n")
    assert [getattr(row, "since", None) for row in rows] == [dt.datetime(2024, 3, 1, tzinfo=dt.UTC)] * 2 + [None]
    assert "'soon' is no time" in rows[2].reason


def test_topics_may_be_parted_by_semicolon_bar_or_comma():
    rows = read('email,topics\na@example.org,weekly/a; b\nb@example.org,"a|b (left),c"\nc@example.org,\n')
    assert [(row.topics, row.left) for row in rows] == [(("weekly/a", "b"), ()), (("a", "c"), ("b",)), ((), ())]
    assert read("email\na@example.org\n")[0].topics is None


def test_an_unknown_language_does_not_cost_the_person():
    rows = read("email,language\na@example.org,de_DE\nb@example.org,Elvish (high)\n")
    assert [row.language for row in rows] == ["de-DE", None]


ADDRESS = st.from_regex(r"[a-z=+'-][a-z0-9=+'-]{0,8}@[a-z]{1,8}\.org", fullmatch=True).map(addresses.parse)
NAME = st.text(max_size=40).map(addresses.clean_name)
WORD = st.from_regex(r"[a-z]{1,6}( [a-z:,|*]{1,6})?", fullmatch=True)
TOPIC = st.from_regex(r"[a-z]{1,4}/[a-z0-9-]{1,6}", fullmatch=True)
MOMENT = st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2090, 1, 1)).map(lambda t: t.replace(tzinfo=dt.UTC))  # noqa: DTZ001
TAG = st.text(max_size=12).map(subscribercells.tag_of).filter(lambda tag: tag and not tag.startswith("*"))


def PROOF(what):
    ips = st.none() | st.ip_addresses().map(str)
    return st.builds(subscriberfile.Proof, st.just(what), st.none() | MOMENT, ips)


ROW = st.builds(
    subscriberfile.Row,
    line=st.just(0),
    address=ADDRESS,
    name=NAME,
    state=st.sampled_from([*S][:5]),
    language=st.sampled_from([None, "de", "en-GB"]),
    topics=st.lists(TOPIC, max_size=3, unique=True).map(tuple),
    left=st.lists(TOPIC, max_size=2, unique=True).map(tuple),
    since=MOMENT,
    suppressed=st.dictionaries(st.sampled_from(["", "weekly", "a-b"]), WORD, max_size=2).map(
        lambda found: tuple(sorted(found.items()))
    ),
    tags=st.lists(TAG, max_size=3, unique=True).map(tuple),
    paused_until=st.none() | MOMENT,
    proofs=st.tuples(PROOF("subscribed"), PROOF("confirmed")).map(lambda both: tuple(p for p in both if p.at or p.ip)),
)


@pytest.mark.parametrize(
    "reason", ["f", "no", "0", "yes", "null", "*: f", "weekly: no", "a |", "| a", "a | b", "a \\", "\\|"]
)
def test_reason_that_looks_like_a_yes_or_no_is_kept(reason):
    kept = (("", reason), ("weekly", reason))
    assert subscribercells.suppressed_of(subscribercells.suppressed_text(kept)) == kept


@given(st.lists(ROW, max_size=5))
def test_what_is_written_is_read_back_the_same(rows):
    stream = io.StringIO()
    assert subscriberfile.write(rows, stream) == len(rows)
    back = read(stream.getvalue())
    assert [subscriberfile.dataclasses.replace(row, line=0) for row in back] == rows


@given(st.lists(ROW, max_size=5))
def test_no_cell_that_is_written_runs_in_a_spreadsheet(rows):
    stream = io.StringIO()
    subscriberfile.write(rows, stream)
    cells = [cell for record in csv.reader(io.StringIO(stream.getvalue())) for cell in record]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r", "＝")]


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("name,email\nAnna,anna@example.org,more\n", True),  # nothing before the address can be shifted
        ("name,email\nHall, Anna,anna@example.org\n", False),
        ("name,email\nAnna,anna@example.org,bo@example.org\n", False),
        ("email,name\nanna@example.org,Hall, Anna\n", False),
        ("email,name,unsubscribed\nanna@example.org,Hall, Anna,yes\n", False),
    ],
)
def test_a_row_with_too_many_cells_is_taken_only_where_nothing_can_be_shifted(text, taken):
    (row,) = read(text)
    assert isinstance(row, subscriberfile.Row) == taken


@pytest.mark.parametrize("name", ["=1+1", "'=1+1", "''@x", "'quoted'", "'", "-", "+4"])
def test_an_apostrophe_is_taken_off_only_where_writing_put_it_on(name):
    stream = io.StringIO()
    subscriberfile.write([subscriberfile.Row(0, addresses.parse("a@example.org"), name)], stream)
    assert read(stream.getvalue())[0].name == name


@given(st.binary(max_size=300), st.sampled_from([b"", b"email,name\n", b"email;status;topics\n", b"\xff\xfe"]))
def test_any_octets_give_rows_or_bad_rows_or_a_refusal(octets, head):
    try:
        rows = read(head + octets)
    except errors.UsageError as error:
        assert str(error)
        return
    assert all(isinstance(row, subscriberfile.Row) or (row.line >= 1 and row.reason) for row in rows)


@given(
    st.lists(st.sampled_from(["a@example.org", '"', ",", "\n", "Bo", '""', "x", "\r\n", "b@example.org"]), max_size=30)
)
def test_no_address_that_stands_on_a_line_of_its_own_is_swallowed(pieces):
    text = "email,name\n" + "".join(pieces) + "\nlast@example.org,Last\n"
    seen = [row.address.email if isinstance(row, subscriberfile.Row) else row.value for row in read(text)]
    assert any("last@example.org" in value for value in seen)


def test_memory_stays_flat_however_long_the_file_is():
    class Endless(io.RawIOBase):
        left = 40_000

        def read(self, size=-1):
            self.left -= 1
            return b"reader@example.org,Reader\n" * 10 if self.left > 0 else b""

    class Source(Endless):
        started = False

        def read(self, size=-1):
            if not self.started:
                self.started = True
                return b"email,name\n"
            return super().read(size)

    tracemalloc.start()
    count = sum(1 for _ in zip(range(30_000), subscriberfile.read(Source()), strict=False))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 30_000
    assert peak < 2_000_000
