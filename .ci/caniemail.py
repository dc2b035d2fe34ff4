"""Distil caniemail's data into what the pre-flight asks: which feature is found how, and which clients lack it.

    npm pack caniemail && tar xzf caniemail-*.tgz
    python .ci/caniemail.py package/data/caniemail.json

Writes newsletter/render/check/caniemail.json. A client lacks a feature when its newest version that was tested does
not support it at all; partial support counts as support.
"""

import json
import re
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "newsletter" / "render" / "check" / "caniemail.json"
FAMILIES = (
    "gmail", "apple-mail", "outlook", "yahoo", "aol", "samsung-email", "protonmail", "fastmail", "hey", "thunderbird",
    "gmx", "web-de",
)  # fmt: skip
LEFT_OUT = {("outlook", "windows-mail")}  # no longer there

# How a feature is found in a mail, where its slug does not say it:
#   property NAME… | value PROPERTY VALUE | word WORD… | function NAME… | unit NAME | at NAME WORD… | selector KIND |
#   element TAG… | attribute NAME… | link SCHEME
FOUND = {
    "css-at-font-face": "at font-face",
    "css-at-import": "at import",
    "css-at-keyframes": "at keyframes",
    "css-at-media": "at media",
    "css-at-media-device-pixel-ratio": "at media device-pixel-ratio",
    "css-at-media-hover": "at media hover",
    "css-at-media-orientation": "at media orientation",
    "css-at-media-prefers-color-scheme": "at media prefers-color-scheme",
    "css-at-media-prefers-reduced-motion": "at media prefers-reduced-motion",
    "css-at-supports": "at supports",
    "css-block-inline-size": "property block-size inline-size",
    "css-column-layout-properties": "property columns column-fill column-rule column-span column-width",
    "css-conic-gradient": "function conic-gradient",
    "css-display-flex": "value display flex",
    "css-display-grid": "value display grid",
    "css-display-none": "value display none",
    "css-flex-direction": "value flex-direction column",
    "css-flex-wrap": "value flex-wrap wrap",
    "css-function-clamp": "function clamp",
    "css-function-light-dark": "function light-dark",
    "css-function-max": "function max",
    "css-function-min": "function min",
    "css-gap": "property gap column-gap row-gap",
    "css-grid-template": "property grid-template grid-template-areas grid-template-columns grid-template-rows",
    "css-important": "word !important",
    "css-intrinsic-size": "word fit-content min-content max-content",
    "css-left-right-top-bottom": "property left right top bottom",
    "css-linear-gradient": "function linear-gradient",
    "css-margin-block-start-end": "property margin-block-start margin-block-end",
    "css-margin-inline-block": "property margin-inline margin-block",
    "css-margin-inline-start-end": "property margin-inline-start margin-inline-end",
    "css-modern-color": "function lch oklch lab oklab",
    "css-padding-block-start-end": "property padding-block-start padding-block-end",
    "css-padding-inline-block": "property padding-inline padding-block",
    "css-padding-inline-start-end": "property padding-inline-start padding-inline-end",
    "css-radial-gradient": "function radial-gradient",
    "css-rgb": "function rgb",
    "css-rgba": "function rgba",
    "css-scroll-snap": "property scroll-snap-type scroll-snap-align",
    "css-sytem-ui": "word system-ui ui-serif ui-sans-serif ui-rounded ui-monospace",
    "css-unit-calc": "function calc",
    "css-unit-initial": "word initial",
    "css-unit-percent": "unit %",
    "css-variables": "function var",
    "html-address": "element address",
    "html-anchor-links": "link #",
    "html-button-reset": "element button",
    "html-button-submit": "element button",
    "html-h1-h6": "element h1 h2 h3 h4 h5 h6",
    "html-image-maps": "element map",
    "html-link": "element link",
    "html-lists": "element ul ol dl",
    "html-loading-attribute": "attribute loading",
    "html-mailto-links": "link mailto:",
    "html-semantics": "element article aside details figcaption figure footer header main mark nav section summary "
    "time",
    "html-srcset": "attribute srcset sizes",
    "html-svg": "element svg",
}
ATTRIBUTES = frozenset(
    "align aria-describedby aria-hidden aria-label aria-labelledby aria-live background cellpadding cellspacing dir "
    "height hidden lang popover required role target valign width".split()
)
SKIPPED = re.compile(
    "css-(comments|nesting|inert-attribute|border-(inline|radius-logical).*)|html-(comments|doctype|input-.*|"
    "meta-color-scheme|style|body)|image-.*|amp|bimi"
)


def found_by(slug: str) -> str | None:
    """How a feature is found in a mail; None for those that are not looked for."""
    if SKIPPED.fullmatch(slug):
        return None
    if slug in FOUND:
        return FOUND[slug]
    kind, _, name = slug.partition("-")
    for prefix, how in (("unit-", "unit"), ("pseudo-class-", "selector :"), ("pseudo-element-", "selector ::")):
        if kind == "css" and name.startswith(prefix):
            return f"{how} {name.removeprefix(prefix)}".replace(": ", ":")
    if kind == "css":
        return f"selector {name.removeprefix('selector-')}" if name.startswith("selector-") else f"property {name}"
    return f"attribute {name}" if name in ATTRIBUTES else f"element {name}"


def age(version: str) -> list[int]:
    """What versions are ordered by: `2019-08` before `2023-12`, `78.10.2` before `102`."""
    return [int(number) for number in re.findall(r"\d+", version)]


def main(source: str) -> None:
    """Write the distillate of `source`."""
    data = json.loads(Path(source).read_text("utf-8"))
    names = data["nicenames"]
    clients: dict[str, int] = {}
    lines = []
    for feature in sorted(data["data"], key=lambda each: each["slug"]):
        how = found_by(feature["slug"])
        lacking = [
            clients.setdefault(f"{names['family'][family]} ({names['platform'][platform]})", len(clients))
            for family in FAMILIES
            for platform, versions in feature["stats"].get(family, {}).items()
            if (family, platform) not in LEFT_OUT and versions[max(versions, key=age)].startswith("n")
        ]
        if how and lacking:
            row = [feature["title"].strip(), how, lacking]
            lines.append(f"  {json.dumps(feature['slug'])}: {json.dumps(row, ensure_ascii=False)}")
    head = {
        "source": "https://www.caniemail.com/ (https://github.com/hteumeuleu/caniemail)",
        "licence": "MIT, Copyright (c) 2019 HTeuMeuLeu; see caniemail.LICENSE",
        "updated": data["last_update_date"][:10],
        "clients": list(clients),
    }
    top = ",\n".join(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items())
    TARGET.write_text(f'{{\n{top},\n "features": {{\n' + ",\n".join(lines) + "\n }\n}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
