"""Runs the syntax tree of a scop region as C would, integers only, and records who wrote what every statement reads.

Shares the parser with the front end, nothing after it: no isl, no schedules, no access relations.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

Edge = tuple[tuple[Any, ...], tuple[Any, ...]]


class Interpreter:
    def __init__(self, region: Any, sizes: dict[str, int], data: set[str]) -> None:
        self.region, self.sizes, self.data = region, sizes, data
        self.integers: dict[str, int] = {}
        self.last: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.instances: list[tuple[Any, ...]] = []
        self.reads: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
        self.stack: list[int] = []

    def run(self) -> Interpreter:
        self.block(self.region.body)
        return self

    # integers

    def value(self, node: Any) -> int:
        kind = type(node).__name__
        if kind == "Constant":
            return int(node.value)
        if kind == "ID":
            if node.name in self.integers:
                return self.integers[node.name]
            return self.sizes[node.name]
        if kind == "Cast":
            return self.value(node.expr)
        if kind == "TernaryOp":
            return self.value(node.iftrue if self.value(node.cond) else node.iffalse)
        if kind == "UnaryOp":
            inner = self.value(node.expr)
            return {"-": -inner, "+": inner, "!": int(not inner)}[node.op]
        if kind == "FuncCall":
            values = [self.value(item) for item in node.args.exprs]
            return {"min": min, "max": max}[node.name.name](*values)
        assert kind == "BinaryOp", kind
        if node.op == "&&":
            return int(bool(self.value(node.left)) and bool(self.value(node.right)))
        if node.op == "||":
            return int(bool(self.value(node.left)) or bool(self.value(node.right)))
        a, b = self.value(node.left), self.value(node.right)
        if node.op in {"/", "%"}:
            quotient = int(abs(a) // abs(b)) * (1 if a * b >= 0 else -1)
            return quotient if node.op == "/" else a - quotient * b
        return int(
            {
                "+": a + b, "-": a - b, "*": a * b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b,
                "==": a == b, "!=": a != b, "<<": a << max(b, 0), ">>": a >> max(b, 0),
            }[node.op]
        )  # fmt: skip

    # statements

    def block(self, items: Any) -> None:
        for item in items:
            self.statement(item)

    def statement(self, item: Any) -> None:
        kind = type(item).__name__
        if kind == "Compound":
            self.block(item.block_items or [])
        elif kind == "For":
            self.loop(item)
        elif kind == "If":
            chosen = item.iftrue if self.value(item.cond) else item.iffalse
            if chosen is not None:
                self.statement(chosen)
        elif kind == "Decl":
            if item.init is not None:
                if item.name in self.data:
                    self.write(c_ast.ID(item.name), self.loaded(item.init), item)
                else:
                    self.integers[item.name] = self.value(item.init)
        elif kind == "Assignment":
            self.assign(item)
        elif kind == "UnaryOp" and item.op in {"p++", "p--", "++", "--"}:
            self.write(item.expr, {self.element(item.expr)}, item)
        elif kind == "ExprList":
            self.block(item.exprs)
        else:
            assert kind in {"EmptyStatement", "Pragma"}, kind

    def loop(self, item: Any) -> None:
        if isinstance(item.init, c_ast.DeclList):
            name, start = item.init.decls[0].name, item.init.decls[0].init
        else:
            name, start = item.init.lvalue.name, item.init.rvalue
        self.integers[name] = self.value(start)
        while self.value(item.cond):
            self.stack.append(self.integers[name])
            self.statement(item.stmt)
            self.stack.pop()
            step = item.next
            if isinstance(step, c_ast.UnaryOp):
                self.integers[name] += 1 if "+" in step.op else -1
            elif step.op == "=":
                self.integers[name] = self.value(step.rvalue)
            else:
                self.integers[name] += self.value(step.rvalue) * (1 if step.op == "+=" else -1)

    def assign(self, item: Any) -> tuple[Any, ...]:
        inner = isinstance(item.rvalue, c_ast.Assignment)
        reads = {self.assign(item.rvalue)} if inner else self.loaded(item.rvalue)
        if item.op != "=":
            reads = reads | {self.element(item.lvalue)}
        return self.write(item.lvalue, reads, item)

    def element(self, node: Any) -> tuple[Any, ...]:
        subscripts: list[int] = []
        while isinstance(node, c_ast.ArrayRef):
            subscripts.insert(0, self.value(node.subscript))
            node = node.name
        return (node.name, *subscripts)

    def loaded(self, node: Any) -> set[tuple[Any, ...]]:
        kind = type(node).__name__
        if kind == "ArrayRef":
            return {self.element(node)}
        if kind == "ID":
            return {(node.name,)} if node.name in self.data else set()
        if kind == "TernaryOp":
            asked = self.loaded(node.cond)
            if asked:
                return asked | self.loaded(node.iftrue) | self.loaded(node.iffalse)
            return self.loaded(node.iftrue if self.value(node.cond) else node.iffalse)
        found: set[tuple[Any, ...]] = set()
        for name, child in node.children():
            if kind == "FuncCall" and name == "name":
                continue
            found |= self.loaded(child)
        return found

    def write(self, target: Any, reads: set[tuple[Any, ...]], item: Any) -> tuple[Any, ...]:
        instance = ("instance", id(item), tuple(self.stack))
        self.instances.append(instance)
        self.reads[instance] = {self.last.get(element, ("input", *element)) for element in reads}
        element = self.element(target)
        self.last[element] = instance
        return element


def numbered(interpreter: Interpreter) -> list[set[Any]]:
    """The operands of every instance in execution order: positions, or input elements."""
    position = {instance: at for at, instance in enumerate(interpreter.instances)}
    return [
        {position[item] if item[0] == "instance" else item for item in interpreter.reads[instance]}
        for instance in interpreter.instances
    ]
