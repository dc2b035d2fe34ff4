"""Jinja's sandbox with limits: whatever a template does ends soon and stays small, or is an error at its line.

Jinja keeps a template from Python; it does not keep it from looping for ever or from building a text of ten gigabytes.
So the syntax tree is changed before it is compiled: each loop, macro, block and part pays for its steps, and each
operation that makes a value pays for its size, out of the budget of one rendering. A budget counts; it never looks at
a clock, so that a template works on every machine or on none.

    steps    nodes of the syntax tree that run: about a second's worth
    chars    characters that operations read or make
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import types as kinds
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import jinja2
import jinja2.sandbox
import markupsafe
from jinja2 import exceptions, nodes, visitor

from newsletter import errors

MAX_STEPS = 1_000_000  # an issue of 300 entries takes 40,000
MAX_CHARS = 20_000_000
MAX_TEXT = 4_000_000  # of one value; some forty times what a mail may hold
MAX_ITEMS = 100_000
MAX_DEPTH = 4  # of lists in lists: to compare or print deeper ones may take for ever
_MAX_ARGUMENT = 10_000  # of a filter: truncate, batch, round
_BITS = 4_096  # of a number

FILTERS = frozenset(
    "abs attr batch capitalize count d default dictsort e escape first float forceescape groupby int items join last "
    "length list lower map max min reject rejectattr replace reverse round safe select selectattr sort string sum "
    "title trim truncate unique upper wordcount".split()
)
_OF_TEXT = frozenset(
    "capitalize casefold count endswith find isalnum isalpha isdigit islower isupper lower lstrip removeprefix "
    "removesuffix rstrip split splitlines startswith strip title upper".split()
)
_OF_DICT = frozenset("get items keys values".split())
# Names that no template can write.
_STEPS, _TICK, _JOINED, _MADE, _READ = "its steps", "its cost", "joined", "made", "read"


class _TooMuch(errors.NewsletterError):
    """A template that does more than any mail needs."""


@dataclasses.dataclass(slots=True)
class _Budget:
    steps: int = MAX_STEPS
    chars: int = MAX_CHARS


_budget: contextvars.ContextVar[_Budget] = contextvars.ContextVar("budget")


@contextlib.contextmanager
def budget() -> Iterator[None]:
    """One rendering, compiling included: the limits hold for all that happens in it."""
    token = _budget.set(_Budget())
    try:
        yield
    finally:
        _budget.reset(token)


class Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """A sandboxed environment whose templates cannot take for ever."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, **options: Any) -> None:
        super().__init__(finalize=_output, optimized=False, **options)  # else the meters would be folded away
        self.filters = {name: _limited(name, self.filters[name]) for name in FILTERS}
        self.filters |= {_STEPS: _steps, _TICK: _tick, _JOINED: _joined, _MADE: _made, _READ: _read}
        self.tests = {
            name: _limited_test(cast("Callable[..., Any]", function)) for name, function in self.tests.items()
        }
        self.globals = {name: self.globals[name] for name in ("range", "dict", "namespace", "joiner")}

    def concat(self, pieces: Iterable[str]) -> str:
        """What a macro, a block or a template gives, in one piece; too long is an error before it is made."""
        pieces = list(pieces)
        _pay_chars(sum(map(len, pieces)))
        return "".join(pieces)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """As Jinja has it; the fields of our own values are what templates are for."""
        if hasattr(type(obj), "__dataclass_fields__"):
            return attr in type(obj).__dataclass_fields__
        return super().is_safe_attribute(obj, attr, value)

    def is_safe_callable(self, obj: Any) -> bool:
        """Macros, blocks and loops, our own functions, and the methods of texts and dictionaries that stay small."""
        if any(obj is function for function in self.globals.values()):
            return True
        owner = getattr(obj, "__self__", obj)
        if isinstance(owner, str):
            return obj.__name__ in _OF_TEXT
        if isinstance(owner, dict):
            return obj.__name__ in _OF_DICT
        return type(owner).__module__.startswith("jinja2.") and super().is_safe_callable(obj)

    def wrap_str_format(self, value: Any) -> None:
        """`"…".format()` is refused with the other methods of texts: `"{:>1000000000}".format(1)` is one."""

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call, paid for."""
        if not self.is_safe_callable(obj):
            name = getattr(obj, "__name__", type(obj).__name__)
            raise exceptions.SecurityError(f"{name!r} is not safe to call in a template")
        for value in (*args, *kwargs.values()):
            _read(value)
        return _made(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """`+ * ** %`, unless what they would make is too large."""
        if operator == "%" and isinstance(left, (str, bytes)):
            raise _TooMuch('"…" % values is not for templates; join texts with ~')
        if operator == "*" and not (_is_number(left) and _is_number(right)):
            times, value = (left, right) if _is_number(left) else (right, left)
            size = len(value) * times if isinstance(value, (str, list, tuple)) and isinstance(times, int) else 0
            if size > (MAX_TEXT if isinstance(value, str) else MAX_ITEMS):
                raise _TooMuch(f"makes a value of {size:,} {'characters' if isinstance(value, str) else 'items'}")
        whole = isinstance(left, int) and isinstance(right, int)
        if operator == "**" and whole and left.bit_length() * abs(right) > _BITS:
            raise _TooMuch("makes a number that is too large")
        return _made(super().call_binop(context, operator, left, right))

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        changed = _Metered(self).visit(source)
        changed.set_environment(self)
        return super()._generate(changed, *args, **kwargs)


# -- the syntax tree -----------------------------------------------------------------------------------------------


class _Metered(visitor.NodeTransformer):
    """Puts the meters in: see the module's first lines."""

    def __init__(self, environment: jinja2.Environment) -> None:
        self._environment = environment

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - the library's name
        cost = _nodes_in(node)
        self.generic_visit(node)
        node.iter = _filter(node.iter, _STEPS, nodes.Const(cost))
        return node

    def _with_cost(self, node: Any) -> nodes.Node:
        tick = nodes.ExprStmt(_filter(nodes.Const(_nodes_in(node), lineno=node.lineno), _TICK), lineno=node.lineno)
        self.generic_visit(node)
        node.body.insert(0, tick)
        return node  # type: ignore[no-any-return]

    visit_Template = visit_Block = visit_Macro = visit_CallBlock = _with_cost  # noqa: N815

    def visit_Assign(self, node: nodes.Assign) -> Any:  # noqa: N802
        """Jinja forgets the line of a `set` on what is no namespace; what stands before it knows."""
        self.generic_visit(node)
        return [nodes.ExprStmt(_filter(nodes.Const(1, lineno=node.lineno), _TICK), lineno=node.lineno), node]

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes, lineno=node.lineno), _JOINED)

    def _as_made(self, node: Any) -> nodes.Node:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") != "load" else _filter(node, _MADE)

    visit_List = visit_Tuple = visit_Dict = _as_made  # noqa: N815

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filter(node, _MADE) if isinstance(node.arg, nodes.Slice) else node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.expr = _filter(node.expr, _READ)
        return node

    def visit_Operand(self, node: nodes.Operand) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.expr = _filter(node.expr, _READ)
        return node


