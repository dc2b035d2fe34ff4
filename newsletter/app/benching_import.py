"""`bench import`: how long a file of people takes, by the whole program, as a process of its own, into a new database.

people who left -> newsletter subscribers import (not measured)
rows, some of them twice and some of those people -> the same, measured; and once more, when nothing changes
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from newsletter.app import benching_polling, reports

TWICE, LEFT = 20, 100  # each so many-eth row is of a person who is in the file already, or who left
_SETTINGS = """[site]
title = "Bench"
base_url = "http://127.0.0.1"
database = "sqlite:///bench.db"
secret_key = "a key for this folder alone"

[[newsletter]]
slug = "bench"
title = "Bench"
from = "Bench <bench@example.org>"
language = "en"
timezone = "UTC"
compose = "Thursday 12:00"
send = "Friday 09:00"
postal_address = "1 Example Street, London"

[[newsletter.topic]]
slug = "otters"
title = "Otters"
sources = []
"""


def import_people(rows: int) -> reports.ImportBench:
    """Import so many rows, twice."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "newsletter.toml").write_text(_SETTINGS, encoding="utf-8")
        _write(folder / "left.csv", (f"{_address(i)},,unsubscribed" for i in range(0, rows, LEFT)))
        _write(folder / "people.csv", _rows(rows))
        command = [sys.executable, "-m", "newsletter", "-C", made, "subscribers", "import"]
        benching_polling.measured([*command, str(folder / "left.csv"), "--json"])
        measured = [*command, str(folder / "people.csv"), "--state", "active", "--json"]
        first, told = benching_polling.measured(measured)
        again, _ = benching_polling.measured(measured)
    counts = json.loads(told)
    return reports.ImportBench(
        rows=counts["rows"],
        added=counts["added"],
        unchanged=counts["unchanged"],
        suppressed=counts["suppressed"],
        rows_per_second=round(counts["rows"] / first.seconds),
        first=first,
        again=again,
    )


def _address(number: int) -> str:
    return f"reader{number}@host{number % 997}.example.org"


def _rows(count: int) -> Iterator[str]:
    for i in range(count):
        again = i % TWICE == TWICE - 1
        who = i - 1 if again else i
        yield f"{_address(who).upper() if again else _address(who)},Reader number {who},active"


def _write(path: Path, rows: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.write("email,name,status\n")
        stream.writelines(row + "\n" for row in rows)
