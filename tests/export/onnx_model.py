"""A reader of ONNX files that shares nothing with the writer: standard library only.

load(path) gives a Model; check(model) raises AssertionError unless it is whole; run(model, inputs)
computes the few operators of linear layers, on nested lists.
"""
import math
import struct
from dataclasses import dataclass, field

FLOAT, INT64, HALF = 1, 7, 10
SIZES = {FLOAT: (4, "f"), INT64: (8, "q"), HALF: (2, "e")}


def fields(data):
    """Yields (number, value): an int, or the bytes of a string, message or fixed field."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << 64) if value >= 1 << 63 else value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            assert kind == 2, f"wire type {kind}"
            size = varint()
        assert 0 <= size <= len(data) - at, "a field beyond the end"
        yield tag >> 3, data[at:at + size]
        at += size


def group(data):
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def text(found, number, default=""):
    return bytes(found[number][0]).decode() if number in found else default


@dataclass
class Node:
    type: str
    name: str
    inputs: list
    outputs: list
    attributes: dict


@dataclass
class Tensor:
    dims: list
    type: int
    raw: bytes

    def values(self):
        size, letter = SIZES[self.type]
        return list(struct.unpack(f"<{len(self.raw) // size}{letter}", self.raw))


@dataclass
class Model:
    ir: int
    opset: int
    producer: str
    name: str
    nodes: list = field(default_factory=list)
    tensors: dict = field(default_factory=dict)
    inputs: dict = field(default_factory=dict)
    outputs: dict = field(default_factory=dict)
    properties: dict = field(default_factory=dict)


def read_attribute(data):
    found = group(data)
    kind = found[20][0]
    if kind == 1:
        return text(found, 1), struct.unpack("<f", found[2][0])[0]
    assert kind in (2, 7), f"attribute of type {kind}"
    return text(found, 1), found[3][0] if kind == 2 else found.get(8, [])


def read_node(data):
    found = group(data)
    return Node(text(found, 4), text(found, 3), [bytes(i).decode() for i in found.get(1, [])],
                [bytes(o).decode() for o in found[2]], dict(map(read_attribute, found.get(5, []))))


def read_value(data):
    """Name, element type and dimensions, where a name stands for an open one."""
    found = group(data)
    tensor = group(group(found[2][0])[1][0])
    dims = []
    for dim in group(tensor[2][0]).get(1, []):
        size = group(dim)
        dims.append(size[1][0] if 1 in size else text(size, 2))
    return text(found, 1), (tensor[1][0], dims)


def load(path):
    with open(path, "rb") as file:
        model = group(memoryview(file.read()))
    graph = group(model[7][0])
    out = Model(model[1][0], group(model[8][0])[2][0], text(model, 2), text(graph, 2))
    assert len(model[7]) == len(model[8]) == 1
    out.nodes = [read_node(n) for n in graph.get(1, [])]
    for data in graph.get(5, []):
        found = group(data)
        name = text(found, 8)
        assert name not in out.tensors, f"{name} twice"
        out.tensors[name] = Tensor(found.get(1, []), found[2][0], bytes(found[9][0]))
    out.inputs = dict(map(read_value, graph[11]))
    out.outputs = dict(map(read_value, graph[12]))
    for data in model.get(14, []):
        entry = group(data)
        out.properties[text(entry, 1)] = text(entry, 2)
    return out


def check(model):
    """What every runtime relies on: each name is made once, before it is used, and is used."""
    known, used = set(model.inputs), set(model.outputs)
    for name, tensor in model.tensors.items():
        assert name not in known, f"{name} is an input and a tensor"
        assert math.prod(tensor.dims) * SIZES[tensor.type][0] == len(tensor.raw), name
        known.add(name)
    for node in model.nodes:
        for name in node.inputs:
            assert name in known, f"{node.name} uses {name} before it is there"
        for name in node.outputs:
            assert name not in known, f"{name} twice"
            known.add(name)
        used.update(node.inputs)
    assert known == used, f"never used: {known - used}; never made: {used - known}"
    assert model.ir == 8 and model.opset >= 13


# ---- linear layers on rows of numbers ----

def flat(value):
    return [x for v in value for x in flat(v)] if isinstance(value, list) else [value]


def by_channel(row, tensor, function):
    """Of an image [channels][numbers] or of features: one value each."""
    values = tensor.values()
    if isinstance(row[0], list):
        return [[function(x, v) for x in flat(c)] for c, v in zip(row, values)]
    return [function(x, v) for x, v in zip(row, values)]


def softmax(row):
    powers = [math.exp(x - max(row)) for x in row]
    return [p / sum(powers) for p in powers]


def gemm(row, weight, bias, attributes):
    assert attributes == {"transB": 1}
    weights, width = weight.values(), weight.dims[1]
    assert len(row) == width
    return [math.fsum(x * w for x, w in zip(row, weights[o * width:(o + 1) * width])) + b
            for o, b in enumerate(bias.values())]


def run(model, row):
    """All values of the graph for one sample."""
    values = {next(iter(model.inputs)): row}
    pairs = {"Mul": lambda a, b: a * b, "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b,
             "Div": lambda a, b: a / b}
    for node in model.nodes:
        x = values[node.inputs[0]]
        rest = [model.tensors[name] for name in node.inputs[1:]]
        if node.type in pairs:
            y = by_channel(x, rest[0], pairs[node.type])
        elif node.type == "Flatten":
            y = flat(x)
        elif node.type == "Gemm":
            y = gemm(x, *rest, node.attributes)
        elif node.type == "Relu":
            y = [max(v, 0.0) for v in x]
        elif node.type == "Softmax":
            y = softmax(x)
        else:
            assert node.type == "Identity", node.type
            y = x
        values[node.outputs[0]] = y
    return values
