"""One warp walked through a CUDA kernel on paper: which addresses its 32 lanes touch, under which guards, in which loops.

Nothing runs. Sizes that the source does not give are symbols with a sample value; walking twice with other samples tells what holds for
any value from what holds by chance. Every loop body is walked once, with its variable at its first value.
"""

from __future__ import annotations

import re
from dataclasses import replace

from retriever.kernels.accesses import Access, Array, Loop, Trace
from retriever.kernels.cuda_syntax import CudaSource, Function, Node, line_of, node_text, walk
from retriever.kernels.lanes import LANES, Lanes, Pointer, Value, combine, integer, select

MAX_INLINE_DEPTH = 4
"""Device functions called from device functions; deeper ones are usually recursive templates."""
MAX_STEPS = 60_000
"""Nodes evaluated for one kernel: a long hand-written kernel takes about 5,000."""
DEFAULT_BLOCK = 256
"""Threads a block where the source does not say."""
TYPE_BYTES = {
    "char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "__nv_fp8_e4m3": 1, "__nv_fp8_e5m2": 1, "short": 2, "int16_t": 2, "uint16_t": 2,
    "half": 2, "__half": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2, "bf16": 2, "__half2": 4, "half2": 4, "__nv_bfloat162": 4, "char4": 4,
    "uchar4": 4, "int": 4, "unsigned": 4, "float": 4, "int32_t": 4, "uint32_t": 4, "double": 8, "long": 8, "size_t": 8, "int64_t": 8,
    "uint64_t": 8, "int2": 8, "uint2": 8, "float2": 8, "int4": 16, "uint4": 16, "float4": 16, "double2": 16, "longlong2": 16, "double4": 32,
}  # fmt: skip
_READS = re.compile(r"^(?:__ld(?:g|cs|cg|ca|cv|lu)|load|LOAD)$")
_WRITES = re.compile(r"^(?:__st(?:cs|cg|wb|wt)|store|STORE)$")
_ATOMICS = re.compile(r"^atomic(?:Add|Sub|Max|Min|Inc|Dec|Exch|CAS|And|Or|Xor)\w*$|^(?:red|atom)_\w+$")
_CASTS = re.compile(r"^(?:static_cast|const_cast|reinterpret_cast)$")
_INTEGER_CASTS = frozenset({"size_t", "int", "unsigned", "long", "int64_t", "uint32_t", "int32_t", "uint64_t", "ptrdiff_t", "ssize_t"})
_COMPILE_TIME_NAME = re.compile(r"^[A-Z][A-Z0-9_]*$|^k[A-Z]\w*$")
_LIMITS = {"<": 1, "<=": 1, ">": 0, ">=": 0}
"""A bound of open size is taken to hold for every lane: `i < n` is true, `row >= rows` is not."""


def trace_kernel(source: CudaSource, kernel: Function, sample: int) -> Trace:
    """The walk through one kernel; `sample` 0 and 1 choose different values for what is open."""
    walker = _Walker(source, kernel, sample)
    walker.run()
    return walker.trace


def constant_value(source: CudaSource, node: Node) -> int | None:
    """The number that a host expression of constants comes to; None where something in it is open."""
    walker = _Walker(source, _NO_KERNEL, 0)
    value = walker.evaluate(node)
    return value if isinstance(value, int) and not walker.trace.symbols else None


_NO_KERNEL = Function("", 1, 1, None, (), False, False, frozenset())


