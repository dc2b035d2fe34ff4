"""newsletter.toml + environment + secrets -> Settings. The only place that reads the environment.

Each setting may also stand in the environment (`NEWSLETTER_SMTP__PASSWORD`) or as a file in a secrets directory
(`smtp__password` in `$NEWSLETTER_SECRETS_DIR`, else in systemd's `$CREDENTIALS_DIRECTORY`); environment beats secrets
beats file. Everything wrong is reported at once, with file, line and a hint; no message ever shows a value that may be
secret.
"""

from __future__ import annotations

import contextvars
import datetime as dt
import difflib
import ipaddress
import os
import re
import tomllib
import zoneinfo
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
import pydantic_settings
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from newsletter import calendar, errors

FILE = "newsletter.toml"
PREFIX = "NEWSLETTER_"
# Read by the command line itself, not settings.
OTHER_VARIABLES = frozenset({"NEWSLETTER_WORKSPACE", "NEWSLETTER_SECRETS_DIR"})
SLUG = r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_PER = {"s": 1.0, "min": 60.0, "hour": 3600.0, "day": 86400.0}


def parse_duration(value: object) -> object:
    """`"30s"`, `"48h"`, `"30d"` -> timedelta; a timedelta stays."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", value.strip())
        if not match:
            raise ValueError('must be a time like "30s", "5m", "48h" or "7d"')
        return dt.timedelta(seconds=float(match[1]) * _UNITS[match[2]])
    if isinstance(value, dt.timedelta):
        return value
    raise ValueError('must be a text like "30s", "5m", "48h" or "7d"')


def parse_size(value: object) -> object:
    """`"15MB"` -> octets (powers of 1,000)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB)", value.strip()) if isinstance(value, str) else None
    if match:
        return int(float(match[1]) * _SIZES[match[2]])
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError('must be a size like "15MB" or "500KB"')


def parse_rate(value: str) -> float | None:
    """`"14/s"`, `"50000/day"` -> messages a second; `"unlimited"` -> None."""
    if value == "unlimited":
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*/\s*(s|min|hour|day)", value.strip())
    if not match or not float(match[1]):
        raise ValueError('must be "unlimited" or a rate like "14/s", "600/min" or "50000/day"')
    return float(match[1]) / _PER[match[2]]


def _rate(value: str) -> str:
    parse_rate(value)
    return value


def _network(value: str) -> str:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        raise ValueError('must be an address or a network, like "127.0.0.1" or "10.0.0.0/8"') from None
    return value


