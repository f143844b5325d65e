"""Makes a network of each kind, exports it, and predicts with it: what the tests of exported files
compare. Standard library only.

Sample.inputs are the arrays that the ONNX file takes; Sample.probabilities is what gerne predict
says of them.
"""
import array
import csv
import io
import json
import math
import os
import random
import struct
import subprocess
import zlib
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = float(os.environ.get("GERNE_PATIENCE", "1"))
COMMON = ["--method.name", "erm", "--threads", "1", "--quiet"]
IMAGES = ["--data.format", "images", "--data.dir", "images", "--train.batch", "8"]
ROWS = ["--data.format", "features", "--data.file", "rows.csv", "--train.batch", "8"]
TEXTS = ["--data.format", "text", "--data.file", "texts.csv", "--data.max_tokens", "10",
         "--data.a", "none", "--model.vocab", "vocab.txt", "--train.batch", "8"]
SMALL = ["--model.width", "32", "--model.heads", "2", "--model.depth", "2"]

# Networks that are trained, until their predictions differ: name, data, flags.
TRAINED = {
    "linear": ("rows", ["--model.arch", "linear", "--data.standardize", "true"]),
    "mlp": ("rows", ["--model.hidden", "7,5", "--data.standardize", "true"]),
    "mlp-pixels": ("images", ["--model.hidden", "9"]),
    "convnet": ("images", ["--model.arch", "convnet"]),
    "convnet3": ("images", ["--model.arch", "convnet3"]),
    "resnet20": ("images", ["--model.arch", "resnet20"]),
    "copies": ("images", ["--model.arch", "resnet20", "--model.copies", "2"]),
    "vit": ("images", ["--model.arch", "vit", "--model.patch", "8", *SMALL]),
    "bert": ("texts", [*SMALL, "--train.optimizer", "adam"]),
    "bert-mean": ("texts", [*SMALL, "--train.optimizer", "adam", "--model.pool", "mean"]),
}
# Larger ones, whose weights are made up: torchvision's name, flags, side of the first kernel.
MADE = {
    "resnet18": ("resnet18", [], 7),
    "resnet18-cifar": ("resnet18", ["--model.stem", "cifar"], 3),
    "resnet34": ("resnet34", [], 7),
    "resnet50": ("resnet50", [], 7),
    "resnet50-v1": ("resnet50", ["--model.variant", "v1"], 7),
}
NETWORKS = [*TRAINED, *MADE]
KEYS = {"images": IMAGES, "rows": ROWS, "texts": TEXTS}


@dataclass
class Array:
    type: str  # "float32" or "int64"
    dims: list
    values: list

    def bytes(self):
        return array.array("f" if self.type == "float32" else "q", self.values).tobytes()


@dataclass
class Sample:
    inputs: dict
    probabilities: list


@dataclass
class Exported:
    onnx: Path
    safetensors: Path
    source: Path  # the run, or the file of weights
    samples: list = field(default_factory=list)

    def batch(self, first, count):
        """The inputs of some samples as one batch, texts filled up with zeros."""
        chosen, arrays = self.samples[first:first + count], {}
        for name, one in chosen[0].inputs.items():
            parts = [s.inputs[name] for s in chosen]
            length = max(len(p.values) for p in parts)
            values = [v for p in parts for v in p.values + [0] * (length - len(p.values))]
            dims = one.dims if one.type == "float32" else [length]
            arrays[name] = Array(one.type, [count, *dims], values)
        return arrays, [s.probabilities for s in chosen]


