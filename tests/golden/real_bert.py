#!/usr/bin/python3
"""Makes tests/golden/real_bert.safetensors: last hidden states of real encoders, MiniLM-L6 and gte-small,
by the modules of transformer_modules.py in double precision, on 100 texts of this repository's
documents: 64 sentences, and 36 texts of lengths up to the longest that the encoders take.

usage: real_bert.py FOLDER      FOLDER/{minilm-l6,gte-small} hold model.safetensors and vocab.txt

Of every text the token ids are stored, and of every token four of its 384 numbers. Needs python3-torch.
"""
import json
import os
import re
import struct
import sys

import numpy as np
import torch

from formulas import write
from transformer_modules import Bert

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 80, 100,
           127, 128, 129, 160, 200, 220, 256, 300, 511, 512]
SENTENCES = 64
NUMBERS = [0, 101, 202, 303]
TYPES = {"F32": "<f4", "F16": "<f2"}


def load(path):
    with open(path, "rb") as f:
        raw = f.read()
    size = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] in TYPES:
            a, b = (8 + size + x for x in entry["data_offsets"])
            out[name] = np.frombuffer(raw[a:b], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return out


def wordpieces(text, vocabulary):
    """Greedy, longest first, of lower-case ASCII words and single punctuation marks."""
    for word in re.findall(r"[a-z0-9]+|[^\sa-z0-9]", text.lower().encode("ascii", "ignore").decode()):
        start = 0
        while start < len(word):
            end = len(word)
            while end > start and ("##" if start else "") + word[start:end] not in vocabulary:
                end -= 1
            if end == start:
                yield vocabulary["[UNK]"]
                break
            yield vocabulary[("##" if start else "") + word[start:end]]
            start = end


def texts(vocabulary):
    files = ["README.md", "CONTRIBUTING.md", "docs/methods.md", "docs/metrics.md", "docs/data.md"]
    everything = " ".join(open(os.path.join(TOP, f), encoding="utf-8").read() for f in files)
    sentences = [s for s in re.split(r"(?<=[.:;])\s+", everything) if re.match(r"[A-Z][^|#`]{20,}$", s)]
    for i in range(SENTENCES):
        ids = list(wordpieces(sentences[i * len(sentences) // SENTENCES], vocabulary))
        yield [vocabulary["[CLS]"], *ids, vocabulary["[SEP]"]]
    ids, at = list(wordpieces(everything, vocabulary)), 0
    for length in LENGTHS:
        yield [vocabulary["[CLS]"], *ids[at:at + length - 2], vocabulary["[SEP]"]]
        at += length - 2


def build(folder):
    tensors = load(os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    depth = config["num_hidden_layers"]
    words, width = tensors["embeddings.word_embeddings.weight"].shape
    model = Bert(words, 512, 2, width, depth, config["num_attention_heads"], config["intermediate_size"],
                 eps=config["layer_norm_eps"], pooler=False)
    for name, parameter in model.parameters():
        parameter.data = torch.from_numpy(tensors[name[len("bert."):]].astype(np.float64))
    return model


def main():
    folder, out = sys.argv[1], {}
    with open(os.path.join(folder, "minilm-l6", "vocab.txt"), encoding="utf-8") as f:
        vocabulary = {line.rstrip("\n"): i for i, line in enumerate(f)}
    ids = list(texts(vocabulary))
    out["lengths"] = np.array([len(i) for i in ids])
    out["ids"] = np.concatenate([np.array(i) for i in ids])
    with torch.no_grad():
        for name in ("minilm-l6", "gte-small"):
            model = build(os.path.join(folder, name))
            states = [model.hidden(torch.tensor(i)).numpy()[:, NUMBERS] for i in ids]
            out[name] = np.concatenate(states)
            print(name, np.abs(out[name]).mean(), file=sys.stderr)
    write(os.path.join(TOP, "tests", "golden", "real_bert.safetensors"), out)


if __name__ == "__main__":
    torch.set_num_threads(2)
    main()
