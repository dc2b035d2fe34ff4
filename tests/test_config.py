"""Settings: everything wrong at once, with its place and a hint; and no secret in any message."""

import datetime as dt
import json
import os

import pytest

from newsletter import config, errors

LEAST = """\
[[newsletter]]
slug = "weekly"
title = "News"
from = "News <news@example.org>"

[[newsletter.topic]]
slug = "rl-agents"
title = "Agents"
"""
WHOLE = """\
[site]
title = "News without the noise"
base_url = "https://news.example.org"
secret_key_file = "secret.key"
database = "sqlite:///subscribers/newsletter.db"

[smtp]
host = "localhost"
port = 1025
security = "none"
username = ""
connections = 10
ehlo = ""
rate = "unlimited"
per_domain_rate = {}
in_doubt = "resend"
max_age = "48h"
error_budget = 0.05

[collect]
allow_private = []
max_bytes = "15MB"
deadline = "30s"
concurrency = 16
user_agent = ""

[summary]
engine = "extract"
base_url = ""
model = ""
timeout = "20s"

[[dkim]]
domain = "example.org"
selector = "news"
key_file = "dkim.pem"

[[newsletter]]
slug = "weekly"
title = "News without the noise"
from = "News without the noise <news@example.org>"
reply_to = "editor@example.org"
bounce_domain = "bounce.example.org"
language = "en-GB"
timezone = "Europe/London"
compose = "Thursday 12:00"
send = "Friday 09:00"
approval = "manual"
grace = "24h"
postal_address = "1 Example Street, London"
max_entries = 30

[[newsletter.topic]]
slug = "rl-agents"
title = "Reinforcement learning for agentic behaviour"
sources = [
  "https://rss.arxiv.org/atom/cs.LG",
  "arxiv:cat:cs.LG AND all:\\"reinforcement learning\\"",
  { url = "https://blog.example.org/feed.xml", name = "Example blog", max_per_issue = 3 },
  "file:inbox/*.jsonl",
]
include = ["reinforcement learning", "policy optimi[sz]ation"]
exclude = ["survey of surveys"]
"""


@pytest.fixture
def load(tmp_path):
    def loaded(text=LEAST, environ=None):
        path = tmp_path / "newsletter.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return config.load(tmp_path, environ or {})

    return loaded


@pytest.fixture
def faults(load):
    def found(text=LEAST, environ=None):
        with pytest.raises(errors.ConfigError) as caught:
            load(text, environ)
        return caught.value.problems

    return found


@pytest.fixture
def secrets(tmp_path):
    folder = tmp_path / "secrets"
    folder.mkdir()

    def written(**files):
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return {"NEWSLETTER_SECRETS_DIR": str(folder)}

    return written


def test_whole_sample_of_the_contract_loads(load, tmp_path):
    found = load(WHOLE)
    assert found.smtp.max_age == dt.timedelta(hours=48)
    assert found.collect.max_bytes == 15_000_000
    assert found.smtp.rates == ()
    assert found.newsletter[0].sender == "News without the noise <news@example.org>"
    assert found.newsletter[0].topic[0].sources[2].max_per_issue == 3
    assert found.newsletter[0].topic[0].sources[3].url == "file:inbox/*.jsonl"
    assert found.database_url == f"sqlite:///{tmp_path.resolve()}/subscribers/newsletter.db"
    assert found.folder == tmp_path.resolve()


def test_what_init_writes_loads(bench):
    assert config.load(bench.folder, {}).newsletter[0].slug == "weekly"


def test_the_least_that_loads_has_the_contracts_defaults(load):
    found, whole = load(LEAST), load(WHOLE)
    assert found.smtp == whole.smtp
    assert found.collect == whole.collect
    assert found.summary == whole.summary
    assert (found.newsletter[0].grace, found.newsletter[0].max_entries) == (dt.timedelta(hours=24), 30)


