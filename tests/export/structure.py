#!/usr/bin/env python3
"""Exported files, read by a reader of their own: structure.py PROGRAM.

Every network's ONNX file is whole, holds the weights of its run, and says what it takes and gives;
those of linear layers are computed in Python. Needs nothing but Python.
"""
import json
import shutil
import struct
import sys
import tempfile
import unittest

import onnx_model
from networks import TRAINED, Workshop, torchvision_shapes

PROGRAM = sys.argv.pop()

# Operators that the networks are allowed to need: all of them are in opset 13, but for one.
OPERATORS = {"Add", "BatchNormalization", "Cast", "Concat", "Conv", "Div", "Erf", "Expand",
             "Flatten", "Gather", "Gemm", "GlobalAveragePool", "Identity", "LayerNormalization",
             "MatMul", "MaxPool", "Mul", "ReduceSum", "Relu", "Reshape", "Shape", "Slice", "Softmax", "Split",
             "Sub", "Tanh", "Transpose", "Unsqueeze"}


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__")
    return metadata, {name: (t["dtype"], t["shape"],
                             data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]])
                      for name, t in header.items()}


class Structure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gerne-export-")
        cls.shop = Workshop(PROGRAM, cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_every_network(self):
        for name in [*TRAINED, "resnet18"]:
            with self.subTest(name):
                exported = self.shop.make(name)
                model = onnx_model.load(exported.onnx)
                onnx_model.check(model)
                self.assertLessEqual({n.type for n in model.nodes}, OPERATORS)
                self.compare_weights(model, exported)
                self.compare_description(model, exported)

    def compare_weights(self, model, exported):
        again, same = read_safetensors(exported.safetensors)
        tensors = same
        if exported.source.is_dir():
            metadata, tensors = read_safetensors(exported.source / "best.safetensors")
            self.assertEqual(metadata, again)
        self.assertEqual(tensors, same)
        for name, (kind, shape, data) in tensors.items():
            tensor = model.tensors[name]
            self.assertEqual((kind, tensor.type), ("F32", onnx_model.FLOAT))
            self.assertEqual((tensor.dims, tensor.raw), (shape, data), name)

    def compare_description(self, model, exported):
        metadata, _ = read_safetensors(exported.safetensors)
        self.assertEqual(model.properties, metadata)
        classes = len(json.loads(metadata["class_names"]))
        self.assertEqual(model.outputs, {name: (onnx_model.FLOAT, ["batch", classes])
                                         for name in ("probabilities", "logits")})
        arrays, _ = exported.batch(0, 2)
        self.assertEqual(set(model.inputs), set(arrays))
        for name, (kind, dims) in model.inputs.items():
            array = arrays[name]
            self.assertEqual(kind, {"float32": onnx_model.FLOAT, "int64": onnx_model.INT64}[array.type])
            self.assertEqual(dims[0], "batch")
            self.assertEqual(dims[1:], array.dims[1:] if kind == onnx_model.FLOAT else ["length"])

    def compute(self, exported, limit):
        model = onnx_model.load(exported.onnx)
        self.assertGreater(len(exported.samples), 5)
        for sample in exported.samples:
            array = next(iter(sample.inputs.values()))
            row, size = array.values, len(array.values) // 3
            if len(array.dims) == 3:
                row = [row[c * size:(c + 1) * size] for c in range(3)]
            values = onnx_model.run(model, row)
            for ours, theirs in zip(sample.probabilities, values["probabilities"], strict=True):
                self.assertAlmostEqual(ours, theirs, delta=limit)

    def test_linear_layers_compute_our_probabilities(self):
        for name in ("linear", "mlp", "mlp-pixels"):
            with self.subTest(name):
                self.compute(self.shop.make(name), 1e-5)

    def test_features_are_an_output(self):
        for name, width in (("mlp", 5), ("resnet20", 64), ("linear", 3)):
            model = onnx_model.load(self.shop.make(name, "--features").onnx)
            onnx_model.check(model)
            self.assertEqual(model.outputs["body_features"], (onnx_model.FLOAT, ["batch", width]))

    def test_half_precision(self):
        whole = self.shop.make("mlp")
        large = self.shop.make("resnet20").onnx.stat().st_size
        small = self.shop.make("resnet20", "--precision", "fp16").onnx.stat().st_size
        self.assertLess(small, 0.6 * large)
        _, single = read_safetensors(whole.safetensors)
        model = onnx_model.load(self.shop.make("mlp", "--precision", "fp16").onnx)
        onnx_model.check(model)
        _, half = read_safetensors(whole.safetensors)
        for name, (kind, shape, data) in half.items():
            exact = struct.unpack(f"<{len(single[name][2]) // 4}f", single[name][2])
            rounded = struct.pack(f"<{len(exact)}e", *exact)  # Python rounds to nearest even, too
            self.assertEqual((kind, shape, data), ("F16", single[name][1], rounded), name)
            if len(shape) > 1:
                self.assertEqual(model.tensors[name + ".fp16"].raw, rounded)
                self.assertEqual(model.tensors[name + ".fp16"].type, onnx_model.HALF)

    def test_names_of_torchvision(self):
        """Its state_dict but for num_batches_tracked, which torch adds, and the classes."""
        _, ours = read_safetensors(self.shop.make("resnet18").safetensors)
        known = torchvision_shapes()["resnet18"]
        self.assertEqual(list(ours), list(known))
        for name, (_, shape, _) in ours.items():
            self.assertEqual(shape, [4, *known[name][1:]] if name.startswith("fc.") else known[name])

    def test_the_same_bytes_twice(self):
        first = self.shop.make("bert").onnx.read_bytes()
        self.assertEqual(first, self.shop.make("bert").onnx.read_bytes())

    def test_last_checkpoint(self):
        best = self.shop.make("mlp").onnx.read_bytes()
        last = self.shop.make("mlp", "--checkpoint", "last", "--threads", "1")
        self.assertEqual(len(last.onnx.read_bytes()), len(best))
        onnx_model.check(onnx_model.load(last.onnx))


if __name__ == "__main__":
    unittest.main()
