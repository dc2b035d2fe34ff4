"""Files of people: CSV as anyone writes it -> rows, and rows -> CSV that `read` takes back. Knows no database.

    octets -> text -> lines -> cells -> Row | BadRow

Memory is flat: a line at a time. A row that cannot be read is a `types.BadRow` with its line, and the next one goes on;
a quote that is never closed costs its own line, not the rest of the file. What a file says against mailing a person
is read wherever it stands (`subscribercolumns`); what it says for it is the importer's to judge.
"""

from __future__ import annotations

import codecs
import csv
import dataclasses
import datetime as dt
import io
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TextIO

from newsletter import addresses, errors, subscribercells, subscribercolumns, types

COLUMNS = (
    "email", "name", "state", "language", "topics", "since", "suppressed", "tags", "paused_until",
    "optin_time", "optin_ip", "confirm_time", "confirm_ip",
)  # what `write` writes  # fmt: skip
LINE_CHARACTERS = 65_536  # a longer line is no row of people
QUOTED_LINES = 100  # a quoted cell may span so many
HEADER_LINES = 12  # how far down a header may stand: some exports have notes on top
HEAD_OCTETS = 65_536
VALUE_CHARACTERS = 200  # of a bad row, in its report
_DELIMITERS = ",;\t|"

# A spreadsheet runs a cell that begins so (OWASP, "CSV Injection"); an apostrophe in front stops it. One that is there
# already gets another, so that reading takes off what writing put on.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_ESCAPED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


@dataclasses.dataclass(frozen=True, slots=True)
class Proof:
    """What a person said elsewhere: `subscribed` or `confirmed`, when and from which network address."""

    what: str
    at: dt.datetime | None
    ip: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A person as a file has them, or as one is written.

    `topics` are `newsletter/topic` or a topic alone, None when the file has no such column; `left` are those given up;
    `groups` are what `--topic-from` makes topics of. `suppressed` are (newsletter, reason), the newsletter "" for all.
    `line` is the file's, from 1. All times are aware. `left_at` and `left_why` say more about a state that is a no.
    """

    line: int
    address: addresses.Address
    name: str = ""
    state: types.SubscriberState | None = None
    language: str | None = None
    topics: tuple[str, ...] | None = None
    left: tuple[str, ...] = ()
    since: dt.datetime | None = None
    suppressed: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    paused_until: dt.datetime | None = None
    proofs: tuple[Proof, ...] = ()
    left_at: dt.datetime | None = None
    left_why: str | None = None
    groups: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class People:
    """A file under way, to be iterated once. `has_topics`: it names the topics itself."""

    has_topics: bool
    rows: Iterator[Row | types.BadRow]

    def __iter__(self) -> Iterator[Row | types.BadRow]:
        return self.rows


class Readable(Protocol):
    """A file opened in binary mode, or a pipe."""

    def read(self, size: int = -1, /) -> bytes: ...


def read(data: bytes | Readable, *, mapping: Mapping[str, str] | None = None, name: str = "") -> People:
    """Begin to read a file: encoding, delimiter and header are found here, the rows as they are asked for.

    `mapping` names columns that no synonym finds: {"email": "Correo"}. `name` is the file's, which may say what is in
    it. A file without a header, whose first line holds an address, is read as addresses. Raises `errors.UsageError`
    when the file is no CSV of people.
    """
    subscribercolumns.check_mapping(mapping or {})
    lines = _Lines(_text(io.BytesIO(data) if isinstance(data, bytes) else data))
    layout = _layout(lines, mapping or {})
    floor = subscribercolumns.stronger(layout.columns.floor, subscribercolumns.of_name(name))
    layout = dataclasses.replace(layout, columns=dataclasses.replace(layout.columns, floor=floor))
    return People("topics" in layout.columns.at, _rows(lines, layout))


def write(rows: Iterable[Row], stream: TextIO) -> int:
    """Write a file that `read` takes back, and that does no harm in a spreadsheet; returns the number of rows."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for row in rows:
        cells = (
            row.address.email,
            row.name,
            row.state or "",
            row.language or "",
            subscribercells.topics_text(row.topics or (), row.left),
            _moment(row.since),
            subscribercells.suppressed_text(row.suppressed),
            subscribercells.words_text(row.tags),
            _moment(row.paused_until),
            *_said(row, "subscribed"),
            *_said(row, "confirmed"),
        )
        writer.writerow([f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells])
        count += 1
    return count