def test_every_fault_is_told_at_once_in_the_files_order(faults):
    text = '[smtp]\nprot = 25\nport = "many"\n\n' + LEAST.replace('"weekly"', '"We Ekly"').replace("title", "titel")
    assert faults(text) == [
        "newsletter.toml:2: smtp.prot: is no setting; did you mean port?",
        "newsletter.toml:3: smtp.port: must be a whole number",
        "newsletter.toml:5: newsletter[1].title: is missing",
        "newsletter.toml:6: newsletter[1].slug: must be lower-case letters, digits and hyphens",
        "newsletter.toml:7: newsletter[1].titel: is no setting; did you mean title?",
        "newsletter.toml:10: newsletter[1].topic[1].title: is missing",
        "newsletter.toml:12: newsletter[1].topic[1].titel: is no setting; did you mean title?",
    ]


@pytest.mark.parametrize(
    ("text", "where", "key", "hint"),
    [
        ("[sitee]\n" + LEAST, 1, "sitee", "site"),
        ('[site]\nbase_ulr = "x"\n' + LEAST, 2, "site.base_ulr", "base_url"),
        ('[smtp]\nhots = "x"\n' + LEAST, 2, "smtp.hots", "host"),
        ("smtp.hots = 1\n" + LEAST, 1, "smtp.hots", "host"),
        ("[collect]\n\nmax_byte = 1\n" + LEAST, 3, "collect.max_byte", "max_bytes"),
        ('[summary]\nmodell = "x"\n' + LEAST, 2, "summary.modell", "model"),
        (
            '[[dkim]]\ndomain = "a.org"\nselector = "b"\nkey_file = "k"\nkeyfile = "k"\n' + LEAST,
            5,
            "dkim[1].keyfile",
            "key_file",
        ),
        (LEAST.replace("from =", 'form = "x"\nfrom ='), 4, "newsletter[1].form", "from"),
        (LEAST + "sorces = []\n", 9, "newsletter[1].topic[1].sorces", "sources"),
        (
            LEAST + 'sources = [\n  { url = "https://a.org/f", nmae = "A" },\n]\n',
            9,
            "newsletter[1].topic[1].sources[1].nmae",
            "name",
        ),
        (LEAST + LEAST.replace("weekly", "daily") + "incldue = []\n", 17, "newsletter[2].topic[1].incldue", "include"),
    ],
)
def test_unknown_key_of_any_table_is_named_with_its_line_and_a_hint(faults, text, where, key, hint):
    assert faults(text) == [f"newsletter.toml:{where}: {key}: is no setting; did you mean {hint}?"]


@pytest.mark.parametrize(
    ("table", "line", "says"),
    [
        ("smtp", 'rate = "fast"', 'must be "unlimited" or a rate'),
        ("smtp", 'rate = ["14/s", "0/s"]', 'must be "unlimited" or a rate'),
        ("smtp", "rate = 14", 'must be "unlimited", a rate'),
        ("smtp", f'rate = "{"9" * 400}/s"', 'must be "unlimited" or a rate'),
        ("smtp", 'per_domain_rate = { "gmail.com" = "x" }', 'must be "unlimited" or a rate'),
        ("smtp", 'max_age = "2 days"', "must be a time like"),
        ("smtp", "max_age = 48", "must be a text like"),
        ("smtp", 'max_age = "99999999999999d"', "is longer than"),
        ("smtp", 'max_age = "0h"', "must be more than 0"),
        ("smtp", "port = 0", "must be at least 1"),
        ("smtp", "port = 65536", "must be at most 65535"),
        ("smtp", 'security = "ssl"', 'must be "none", "starttls" or "tls"'),
        ("smtp", "host = 5", "must be a text in quotes"),
        ("smtp", 'ehlo = "a\\r\\nb"', "must be one line"),
        ("smtp", "error_budget = nan", "must be a finite number"),
        ("collect", 'max_bytes = "big"', "must be a size like"),
        ("collect", f'max_bytes = "{"9" * 400}MB"', "must be a size like"),
        ("collect", "max_bytes = -1", "must be at least 1"),
        ("collect", 'deadline = "0s"', "must be more than 0"),
        ("collect", 'allow_private = ["home"]', "must be an address or a network"),
        ("collect", 'allow_private = "home"', "must be a list"),
        ("site", 'base_url = "https://news.example.org/"', "without a slash at the end"),
        ("site", 'base_url = "news.example.org"', "must be like"),
        ("site", 'base_url = "https://me:hunter2@news.example.org"', "must be like"),
        ("summary", 'engine = "magic"', 'must be "extract" or "openai"'),
        ("summary", 'base_url = "localhost:11434"', "must be the server's address"),
        ("summary", 'base_url = "http://localhost:99999/v1"', "must have a port"),
        ("site", 'base_url = "https://news.example.org:99999"', "must have a port"),
    ],
)
def test_bad_value_of_a_table_is_named(faults, table, line, says):
    (found,) = faults(f"[{table}]\n{line}\n{LEAST}")
    assert found.startswith(f"newsletter.toml:2: {table}.{line.split()[0]}")
    assert says in found