class _Walker:
    def __init__(self, source: CudaSource, kernel: Function, sample: int):
        self.source, self.kernel, self.sample = source, kernel, sample
        self.trace = Trace()
        self.functions = {f.name: f for f in reversed(source.functions) if not f.kernel}
        self.env: dict[str, Value] = {}
        self.template_names = kernel.template_names
        self.lanes: tuple[bool, ...] = (True,) * LANES
        self.by_data = False
        self.loops: tuple[Loop, ...] = ()
        self.depth = 0
        self.steps = 0
        self.resolving: set[str] = set()
        self.returned: Value = None

    def run(self) -> None:
        for param in self.kernel.params:
            if param.pointer:
                self.env[param.name] = Pointer(param.name, "global", 0, self.size_of(param.type))
            elif param.name:
                self.env[param.name] = self.symbol(param.name, compile_time=False)
        bounds = [self.evaluate(bound) for bound in self.kernel.launch_bounds]
        if not any(_mentions(bound, self.trace.symbols) for bound in self.kernel.launch_bounds):
            self.trace.launch_bounds = tuple(bound for bound in bounds if isinstance(bound, int))
        self.statement(self.kernel.body)

    # Values

    def size_of(self, type_text: str) -> int:
        words = re.findall(r"[\w]+", type_text.replace("unsigned char", "char"))
        for word in words:
            word = self.source.aliases.get(word, word).split()[-1]
            if word in TYPE_BYTES and word not in ("unsigned",):
                return TYPE_BYTES[word]
        return 4

    def symbol(self, name: str, compile_time: bool | None = None) -> int:
        """The sample value of an open name: tile-like for names fixed when compiling, a row length for others."""
        if name not in self.trace.symbols:
            fixed = compile_time if compile_time is not None else bool(_COMPILE_TIME_NAME.match(name)) or name in self.template_names
            place = len(self.trace.symbols)
            self.trace.symbols[name] = 32 << self.sample if fixed else 1024 * (3 + 2 * place + 4 * self.sample * (place + 1))
        return self.trace.symbols[name]

    def lookup(self, name: str) -> Value:
        if name in self.env:
            return self.env[name]
        if name in self.source.constants and name not in self.resolving:
            self.resolving.add(name)
            value = self.evaluate(self.source.constants[name])
            self.resolving.discard(name)
            if isinstance(value, int):
                return value
        if name in ("true", "false"):
            return int(name == "true")
        return self.symbol(name)

    def builtin(self, text: str) -> Value | str:
        if text == "threadIdx.x":
            return tuple(range(LANES))
        if text.startswith("blockDim."):
            return self.block_size() if text.endswith("x") else self.symbol(text, compile_time=True)
        if text.startswith(("threadIdx.", "blockIdx.")):
            return 0
        if text.startswith("gridDim."):
            return self.symbol(text)
        return "none"

    def block_size(self) -> int:
        bound = self.evaluate(self.kernel.launch_bounds[0]) if self.kernel.launch_bounds else None
        return bound if isinstance(bound, int) and LANES <= bound <= 1024 else DEFAULT_BLOCK

    def evaluate(self, node: Node | None) -> Value:
        """The value of an expression; loads, stores and calls in it are recorded."""
        if node is None:
            return None
        self.steps += 1
        if self.steps > MAX_STEPS:
            return None
        handler = getattr(self, f"on_{node.type}", None)
        if handler is not None:
            return handler(node)
        values = [self.evaluate(child) for child in node.named_children]
        return values[0] if len(values) == 1 else None

    def on_number_literal(self, node: Node) -> Value:
        return integer(node_text(node))

    def on_true(self, node: Node) -> Value:
        return 1

    def on_false(self, node: Node) -> Value:
        return 0

    def on_identifier(self, node: Node) -> Value:
        return self.lookup(node_text(node))

    def on_qualified_identifier(self, node: Node) -> Value:
        return self.symbol(node_text(node), compile_time=True)

    def on_gnu_asm_expression(self, node: Node) -> Value:
        for child in node.named_children:
            if child.type == "gnu_asm_output_operand_list":
                for operand in child.named_children:
                    if (name := operand.child_by_field_name("value")) is not None and name.type == "identifier":
                        self.env[node_text(name)] = None
        return None

    def on_lambda_expression(self, node: Node) -> Value:
        return None

    def on_cast_expression(self, node: Node) -> Value:
        return self.cast(node_text(node.child_by_field_name("type")), self.evaluate(node.child_by_field_name("value")))

    def cast(self, type_text: str, value: Value) -> Value:
        if isinstance(value, Pointer) and "*" in type_text:
            return replace(value, element_bytes=self.size_of(type_text), dims=(0,))
        return value

    def on_sizeof_expression(self, node: Node) -> Value:
        return self.size_of(re.sub(r"^sizeof", "", node_text(node)))

    def on_field_expression(self, node: Node) -> Value:
        known = self.builtin(node_text(node))
        if known != "none":
            return known
        value = self.evaluate(node.child_by_field_name("argument"))
        return value if isinstance(value, Pointer) or value is None else self.symbol(node_text(node)) if isinstance(value, int) else None

    def on_binary_expression(self, node: Node) -> Value:
        operator = node_text(node.child_by_field_name("operator"))
        left, right = self.evaluate(node.child_by_field_name("left")), self.evaluate(node.child_by_field_name("right"))
        if (
            operator in _LIMITS
            and isinstance(left, tuple)
            and isinstance(right, int)
            and self.is_run_time(node.child_by_field_name("right"))
        ):
            return _LIMITS[operator]
        return self.arithmetic(operator, left, right)

    def is_run_time(self, node: Node | None) -> bool:
        """True when the expression rests on a size that only the launch gives."""
        sample = 32 << self.sample
        return node is not None and any(
            self.trace.symbols.get(node_text(n), sample) != sample for n in walk(node) if n.type in ("identifier", "field_expression")
        )

    def arithmetic(self, operator: str, left: Value, right: Value) -> Value:
        if isinstance(left, Pointer) and isinstance(right, Pointer):
            if operator == "-" and left.base == right.base:
                return combine("/", combine("-", left.offset, right.offset), left.element_bytes)
            return None
        if isinstance(right, Pointer):
            left, right = right, left
        if isinstance(left, Pointer):
            if operator not in "+-" or isinstance(right, Pointer):
                return None
            return replace(left, offset=combine(operator, left.offset, combine("*", right, left.element_bytes * _stride(left.dims))))
        return combine(operator, left, right)

    def on_unary_expression(self, node: Node) -> Value:
        value, operator = self.evaluate(node.child_by_field_name("argument")), node_text(node.child_by_field_name("operator"))
        if isinstance(value, Pointer) or value is None:
            return None
        if operator == "!":
            return combine("==", value, 0)
        if operator == "~":
            return combine("-", -1, value)
        return combine("-", 0, value) if operator == "-" else value

    def on_update_expression(self, node: Node) -> Value:
        target = node.child_by_field_name("argument")
        value = self.evaluate(target)
        if target is not None and target.type == "identifier" and not self.loops:
            self.env[node_text(target)] = self.arithmetic("+" if "++" in node_text(node) else "-", value, 1)
        return value

    def on_conditional_expression(self, node: Node) -> Value:
        condition = self.evaluate(node.child_by_field_name("condition"))
        mask = None if isinstance(condition, Pointer) else condition
        outer = self.lanes
        self.lanes = self.narrowed(mask, True)
        yes = self.evaluate(node.child_by_field_name("consequence"))
        self.lanes = outer
        no = self.evaluate(node.child_by_field_name("alternative"))
        return select(mask, yes, no)

    def on_pointer_expression(self, node: Node) -> Value:
        argument = node.child_by_field_name("argument")
        if node_text(node).startswith("&"):
            return self.address(argument)
        return self.load(self.evaluate(argument), node)

    def on_subscript_expression(self, node: Node) -> Value:
        pointer = self.address(node)
        return pointer if isinstance(pointer, Pointer) and pointer.dims else self.load(pointer, node)

    def address(self, node: Node | None) -> Value:
        """Where an lvalue lies; nothing is loaded from it."""
        if node is None:
            return None
        if node.type == "parenthesized_expression":
            return self.address(node.named_children[0] if node.named_children else None)
        if node.type == "pointer_expression" and node_text(node).startswith("*"):
            return self.evaluate(node.child_by_field_name("argument"))
        if node.type == "field_expression":
            return self.address(node.child_by_field_name("argument"))
        if node.type != "subscript_expression":
            return self.evaluate(node)
        base = self.evaluate(node.child_by_field_name("argument"))
        indices = node.child_by_field_name("indices")
        index = self.evaluate(indices.named_children[0]) if indices is not None and indices.named_children else None
        if not isinstance(base, Pointer) or isinstance(index, Pointer):
            return None
        step = combine("*", index, base.element_bytes * _stride(base.dims))
        return replace(base, offset=combine("+", base.offset, step), dims=base.dims[1:])

    def load(self, value: Value, node: Node) -> Value:
        if not isinstance(value, Pointer):
            return None
        self.record("load", value, node)
        uniform = isinstance(value.offset, int) and value.space == "global"
        return self.symbol(node_text(node)) if uniform else None

    def record(self, kind: str, pointer: Pointer, node: Node) -> None:
        access = Access(kind, pointer, self.lanes, self.by_data, line_of(node), self.loops, " ".join(node_text(node).split())[:60])
        self.trace.accesses.append(access)

    def on_assignment_expression(self, node: Node) -> Value:
        target, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node_text(node.child_by_field_name("operator"))
        before = len(self.trace.accesses)
        value = self.evaluate(right)
        if target is None:
            return value
        if target.type == "identifier":
            name = node_text(target)
            if self.loops and value is None and _indexed_by(right, name):
                loads = [a for a in self.trace.accesses[before:] if a.kind == "load" and a.pointer.space != "local"]
                self.trace.chases += [(line_of(node), loads[-1].text, loads[-1].pointer.space)] if loads else []
            if operator != "=":
                value = self.arithmetic(operator[:-1], self.lookup(name), value)
            self.env[name] = value
            return value
        pointer = self.address(target)
        if isinstance(pointer, Pointer):
            if operator != "=":
                self.record("load", pointer, target)
            self.record("store", pointer, target)
        return value

    def on_call_expression(self, node: Node) -> Value:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        name = node_text(function).split("<")[0].split("::")[-1].strip() if function is not None else ""
        parts = list(arguments.named_children) if arguments is not None else []
        if name.startswith("__syncthreads") or name in ("sync", "barrier_sync"):
            self.trace.barriers.append((line_of(node), self.loops))
        values = [self.evaluate(part) for part in parts]
        if name.endswith((".thread_rank", ".meta_group_rank")):
            return tuple(range(LANES)) if name.endswith(".thread_rank") else 0
        if _CASTS.match(name) and values:
            return self.cast(node_text(function), values[0])
        if name in _INTEGER_CASTS and values:
            return values[0]
        if name in ("min", "max") and len(values) == 2 and not any(isinstance(v, Pointer) for v in values):
            return select(combine("<" if name == "min" else ">", *values), *values)
        if _ATOMICS.match(name) and values and isinstance(values[0], Pointer):
            self.record("atomic", replace(values[0], dims=()), node)
            return None
        if name == "load_matrix_sync" and len(values) > 1 and isinstance(values[1], Pointer):
            self.record("fragment", values[1], node)
            return None
        if name in self.functions and self.depth < MAX_INLINE_DEPTH:
            return self.inline(self.functions[name], values)
        if values and isinstance(values[0], Pointer) and _WRITES.match(name):
            self.record("store", values[0], node)
        elif values and isinstance(values[0], Pointer) and _READS.match(name):
            return self.load(values[0], node)
        return None if any(not isinstance(value, int) for value in values) else self.symbol(node_text(node)[:80])

    def inline(self, function: Function, values: list[Value]) -> Value:
        """The value that a device function returns, its accesses recorded as part of the kernel."""
        kept = self.env, self.returned, self.lanes, self.by_data
        self.env = {param.name: value for param, value in zip(function.params, values)}
        self.returned = None
        self.depth += 1
        self.statement(function.body)
        value = self.returned
        self.depth -= 1
        self.env, self.returned, self.lanes, self.by_data = kept
        return value

    # Statements

    def statement(self, node: Node | None) -> None:
        """Walks a statement; lanes that leave by `return` or `continue` stay out of what follows in its block."""
        if node is None or self.steps > MAX_STEPS:
            return
        handler = getattr(self, f"do_{node.type}", None)
        if handler is not None:
            handler(node)
        elif node.type.endswith("_expression") or node.type in ("identifier", "number_literal"):
            self.evaluate(node)
        else:
            for child in node.named_children:
                self.statement(child)

    def do_compound_statement(self, node: Node) -> None:
        for child in node.named_children:
            self.statement(child)

    def do_return_statement(self, node: Node) -> None:
        value = self.evaluate(node.named_children[0]) if node.named_children else None
        if self.depth and self.returned is None:
            self.returned = value

    def do_declaration(self, node: Node) -> None:
        type_node = node.child_by_field_name("type")
        type_text = node_text(type_node) if type_node is not None else ""
        shared = "__shared__" in node_text(node)[:200]
        for declarator in node.children_by_field_name("declarator"):
            self.declare(declarator, type_text, shared)

    def declare(self, declarator: Node, type_text: str, shared: bool) -> None:
        value_node = None
        if declarator.type == "init_declarator":
            value_node, declarator = declarator.child_by_field_name("value"), declarator.child_by_field_name("declarator")
        sizes: list[Node | None] = []
        while declarator is not None and declarator.type not in ("identifier", "qualified_identifier"):
            if declarator.type == "array_declarator":
                sizes.insert(0, declarator.child_by_field_name("size"))
            declarator = declarator.child_by_field_name("declarator") or next(iter(declarator.named_children[-1:]), None)
        if declarator is None:
            return
        name = node_text(declarator)
        if sizes:
            if value_node is not None:
                self.evaluate(value_node)
            self.declare_array(name, type_text, shared, sizes, line_of(declarator))
            return
        value = self.evaluate(value_node) if value_node is not None else None
        self.env[name] = value if value_node is not None else 0

    def declare_array(self, name: str, type_text: str, shared: bool, sizes: list[Node | None], line: int) -> None:
        values = [self.evaluate(size) if size is not None else 0 for size in sizes]
        dims = tuple(value if isinstance(value, int) else 0 for value in values)
        space = "shared" if shared else "local"
        element = self.size_of(type_text)
        self.env[name] = Pointer(f"{name}@{self.depth}" if self.depth else name, space, 0, element, dims)
        texts = tuple(node_text(size) if size is not None else "" for size in sizes)
        self.trace.arrays.append(Array(name, space, type_text, dims, texts, line, element))

    def narrowed(self, condition: int | Lanes | None, wanted: bool) -> tuple[bool, ...]:
        """The lanes for which the condition is as wanted; all of them where that is unknown or holds for none."""
        if condition is None or isinstance(condition, int):
            return self.lanes
        return tuple(active and bool(value) == wanted for active, value in zip(self.lanes, condition))

    def do_if_statement(self, node: Node) -> None:
        clause = node.child_by_field_name("condition")
        value = self.evaluate(clause)
        self.trace.conditions.append((clause, value, self.loops))
        condition = None if isinstance(value, Pointer) else value
        outer, by_data = self.lanes, self.by_data
        self.lanes, self.by_data = self.narrowed(condition, True), by_data or condition is None
        then = node.child_by_field_name("consequence")
        self.statement(then)
        self.lanes = self.narrowed_from(outer, condition)
        self.statement(node.child_by_field_name("alternative"))
        self.lanes, self.by_data = outer, by_data
        if then is not None and _leaves(then):
            self.lanes = self.narrowed_from(outer, condition)

    def narrowed_from(self, outer: tuple[bool, ...], condition: int | Lanes | None) -> tuple[bool, ...]:
        self.lanes = outer
        return self.narrowed(condition, False)

    def do_for_statement(self, node: Node) -> None:
        self.statement(node.child_by_field_name("initializer"))
        self.loop(node, node.child_by_field_name("initializer") is not None)

    def do_while_statement(self, node: Node) -> None:
        self.loop(node, False)

    def do_do_statement(self, node: Node) -> None:
        self.loop(node, False)

    def do_for_range_loop(self, node: Node) -> None:
        self.loop(node, True)

    def loop(self, node: Node, restarts: bool) -> None:
        body, condition = node.child_by_field_name("body"), node.child_by_field_name("condition")
        before = len(self.trace.symbols)
        value = self.evaluate(condition)
        header = node_text(node)[: (body.start_byte - node.start_byte) if body is not None else 0]
        if value is None and not _bounded_by_data(condition, self.env, restarts):
            value = 1
        fixed = isinstance(value, int) and before == len(self.trace.symbols) and not _mentions(condition, self.trace.symbols)
        loop = Loop(line_of(node), restarts, " ".join(header.split()), value is None, node, fixed)
        self.trace.loops.append(loop)
        outer, lanes = self.loops, self.lanes
        self.loops = (*outer, loop)
        self.lanes = self.narrowed(None if isinstance(value, Pointer) else value, True)
        self.statement(body)
        self.evaluate(node.child_by_field_name("update"))
        self.loops, self.lanes = outer, lanes


