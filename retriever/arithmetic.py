"""Integer expressions of data files, checked before they are evaluated."""

from __future__ import annotations

import ast
from collections.abc import Callable

_ALLOWED = (ast.Expression, ast.BinOp, ast.Compare, ast.Name, ast.Load, ast.Constant)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Eq)


def compiled(text: str, names: tuple[str, ...]) -> Callable[..., int]:
    """A function of `names`, by position, that evaluates `text`: + - * / % == and parentheses; division rounds down.

    Raises:
        ValueError: the text is not such an expression; the message says what in it is not.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{text!r} is not an expression: {error.msg}") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in names:
            raise ValueError(f"{text!r}: unknown name {node.id!r}; known: {', '.join(names)}")
        if isinstance(node, ast.Constant) and type(node.value) is not int:
            raise ValueError(f"{text!r}: {node.value!r} is not an integer")
        if not isinstance(node, _ALLOWED + _OPERATORS):
            raise ValueError(f"{text!r}: {type(node).__name__} is not allowed here")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            node.op = ast.FloorDiv()
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, tree.body)))
    return eval(compile(function, f"<{text}>", "eval"), {"__builtins__": {}})  # every node was checked above
