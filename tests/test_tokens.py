"""Signed links: ours, for one purpose, whole, and short enough for a mail address."""

import itertools
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsletter import errors, tokens
from newsletter.tokens import Claims, Purpose

KEY = b"a key of at least sixteen octets"
OLD = b"the key that was here a year ago"
SIGNER = tokens.Signer([KEY])
ids = st.integers(0, 2**40)
purposes = st.sampled_from(list(Purpose))


@given(purpose=purposes, subscriber=ids, issue=ids)
def test_what_was_signed_is_read_again(purpose, subscriber, issue):
    token = SIGNER.sign(purpose, subscriber, issue)
    assert SIGNER.read(token, purpose) == Claims(purpose, subscriber, issue)
    assert SIGNER.read(token.upper(), purpose) == Claims(purpose, subscriber, issue)
    assert len(token) <= 52
    assert set(token) <= set(string.ascii_lowercase + string.digits)
    assert token == SIGNER.sign(purpose, subscriber, issue)


@given(
    subscriber=ids, issue=ids, where=st.integers(0, 51), char=st.sampled_from("abcdefghijklmnopqrstuvwxyz234567=-1 é")
)
def test_any_changed_character_is_refused(subscriber, issue, where, char):
    token = SIGNER.sign(Purpose.UNSUBSCRIBE, subscriber, issue)
    at = where % len(token)
    changed = token[:at] + char + token[at + 1 :]
    if changed != token:
        with pytest.raises(errors.TokenError):
            SIGNER.read(changed, Purpose.UNSUBSCRIBE)


@given(subscriber=ids, cut=st.integers(1, 10), more=st.text(max_size=3))
def test_token_that_is_cut_or_longer_is_refused(subscriber, cut, more):
    token = SIGNER.sign(Purpose.BOUNCE, subscriber, 7)
    for changed in (token[:-cut], token[cut:], token + (more or "a"), f" {token}"):
        with pytest.raises(errors.TokenError):
            SIGNER.read(changed, Purpose.BOUNCE)


@given(text=st.text(max_size=80))
def test_any_other_text_is_refused(text):
    with pytest.raises(errors.TokenError):
        SIGNER.read(text, Purpose.UNSUBSCRIBE)


@given(raw=st.binary(min_size=20, max_size=40))
def test_any_other_octets_are_refused_before_anyone_asks_the_database(raw):
    import base64

    token = base64.b32encode(raw).decode().rstrip("=").lower()
    for purpose in Purpose:
        try:
            claims, _ = SIGNER.peek(token, purpose)
        except errors.TokenError:
            continue
        assert max(claims.subscriber, claims.issue) < 2**63  # what a database can be asked for
        with pytest.raises(errors.TokenError):
            SIGNER.verify(token, claims, version=0)


@pytest.mark.parametrize(("made", "read"), list(itertools.permutations(Purpose, 2)))
def test_token_of_one_purpose_is_nothing_to_another(made, read):
    with pytest.raises(errors.TokenError):
        SIGNER.read(SIGNER.sign(made, 5, 7), read)


def test_token_of_another_workspace_is_refused():
    with pytest.raises(errors.TokenError):
        tokens.Signer([OLD]).read(SIGNER.sign(Purpose.UNSUBSCRIBE, 5, 7), Purpose.UNSUBSCRIBE)


def test_old_key_goes_on_verifying_and_the_new_one_signs():
    token = tokens.Signer([OLD]).sign(Purpose.UNSUBSCRIBE, 5, 7)
    rotated = tokens.Signer([KEY, OLD])
    assert rotated.read(token, Purpose.UNSUBSCRIBE).subscriber == 5
    assert rotated.sign(Purpose.UNSUBSCRIBE, 5, 7) == SIGNER.sign(Purpose.UNSUBSCRIBE, 5, 7)
    assert rotated.sign(Purpose.UNSUBSCRIBE, 5, 7, key_id=tokens.Signer([OLD]).key_id) == token


def test_keys_that_share_their_id_both_verify():
    others = (f"another key, number {n:06}".encode() for n in itertools.count())
    twin = next(key for key in others if tokens.Signer([key]).key_id == SIGNER.key_id)
    token = tokens.Signer([twin]).sign(Purpose.UNSUBSCRIBE, 5, 7)
    rotated = tokens.Signer([KEY, twin])
    assert rotated.read(token, Purpose.UNSUBSCRIBE).issue == 7
    assert rotated.read(SIGNER.sign(Purpose.UNSUBSCRIBE, 5, 7), Purpose.UNSUBSCRIBE).issue == 7


def test_key_that_is_gone_cannot_sign():
    with pytest.raises(errors.TokenError, match="no longer here"):
        SIGNER.sign(Purpose.BOUNCE, 1, 1, key_id=(SIGNER.key_id + 1) % 256)


def test_raised_version_makes_old_links_invalid():
    token = SIGNER.sign(Purpose.PREFERENCES, 5, 7, version=3)
    claims, _ = SIGNER.peek(token, Purpose.PREFERENCES)
    SIGNER.verify(token, claims, version=3)
    with pytest.raises(errors.TokenError):
        SIGNER.verify(token, claims, version=4)
    with pytest.raises(errors.TokenError):
        SIGNER.read(token, Purpose.PREFERENCES)


def test_verifying_for_somebody_else_is_refused():
    token = SIGNER.sign(Purpose.PREFERENCES, 5, 7)
    with pytest.raises(errors.TokenError):
        SIGNER.verify(token, Claims(Purpose.PREFERENCES, 6, 7), version=0)


@pytest.mark.parametrize("keys", [[], [b""], [b"short"], [KEY, b"short"]])
def test_weak_keys_are_refused(keys):
    with pytest.raises(errors.ConfigError, match="16 characters"):
        tokens.Signer(keys)


def test_digest_is_keyed_and_survives_a_rotation():
    old, rotated = tokens.Signer([OLD]), tokens.Signer([KEY, OLD])
    assert old.digest("ada@example.org") != SIGNER.digest("ada@example.org")
    assert rotated.digest("ada@example.org") == SIGNER.digest("ada@example.org")
    assert old.digest("ada@example.org") in rotated.digests("ada@example.org")