def _moment(moment: dt.datetime | None) -> str:
    return moment.isoformat() if moment else ""


def _said(row: Row, what: str) -> tuple[str, str]:
    proof = next((proof for proof in row.proofs if proof.what == what), Proof(what, None))
    return _moment(proof.at), proof.ip or ""


# -- octets -> lines -----------------------------------------------------------------------------------------------


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Octets that are no UTF-8, read as Windows-1252: a file may change its mind half-way, and is read only once."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    octets = error.object[error.start : error.end]
    return "".join(bytes([octet]).decode("cp1252", "ignore") or chr(octet) for octet in octets), error.end


codecs.register_error("newsletter.windows", _as_windows)


class _Joined(io.RawIOBase):
    """What was read to look at it, then the rest: a pipe cannot be wound back."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # typeshed says Buffer
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _text(stream: Readable) -> TextIO:
    head = stream.read(HEAD_OCTETS)
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF", b"\x1f\x8b")):
        raise errors.UsageError("this is a spreadsheet, an archive or a document; save it as CSV and import that")
    if re.match(rb"(?i)(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*[{\]]|<[?!a-z]+[ >]|BEGIN:VCARD)", head):
        raise errors.UsageError("this is JSON, XML or vCards; export the people as CSV and import that")
    raw = io.BufferedReader(_Joined(head, stream))
    return io.TextIOWrapper(raw, encoding=_encoding(head), errors="newsletter.windows", newline=None)


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for name, octets in (("utf-16-le", head[1:2000:2]), ("utf-16-be", head[0:2000:2])):
        if octets.count(0) > 0.4 * len(octets):
            return name
    return "utf-8-sig"


class _Lines:
    """The lines of a text with their numbers; lines may be put back."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._back: deque[str] = deque()
        self.number = 0  # of the line that was given last

    def next(self) -> str | None:
        """The next line with its end, None after the last; of an over-long one the beginning."""
        if self._back:
            line = self._back.popleft()
        else:
            line = self._text.readline(LINE_CHARACTERS)
            if len(line) == LINE_CHARACTERS and not line.endswith("\n"):
                while (rest := self._text.readline(LINE_CHARACTERS)) and not rest.endswith("\n"):
                    pass
        if not line:
            return None
        self.number += 1
        return line

    def put_back(self, lines: Sequence[str]) -> None:
        """The lines come again, in this order."""
        self._back.extendleft(reversed(lines))
        self.number -= len(lines)


# -- the header ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class _Layout:
    """How a line becomes cells: "" as delimiter means that a line is one cell."""

    delimiter: str
    columns: subscribercolumns.Columns


def _layout(lines: _Lines, mapping: Mapping[str, str]) -> _Layout:
    """Find the header, and leave `lines` behind it."""
    seen: list[str] = []
    delimiters = _DELIMITERS
    filled = 0
    while filled < HEADER_LINES and (line := lines.next()) is not None:
        if not seen and (hint := re.fullmatch(r'\ufeff?"?sep=(.)"?\s*', line)):  # Excel's own hint
            delimiters = hint[1]
            continue
        seen.append(line)
        filled += bool(line.strip())
        for delimiter in sorted(delimiters, key=line.count, reverse=True):
            columns = subscribercolumns.find(_split(line.lstrip("\ufeff"), delimiter), mapping)
            if columns:
                return _Layout(delimiter if delimiter in line else _guess(lines, delimiters), columns)
        first = next((earlier for earlier in seen if earlier.strip()), "")
        if "@" in first and not mapping and (bare := _without_header(line, delimiters)):
            lines.put_back(seen)
            return bare
    raise errors.UsageError(_no_column(seen, delimiters, mapping))