def _filter(node: Any, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)


def _nodes_in(node: nodes.Node) -> int:
    return 1 + sum(map(_nodes_in, node.iter_child_nodes()))


# -- the meters ----------------------------------------------------------------------------------------------------


def _tick(cost: int) -> None:
    left = _budget.get()
    left.steps -= cost
    if left.steps < 0:
        raise _TooMuch("runs too long: its loops or calls take more steps than any mail needs")


def _pay_chars(count: int) -> None:
    left = _budget.get()
    left.chars -= count
    if count > MAX_TEXT:
        raise _TooMuch(f"makes a text of {count:,} characters; {MAX_TEXT:,} are the limit")
    if left.chars < 0:
        raise _TooMuch(f"makes or reads more than {MAX_CHARS:,} characters in all")


def pays(function: Callable[..., str], times: int) -> Callable[..., str]:
    """A filter of ours that works `times` as long on a text as to copy it takes."""

    @functools.wraps(function)
    def paid(text: str, *args: Any, **kwargs: Any) -> str:
        for _ in range(times):
            _pay_chars(len(text))
        return function(text, *args, **kwargs)

    return paid


def _steps(items: Any, cost: int) -> Iterator[Any]:
    for item in items:
        _tick(cost)
        yield item


def _made(value: Any) -> Any:
    """A value that an operation made: paid for, and refused when it is too large."""
    if isinstance(value, str):
        _pay_chars(len(value))
    elif isinstance(value, (list, tuple, dict, set)):
        _tick(len(value))
        if len(value) > MAX_ITEMS or _depth(value, MAX_DEPTH) > MAX_DEPTH:
            raise _TooMuch(f"makes a list of more than {MAX_ITEMS:,} items, or one nested deeper than {MAX_DEPTH}")
    elif isinstance(value, int) and value.bit_length() > _BITS:
        raise _TooMuch("makes a number that is too large")
    elif isinstance(value, (bytes, bytearray)):
        raise _TooMuch("makes bytes; a mail is text")
    elif isinstance(value, kinds.GeneratorType):
        return (_made(item) for item in _steps(value, 2))
    return value


