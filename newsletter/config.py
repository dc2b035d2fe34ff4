"""newsletter.toml + environment + secrets -> Settings. The only place that reads the environment.

Each setting may also stand in the environment (`NEWSLETTER_SMTP__PASSWORD`) or as a file in a secrets directory
(`smtp__password` in `$NEWSLETTER_SECRETS_DIR`, else in systemd's `$CREDENTIALS_DIRECTORY`); environment beats secrets
beats file. Everything wrong is reported at once, with file, line and a hint; no message ever shows a value that may be
secret.
"""

from __future__ import annotations

import contextvars
import dataclasses
import datetime as dt
import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pydantic_settings
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from newsletter import configlines, configvariables, errors
from newsletter import configvalues as values

FILE = "newsletter.toml"
parse_duration, parse_rate = values.parse_duration, values.parse_rate
SLUG = r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"


class _Table(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)


class Site(_Table):
    """[site]: what all newsletters of the workspace share."""

    title: values.Line = "News without the noise"
    base_url: values.BaseUrl = "http://127.0.0.1:8000"
    secret_key_file: str = "secret.key"  # noqa: S105 - a file's name
    secret_key: SecretStr | None = None
    database: str = "sqlite:///subscribers/newsletter.db"
    embed_on: list[values.Origin] = []
    trusted_proxies: list[values.Network] = ["127.0.0.1", "::1"]
    refuse_domains_file: str = ""


class Smtp(_Table):
    """[smtp]: the server that takes our mail."""

    host: values.Line = "localhost"
    port: int = Field(default=1025, ge=1, le=65535)
    security: Literal["none", "starttls", "tls"] = "none"
    username: str = ""
    password: SecretStr = SecretStr("")
    connections: int = Field(default=10, ge=1, le=500)
    ehlo: values.Line = ""
    rate: values.Rates = ["unlimited"]
    per_domain_rate: dict[str, values.Rate] = {}
    in_doubt: Literal["resend", "hold"] = "resend"
    max_age: values.Span = dt.timedelta(hours=48)
    error_budget: float = Field(default=0.05, ge=0, le=1)

    @pydantic.field_validator("password")
    @classmethod
    def _no_password_in_clear(cls, value: SecretStr, info: pydantic.ValidationInfo) -> SecretStr:
        clear = info.data.get("security") == "none" and not is_loopback(info.data.get("host", "localhost"))
        if value.get_secret_value() and clear:
            raise ValueError(
                'is refused with smtp.security = "none", because it would travel in clear; '
                'set smtp.security = "starttls" or "tls"'
            )
        return value

    @property
    def rates(self) -> tuple[float, ...]:
        """The limits in messages a second; all of them hold."""
        return tuple(rate for rate in map(values.parse_rate, self.rate) if rate)


class Collect(_Table):
    """[collect]: manners and limits when fetching."""

    allow_private: list[values.Network] = []
    max_bytes: values.Size = 15_000_000
    deadline: values.Span = dt.timedelta(seconds=30)
    concurrency: int = Field(default=16, ge=1, le=256)
    user_agent: values.Line = ""


class Summary(_Table):
    """[summary]: how entries become two sentences."""

    engine: Literal["extract", "openai"] = "extract"
    base_url: values.Line = Field(default="", validate_default=True)
    model: values.Line = Field(default="", validate_default=True)
    api_key: SecretStr = SecretStr("")
    timeout: values.Span = dt.timedelta(seconds=20)
    max_calls: int = Field(default=100, ge=0, le=10_000)

    @pydantic.field_validator("base_url")
    @classmethod
    def _server_is_named(cls, value: str, info: pydantic.ValidationInfo) -> str:
        if value or info.data.get("engine") == "openai":
            values.server_address(value)
        return value

    @pydantic.field_validator("model")
    @classmethod
    def _model_is_named(cls, value: str, info: pydantic.ValidationInfo) -> str:
        if info.data.get("engine") == "openai" and not value.strip():
            raise ValueError("must name the model that the server is to use")
        return value


class Dkim(_Table):
    """[[dkim]]: a key to sign with."""

    domain: values.Domain
    selector: values.Domain
    key_file: str


