"""The operators for Python: what may be changed in a source file, each change one that a person could have written.

In: source text. Out: edits. Nothing is proposed in docstrings, annotations, imports, f-strings, or in what is raised:
the wording of an error is nobody's contract.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from tests.code_mutants.mutants import Edit

__all__ = ["python_edits"]

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_SKIPPED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Raise, ast.Assert, ast.Pass, ast.Global, ast.Nonlocal)
_PROSE = 2
"""A text with so many blanks is meant for people."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Proposal = tuple[str, ast.expr | str]


def python_edits(source: str) -> Iterator[Edit]:
    """Yield everything that may be changed in a source file."""
    yield from _Walker(source).module()


class _WithoutFormatted(ast.NodeTransformer):
    """Puts a name in the place of each f-string."""

    def __init__(self) -> None:
        self.formatted: dict[str, ast.JoinedStr] = {}

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Name:
        name = f"_formatted_{len(self.formatted)}_"
        self.formatted[name] = node
        return ast.Name(name)


class _Walker:
    """Goes through a tree and knows in which function and in which block it is."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tree = ast.parse(source)
        lengths = [len(line.encode()) for line in source.splitlines(keepends=True)]
        self._offsets = [0, *lengths]
        for index in range(1, len(self._offsets)):
            self._offsets[index] += self._offsets[index - 1]
        self._function: list[str] = []
        self._block = 0

    def module(self) -> Iterator[Edit]:
        yield from self._statements(self._tree.body)

    def _edit(self, node: ast.AST, operator: str, new: ast.expr | str) -> Edit:
        start, end = (
            self._offsets[line - 1] + column
            for line, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))  # type: ignore[attr-defined]
        )
        text = new if isinstance(new, str) else f"({self._written(new)})"
        name = ".".join(self._function)
        return Edit(operator=operator, function=name, block=self._block, start=start, end=end, new=text)

    def _written(self, node: ast.expr) -> str:
        """Return the code of an expression, the same in every Python: their ways of quoting f-strings differ."""
        if not any(isinstance(one, ast.JoinedStr) for one in ast.walk(node)):
            return ast.unparse(node)
        without = _WithoutFormatted()
        written = ast.unparse(without.visit(copy.deepcopy(node)))
        for name, one in without.formatted.items():
            text = ast.get_source_segment(self._source, one) or ""
            plain = text.startswith('f"') and "'" not in text
            written = written.replace(name, f"f'{text[2:-1]}'" if plain else text)
        return written

    def _statements(self, body: list[ast.stmt], *, inside: bool = False) -> Iterator[Edit]:
        before = self._block
        if inside:
            self._block = body[0].lineno
        for statement in body:
            yield from self._statement(statement)
        self._block = before

    def _statement(self, node: ast.stmt) -> Iterator[Edit]:
        if isinstance(node, _SKIPPED) or _is_docstring(node) or _is_dunder(node):
            return
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield from self._definition(node)
            return
        name = _assigned(node)
        if not self._function and name:
            self._function.append(name)
            yield from self._parts(node)
            self._function.pop()
            return
        yield from self._parts(node)

    def _parts(self, node: ast.stmt) -> Iterator[Edit]:
        """Yield what may be changed in one statement."""
        inside = self._block > 0
        for operator, new in _of_statement(node) if inside else ():
            yield self._edit(node, operator, new)
        for name, value in ast.iter_fields(node):
            if name == "annotation" or (name == "value" and not inside and isinstance(value, ast.Constant)):
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.expr):
                    yield from self._expression(item)
        yield from self._inner(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[Edit]:
        self._function.append(node.name)
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
                    yield from self._definition(statement)
        else:
            yield from self._statements(node.body, inside=True)
        self._function.pop()

    def _inner(self, node: ast.stmt) -> Iterator[Edit]:
        """Yield what may be changed in the blocks of a compound statement."""
        if isinstance(node, ast.Match):
            for case in node.cases:
                if case.guard is not None:
                    yield from self._expression(case.guard)
                    yield self._edit(case.guard, "guard-true", "True")
                yield from self._statements(case.body, inside=True)
            return
        if isinstance(node, ast.With):
            for item in node.items:
                yield from self._expression(item.context_expr)
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield from self._statements(body, inside=self._block > 0)
        for handler in getattr(node, "handlers", ()):
            yield from self._statements(handler.body, inside=self._block > 0)

    def _expression(self, node: ast.expr) -> Iterator[Edit]:
        if isinstance(node, _SKIPPED):
            return
        for operator, new in _of_expression(node):
            yield self._edit(node, operator, new)
        for child in ast.iter_child_nodes(node):
            if _is_cast(node) and isinstance(child, ast.Constant):
                continue
            if isinstance(child, ast.expr):
                yield from self._expression(child)
            elif isinstance(child, ast.keyword):
                yield from self._expression(child.value)
            elif isinstance(child, ast.comprehension):
                yield from self._expression(child.iter)
                for test in child.ifs:
                    yield self._edit(test, "filter-true", "True")
                    yield self._edit(test, "negate", ast.UnaryOp(ast.Not(), test))
                    yield from self._expression(test)


def _assigned(node: ast.stmt) -> str:
    """Return the name that a statement gives a value to, "" if it is not one name."""
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign) else ""


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_cast(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast"


def _is_dunder(node: ast.stmt) -> bool:
    """Whether a statement sets `__all__` or the like."""
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id[:2] == "__"


def _of_statement(node: ast.stmt) -> Iterator[_Proposal]:
    match node:
        case ast.Expr() | ast.AugAssign():
            yield "delete", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Delete():
            yield "delete", "pass"
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return-none", "return None"
        case ast.Return(value=None):
            yield "delete", "pass"
        case ast.Break():
            yield "delete", "pass"
        case ast.Continue():
            yield "delete", "pass"
    match node:
        case ast.AugAssign(op=op) if type(op) in _ARITHMETIC:
            changed = copy.copy(node)
            changed.op = _ARITHMETIC[type(op)]()
            yield "arithmetic", ast.unparse(changed)


def _of_expression(node: ast.expr) -> Iterator[_Proposal]:
    match node:
        case ast.Compare(ops=[op], left=left, comparators=comparators):
            for other in _COMPARISONS[type(op)]:
                yield "comparison", ast.Compare(left, [other()], comparators)
        case ast.BoolOp(op=op, values=values):
            yield "and-or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for index in range(len(values)):
                rest = [*values[:index], *values[index + 1 :]]
                yield "drop-operand", rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "drop-not", operand
        case ast.IfExp(body=body, orelse=orelse):
            yield "if-always", body
            yield "if-never", orelse
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _ARITHMETIC:
            yield "arithmetic", ast.BinOp(left, _ARITHMETIC[type(op)](), right)
        case ast.Constant(value=bool(value)):
            yield "constant", str(not value)
        case ast.Constant(value=int(value)):
            yield "constant", str(value + 1)
        case ast.Constant(value=str(value)) if value and value.count(" ") < _PROSE:
            yield "constant", repr(f"{value}~")
        case _:
            yield from _of_display_or_call(node)


def _of_display_or_call(node: ast.expr) -> Iterator[_Proposal]:
    match node:
        case ast.Dict(keys=keys, values=values):
            for index in range(len(keys)):
                yield (
                    "drop-item",
                    ast.Dict([*keys[:index], *keys[index + 1 :]], [*values[:index], *values[index + 1 :]]),
                )
        case ast.Tuple(elts=elts, ctx=ast.Load()) | ast.List(elts=elts, ctx=ast.Load()) | ast.Set(elts=elts):
            if len(elts) > 1 and not isinstance(node, ast.Tuple):
                for index in range(len(elts)):
                    changed = copy.copy(node)
                    changed.elts = [*elts[:index], *elts[index + 1 :]]
                    yield "drop-item", changed
        case ast.Call(func=func, args=args, keywords=keywords):
            for index in range(len(keywords)):
                yield "drop-argument", ast.Call(func, args, [*keywords[:index], *keywords[index + 1 :]])
            if isinstance(func, ast.Attribute) and len(args) == 1 and not keywords and _is_string_method(func.attr):
                yield "drop-call", func.value
            if isinstance(func, ast.Attribute) and func.attr == "get" and len(args) == 2:
                yield "drop-argument", ast.Call(func, args[:1], [])
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper), ctx=ast.Load()):
            if lower is not None or upper is not None:
                yield "drop-slice", value


def _is_string_method(name: str) -> bool:
    return name in ("removeprefix", "removesuffix", "strip", "lower", "upper", "rstrip", "lstrip")