def _depth(value: Any, most: int) -> int:
    if not isinstance(value, (list, tuple, dict, set)) or not most:
        return 0 if not isinstance(value, (list, tuple, dict, set)) else 1
    items = (*value.keys(), *value.values()) if isinstance(value, dict) else value
    return 1 + max((_depth(item, most - 1) for item in items if isinstance(item, (list, tuple, dict, set))), default=0)


def _read(value: Any) -> Any:
    """A value that an operation looks at: its length is paid for."""
    if isinstance(value, str):
        _pay_chars(len(value) // 16)
    elif isinstance(value, (list, tuple, dict, range)):
        _tick(1 + len(value) // 16)
    return value


def _joined(pieces: list[Any]) -> str:
    """`a ~ b`."""
    texts = [_printed(piece) for piece in pieces]
    _pay_chars(sum(len(text) for text in texts if isinstance(text, str)))
    if any(isinstance(text, markupsafe.Markup) for text in texts):
        return markupsafe.Markup("").join(texts)
    return "".join(map(str, texts))


def _output(value: Any) -> Any:
    """What `{{ … }}` prints, paid for: escaping copies it."""
    value = _printed(value)
    if isinstance(value, str):
        _pay_chars(len(value))
    return value


def _printed(value: Any) -> Any:
    """What may be printed: texts and numbers; a list or an object is a mistake."""
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise _TooMuch("prints a number that is too large")
    if value is None or isinstance(value, (str, int, float, jinja2.Undefined)):
        return value
    if isinstance(value, (list, tuple, dict, set, range, kinds.GeneratorType)):
        raise _TooMuch("prints a list; loop over it, or use the filter join")
    raise _TooMuch(f"prints all of {type(value).__name__.lower()}; name what of it")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


# Filters that take a list; the others make a text of whatever they get.
_OF_LISTS = frozenset(
    "attr batch count d default dictsort first groupby items join last length list map max min reject rejectattr "
    "reverse select selectattr sort sum unique".split()
)

_OF_ALL_ITEMS = frozenset("dictsort groupby list max min reverse sort sum unique".split())


def _limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter of Jinja's, paid for."""
    first = 1 if hasattr(function, "jinja_pass_arg") else 0
    check, all_items = _CHECKS.get(name), name in _OF_ALL_ITEMS

    @functools.wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        before, value, rest = args[:first], args[first], args[first + 1 :]
        if name not in _OF_LISTS:
            _printed(value)
        if all_items and isinstance(value, (list, tuple, dict, range)):
            _tick(8 * len(value))
        for each in (value, *rest, *kwargs.values()):
            _read(each)
            if each is not value and isinstance(each, int) and abs(each) > _MAX_ARGUMENT:
                raise _TooMuch(f"asks the filter {name} for {each:,}; {_MAX_ARGUMENT:,} are the limit")
        if check is not None:
            value = check(value, *rest, **kwargs)
        return _made(function(*before, value, *rest, **kwargs))

    return limited


def _limited_test(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        for each in (*args, *kwargs.values()):
            _read(each)
        return function(*args, **kwargs)

    return limited


def _check_join(value: Any, d: Any = "", attribute: Any = None) -> list[Any]:
    if attribute is not None:
        raise _TooMuch('joins by attribute; write map(attribute="…") | join(…)')
    items = [_printed(item) for item in _steps(value, 2)]
    _pay_chars(sum(len(item) for item in items if isinstance(item, str)) + len(str(_printed(d))) * len(items))
    return items


def _check_replace(value: Any, old: Any, new: Any, count: Any = None) -> Any:
    text, old, new = str(value), str(_printed(old)), str(_printed(new))
    _pay_chars(len(text) + text.count(old) * max(0, len(new) - len(old)))
    return value


def _check_sum(value: Any, attribute: Any = None, start: Any = 0) -> Any:
    if not _is_number(start):
        raise _TooMuch("sums what is no number")
    return value


_CHECKS: Mapping[str, Callable[..., Any]] = {"join": _check_join, "replace": _check_replace, "sum": _check_sum}