def _guess(lines: _Lines, delimiters: str) -> str:
    """The delimiter of a file whose header has one column: its first row's."""
    line = lines.next()
    if line is None:
        return delimiters[0]
    lines.put_back([line])
    return max(delimiters, key=line.count)


def _without_header(line: str, delimiters: str) -> _Layout | None:
    if _is_address(line.strip().rstrip(_DELIMITERS)):
        return _Layout("", subscribercolumns.Columns(("email",), {"email": 0}))
    for delimiter in sorted(delimiters, key=line.count, reverse=True):
        cells = _split(line, delimiter)
        index = next((i for i, cell in enumerate(cells) if _is_address(cell)), None)
        if index is not None:
            at: dict[subscribercolumns.Kind, int] = {"email": index}
            if len(cells) == 2:
                at["name"] = 1 - index
            return _Layout(delimiter, subscribercolumns.Columns(("",) * len(cells), at, (), index + 1))
    return None


def _is_address(text: str) -> bool:
    try:
        addresses.parse(text)
    except errors.AddressError:
        return False
    return True


def _no_column(seen: Sequence[str], delimiters: str, mapping: Mapping[str, str]) -> str:
    line = next((line for line in seen if line.strip()), None)
    if line is None:
        return "the file is empty"
    headings = [cell.strip() for cell in _split(line, max(delimiters, key=line.count))][:40]
    shown = ", ".join(addresses.shortened(heading, 40) for heading in headings)
    if mapping:
        wanted = ", ".join(f"{kind}={heading}" for kind, heading in mapping.items())
        return f"no line of the file has the columns of --map {wanted}; the first one has {shown}"
    return f"no column holds addresses; the file has {shown}; name the right one: --map email=COLUMN"


def _split(line: str, delimiter: str) -> list[str]:
    """The cells of one line, whatever its quotes."""
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])


# -- lines -> rows -------------------------------------------------------------------------------------------------


def _rows(lines: _Lines, layout: _Layout) -> Iterator[Row | types.BadRow]:
    delimiter, columns = layout.delimiter, layout.columns
    while (line := lines.next()) is not None:
        number = lines.number
        if "\0" in line:
            yield _bad(number, line, "the line holds a NUL octet: is the file whole, and is it text?")
        elif len(line) >= LINE_CHARACTERS:
            yield _bad(number, line, f"the line is longer than {LINE_CHARACTERS:,} characters")
        elif not delimiter:
            if cell := line.strip().rstrip(_DELIMITERS):
                yield _row(number, [cell], columns)
        else:
            cells = line[:-1].split(delimiter) if '"' not in line and line[-1] == "\n" else None
            cells = cells or _quoted(line, lines, layout)
            if cells is None:
                yield _bad(number, line, "a quote is opened and not closed")
            elif any(cell and not cell.isspace() for cell in cells):
                yield _row(number, cells, columns)


def _quoted(first: str, lines: _Lines, layout: _Layout) -> list[str] | None:
    """The cells of a line and, while a quote is open, of those after it; None, and only one line used, if it stays so.

    A quote also counts as never closed when a line that it would swallow is a whole row with an address.
    """
    taken = [first]
    closed = True

    def feed() -> Iterator[str]:
        nonlocal closed
        yield first
        while len(taken) < QUOTED_LINES and (line := lines.next()) is not None:
            taken.append(line)
            if "\0" in line or len(line) >= LINE_CHARACTERS:
                break
            yield line
        closed = False  # the reader asks for more only while a quote is open

    try:
        cells = next(csv.reader(feed(), delimiter=layout.delimiter, skipinitialspace=True))
    except csv.Error:  # a cell of over 131,072 characters
        closed = False
    if closed and not any(_is_row(line, layout) for line in taken[1:]):
        return cells
    lines.put_back(taken[1:])
    return None


