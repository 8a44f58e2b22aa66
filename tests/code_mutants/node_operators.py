"""The operators for JavaScript, the same as those for Python as far as the language has them.

In: source text. Out: edits, and the source with a call at the start of each block.
"""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter_javascript
from tests.code_mutants.mutants import Edit
from tree_sitter import Language, Node, Parser

__all__ = ["instrumented_node", "node_edits"]

_OPERATORS = {
    "===": ("!==",),
    "!==": ("===",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "&&": ("||",),
    "||": ("&&",),
    "??": ("&&",),
    "+=": ("-=",),
}
_FUNCTIONS = ("function_declaration", "method_definition", "generator_function_declaration", "class_declaration")
_SKIPPED = ("import_statement", "comment", "throw_statement", "template_string", "regex")
_PROSE = 2


def _parse(source: bytes) -> Node:
    return Parser(Language(tree_sitter_javascript.language())).parse(source).root_node


def node_edits(source: bytes) -> Iterator[Edit]:
    """Yield everything that may be changed in a source file."""
    yield from _walk(_parse(source), (), 0)


def _walk(node: Node, function: tuple[str, ...], block: int) -> Iterator[Edit]:
    if node.type in _SKIPPED:
        return
    if node.type in _FUNCTIONS and (name := node.child_by_field_name("name")) is not None:
        function = (*function, _text(name))
    if node.type == "variable_declarator" and not function and (name := node.child_by_field_name("name")) is not None:
        function = (_text(name),)
    if node.type == "statement_block" and function:  # any other runs when the file is loaded
        block = node.start_point[0] + 1
    for operator, place, new in _proposals(node, inside=block > 0):
        yield Edit(
            operator=operator,
            function=".".join(function),
            block=block,
            start=place.start_byte,
            end=place.end_byte,
            new=new,
        )
    for child in node.named_children:
        yield from _walk(child, function, block)


def _proposals(node: Node, *, inside: bool) -> Iterator[tuple[str, Node, str]]:
    match node.type:
        case "binary_expression":
            yield from _of_binary(node)
        case "unary_expression" if _text(node).startswith("!"):
            yield "drop-not", node, _text(_field(node, "argument"))
        case "ternary_expression":
            yield "if-always", node, f"({_text(_field(node, 'consequence'))})"
            yield "if-never", node, f"({_text(_field(node, 'alternative'))})"
        case "true" | "false":
            yield "constant", node, "false" if node.type == "true" else "true"
        case "number":
            yield "constant", node, f"({_text(node)} + 1)"
        case "string" if len(_text(node)) > 2 and _text(node).count(" ") < _PROSE:
            if node.parent is not None and node.parent.type == "pair" and node == _field(node.parent, "key"):
                return
            quote = _text(node)[0]
            yield "constant", node, f"{_text(node)[:-1]}~{quote}"
        case "expression_statement" if inside and node.named_children[0].type != "string":
            yield "delete", node, ";"
        case "return_statement" if node.named_children:
            yield "return-none", node, "return undefined;"
        case "break_statement" | "continue_statement" | "return_statement":
            yield "delete", node, ";"
        case "if_statement" | "while_statement":
            condition = _field(node, "condition")
            if _text(condition.named_children[0])[0] != "!":
                yield "negate", condition, f"(!{_text(condition)})"
        case "object":
            yield from _dropped_items(node)
        case "array" if len(node.named_children) > 1:
            yield from _dropped_items(node)


def _of_binary(node: Node) -> Iterator[tuple[str, Node, str]]:
    left, sign, right = (_field(node, name) for name in ("left", "operator", "right"))
    for other in _OPERATORS.get(_text(sign), ()):
        changed = f"({_text(left)}) {other} ({_text(right)})"
        yield ("and-or" if _text(sign) in ("&&", "||", "??") else "comparison"), node, f"({changed})"
    if _text(sign) in ("&&", "||", "??"):
        yield "drop-operand", node, f"({_text(left)})"
        yield "drop-operand", node, f"({_text(right)})"


def _dropped_items(node: Node) -> Iterator[tuple[str, Node, str]]:
    items = [child for child in node.named_children if child.type != "comment"]
    opening, closing = ("{", "}") if node.type == "object" else ("[", "]")
    for index in range(len(items)):
        rest = ", ".join(_text(item) for place, item in enumerate(items) if place != index)
        text = f"{opening}{rest}{closing}"
        yield "drop-item", node, f"({text})" if node.type == "object" else text


def _field(node: Node, name: str) -> Node:
    found = node.child_by_field_name(name)
    if found is None:
        raise ValueError(f"{node.type} has no {name}")
    return found


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def instrumented_node(source: bytes) -> bytes:
    """Return the source with `__hit__(LINE);` at the start of each block of statements."""
    places: list[tuple[int, int]] = []

    def visit(node: Node) -> None:
        if node.type == "statement_block":
            places.append((node.start_byte + 1, node.start_point[0] + 1))
        for child in node.named_children:
            visit(child)

    visit(_parse(source))
    for place, line in sorted(places, reverse=True):
        source = source[:place] + f" __hit__({line});".encode() + source[place:]
    return source