def test_model_needs_a_server_and_a_name(faults, load):
    found = faults(f'[summary]\nengine = "openai"\n{LEAST}')
    assert [line.split(": ")[1:] for line in found] == [
        ["summary.base_url", 'must be the server\'s address, like "http://localhost:11434/v1"'],
        ["summary.model", "must name the model that the server is to use"],
    ]
    settings = load(f'[summary]\nengine = "openai"\nbase_url = "http://[::1]:11434/v1/"\nmodel = "m"\n{LEAST}')
    assert settings.summary.model == "m"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('timezone = "Europe/Lundon"', "is no time zone; did you mean Europe/London?"),
        ('timezone = "../etc/passwd"', "is no time zone"),
        ('send = "Fryday 09:00"', "'fryday' is no day of the week"),
        ('compose = "Friday 25:00"', "is no time of day"),
        ('reply_to = "editor"', "must be like"),
        ('reply_to = "a@b.org, c@d.org"', "must be like"),
        ('bounce_domain = "https://bounce.example.org"', "must be a domain"),
        ('language = "English!"', "must be a language"),
        ('grace = "a day"', "must be a time like"),
        ("max_entries = 0", "must be at least 1"),
        ('approval = "maybe"', 'must be "manual" or "auto"'),
        ('postal_address = "a\\nb"', "must be one line"),
    ],
)
def test_bad_value_of_a_newsletter_is_named(faults, line, says):
    (found,) = faults(LEAST.replace("\n\n", f"\n{line}\n\n"))
    assert found.startswith(f"newsletter.toml:5: newsletter[1].{line.split()[0]}: ")
    assert says in found


@pytest.mark.parametrize("port", ["0", "65536", "99999", "many"])
def test_source_must_have_a_port_that_there_is(faults, port):
    (found,) = faults(LEAST + f'sources = ["https://blog.example.org:8080/f", "http://blog.example.org:{port}/f"]\n')
    assert found.startswith("newsletter.toml:9: newsletter[1].topic[1].sources[2].url: ")
    assert "must have a port from 1 to 65535" in found


def test_source_that_stands_twice_in_a_topic_is_named_by_its_places(faults, load):
    urls = ["https://blog.example.org/f?token=hunter2", "hn:front", "https://blog.example.org/f?token=hunter2"]
    (found,) = faults(LEAST + f"sources = {urls}\n")
    assert "sources: numbers 1 and 3 are the same address; name it once" in found
    assert "hunter2" not in found
    load(LEAST + f"sources = {urls[:2]}\n" + f'[[newsletter.topic]]\nslug = "b"\ntitle = "B"\nsources = {urls[:2]}\n')


@pytest.mark.parametrize("sender", ["news", "News <news>", "a@b.org>", "A <a@b.org> B", "a b@c.org", "x <a@b..org>"])
def test_sender_must_be_one_mailbox(faults, sender):
    (found,) = faults(LEAST.replace("News <news@example.org>", sender))
    assert found == 'newsletter.toml:4: newsletter[1].from: must be like "News <news@example.org>"'


@pytest.mark.parametrize("sender", ["news@example.org", "Wöchentlich <news@exämple.org>", "A, B <a+b@c.org>"])
def test_senders_that_are_mailboxes_are_taken(load, sender):
    assert load(LEAST.replace("News <news@example.org>", sender)).newsletter[0].sender == sender


