#!/usr/bin/env python3
"""Compares the reading of images with Pillow, and makes what bench_data needs.

usage: data.py BENCH_DATA [IMAGES]     IMAGES: a folder with metadata.csv, such as Waterbirds

Needs numpy and Pillow. Decoding is timed on one core, in one run; the last lines train ResNet-18 on
small files with two threads and tell how long it waits for them.
"""
import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

COUNT = 2000
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


def pillow(folder):
    with open(folder / "metadata.csv") as f:
        rows = list(csv.DictReader(f))[:COUNT]
    column = "img_filename" if "img_filename" in rows[0] else "filename"
    best = 0
    for _ in range(2):
        start = time.process_time()
        for row in rows:
            x = np.asarray(Image.open(folder / row[column]).convert("RGB"), np.float32)
            x = np.ascontiguousarray(((x / 255 - MEAN) / STD).transpose(2, 0, 1))
        best = max(best, len(rows) / (time.process_time() - start))
    print(f"Pillow: {best:.0f} images/s on one core (read, decode, normalise to CHW floats)")
    return best


def main():
    bench = sys.argv[1]
    if len(sys.argv) > 2:
        folder = Path(sys.argv[2])
        line = subprocess.run([bench, "decode", folder, str(COUNT)], check=True, capture_output=True, text=True)
        print(line.stdout, end="")
        ours = float(line.stdout.split(", ")[1].split()[0])
        print(f"ratio: {ours / pillow(folder):.2f}")
        subprocess.run([bench, "limit", folder, "64M"], check=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(scratch / "0.png")
        with open(scratch / "million.csv", "w") as f:
            f.write("img_id,img_filename,y,split,place,place_filename\n0,0.png,0,0,0,x\n")
            for i in range(1, 1000000):
                f.write(f"{i},{i % 200:03d}.Some_Bird/Some_Bird_{i:07d}.jpg,{i % 2},{i % 3},{i % 5 % 2},/o/ocean/{i:08d}.jpg\n")
        subprocess.run([bench, "open", scratch / "million.csv"], check=True)
        rng = np.random.default_rng(0)
        for kind in ("png", "jpg"):
            small = scratch / kind
            small.mkdir()
            with open(small / "metadata.csv", "w") as f:
                f.write("filename,y\n")
                for i in range(4000):
                    x = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
                    Image.fromarray(x).resize((32, 32), Image.BICUBIC).save(small / f"{i}.{kind}")
                    f.write(f"{i}.{kind},{i % 2}\n")
            subprocess.run([bench, "wait", small, "100"], check=True)


if __name__ == "__main__":
    main()
