"""A small language for quantities: numbers, texts, arithmetic, comparisons, and calls of named functions.

Its syntax is Python's; anything but what is listed here is refused.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from fabricsim.errors import InputError

Functions = Mapping[str, Callable[..., Any]]

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def evaluate(text: str, functions: Functions, names: Mapping[str, Any] | None = None) -> Any:
    """The value of an expression.

    Raises:
        InputError: it cannot be read, uses an unknown name, or a function refuses its arguments.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _Evaluation(functions, names or {}).value(tree.body)
    except SyntaxError as error:
        raise InputError(f"expression `{text}`: it cannot be read: {error.msg}") from None
    except (TypeError, ZeroDivisionError, RecursionError, InputError) as error:
        raise InputError(f"expression `{text}`: {error}") from error


class _Evaluation:
    def __init__(self, functions: Functions, names: Mapping[str, Any]) -> None:
        self._functions = functions
        self._names = names

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as constant):
                return constant
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.value(item) for item in items]
            case ast.Name(id=name):
                return self._named(name, self._names, "name")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self.value(left), self.value(right))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                return _UNARY[type(op)](self.value(operand))
            case ast.BoolOp(op=op, values=values):
                fold = all if isinstance(op, ast.And) else any
                return fold(self.value(item) for item in values)
            case ast.Compare(left=left, ops=ops, comparators=rights) if all(
                type(op) in _COMPARE for op in ops
            ):
                values = [self.value(item) for item in [left, *rights]]
                return all(
                    _COMPARE[type(op)](a, b) for op, a, b in zip(ops, values, values[1:], strict=False)
                )
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                function = self._named(name, self._functions, "function")
                named = {str(k.arg): self.value(k.value) for k in keywords if k.arg is not None}
                return function(*[self.value(arg) for arg in args], **named)
        raise InputError(f"`{ast.unparse(node)}` is not allowed here")

    @staticmethod
    def _named(name: str, known: Mapping[str, Any], what: str) -> Any:
        if name not in known:
            raise InputError(f"there is no {what} `{name}`; there are: {', '.join(sorted(known)) or 'none'}")
        return known[name]
