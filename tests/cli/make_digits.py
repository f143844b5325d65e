"""Writes the four files of a miniature MNIST: make_digits.py FOLDER TRAIN TEST.

An image of digit d is noise with a bright row 2 d + 3; labels go round.
"""
import os
import random
import struct
import sys

folder, counts = sys.argv[1], {"train": int(sys.argv[2]), "t10k": int(sys.argv[3])}
os.makedirs(folder, exist_ok=True)
noise = random.Random(1)
DARK = bytes(i % 40 for i in range(256))
for name, count in counts.items():
    with open(f"{folder}/{name}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">IIII", 0x803, count, 28, 28))
        for i in range(count):
            pixels = bytearray(noise.randbytes(784).translate(DARK))
            row = 2 * (i % 10) + 3
            for x in range(4, 24):
                pixels[28 * row + x] = 200 + noise.randrange(56)
            file.write(pixels)
    with open(f"{folder}/{name}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">II", 0x801, count))
        file.write(bytes(i % 10 for i in range(count)))
