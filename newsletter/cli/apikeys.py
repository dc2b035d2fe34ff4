"""`api-keys`: the programs that may ask the API."""

from __future__ import annotations

import click

from newsletter.cli import output


@click.group("api-keys", cls=output.Group)
def api_keys() -> None:
    """The programs that may ask the API (docs/api.md), each by a key of its own."""


@api_keys.command()
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(["read", "write"]),
    default="read",
    show_default=True,
    help="`write` may change people, too.",
)
@output.json_option
@click.pass_context
@output.example("newsletter api-keys add website --scope write")
def add(ctx: click.Context, *, name: str, scope: str, as_json: bool) -> None:
    """Make a key and show its token, this once: only a hash of it is kept."""
    from newsletter.app import apikeys

    token = apikeys.add(output.app(ctx), name, scope)
    if as_json:
        output.emit({"name": name, "token": token, "scope": scope})
    else:
        output.say(f"{name} may {'read and write' if scope == 'write' else 'read'}; the token is shown this once:")
        output.result(token)


@api_keys.command("list")
@output.json_option
@click.pass_context
@output.example("newsletter api-keys list")
def list_(ctx: click.Context, *, as_json: bool) -> None:
    """All keys, what they may do and when they were last used; never their tokens."""
    from newsletter.app import apikeys

    keys = apikeys.listing(output.app(ctx))
    if as_json:
        rows = [
            {
                "name": key.name,
                "scope": key.scope.value,
                "created": key.created_at.isoformat(),
                "used": key.used_at.isoformat() if key.used_at else None,
                "revoked": key.revoked_at.isoformat() if key.revoked_at else None,
            }
            for key in keys
        ]
        output.emit({"api_keys": rows})
        return
    scopes = ["revoked" if key.revoked_at else key.scope.value for key in keys]
    used = [f"{key.used_at:%Y-%m-%d %H:%M}" if key.used_at else "never" for key in keys]
    output.table(("NAME", "SCOPE", "LAST USED"), zip([key.name for key in keys], scopes, used, strict=True))


@api_keys.command()
@click.argument("name")
@output.json_option
@click.pass_context
@output.example("newsletter api-keys revoke website")
def revoke(ctx: click.Context, *, name: str, as_json: bool) -> None:
    """Let a program in no more, from its next request on. Its name stays taken."""
    from newsletter.app import apikeys

    changed = apikeys.revoke(output.app(ctx), name)
    if as_json:
        output.emit({"name": name, "revoked": True, "changed": changed})
    else:
        output.say(f"{name} is revoked" + ("" if changed else " already"))
