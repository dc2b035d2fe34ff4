"""The workspace: a folder with newsletter.toml, templates/, subscribers/ and issues/. Finds it, makes it, names files.

The sample workspace (the starter) is shipped inside the package as `starter/`; in a checkout it is the repository's
root.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from newsletter import config, errors

PERIOD = re.compile(r"\d{4}-\d\d-\d\d(?:-[a-z0-9][a-z0-9-]*)?")
# What `init` writes. Templates are not copied: a file of that name in templates/ overrides the shipped one, and what is
# not overridden goes on improving with each release.
STARTER_FILES = (
    "newsletter.toml",
    "templates/README.md",
    "subscribers/README.md",
    "subscribers/example.csv",
    "issues/README.md",
)
GITIGNORE = """\
# private by nature: people, keys, databases
/subscribers/*
!/subscribers/README.md
!/subscribers/example.csv
*.db
*.db-wal
*.db-shm
*.key
*.pem
"""


def starter() -> Path:
    """The shipped sample workspace."""
    package = Path(__file__).parent
    packed = package / "starter"
    return packed if packed.is_dir() else package.parent


@dataclasses.dataclass(frozen=True, slots=True)
class Workspace:
    """One folder. `path` is absolute."""

    path: Path

    @property
    def template_folders(self) -> tuple[Path, ...]:
        """Where a template is looked for: the workspace, then the shipped ones."""
        return (self.path / "templates", starter() / "templates")

    def draft(self, issue: str) -> Path:
        """The draft of `weekly/2026-09-11`."""
        return self.path / "issues" / f"{issue}.md"

    def drafts(self) -> Iterator[Path]:
        """The drafts that are there, of all newsletters."""
        return (path for path in (self.path / "issues").glob("*/*.md") if re.fullmatch(PERIOD.pattern, path.stem))

    def shown(self, path: Path) -> str:
        """A path as people and JSON see it: relative to the workspace where it lies inside."""
        for inside in (path, Path(os.path.realpath(path))):  # `resolve` raises where links lead round in a circle
            with contextlib.suppress(ValueError):
                return inside.relative_to(self.path).as_posix()
        return str(path)

    def issue_name(self, name: str) -> str:
        """`weekly/2026-09-11` from that or from a draft's path; raises `errors.UsageError` for neither."""
        text = name.removesuffix(".md")
        with contextlib.suppress(ValueError, OSError, RuntimeError):  # NUL, no such folder any more, a loop of links
            inside = (Path.cwd() / text).resolve().relative_to((self.path / "issues").resolve()).as_posix()
            if re.fullmatch(rf"[a-z0-9-]+/{PERIOD.pattern}", inside):
                return inside
        text = text.removeprefix("./").removeprefix("issues/")
        if re.fullmatch(rf"[a-z0-9-]+/{PERIOD.pattern}", text):
            return text
        raise errors.UsageError(f"{name!r} is no issue; write it like weekly/2026-09-11, or give the draft's path")


def find(start: Path | None, environ: dict[str, str] | None = None) -> Workspace:
    """The workspace: `start` if given, else NEWSLETTER_WORKSPACE, else the nearest folder up with a newsletter.toml."""
    environ = dict(os.environ) if environ is None else environ
    named = start or (Path(environ["NEWSLETTER_WORKSPACE"]) if environ.get("NEWSLETTER_WORKSPACE") else None)
    if named is not None:
        if not _is_workspace(named):
            raise errors.WorkspaceError(
                f"{named} is no workspace (no {config.FILE}); `newsletter init {named}` makes one"
            )
        return Workspace(named.resolve())
    try:
        here = Path.cwd().resolve()
    except OSError:
        raise errors.WorkspaceError("the folder you are in is gone; `newsletter -C DIR …` names a workspace") from None
    for folder in (here, *here.parents):
        if _is_workspace(folder):
            return Workspace(folder)
    raise errors.WorkspaceError(
        f"no {config.FILE} here or in a folder above; `newsletter init DIR` makes a workspace, "
        "`newsletter -C DIR …` names one"
    )


def _is_workspace(folder: Path) -> bool:
    try:
        return (folder / config.FILE).is_file()
    except OSError:  # it may not be looked into, or its name is too long
        return False


def init(folder: Path) -> list[str]:
    """Make a workspace, or add to one what it lacks; never overwrites. Returns the names of what was written."""
    files = {name: (starter() / name).read_bytes() for name in STARTER_FILES}
    files[".gitignore"] = GITIGNORE.encode()
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            path = folder / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                written.append(name)
        key = folder / _key_file(folder)
        if not key.exists():
            key.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
            written.append(str(key.relative_to(folder)) if key.is_relative_to(folder) else str(key))
    except OSError as error:
        raise errors.WorkspaceError(
            f"{folder} cannot be made a workspace: {error.filename or folder}: {error.strerror}"
        ) from None
    return written


def _key_file(folder: Path) -> str:
    """Where the settings want the key; the default when they cannot be read."""
    try:
        return config.load(folder, {}).site.secret_key_file
    except errors.ConfigError:
        return config.Site().secret_key_file
