"""Writes a linear model as safetensors: make_model.py FILE FEATURES [KEY=VALUE ...].

Two classes with the identity as weights: the larger one of the first two features wins. The pairs
become metadata; without any it is a bare file of weights.
"""
import json
import struct
import sys

path, features = sys.argv[1], int(sys.argv[2])
pairs = dict(pair.split("=", 1) for pair in sys.argv[3:])
size = 8 * features
header = {"__metadata__": pairs} if pairs else {}
header["fc1.weight"] = {"dtype": "F32", "shape": [2, features], "data_offsets": [0, size]}
header["fc1.bias"] = {"dtype": "F32", "shape": [2], "data_offsets": [size, size + 8]}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
weights = [float(i == k) for k in range(2) for i in range(features)] + [0, 0]
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + struct.pack(f"<{len(weights)}f", *weights))