def _stride(dims: tuple[int, ...]) -> int:
    """Elements from one index of the first dimension to the next."""
    stride = 1
    for size in dims[1:]:
        stride *= size
    return stride


def _leaves(node: Node) -> bool:
    last = node.named_children[-1] if node.type == "compound_statement" and node.named_children else node
    return last.type in ("return_statement", "continue_statement", "break_statement")


def _indexed_by(node: Node | None, name: str) -> bool:
    """True when a subscript in the expression depends on the name."""
    subscripts = (n.child_by_field_name("indices") for n in walk(node) if n.type == "subscript_expression") if node is not None else ()
    return any(node_text(n) == name for index in subscripts if index is not None for n in walk(index) if n.type == "identifier")


def _bounded_by_data(condition: Node | None, env: dict[str, Value], restarts: bool) -> bool:
    """True when a bound of the loop is a variable that holds data."""
    if condition is None or ("[" in node_text(condition) and not restarts):
        return False
    names = re.findall(r"\b[a-zA-Z_]\w*\b(?!\s*(?:\.|->|::|\())", re.sub(r"\w+\s*\[[^\]]*\]", "", node_text(condition)))
    return "[" in node_text(condition) or any(name in env and env[name] is None for name in names)


def _mentions(node: Node | None, symbols: dict[str, int]) -> bool:
    return node is not None and any(name in symbols for name in re.findall(r"\w+", node_text(node)))