@pytest.mark.parametrize("source", ["htp://a.org", "https://", "a.org/feed.xml", "file:"])
def test_source_must_be_an_address_of_a_known_kind(faults, source):
    (found,) = faults(f'{LEAST}sources = ["https://a.org/f",\n "{source}"]\n')
    assert found.startswith("newsletter.toml:9: newsletter[1].topic[1].sources[2].url: must be like")


def test_rule_that_is_no_regular_expression_is_named(faults):
    (found,) = faults(LEAST + 'include = ["agents", "("]\n')
    assert found.startswith("newsletter.toml:9: newsletter[1].topic[1].include[2]: is no regular expression")


def test_two_newsletters_of_one_slug_are_refused(faults):
    (found,) = faults(LEAST + LEAST)
    assert "two of them have the slug 'weekly'" in found
    assert found.startswith("newsletter.toml:1: newsletter")


@pytest.mark.parametrize("slug", ["subscribe", "confirm", "preferences", "unsubscribe", "api", "healthz", "metrics"])
def test_slug_of_a_newsletter_is_no_other_pages_address(faults, slug):
    (found,) = faults(LEAST.replace('"weekly"', f'"{slug}"', 1))
    assert "is the address of another page" in found


def test_two_topics_of_one_slug_are_refused_beside_other_faults(faults):
    found = faults('[smtp]\nport = "x"\n' + LEAST + '[[newsletter.topic]]\nslug = "rl-agents"\ntitle = "B"\n')
    assert len(found) == 2
    assert "newsletter[1].topic: two of them have the slug 'rl-agents'" in found[1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "newsletter: is missing"),
        ("newsletter = 5\n", "newsletter: must be a list"),
        ("smtp = 5\n" + LEAST, "newsletter.toml:1: smtp: must be a table"),
        (LEAST.partition("\n\n")[0], "newsletter.toml:1: newsletter[1].topic: is missing"),
    ],
)
def test_tables_that_are_missing_or_none_are_named(faults, text, says):
    assert any(says in each for each in faults(text))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[site]\ntitle = = 1\n", 2),
        ("[smtp]\nport = 1\nport = 2\n", 3),
        ("[smtp\n", 1),
        ("[smtp]\n[smtp]\n", 2),
        ('[site]\ntitle = """never ends\n\n', 2),
    ],
)
def test_what_is_no_toml_is_named_with_its_line(faults, text, line):
    (found,) = faults(text)
    assert found.startswith(f"newsletter.toml:{line}: is no TOML: ")


def test_other_encodings_are_named_with_their_line(faults):
    assert faults('[site]\ntitle = "Caf\xe9"\n'.encode("latin-1")) == [
        "newsletter.toml:2: is not UTF-8; save the file as UTF-8"
    ]


def test_byte_order_mark_and_windows_line_ends_are_taken(load):
    assert load(b"\xef\xbb\xbf" + LEAST.replace("\n", "\r\n").encode()).newsletter[0].slug == "weekly"


def test_missing_file_says_what_makes_one(tmp_path):
    with pytest.raises(errors.WorkspaceError, match="newsletter init"):
        config.load(tmp_path, {})


def test_folder_in_the_files_place_is_named(tmp_path):
    (tmp_path / "newsletter.toml").mkdir()
    with pytest.raises(errors.ConfigError, match="cannot be read: Is a directory"):
        config.load(tmp_path, {})


# -- the environment and secrets -----------------------------------------------------------------------------------


def test_environment_beats_secrets_beat_the_file(load, secrets):
    text = '[smtp]\nport = 1\nhost = "a.org"\nusername = "file"\n' + LEAST
    environ = secrets(smtp__port="2", smtp__host="b.org\n") | {"NEWSLETTER_SMTP__PORT": "3"}
    found = load(text, environ).smtp
    assert (found.port, found.host, found.username) == (3, "b.org", "file")