def read_png(path):
    """An 8-bit RGB picture as [channel][row * width + column]."""
    data = Path(path).read_bytes()
    at, parts, width, height = 8, b"", 0, 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (8, 2)
        elif kind == b"IDAT":
            parts += body
        at += 12 + size
    lines, stride = zlib.decompress(parts), 3 * width
    above, pixels = bytearray(stride), []
    for y in range(height):
        method, line = lines[y * (stride + 1)], bytearray(lines[y * (stride + 1) + 1:][:stride])
        for i in range(stride):
            a, b = (line[i - 3], above[i - 3]) if i >= 3 else (0, 0)
            c, p = above[i], 0
            p = a + c - b
            near = min((abs(p - a), 0, a), (abs(p - c), 1, c), (abs(p - b), 2, b))[2]
            line[i] = (line[i] + [0, a, c, (a + c) // 2, near][method]) & 255
        pixels += line
        above = line
    return width, height, [pixels[c::3] for c in range(3)]


def torchvision_shapes():
    """{network: {name: shape}}, see torchvision_names.py."""
    with open(Path(__file__).with_name("torchvision_names.json"), encoding="utf-8") as file:
        return json.load(file)["networks"]


def random_weights(name, shape):
    """Drawn once for a block that is repeated: the networks have millions."""
    chance, count = random.Random(name), math.prod(shape)
    if len(shape) > 1:
        scale = 0.1 if name == "fc.weight" else math.sqrt(2 / math.prod(shape[1:]))
        draw = lambda: chance.gauss(0, scale)
    elif name.endswith(("running_mean", "bias")):
        draw = lambda: chance.gauss(0, 0.1)
    else:
        scale = 0.3 if name.endswith(("bn2.weight", "bn3.weight")) else 1  # branches stay small
        draw = lambda: scale * chance.uniform(0.5, 1.0)
    block = array.array("f", (draw() for _ in range(min(count, 4099))))
    return (block * (count // len(block) + 1))[:count].tobytes()


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, data in tensors.values():
            file.write(data)


class Workshop:
    """A folder in which networks are made, with data for all of them."""

    def __init__(self, program, folder):
        self.program, self.folder = Path(program).resolve(), Path(folder)
        self.samples = {}
        self.gerne("data", "make", "--data.n", "90", "--data.size", "32", "--out", "images")
        self.write_rows()
        self.write_texts()

    def gerne(self, *words, stdin=None):
        result = subprocess.run([self.program, *map(str, words)], cwd=self.folder, input=stdin,
                                capture_output=True, text=True, timeout=120 * PATIENCE)
        assert result.returncode == 0, f"gerne {' '.join(map(str, words))}\n{result.stderr}"
        return result.stdout

    def write_rows(self):
        chance = random.Random(3)
        lines = ["x0,x1,x2,y,a,split"]
        for i in range(60):
            y = i % 3
            row = [chance.gauss(5 * y, 3), chance.gauss(-100, 40), chance.gauss(y, 1) / 50]
            lines.append(",".join(map(repr, row)) + f",{y},{i % 2},{i // 20}")
        (self.folder / "rows.csv").write_text("\n".join(lines) + "\n")

    def write_texts(self):
        words = ["good", "bad", "cat", "dog", "a", "the", "."]
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        chance = random.Random(4)
        lines = ["text,y,split"]
        for i in range(60):
            text = " ".join(chance.choice(words) for _ in range(1 + i % 8))
            lines.append(f"{text},{i % 2},{i // 20}")
        (self.folder / "texts.csv").write_text("\n".join(lines) + "\n")
        (self.folder / "vocab.txt").write_text("\n".join(special + words) + "\n")

    def train(self, name):
        """Trains a network; returns what export and predict take."""
        data, flags = TRAINED[name]
        if not (self.folder / name).exists():
            self.gerne("train", *KEYS[data], *flags, *COMMON, "--train.steps", "25", "--cache", "c",
                       "--train.lr", {"rows": 0.1, "images": 0.005, "texts": 0.01}[data], "--out", name)
        return [name], [name, "--cache", "c"], data

    def make_up(self, name):
        """Writes random weights, of sizes for which no layer vanishes, and no metadata."""
        source, flags, kernel = MADE[name]
        path = self.folder / f"{name}.weights.safetensors"
        if not path.exists():
            shapes = dict(torchvision_shapes()[source])
            shapes["conv1.weight"] = [64, 3, kernel, kernel]
            shapes["fc.weight"], shapes["fc.bias"] = [4, shapes["fc.weight"][1]], [4]
            write_safetensors(path, {n: (s, random_weights(n, s)) for n, s in shapes.items()})
        words = [path.name, "--model.arch", source, *flags]
        return [*words, "--shape", "3,32,32"], [*words, *IMAGES[:4]], "images"

    def make(self, name, *flags):
        """A network, exported with flags, and its predictions of the test split."""
        exported, predicted, data = self.train(name) if name in TRAINED else self.make_up(name)
        out = Exported(self.folder / f"{name}.onnx", self.folder / f"{name}.safetensors",
                       self.folder / exported[0], self.samples.setdefault(name, []))
        self.gerne("export", *exported, "--onnx", out.onnx, "--safetensors", out.safetensors,
                   "--overwrite", *flags)
        if out.samples:
            return out
        rows = csv.DictReader(io.StringIO(self.gerne("predict", *predicted, "--threads", "1")))
        read = {"images": self.pixels, "rows": self.features, "texts": self.tokens}[data]
        for row in list(rows)[:12]:
            probabilities = [float(v) for k, v in row.items() if k.startswith("prob_")]
            out.samples.append(Sample(read(row), probabilities))
        spread = max(max(p) - min(p) for p in zip(*(s.probabilities for s in out.samples)))
        assert spread > 0.02, f"{name}: all predictions are alike"
        return out

    def pixels(self, row):
        file = Path(row["file"])
        width, height, planes = read_png(file if file.is_absolute() else self.folder / file)
        return {"pixels": Array("float32", [3, height, width], [p for c in planes for p in c])}

    def features(self, row):
        lines = (self.folder / "rows.csv").read_text().splitlines()
        values = [float(v) for v in lines[1 + int(row["index"])].split(",")[:3]]
        return {"features": Array("float32", [3], values)}

    def tokens(self, row):
        lines = (self.folder / "texts.csv").read_text().splitlines()
        line = lines[1 + int(row["index"])].split(",")[0] + "\n"
        ids = json.loads(self.gerne("data", "tokens", "--model.vocab", "vocab.txt",
                                    "--data.max_tokens", "10", "--json", stdin=line))[0]
        return {"input_ids": Array("int64", [len(ids)], ids),
                "attention_mask": Array("int64", [len(ids)], [1] * len(ids))}
