#!/usr/bin/env python3
"""Writes the four files of MNIST in small: make_mnist.py FOLDER.

1,200 training and 200 test images of 28 x 28 pixels; the digit is a bright bar at a place of its own.
"""
import os
import random
import struct
import sys


def write(folder, part, count, generator):
    labels = [i % 10 for i in range(count)]
    generator.shuffle(labels)
    with open(os.path.join(folder, f"{part}-labels-idx1-ubyte"), "wb") as file:
        file.write(struct.pack(">II", 0x801, count) + bytes(labels))
    with open(os.path.join(folder, f"{part}-images-idx3-ubyte"), "wb") as file:
        file.write(struct.pack(">IIII", 0x803, count, 28, 28))
        for label in labels:
            top, left = 2 + label % 5 * 5 + generator.randrange(2), 3 + label // 5 * 12
            image = bytearray(28 * 28)
            for row in range(top, top + 3):
                for column in range(left, left + 9):
                    image[28 * row + column] = generator.randrange(160, 256)
            file.write(image)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    numbers = random.Random(3)
    write(sys.argv[1], "train", 1200, numbers)
    write(sys.argv[1], "t10k", 200, numbers)