def test_lists_and_tables_may_stand_in_the_environment(load):
    found = load(
        LEAST,
        {
            "NEWSLETTER_SMTP__RATE": "14/s",
            "NEWSLETTER_COLLECT__ALLOW_PRIVATE": "127.0.0.1, 10.0.0.0/8",
            "NEWSLETTER_SMTP__PER_DOMAIN_RATE": '{"gmail.com": "2/s"}',
            "NEWSLETTER_DKIM": '[{"domain": "a.org", "selector": "s", "key_file": "k"}]',
        },
    )
    assert found.smtp.rates == (14.0,)
    assert found.collect.allow_private == ["127.0.0.1", "10.0.0.0/8"]
    assert found.smtp.per_domain_rate == {"gmail.com": "2/s"}
    assert found.dkim[0].selector == "s"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("NEWSLETTER_SMTP__PROT", "1", "is no setting; did you mean NEWSLETTER_SMTP__PORT?"),
        ("NEWSLETTER_SMPT__PORT", "1", "is no setting; did you mean NEWSLETTER_SMTP__PORT?"),
        ("NEWSLETTER_WORKSPAC", "x", "is no setting; did you mean NEWSLETTER_WORKSPACE?"),
        ("NEWSLETTER_QQQQQ", "x", "is no setting"),
        ("NEWSLETTER_SMTP__PORT__X", "1", "is no setting; did you mean NEWSLETTER_SMTP__PORT?"),
        ("NEWSLETTER_SMTP__PORT", "many", "must be a whole number"),
        ("NEWSLETTER_SMTP", "{hunter2", "must be JSON, like {…}"),
        ("NEWSLETTER_SMTP__RATE", "fast", '[1]: must be "unlimited" or a rate'),
        ("NEWSLETTER_DKIM", '[{"domain": 1, "selector": "s", "key_file": "k"}]', "[1].domain: must be a text"),
    ],
)
def test_faults_of_the_environment_are_told_once_by_the_variables_name(faults, name, value, says):
    (found,) = faults(LEAST, {name: value})
    assert found.startswith(f"environment: {name}: ")
    assert says in found
    assert "hunter2" not in found


def test_foreign_variables_are_left_alone(load):
    assert load(LEAST, {"PATH": "/bin", "NEWSLETTERS": "x", "NEWSLETTER_WORKSPACE": "/tmp"}).smtp.port == 1025


def test_faults_of_a_secrets_directory_are_named(faults, secrets):
    found = faults(LEAST, secrets(smtp__prot="1", smtp__port="hunter2", dkim="{"))
    assert any("smtp__prot: is no setting; did you mean smtp__port?" in each for each in found)
    assert "secrets: smtp__port: must be a whole number" in found
    assert any("dkim: must be JSON" in each for each in found)
    assert "hunter2" not in "\n".join(found)


def test_missing_secrets_directory_is_a_fault(faults, tmp_path):
    (found,) = faults(LEAST, {"NEWSLETTER_SECRETS_DIR": str(tmp_path / "nowhere")})
    assert found.startswith("environment: NEWSLETTER_SECRETS_DIR: ")


def test_other_services_credentials_are_left_alone(load, secrets):
    environ = secrets(smtp__username="ada", database_password="x")
    found = load(LEAST, {"CREDENTIALS_DIRECTORY": environ["NEWSLETTER_SECRETS_DIR"]})
    assert found.smtp.username == "ada"


# -- secrets stay secret -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["mail.example.org", "192.0.2.1", "localhost.example.org"])
def test_password_in_clear_is_refused(faults, host):
    text = f'[smtp]\nhost = "{host}"\npassword = "hunter2"\n{LEAST}'
    (found,) = faults(text)
    assert found.startswith("newsletter.toml:3: smtp.password: is refused")
    assert "hunter2" not in found


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
def test_password_in_clear_is_taken_on_this_very_machine(load, host):
    found = load(f'[smtp]\nhost = "{host}"\npassword = "hunter2"\n{LEAST}')
    assert found.smtp.password.get_secret_value() == "hunter2"


def test_password_from_the_environment_is_refused_in_clear_too(faults):
    (found,) = faults('[smtp]\nhost = "mail.example.org"\n' + LEAST, {"NEWSLETTER_SMTP__PASSWORD": "hunter2"})
    assert found.startswith("environment: NEWSLETTER_SMTP__PASSWORD: is refused")
    assert "hunter2" not in found