def _regex(value: str) -> str:
    try:
        re.compile(value, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return value


def _zone(value: str) -> str:
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = difflib.get_close_matches(value, zoneinfo.available_timezones(), 1)
        raise ValueError("is no time zone" + (f"; did you mean {near[0]}?" if near else "")) from None
    return value


def _schedule(value: str) -> str:
    calendar.parse(value)
    return value


def _base_url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#]+(?:/[^\s?#]+)?", value) or value.endswith("/"):
        raise ValueError('must be like "https://news.example.org", without a slash at the end')
    return value


def _mailbox(value: str) -> str:
    match = re.fullmatch(r"[^<>\r\n\x00-\x1f]*<([^<>@\s]+@[^<>@\s]+)>|[^<>@\s]+@[^<>@\s]+", value)
    if not match:
        raise ValueError('must be like "News <news@example.org>"')
    return value


def _one_line(value: str) -> str:
    if re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", value):
        raise ValueError("must be one line without control characters")
    return value


Duration = Annotated[dt.timedelta, BeforeValidator(parse_duration)]
Size = Annotated[int, BeforeValidator(parse_size)]
Rate = Annotated[str, AfterValidator(_rate)]
Network = Annotated[str, AfterValidator(_network)]
Regex = Annotated[str, AfterValidator(_regex)]
Line = Annotated[str, AfterValidator(_one_line)]
Mailbox = Annotated[Line, AfterValidator(_mailbox)]
Schedule = Annotated[str, AfterValidator(_schedule)]


class _Table(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Site(_Table):
    """[site]: what all newsletters of the workspace share."""

    title: Line = "News without the noise"
    base_url: Annotated[str, AfterValidator(_base_url)] = "http://127.0.0.1:8000"
    secret_key_file: str = "secret.key"  # noqa: S105 - a file's name
    secret_key: SecretStr | None = None
    database: str = "sqlite:///subscribers/newsletter.db"


class Smtp(_Table):
    """[smtp]: the server that takes our mail."""

    host: Line = "localhost"
    port: int = Field(default=1025, ge=1, le=65535)
    security: Literal["none", "starttls", "tls"] = "none"
    username: str = ""
    password: SecretStr = SecretStr("")
    connections: int = Field(default=10, ge=1, le=500)
    ehlo: Line = ""
    rate: Rate | list[Rate] = "unlimited"
    per_domain_rate: dict[str, Rate] = {}
    in_doubt: Literal["resend", "hold"] = "resend"
    max_age: Duration = dt.timedelta(hours=48)
    error_budget: float = Field(default=0.05, ge=0, le=1)

    @pydantic.model_validator(mode="after")
    def _no_password_in_clear(self) -> Self:
        if self.password.get_secret_value() and self.security == "none" and not is_loopback(self.host):
            raise ValueError(
                'password: is refused with security = "none", because it would travel in clear; '
                'set security = "starttls" or "tls"'
            )
        return self

    @property
    def rates(self) -> tuple[float, ...]:
        """The limits in messages a second; all of them hold."""
        rates = [self.rate] if isinstance(self.rate, str) else self.rate
        return tuple(rate for rate in map(parse_rate, rates) if rate)


class Collect(_Table):
    """[collect]: manners and limits when fetching."""

    allow_private: list[Network] = []
    max_bytes: Size = 15_000_000
    deadline: Duration = dt.timedelta(seconds=30)
    concurrency: int = Field(default=16, ge=1, le=256)
    user_agent: Line = ""


class Summary(_Table):
    """[summary]: how entries become two sentences."""

    engine: Literal["extract", "openai"] = "extract"
    base_url: str = ""
    model: str = ""
    api_key: SecretStr = SecretStr("")
    timeout: Duration = dt.timedelta(seconds=20)


class Dkim(_Table):
    """[[dkim]]: a key to sign with."""

    domain: Line
    selector: Line
    key_file: str


class Source(_Table):
    """Where entries of a topic come from: an address, or a table with more."""

    url: Line
    name: Line = ""
    max_per_issue: int | None = Field(default=None, ge=1)


def _source(value: object) -> object:
    return {"url": value} if isinstance(value, str) else value


class Topic(_Table):
    """[[newsletter.topic]]"""

    slug: str = Field(pattern=SLUG)
    title: Line = Field(min_length=1)
    sources: list[Annotated[Source, BeforeValidator(_source)]] = []
    include: list[Regex] = []
    exclude: list[Regex] = []


class Newsletter(_Table):
    """[[newsletter]]"""

    slug: str = Field(pattern=SLUG)
    title: Line = Field(min_length=1)
    sender: Mailbox = Field(alias="from")
    reply_to: Mailbox | None = None
    bounce_domain: Line | None = None
    language: str = Field(default="en-GB", pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    compose: Schedule = "Thursday 12:00"
    send: Schedule = "Friday 09:00"
    approval: Literal["manual", "auto"] = "manual"
    grace: Duration = dt.timedelta(hours=24)
    postal_address: Line = ""
    max_entries: int = Field(default=30, ge=1, le=1000)
    topic: list[Topic] = Field(min_length=1)

    @pydantic.model_validator(mode="after")
    def _topics_differ(self) -> Self:
        _unique([topic.slug for topic in self.topic], "topic")
        return self

    def topic_of(self, slug: str) -> Topic:
        """The topic of that slug; raises `errors.NotFound`."""
        for topic in self.topic:
            if topic.slug == slug:
                return topic
        names = ", ".join(topic.slug for topic in self.topic)
        raise errors.NotFound(f"newsletter {self.slug} has no topic {slug!r}; it has {names}")


def _unique(slugs: list[str], what: str) -> None:
    for slug in slugs:
        if slugs.count(slug) > 1:
            raise ValueError(f"two of them have the slug {slug!r}; a {what}'s slug must be its own")


# What a Settings() under way reads; pydantic-settings gives its sources no arguments.
_reading: contextvars.ContextVar[tuple[dict[str, Any], dict[str, str], Path | None]] = contextvars.ContextVar("reading")


class Settings(pydantic_settings.BaseSettings):
    """The whole of newsletter.toml, checked; `folder` is the workspace."""

    model_config = pydantic_settings.SettingsConfigDict(extra="forbid", frozen=True)

    site: Site = Site()
    smtp: Smtp = Smtp()
    collect: Collect = Collect()
    summary: Summary = Summary()
    dkim: list[Dkim] = []
    newsletter: list[Newsletter] = Field(min_length=1)
    _folder: Path = pydantic.PrivateAttr(default=Path())

    @pydantic.model_validator(mode="after")
    def _newsletters_differ(self) -> Self:
        _unique([newsletter.slug for newsletter in self.newsletter], "newsletter")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[pydantic_settings.BaseSettings],
        init_settings: pydantic_settings.PydanticBaseSettingsSource,
        env_settings: pydantic_settings.PydanticBaseSettingsSource,
        dotenv_settings: pydantic_settings.PydanticBaseSettingsSource,
        file_secret_settings: pydantic_settings.PydanticBaseSettingsSource,
    ) -> tuple[pydantic_settings.PydanticBaseSettingsSource, ...]:
        """Environment, then secrets, then the file."""
        values, _, secrets = _reading.get()
        sources: list[pydantic_settings.PydanticBaseSettingsSource] = [
            pydantic_settings.EnvSettingsSource(settings_cls, env_prefix=PREFIX, env_nested_delimiter="__")
        ]
        if secrets:
            sources.append(
                pydantic_settings.NestedSecretsSettingsSource(
                    pydantic_settings.SecretsSettingsSource(settings_cls, secrets),
                    secrets_dir=secrets,
                    secrets_nested_delimiter="__",
                )
            )
        sources.append(pydantic_settings.InitSettingsSource(settings_cls, init_kwargs=values))
        return tuple(sources)

    @property
    def folder(self) -> Path:
        """The workspace: relative paths in the settings start here."""
        return self._folder

    @property
    def database_url(self) -> str:
        """The database's URL; a relative SQLite path is made absolute from the workspace."""
        url = self.site.database
        if url.startswith("sqlite:///") and not url.startswith("sqlite:////"):
            return f"sqlite:///{self.folder / url.removeprefix('sqlite:///')}"
        return url

    def newsletter_of(self, slug: str | None) -> Newsletter:
        """The newsletter of that slug, or the only one; raises `errors.NotFound`."""
        if slug is None and len(self.newsletter) == 1:
            return self.newsletter[0]
        names = ", ".join(newsletter.slug for newsletter in self.newsletter)
        if slug is None:
            raise errors.UsageError(f"this workspace has several newsletters; say which: {names}")
        for newsletter in self.newsletter:
            if newsletter.slug == slug:
                return newsletter
        raise errors.NotFound(f"no newsletter {slug!r}; there is {names}")

    def topic_places(self, slug: str, newsletter: str | None = None) -> list[tuple[Newsletter, Topic]]:
        """Where a topic of that slug is (`rl-agents` or `weekly/rl-agents`); raises `errors.NotFound`."""
        if "/" in slug:
            newsletter, slug = slug.split("/", 1)
        if newsletter is not None:
            found = self.newsletter_of(newsletter)
            return [(found, found.topic_of(slug))]
        places = [(n, t) for n in self.newsletter for t in n.topic if t.slug == slug]
        if not places:
            names = ", ".join(f"{n.slug}/{t.slug}" for n in self.newsletter for t in n.topic)
            raise errors.NotFound(f"no topic {slug!r}; there is {names}")
        return places

    def secret_keys(self) -> list[bytes]:
        """The signing keys, the current one first. Raises `errors.WorkspaceError` when there is none.

        A key file holds a key a line; lines after the first are older ones that go on verifying.
        """
        if self.site.secret_key:
            return [self.site.secret_key.get_secret_value().encode()]
        path = self.folder / self.site.secret_key_file
        try:
            lines = path.read_text("utf-8").split()
        except FileNotFoundError:
            raise errors.WorkspaceError(
                f"{path.name} is missing in {self.folder}; `newsletter init {self.folder}` adds what a workspace lacks "
                "(if it was lost, restore it: links in mails already sent need it)"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise errors.WorkspaceError(f"{path} cannot be read: {error}") from None
        return [line.encode() for line in lines]

    def masked(self) -> dict[str, Any]:
        """The settings as plain values with every secret as `**********`, for `config show`."""
        return self.model_dump(mode="json", by_alias=True)


def is_loopback(host: str) -> bool:
    """Is a host this very machine?"""
    if host in ("localhost", "localhost.localdomain"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load(folder: Path, environ: dict[str, str] | None = None) -> Settings:
    """Read the settings of a workspace. Raises `errors.ConfigError` with everything that is wrong, all at once."""
    environ = dict(os.environ) if environ is None else environ
    path = folder / FILE
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise errors.WorkspaceError(f"{path} is missing; `newsletter init {folder}` makes a workspace") from None
    except (OSError, UnicodeDecodeError) as error:
        raise errors.ConfigError(f"{path} cannot be read: {error}") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise errors.ConfigError(f"{path}: {_toml_message(error)}") from None
    problems = _unknown_variables(environ)
    secrets = environ.get("NEWSLETTER_SECRETS_DIR") or environ.get("CREDENTIALS_DIRECTORY")
    token = _reading.set((values, environ, Path(secrets) if secrets else None))
    try:
        settings = Settings()
    except pydantic.ValidationError as error:
        problems += [_explain(problem, path.name, text, environ) for problem in error.errors(include_input=False)]
        raise errors.ConfigError(problems) from None
    except pydantic_settings.SettingsError as error:
        raise errors.ConfigError([*problems, f"environment: {error}"]) from None
    finally:
        _reading.reset(token)
    if problems:
        raise errors.ConfigError(problems)
    settings._folder = folder.resolve()  # noqa: SLF001 - set once, here
    return settings


def _toml_message(error: tomllib.TOMLDecodeError) -> str:
    return str(error).replace("(at ", "(").replace("Cannot overwrite a value", "a key stands twice")


def _unknown_variables(environ: dict[str, str]) -> list[str]:
    """pydantic-settings ignores a misspelt variable in silence."""
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields}
    nested: set[str] = set()
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
            nested |= {f"{PREFIX}{name}__{key}".upper() for key in kind.model_fields}
    problems = []
    for name in sorted(environ):
        upper = name.upper()
        if not upper.startswith(PREFIX) or upper in OTHER_VARIABLES or upper in known | nested:
            continue
        if any(upper.startswith(key + "__") for key in nested):  # smtp.per_domain_rate.gmail
            continue
        near = difflib.get_close_matches(upper, known | nested | OTHER_VARIABLES, 1)
        problems.append(f"environment: {name} is no setting" + (f"; did you mean {near[0]}?" if near else ""))
    return problems


def _explain(problem: Any, file: str, text: str, environ: dict[str, str]) -> str:
    """One line for one of pydantic's errors: where, and what to do. Never the value: it may be secret."""
    loc = [part for part in problem["loc"] if part not in ("str", "list[Rate]", "function-after[_rate(), str]")]
    names = [part for part in loc if isinstance(part, str) and not part.startswith(("list[", "function-"))]
    key = _dotted(loc)
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        known = _fields_at(loc[:-1])
        near = difflib.get_close_matches(str(loc[-1]), known, 1)
        message = "is no setting" + (f"; did you mean {near[0]}?" if near else f"; there is {', '.join(known)}")
    elif problem["type"] == "missing":
        message = "is missing"
    elif problem["type"] == "string_pattern_mismatch" and names and names[-1] == "slug":
        message = "must be lower-case letters, digits and hyphens"
    variable = PREFIX + "__".join(str(part) for part in loc).upper()
    if variable in {name.upper() for name in environ}:
        return f"environment: {variable}: {message}"
    line = _line_of(text, loc)
    return f"{file}{f':{line}' if line else ''}: {key or 'settings'}: {message}"


def _dotted(loc: list[Any]) -> str:
    key = ""
    for part in loc:
        if isinstance(part, int):
            key += f"[{part + 1}]"
        elif not str(part).startswith(("list[", "function-")):
            key += ("." if key else "") + str(part)
    return key


def _fields_at(loc: list[Any]) -> list[str]:
    model: type[pydantic.BaseModel] = Settings
    kinds: dict[str, type[pydantic.BaseModel]] = {
        "site": Site, "smtp": Smtp, "collect": Collect, "summary": Summary, "dkim": Dkim,
        "newsletter": Newsletter, "topic": Topic, "sources": Source,
    }  # fmt: skip
    for part in loc:
        model = kinds.get(part, model) if isinstance(part, str) else model
    return [field.alias or name for name, field in model.model_fields.items()]


def _line_of(text: str, loc: list[Any]) -> int | None:
    """The line of a key in the file, or of its table where the key is missing; None where it cannot be told."""
    wanted = [part for part in loc if isinstance(part, int) or not str(part).startswith(("list[", "function-"))]
    best: int | None = None
    table: list[Any] = []
    counts: dict[tuple[Any, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*(\[\[?)\s*([A-Za-z0-9_.\"-]+)\s*\]\]?", line)
        if header:
            names = header[2].replace('"', "").split(".")
            table = _place(names, array=header[1] == "[[", counts=counts)
            if wanted[: len(table)] == table and table:
                best = number
            continue
        assigned = re.match(r"\s*\"?([A-Za-z0-9_-]+)\"?\s*=", line)
        if assigned and wanted[: len(table) + 1] == [*table, assigned[1]]:
            return number
    return best


def _place(names: list[str], *, array: bool, counts: dict[tuple[Any, ...], int]) -> list[Any]:
    """Where a table header stands: ["newsletter", 0, "topic", 1]."""
    place: list[Any] = []
    for i, name in enumerate(names):
        place.append(name)
        key = tuple(place)
        if i == len(names) - 1 and array:
            counts[key] = counts.get(key, -1) + 1
        if key in counts:
            place.append(counts[key])
    return place
