"""Puts newsletter.toml, a single file, beside the folders of the starter; not into an editable install."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StarterSettings(BuildHookInterface):  # type: ignore[type-arg]
    """The `sources` table of hatchling maps folders only."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before each build; `version` is "editable" or "standard"."""
        if version == "standard":
            build_data["force_include"]["newsletter.toml"] = "newsletter/starter/newsletter.toml"
