r"""TeX as abstracts have it -> the characters that it stands for: `$10^{-9}$` -> "10⁻⁹", `\sqrt{s}` -> "√s". Pure.

Only what has a plain reading is turned; `left()` says whether a sentence still holds TeX that no reader can read.
"""

from __future__ import annotations

import re

from newsletter import names

_WORD = re.compile(
    r"\\(?:text(?:bf|it|sc|tt|rm|sf|sl|up|normal)?|emph|math(?:rm|bf|cal|bb|it|sf|tt|frak|scr)|boldsymbol|bm|mbox|"
    r"operatorname\*?|url|underline|ensuremath|hbox|textsuperscript)\s?\{([^{}]{0,300})\}"
)
_MARK = re.compile(r"\\(?:hat|bar|tilde|vec|widehat|widetilde|overline|dot|check)\s?(?:\{([^{}]{1,20})\}|([A-Za-z])\b)")
_OLD_STYLE = re.compile(r"\{\\(?:it|bf|em|rm|sc|tt|sl|cal)\s+([^{}]{0,300})\}")
_GONE = re.compile(
    r"~?\\(?:cite[tp]?|ref|eqref|label|footnote|cref|autoref)\*?(?:\[[^\[\]]{0,80}\])?\{[^{}]{0,300}\}"
    r"|\\(?:left|right|big|Big|bigl|bigr|Bigl|Bigr|displaystyle|limits|xspace|noindent|tiny|small)"
    r"(?![A-Za-z])|\\(?:rm|it|bf|em|cal)(?![A-Za-z])\s?"
)
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]{1,60})\}\s?\{([^{}]{1,60})\}")
_ROOT = re.compile(r"\\sqrt\s?(?:\{([^{}]{1,60})\}|([A-Za-z0-9]))|√\{([^{}]{1,60})\}")
_COMMAND = re.compile(r"\\([A-Za-z]{2,14})(?![A-Za-z])(?:\{\})?")
_SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "vartheta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ",
    "pi": "π", "rho": "ρ", "varrho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "varphi": "φ",
    "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ",
    "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
    "times": "×", "cdot": "·", "pm": "±", "mp": "∓", "approx": "≈", "simeq": "≃", "sim": "~", "cong": "≅",
    "equiv": "≡", "leq": "≤", "le": "≤", "leqslant": "≤", "lesssim": "≲", "geq": "≥", "ge": "≥", "geqslant": "≥",
    "gtrsim": "≳", "neq": "≠", "ne": "≠", "ll": "≪", "gg": "≫", "lt": "<", "gt": ">", "propto": "∝", "to": "→",
    "rightarrow": "→", "longrightarrow": "→", "Rightarrow": "⇒", "leftarrow": "←", "leftrightarrow": "↔",
    "mapsto": "↦", "infty": "∞", "partial": "∂", "nabla": "∇", "sum": "∑", "prod": "∏", "int": "∫", "forall": "∀",
    "exists": "∃", "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆", "cup": "∪", "cap": "∩", "setminus": "∖",
    "emptyset": "∅", "otimes": "⊗", "oplus": "⊕", "circ": "°", "degree": "°", "deg": "deg", "prime": "′", "ell": "ℓ",
    "hbar": "ℏ", "ldots": "…", "dots": "…", "cdots": "…", "langle": "⟨", "rangle": "⟩", "lvert": "|", "rvert": "|",
    "star": "*", "ast": "*", "dagger": "†", "perp": "⊥", "parallel": "∥", "mid": "|", "quad": " ", "qquad": " ",
    "log": "log", "ln": "ln", "exp": "exp", "sin": "sin", "cos": "cos", "tan": "tan", "min": "min", "max": "max",
    "sup": "sup", "inf": "inf", "lim": "lim", "dim": "dim", "det": "det", "ker": "ker", "Pr": "Pr", "arg": "arg",
    "argmin": "argmin", "argmax": "argmax", "poly": "poly", "polylog": "polylog", "mod": "mod", "bmod": "mod",
    "odot": "☉", "textbackslash": " ", "LaTeX": "LaTeX", "TeX": "TeX", "S": "§",
    "textasciitilde": "~", "sqrt": "√",
}  # fmt: skip
_RAISED = dict(zip("0123456789+-−=()nix ′*°TkmNd", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱˣ ′*°ᵀᵏᵐᴺᵈ", strict=True))
_LOWERED = dict(zip("0123456789+-−=()aeoxhklmnpstijruv ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₒₓₕₖₗₘₙₚₛₜᵢⱼᵣᵤᵥ ", strict=True))
_SCRIPT = re.compile(r"(?P<sign>[\^_])\s?(?:\{(?P<long>[^{}]{1,40})\}|(?P<short>[0-9A-Za-z*′°+−-]))")
_BARE_POWER = re.compile(
    r"(?<=[0-9A-Za-z)\]α-ω])\^(?:\{(?P<long>[^{}]{1,40})\}|(?P<short>[-+−]?\d{1,3}(?!\w)|"
    r"[+−-]|\*))"
)
_BARE_INDEX = re.compile(r"(?<=[0-9A-Za-z)\]α-ωΑ-Ω])_\{(?P<long>[^{}]{1,40})\}|(?<=\b[A-Za-zα-ω])_(?P<short>\d)\b")
_MATHS = re.compile(r"(?<!\\)\$\$?(?! ?\d[\d,.]*\s+[A-Za-z]{2,})([^$\n]{1,300}?)(?<!\\)\$\$?(?!\d)|\\\((.{1,300}?)\\\)")
_LEFT = re.compile(r"\\[A-Za-z(\[]|\$[^\s\d]|[\^_]\{|\{\\|(?<=\w)\^\w|[\^_]\(|[{}]|\S\$")


def plain(text: str) -> str:
    """The text with Unicode characters in place of its TeX; text without any stays as it is."""
    if not re.search(r"[\\$^_{~]", text):
        return _typed(text)
    text = names.from_tex(text)
    if "\\" in text:
        text = _GONE.sub("", text)
        text = _WORD.sub(r"\1", _WORD.sub(r"\1", _OLD_STYLE.sub(r"\1", text)))
        text = _MARK.sub(lambda match: match[1] or match[2], text)
        text = re.sub(r"\\[,;:!>]|\\ |\\\\", " ", text)
        text = _COMMAND.sub(_sign, _nested(text))
    text = _MATHS.sub(lambda match: _maths(match[1] or match[2]), text)
    text = _BARE_POWER.sub(lambda match: _script("^", match["long"] or match["short"], match[0]), text)
    text = _BARE_INDEX.sub(lambda match: _script("_", match["long"] or match["short"], match[0]), text)
    text = re.sub(r"√\{([^{}]{1,60})\}", lambda match: _root(match[1]), text)
    text = re.sub(r"\\([%&#_${}])", r"\1", text)
    if "{" in text:
        text = re.sub(r"(?<!\w)\{([^{}\n]{1,60})\}|\{([A-Z][A-Za-z]{0,20})\}", lambda match: match[1] or match[2], text)
    text = re.sub(r"(?<=[^\s~])~(?=[^\s~\d])", " ", text)
    return _typed(text)


def left(text: str) -> bool:
    """Is there still TeX in a sentence?"""
    return re.search(r"[\\$^_{}]", text) is not None and _LEFT.search(text) is not None


def raised(text: str) -> str:
    """`-9` as it stands above the line; "^x" where a character has no such form."""
    return _script("^", text, f"^{text}")


def lowered(text: str) -> str:
    """`2` as it stands below the line; `_x` where a character has no such form."""
    return _script("_", text, f"_{text}")


def _sign(match: re.Match[str]) -> str:
    return _SIGNS.get(match[1], match[0])


def _nested(text: str) -> str:
    text = _ROOT.sub(lambda match: _root(match[1] or match[2] or match[3]), text)
    return _FRACTION.sub(lambda match: f"{_bracketed(match[1])}/{_bracketed(match[2])}", text)


def _root(inner: str) -> str:
    inner = _maths(inner)
    return f"√{inner}" if re.fullmatch(r"\w[\w₀-₉ₐ-ₜ]{0,8}", inner) else f"√({inner})"


def _bracketed(part: str) -> str:
    return part if re.fullmatch(r"\\?[\w.]+", part.strip()) else f"({part.strip()})"


def _maths(inner: str) -> str:
    """What stood between dollars, without braces and commands that have no sign."""
    inner = _SCRIPT.sub(lambda match: _script(match["sign"], match["long"] or match["short"], match[0]), inner)
    inner = re.sub(r"(?<![\\])[{}]", "", inner)
    inner = re.sub(r"(?<=\w)-(?=\d)(?=.*[=<>])", "−", inner) if re.search(r"[=<>]", inner) else inner
    return re.sub(r"\\([%&#_{}])", r"\1", inner).strip()


def _script(sign: str, inner: str, whole: str) -> str:
    inner = re.sub(r"\\([A-Za-z]+)", _sign, inner).strip()
    if sign == "^" and inner in ("°", "\\circ"):
        return "°"
    forms = _RAISED if sign == "^" else _LOWERED
    if all(char in forms for char in inner) and (len(inner) == 1 or not inner.isalpha()):
        return "".join(forms[char] for char in inner)
    if not inner:
        return whole
    return f"{sign}{inner}" if re.fullmatch(r"\w+", inner) else f"{sign}({inner})"


def _typed(text: str) -> str:
    """Typewriter's dashes and quotation marks as they are printed."""
    if "--" in text:
        text = re.sub(r"(?<!-)---(?!-)", "—", text)
        text = re.sub(r"(?<=[\w)])--(?=[\w(])", "–", text)
        text = re.sub(r"(?<=\s)--(?=\s)", "–", text)
    if "``" in text or "''" in text:
        text = re.sub(r"``([^`'\n]{1,200}?)''", r"“\1”", text)
    return text
