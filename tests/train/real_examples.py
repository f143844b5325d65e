#!/usr/bin/env python3
"""The examples that need real data, cut short: real_examples.py PROGRAM EXAMPLES DATA.

DATA holds mnist/, waterbirds224/ (metadata.csv and images) and weights/; exit code 77 when a part is
missing, after running what can be run. Of Waterbirds 48 images are taken, all groups among them.
"""
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile

WEIGHTS = "weights/resnet50-v1-imagenet.safetensors"


def train(program, example, scratch, *flags):
    out = os.path.join(scratch, os.path.basename(example))
    done = subprocess.run([program, "train", example, "--out", out, "--cache", scratch + "/cache",
                           "--quiet", "--json", *flags], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{example}: exit code {done.returncode}: {done.stderr}")
    results = json.loads(done.stdout)
    print(f"{os.path.basename(example)}: test GBA {results['splits']['test']['gba']:.3f}, "
          f"WGA {results['splits']['test']['wga']:.3f}")
    return results


def some_waterbirds(source, target):
    """Four images of every group and split, by their real names."""
    taken = {}
    with open(os.path.join(source, "metadata.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        taken.setdefault((row["y"], row["place"], row["split"]), []).append(row)
    os.makedirs(target)
    with open(os.path.join(target, "metadata.csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        for group in taken.values():
            for row in group[:4]:
                writer.writerow(row)
                path = os.path.join(target, row["img_filename"])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(os.path.join(source, row["img_filename"]), path)


def main(program, examples, data):
    scratch = tempfile.mkdtemp(prefix="gerne-examples-")
    missing = [name for name in ("mnist", "waterbirds224/metadata.csv", WEIGHTS)
               if not os.path.exists(os.path.join(data, name))]
    try:
        if "mnist" not in missing:
            mnist = ["--data.dir", os.path.join(data, "mnist"), "--train.steps", "100"]
            known = train(program, examples + "/c-mnist-known.yaml", scratch, *mnist)
            unknown = train(program, examples + "/c-mnist-unknown.yaml", scratch, *mnist)
            # A tenth of the groups are those where colour and digit agree.
            if known["splits"]["test"]["gba"] < 0.3 or unknown["pseudo"]["precision"] < 0.5:
                sys.exit("C-MNIST: less was learnt than 100 steps teach")
        if len(missing) == 0 or missing == ["mnist"]:
            birds = os.path.join(scratch, "waterbirds")
            some_waterbirds(os.path.join(data, "waterbirds224"), birds)
            flags = ["--data.dir", birds, "--model.weights", os.path.join(data, WEIGHTS),
                     "--model.variant", "v1", "--train.per_group", "2"]
            train(program, examples + "/waterbirds-frozen.yaml", scratch, *flags, "--train.epochs", "5")
            train(program, examples + "/waterbirds-finetune.yaml", scratch, *flags, "--train.steps", "2")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if missing:
        print("skipped: %s has no %s" % (data, ", ".join(missing)))
        sys.exit(77)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