class Source(_Table):
    """Where entries of a topic come from: an address, or a table with more."""

    url: values.SourceAddress
    name: values.Line = ""
    max_per_issue: int | None = Field(default=None, ge=1)


def _source(value: object) -> object:
    return {"url": value} if isinstance(value, str) else value


class Topic(_Table):
    """[[newsletter.topic]]"""

    slug: str = Field(pattern=SLUG)
    title: values.Line = Field(min_length=1)
    sources: list[Annotated[Source, BeforeValidator(_source)]] = []
    include: list[values.Regex] = []
    exclude: list[values.Regex] = []
    words: list[values.Line] = []
    min_score: float = Field(default=0.0, ge=0, le=1000)

    @pydantic.field_validator("sources")
    @classmethod
    def _sources_differ(cls, value: list[Source]) -> list[Source]:
        places: dict[str, int] = {}
        for place, source in enumerate(value, 1):
            first = places.setdefault(source.url, place)
            if first != place:  # by their places: an address may hold a token
                raise ValueError(f"numbers {first} and {place} are the same address; name it once")
        return value


class Newsletter(_Table):
    """[[newsletter]]"""

    slug: Annotated[str, Field(pattern=SLUG), AfterValidator(values.no_page)]
    title: values.Line = Field(min_length=1)
    sender: values.Mailbox = Field(alias="from")
    reply_to: values.OptionalMailbox = None
    bounce_domain: values.OptionalDomain = None
    language: str = Field(default="en-GB", pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    timezone: values.Zone = "UTC"
    compose: values.Schedule = "Thursday 12:00"
    send: values.Schedule = "Friday 09:00"
    approval: Literal["manual", "auto"] = "manual"
    grace: values.Duration = dt.timedelta(hours=24)
    postal_address: values.Line = ""
    direction: Literal["auto", "ltr", "rtl"] = "auto"
    accent: values.Accent = ""
    dark_accent: values.DarkAccent = ""
    logo: values.ImageAddress = ""
    logo_alt: values.Line = Field(default="", validate_default=True)
    footer: values.Line = ""
    max_entries: int = Field(default=30, ge=1, le=10_000)
    order: Literal["newest", "score"] = "newest"
    first_number: int = Field(default=1, ge=1, le=1_000_000)
    topic: list[Topic] = Field(min_length=1)

    @pydantic.field_validator("logo_alt")
    @classmethod
    def _logo_in_words(cls, value: str, info: pydantic.ValidationInfo) -> str:
        if info.data.get("logo") and not value.strip():
            raise ValueError("must say what the logo shows, for those who do not see it")
        return value

    @pydantic.field_validator("topic")
    @classmethod
    def _topics_differ(cls, value: list[Topic]) -> list[Topic]:
        _unique([topic.slug for topic in value], "topic")
        return value

    def topic_of(self, slug: str) -> Topic:
        """The topic of that slug; raises `errors.UnknownTopic`."""
        for topic in self.topic:
            if topic.slug == slug:
                return topic
        names = ", ".join(topic.slug for topic in self.topic)
        raise errors.UnknownTopic(f"newsletter {self.slug} has no topic {slug!r}; it has {names}")


def _unique(slugs: list[str], what: str) -> None:
    for slug in slugs:
        if slugs.count(slug) > 1:
            raise ValueError(f"two of them have the slug {slug!r}; a {what}'s slug must be its own")


@dataclasses.dataclass(frozen=True, slots=True)
class _Reading:
    """Where settings come from: the file's values, and variables (upper case) from the environment and from secrets."""

    values: dict[str, Any]
    environment: dict[str, str]
    secrets: dict[str, str]


# What a Settings() under way reads; pydantic-settings gives its sources no arguments.
_reading: contextvars.ContextVar[_Reading] = contextvars.ContextVar("reading")


class _Variables(pydantic_settings.EnvSettingsSource):
    """Settings from variables that are given."""

    def __init__(self, settings_cls: type[pydantic_settings.BaseSettings], variables: dict[str, str]) -> None:
        self._variables = {name.lower(): value for name, value in variables.items()}
        super().__init__(settings_cls, env_prefix=configvariables.PREFIX, env_nested_delimiter="__")

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._variables


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

    @pydantic.field_validator("newsletter")
    @classmethod
    def _newsletters_differ(cls, value: list[Newsletter]) -> list[Newsletter]:
        _unique([newsletter.slug for newsletter in value], "newsletter")
        return value

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
        reading = _reading.get()
        return (
            _Variables(settings_cls, reading.environment),
            _Variables(settings_cls, reading.secrets),
            pydantic_settings.InitSettingsSource(settings_cls, init_kwargs=reading.values),
        )

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
        """The newsletter of that slug, or the only one; raises `errors.UnknownNewsletter`."""
        if slug is None and len(self.newsletter) == 1:
            return self.newsletter[0]
        names = ", ".join(newsletter.slug for newsletter in self.newsletter)
        if slug is None:
            raise errors.UsageError(f"this workspace has several newsletters; say which: {names}")
        for newsletter in self.newsletter:
            if newsletter.slug == slug:
                return newsletter
        raise errors.UnknownNewsletter(f"no newsletter {slug!r}; there is {names}")

    def topic_place(self, slug: str, newsletter: str | None = None) -> tuple[Newsletter, Topic]:
        """The one place that is meant; raises `errors.UsageError` when several newsletters have such a topic."""
        places = self.topic_places(slug, newsletter)
        if len(places) > 1:
            names = " or ".join(f"{found.slug}/{topic.slug}" for found, topic in places)
            raise errors.UsageError(f"several newsletters have a topic {slug!r}; say which: {names}")
        return places[0]

    def topic_places(self, slug: str, newsletter: str | None = None) -> list[tuple[Newsletter, Topic]]:
        """Where a topic of that slug is (`rl-agents` or `weekly/rl-agents`); raises `errors.UnknownTopic`."""
        if "/" in slug:
            newsletter, slug = slug.split("/", 1)
        if newsletter is not None:
            found = self.newsletter_of(newsletter)
            return [(found, found.topic_of(slug))]
        places = [(n, t) for n in self.newsletter for t in n.topic if t.slug == slug]
        if not places:
            names = ", ".join(f"{n.slug}/{t.slug}" for n in self.newsletter for t in n.topic)
            raise errors.UnknownTopic(f"no topic {slug!r}; there is {names}")
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

    def secret_stamp(self) -> tuple[int, int] | None:
        """Changes when the key file does; None where there is none."""
        if self.site.secret_key:
            return None
        try:
            found = (self.folder / self.site.secret_key_file).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def masked(self) -> dict[str, Any]:
        """The settings as plain values with every secret as `**********`, for `config show`."""
        found: dict[str, Any] = without_passwords(self.model_dump(mode="json", by_alias=True))
        return found


def without_passwords(value: Any) -> Any:
    """The same without passwords in addresses (`postgresql://me:secret@host/`)."""
    if isinstance(value, dict):
        return {key: without_passwords(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_passwords(item) for item in value]
    return errors.masked(value) if isinstance(value, str) else value


def is_loopback(host: str) -> bool:
    """Is a host this very machine?"""
    if host in ("localhost", "localhost.localdomain"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load(folder: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of a workspace. Raises `errors.ConfigError` with everything that is wrong, all at once."""
    path = folder / FILE
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise errors.WorkspaceError(f"{path} is missing; `newsletter init {folder}` makes a workspace") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise errors.ConfigError(f"{FILE}:{line}: is not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise errors.ConfigError(f"{path} cannot be read: {error.strerror}") from None
    return read(text, folder, environ)


def read(text: str, folder: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """As `load`, from the text of a newsletter.toml that need not be written yet."""
    environ = os.environ if environ is None else environ
    text = text.removeprefix("\ufeff")
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise errors.ConfigError(_toml_message(error, text)) from None
    problems: list[str] = []
    known = configvariables.known(Settings)
    reading = _Reading(
        written,
        configvariables.environment(environ, known, problems),
        configvariables.secrets(environ, known, problems),
    )
    token = _reading.set(reading)
    try:
        settings = Settings()
    except pydantic.ValidationError as error:
        found = [_explain(problem, text, reading) for problem in error.errors(include_input=False)]
        problems += [problem for _, problem in sorted(found, key=lambda each: each[0])]
        raise errors.ConfigError(list(dict.fromkeys(problems))) from None
    except pydantic_settings.SettingsError as error:
        raise errors.ConfigError([*problems, f"environment: {error}"]) from None
    finally:
        _reading.reset(token)
    if problems:
        raise errors.ConfigError(problems)
    settings._folder = folder.resolve()  # noqa: SLF001 - set once, here
    return settings


# -- faults --------------------------------------------------------------------------------------------------------


def _toml_message(error: tomllib.TOMLDecodeError, text: str) -> str:
    what, _, where = str(error).partition(" (at ")
    found = re.match(r"line (\d+)", where)
    line = int(found[1]) if found else text.rstrip("\n").count("\n") + 1
    if what == "Cannot overwrite a value":
        what = "this key stands twice"
    elif what.startswith("Cannot declare"):
        what = "this table stands twice"
    return f"{FILE}:{line}: is no TOML: {what}"


_PLAIN_WORDS = {
    "finite_number": "must be a finite number",
    "missing": "is missing",
    "string_type": "must be a text in quotes",
    "bool_type": "must be true or false",
    "list_type": "must be a list [ … ]",
    "dict_type": "must be a table { … }",
    "model_type": "must be a table",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "too_short": "must have at least one",
    "string_too_short": "must not be empty",
    "time_delta_type": "must be a time",
}


def _explain(problem: Any, text: str, reading: _Reading) -> tuple[int, str]:
    """(line, a line of words) for one of pydantic's errors. Never the value: it may be secret."""
    loc = list(problem["loc"])
    kind = problem["type"]
    message = _PLAIN_WORDS.get(kind, problem["msg"].removeprefix("Value error, "))
    if kind == "extra_forbidden":
        known = _fields_at(loc[:-1])
        near = difflib.get_close_matches(str(loc[-1]), known, 1)
        message = "is no setting" + (f"; did you mean {near[0]}?" if near else f"; there is {', '.join(known)}")
    elif kind == "string_pattern_mismatch":
        message = _PATTERNS.get(str(loc[-1]), message)
    elif kind in _BOUNDS:
        word, key = _BOUNDS[kind]
        message = f"must be {word} {problem['ctx'][key]}"
    elif kind == "literal_error":
        message = "must be " + problem["ctx"]["expected"].replace("'", '"')
    for origin, variables in (("environment", reading.environment), ("secrets", reading.secrets)):
        for depth in (2, 1):
            variable = (configvariables.PREFIX + "__".join(str(part) for part in loc[:depth])).upper()
            if variable in variables:
                shown = variable if origin == "environment" else configvariables.in_secrets(variable)
                rest = _dotted(loc[depth:])
                return 0, f"{origin}: {shown}: {f'{rest}: ' if rest else ''}{message}"
    line = configlines.line_of(text, loc)
    return line or 0, f"{FILE}{f':{line}' if line else ''}: {_dotted(loc) or 'settings'}: {message}"


_PATTERNS = {
    "slug": "must be lower-case letters, digits and hyphens",
    "language": 'must be a language like "en-GB" or "de"',
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


def _dotted(loc: Sequence[Any]) -> str:
    key = ""
    for part in loc:
        key += f"[{part + 1}]" if isinstance(part, int) else ("." if key else "") + str(part)
    return key


def _fields_at(loc: Sequence[Any]) -> list[str]:
    model: type[pydantic.BaseModel] = Settings
    kinds: dict[str, type[pydantic.BaseModel]] = {
        "site": Site, "smtp": Smtp, "collect": Collect, "summary": Summary, "dkim": Dkim,
        "newsletter": Newsletter, "topic": Topic, "sources": Source,
    }  # fmt: skip
    for part in loc:
        model = kinds.get(part, model) if isinstance(part, str) else model
    return [field.alias or name for name, field in model.model_fields.items()]