def _is_row(line: str, layout: _Layout) -> bool:
    """Would this line, seen alone, be a row? A quote before the address says that it ends a longer cell."""
    at = layout.columns.at["email"]
    cells = line.split(layout.delimiter)
    if len(cells) < len(layout.columns.headings) or any('"' in cell for cell in cells[: at + 1]):
        return False
    return _is_address(cells[at])


def _row(line: int, cells: Sequence[str], columns: subscribercolumns.Columns) -> Row | types.BadRow:
    at, width, count = columns.at, len(columns.headings), len(cells)
    beyond = "".join(cells[width:]).strip() if count > width else ""
    if beyond and (at["email"] < width - 1 or "@" in beyond):  # what stands before an address is not shifted
        return _bad(line, ",".join(cells), f"the row has {count} cells, the header {width}")
    if count < columns.needed:
        return _bad(line, ",".join(cells), f"the row has {count} cells, the header {width}: it breaks off too early")

    def cell(kind: subscribercolumns.Kind) -> str:
        index = at.get(kind, count)
        text = cells[index] if index < count else ""
        return text[1:] if text[:1] == "'" and _ESCAPED.match(text) else text

    email = cell("email")
    state = forbidden = since = topics = None
    left: tuple[str, ...] = ()
    try:
        address = addresses.parse(email)
        if columns.verdicts or "state" in at:
            verdicts = [(heading, cells[index]) for index, heading in columns.verdicts]
            state, forbidden = subscribercolumns.state_of(cell("state").strip(), verdicts)
        if columns.floor:
            state = subscribercolumns.stronger(state, columns.floor)
        if "since" in at:
            since = (subscribercells.since_of if columns.exact else subscribercells.time_of)(cell("since"))
    except (errors.AddressError, errors.UsageError) as error:
        return types.BadRow(line, email[:VALUE_CHARACTERS], str(error))
    if "topics" in at:
        topics, left = subscribercells.topics_of(cell("topics"))
    suppressed = subscribercells.suppressed_of(cell("suppressed")) if "suppressed" in at else ()
    row = Row(
        line,
        address,
        addresses.clean_name(cell("name")) or _full_name(cell("first"), cell("last")),
        state,
        subscribercells.language_of(cell("language")) if "language" in at else None,
        topics,
        left,
        since,
        (*suppressed, ("", forbidden)) if forbidden else suppressed,
    )
    return _with_more(row, cell) if columns.has_more else row


def _with_more(row: Row, cell: Callable[[subscribercolumns.Kind], str]) -> Row:
    """A row with what few files have."""
    proofs = [
        Proof("subscribed", subscribercells.time_of(cell("optin_time")), subscribercells.ip_of(cell("optin_ip"))),
        Proof("confirmed", subscribercells.time_of(cell("confirm_time")), subscribercells.ip_of(cell("confirm_ip"))),
    ]
    known = tuple(proof for proof in proofs if proof.at or proof.ip)
    return dataclasses.replace(
        row,
        tags=subscribercells.words_of(cell("tags")),
        paused_until=subscribercells.time_of(cell("paused_until")),
        proofs=known,
        since=row.since or min((proof.at for proof in known if proof.at), default=None),
        left_at=subscribercells.time_of(cell("left_time")),
        left_why=addresses.clean_name(cell("left_reason")) or None,
        groups=subscribercells.words_of(cell("groups")),
    )


def _full_name(first: str, last: str) -> str:
    return addresses.clean_name(f"{first} {last}") if first or last else ""


def _bad(line: int, value: str, reason: str) -> types.BadRow:
    value = value.strip()[:VALUE_CHARACTERS]
    return types.BadRow(line, value, f"{reason}: {addresses.shortened(value)}")
