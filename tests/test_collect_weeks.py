"""Weeks of feed life: whatever a source does to what it shows, each thing stays one entry and each entry one thing.

The world knows which things there are; `collect` sees only documents. A thing never changes its guid, its title and its
date at once: by that, and that alone, a source says that it is another.
"""

import dataclasses
import datetime as dt

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from test_collect import Memory, news

from newsletter import collect, intents, types

SOURCES = [f"https://feeds.test/{name}.xml" for name in "abc"]
START = dt.datetime(2026, 9, 1, tzinfo=dt.UTC)
KINDS = ("page", "note", "paper", "article", "both")


@dataclasses.dataclass
class Shown:
    """A thing as one source shows it now."""

    thing: int
    title: str
    guid: str | None
    date: dt.datetime | None
    dress: int = 0  # which spelling of its address
    copies: int = 1  # how often it stands in the document


class Weeks(RuleBasedStateMachine):
    """Three sources, and things that come, go, return and change."""

    def __init__(self):
        super().__init__()
        self.memory = Memory()
        self.now = START
        self.kinds = []
        self.feeds = {source: [] for source in SOURCES}
        self.gone = []
        self.ids = {}  # thing -> its entry
        self.moves = {}  # thing -> how often its page moved

    # -- what the world does -------------------------------------------------------------------------------------

    @initialize(kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    def begin(self, kinds):
        for kind in kinds:
            self.come(kind, SOURCES[:1], dated=True)

    @rule(
        kind=st.sampled_from(KINDS),
        sources=st.lists(st.sampled_from(SOURCES), min_size=1, max_size=3, unique=True),
        dated=st.booleans(),
    )
    def come(self, kind, sources, dated):
        number = len(self.kinds)
        self.kinds.append(kind)
        if kind == "note":  # without an address nothing joins two sources
            sources = sources[:1]
        for source in sources:
            date = self.now - dt.timedelta(hours=number) if dated else None
            self.feeds[source].append(Shown(number, f"Thing {number}", f"{source}-{number}", date))

    def pick(self, data, *, kinds=KINDS):
        found = [each for feed in self.feeds.values() for each in feed if self.kinds[each.thing] in kinds]
        return data.draw(st.sampled_from(found)) if found else None

    @rule(data=st.data())
    def retitle(self, data):
        if each := self.pick(data):
            each.title += "!"
            self.collect_all()

    @rule(data=st.data(), hours=st.integers(-200, 200))
    def redate(self, data, hours):
        if each := self.pick(data):
            each.date = self.now + dt.timedelta(hours=hours)
            self.collect_all()

    @rule(data=st.data())
    def undate(self, data):
        if each := self.pick(data):
            each.date = None
            self.collect_all()

    @rule(data=st.data())
    def change_guid(self, data):
        if each := self.pick(data, kinds=("page", "paper", "article", "both")):
            each.guid = f"{each.guid}#" if each.guid else None
            self.collect_all()

    @rule(data=st.data(), dress=st.integers(0, 3))
    def dress(self, data, dress):
        if each := self.pick(data):
            each.dress = dress

    @rule(data=st.data())
    def move(self, data):
        """A page moves: one source that shows it follows, then everybody says the new address."""
        if each := self.pick(data, kinds=("page",)):
            source = next(source for source, feed in self.feeds.items() if any(each is one for one in feed))
            each.guid = each.guid or f"{source}-{each.thing}"
            self.take(source)
            self.moves[each.thing] = self.moves.get(each.thing, 0) + 1
            self.take(source)

    @rule(data=st.data(), copies=st.integers(1, 3))
    def stand_twice(self, data, copies):
        if each := self.pick(data):
            each.copies = copies

    @rule(data=st.data())
    def vanish(self, data):
        source = data.draw(st.sampled_from(SOURCES))
        if self.feeds[source]:
            each = data.draw(st.sampled_from(self.feeds[source]))
            self.feeds[source].remove(each)
            self.gone.append((source, each))

    @rule(data=st.data())
    def come_back(self, data):
        if self.gone:
            source, each = data.draw(st.sampled_from(self.gone))
            self.gone.remove((source, each))
            self.feeds[source].append(each)

    @rule(data=st.data())
    def shuffle(self, data):
        source = data.draw(st.sampled_from(SOURCES))
        self.feeds[source] = data.draw(st.permutations(self.feeds[source]))

    # -- what is collected ---------------------------------------------------------------------------------------

    @rule(order=st.permutations(SOURCES))
    def collect_all(self, order=tuple(SOURCES)):
        self.now += dt.timedelta(hours=9)
        for source in order:
            self.take(source)

    @rule(source=st.sampled_from(SOURCES), times=st.integers(1, 2))
    def collect_one(self, source, times):
        for _ in range(times):
            self.take(source)

    def take(self, source):
        before = set(self.ids.values())
        document = [self.written(source, each, copy) for each in self.feeds[source] for copy in range(each.copies)]
        decided = self.memory.collect(*document, source=source, now=self.now)
        assert len(decided) == len(self.feeds[source])
        # Intents come in the document's order, one a thing.
        fresh = iter(sorted(set(self.memory.entries) - before))
        for each, intent in zip(self.feeds[source], decided, strict=True):
            number = next(fresh) if isinstance(intent, intents.New) else intent.id
            assert self.ids.setdefault(each.thing, number) == number
        assert not news(self.memory.collect(*document, source=source, now=self.now))

    def written(self, source, each, copy):
        kind, n, dress = self.kinds[each.thing], each.thing, each.dress + copy
        where = f"site.test{'/moved' * self.moves.get(n, 0)}"
        page = [
            f"https://{where}/{n}",
            f"http://www.{where}/{n}/?utm_source=rss",
            f"https://{where.replace('site.test', 'site.test:443')}/{n}#comments",
        ]
        paper = [f"https://arxiv.org/abs/2609.{n:05}v{dress + 1}", f"http://arxiv.org/pdf/2609.{n:05}"]
        article = [f"https://doi.org/10.5555/{n}", f"https://pub.test/doi/full/10.5555/{n}", f"https://pub.test/{n}"]
        urls = {"page": page, "note": [None], "paper": paper, "article": article, "both": [*paper, *article]}[kind]
        url = urls[dress % len(urls)]
        guid = each.guid
        if guid and kind != "note" and copy:
            guid += f"?utm_source={copy}"
        return types.FoundEntry(
            summary=f"All about thing {n}.",
            title=each.title,
            url=url,
            guid=guid,
            published=each.date,
            doi=f"10.5555/{n}" if kind in ("article", "both") else None,
            arxiv=None,
        )

    @invariant()
    def each_thing_is_one_entry_and_each_entry_one_thing(self):
        assert len(set(self.ids.values())) == len(self.ids) == len(self.memory.entries)


TestWeeks = Weeks.TestCase
TestWeeks.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)


def test_whichever_source_is_asked_first_the_things_are_the_same():
    shown = {
        SOURCES[0]: [types.FoundEntry(title="Lakes", url="https://arxiv.org/abs/2609.00001v1", doi="10.5555/1")],
        SOURCES[1]: [types.FoundEntry(title="Warm lakes", url="https://pub.test/1", guid="p", doi="10.5555/1")],
        SOURCES[2]: [types.FoundEntry(title="On lakes", url="https://doi.org/10.5555/1", guid="n")],
    }
    for order in (SOURCES, SOURCES[::-1], SOURCES[1:] + SOURCES[:1]):
        memory = Memory()
        for source in order:
            memory.collect(*shown[source], source=source)
        assert len(memory.entries) == 1
        assert collect.keys(memory.entries[1], order[0])[:2] == ("arxiv:2609.00001", "doi:10.5555/1")
