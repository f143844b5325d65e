"""Weights that claim layers of these widths and hold four numbers: make_card.py '[8, 4]'."""
import json
import struct
import sys

model = {"arch": "mlp", "hidden": json.loads(sys.argv[1]), "variant": "v1.5", "stem": "imagenet"}
header = json.dumps({
    "__metadata__": {"gerne": "0", "model": json.dumps(model), "sample_shape": "[64]",
                     "class_names": '["0", "1"]'},
    "fc1.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
}).encode()
sys.stdout.buffer.write(struct.pack("<Q", len(header)) + header + bytes(16))