def test_encrypted_passwords_are_taken(load):
    assert load('[smtp]\nhost = "m.org"\nsecurity = "tls"\npassword = "x"\n' + LEAST).smtp.security == "tls"


def test_masked_settings_show_no_secret(load):
    text = (
        '[site]\nsecret_key = "hunter2-hunter2-hunter2"\n'
        'database = "postgresql://me:hunter2@db.example.org/news"\n'
        '[smtp]\npassword = "hunter2"\n[summary]\napi_key = "hunter2"\n'
        + LEAST
        + 'sources = ["https://me:hunter2@a.org/f"]\n'
    )
    found = load(text)
    shown = json.dumps(found.masked())
    assert "hunter2" not in shown
    assert "hunter2" not in repr(found.smtp)
    assert "postgresql://me:**********@db.example.org/news" in shown
    assert found.masked()["newsletter"][0]["from"] == "News <news@example.org>"


@pytest.mark.parametrize(
    "text",
    [
        '[smtp]\npassword = ["hunter2"]\n',
        '[smtp]\npassword = "hunter2\n',
        "[smtp]\npassword = hunter2\n",
        '[smtp]\npasword = "hunter2"\n',
        '[smtp]\nport = "hunter2"\n',
        '[summary]\napi_key = { a = "hunter2" }\n',
        '[site]\nsecret_key = 5\ndatabase = ["hunter2"]\n',
    ],
)
def test_no_fault_shows_a_value(faults, text):
    assert "hunter2" not in "\n".join(faults(text + LEAST))


def test_keys_are_read_a_line_each_the_first_one_signs(load, tmp_path):
    (tmp_path / "secret.key").write_text("new\nold\n", encoding="utf-8")
    assert load().secret_keys() == [b"new", b"old"]
    assert load(LEAST, {"NEWSLETTER_SITE__SECRET_KEY": "mine"}).secret_keys() == [b"mine"]


def test_missing_key_says_what_to_do(load):
    with pytest.raises(errors.WorkspaceError, match="newsletter init"):
        load().secret_keys()


# -- finding things ------------------------------------------------------------------------------------------------


def test_names_that_are_not_there_are_answered_with_those_that_are(load):
    found = load(LEAST + LEAST.replace("weekly", "daily").replace("rl-agents", "robots"))
    with pytest.raises(errors.NotFound, match="there is weekly, daily"):
        found.newsletter_of("monthly")
    with pytest.raises(errors.UsageError, match="say which: weekly, daily"):
        found.newsletter_of(None)
    with pytest.raises(errors.NotFound, match="weekly/rl-agents, daily/robots"):
        found.topic_places("cats")
    with pytest.raises(errors.NotFound, match="it has rl-agents"):
        found.newsletter_of("weekly").topic_of("robots")
    assert [(n.slug, t.slug) for n, t in found.topic_places("daily/robots")] == [("daily", "robots")]
    assert [(n.slug, t.slug) for n, t in found.topic_places("robots")] == [("daily", "robots")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_that_may_not_be_read_is_named(tmp_path):
    path = tmp_path / "newsletter.toml"
    path.write_text(LEAST, encoding="utf-8")
    path.chmod(0)
    with pytest.raises(errors.ConfigError, match="Permission denied"):
        config.load(tmp_path, {})


@pytest.mark.parametrize(
    "address", ["gopher://127.0.0.1:70/", "ftp://a.org/f", "javascript:alert(1)", "data:text/xml,x", "HTTPX://a"]
)
def test_unknown_kind_of_source_is_refused_by_its_name(faults, address):
    (found,) = faults(f'{LEAST}sources = ["{address}"]\n')
    assert f"(“{address.partition(':')[0]}:” is no kind of source)" in found


@pytest.mark.parametrize("address", ["localhost:8000/feed", "blog.example.org/feed", "https://", "file:"])
def test_address_without_a_scheme_is_refused_with_examples(faults, address):
    (found,) = faults(f'{LEAST}sources = ["{address}"]\n')
    assert 'must be like "https://blog.example.org/feed.xml"' in found
    assert "no kind" not in found
