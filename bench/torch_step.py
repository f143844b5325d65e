#!/usr/bin/python3
"""PyTorch's side of the benchmark: the same step as bench/step.c, one line of JSON a repeat.

usage: torch_step.py ARCH SAMPLES FORMAT PRECISION REPEATS
Two forward passes of half the samples each, one backward pass, one SGD step; of transformers one pass
and a step of AdamW, with BERT's dropout. Bytes are turned into numbers inside the step, as on the other
side. Waits for a line before every repeat but the first.
"""
import json
import resource
import sys
import time

import torch


def mlp():
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(2352, 100), torch.nn.ReLU(), torch.nn.Linear(100, 100),
        torch.nn.ReLU(), torch.nn.Linear(100, 10))


def resnet(name, classes):
    import torchvision  # which the others do without
    return getattr(torchvision.models, name)(num_classes=classes)


class Attention(torch.nn.Module):
    """All heads of all samples in batched products, as Hugging Face's and timm's modules do it."""

    def __init__(self, width, heads, dropout, joined):
        super().__init__()
        self.heads, self.joined = heads, joined
        self.project = torch.nn.ModuleList(
            [torch.nn.Linear(width, 3 * width)] if joined else
            [torch.nn.Linear(width, width) for _ in range(3)])
        self.drop, self.out = torch.nn.Dropout(dropout), torch.nn.Linear(width, width)

    def forward(self, x):
        n, length, width = x.shape
        parts = self.project[0](x).chunk(3, -1) if self.joined else [p(x) for p in self.project]
        q, k, v = (p.view(n, length, self.heads, -1).transpose(1, 2) for p in parts)
        weights = torch.softmax(q @ k.transpose(2, 3) / (width // self.heads)**0.5, -1)
        return self.out((self.drop(weights) @ v).transpose(1, 2).reshape(n, length, width))


class Layer(torch.nn.Module):
    def __init__(self, width, heads, dropout, pre_norm):
        super().__init__()
        self.attention, self.pre = Attention(width, heads, dropout, pre_norm), pre_norm
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                       torch.nn.Linear(4 * width, width))
        self.drop = torch.nn.Dropout(dropout) if dropout else torch.nn.Identity()

    def forward(self, x):
        if self.pre:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.drop(self.attention(x)))
        return self.norm2(x + self.drop(self.mlp(x)))


class Bert(torch.nn.Module):
    def __init__(self, depth, width, heads, classes, words=30522):
        super().__init__()
        self.word, self.place = torch.nn.Embedding(words, width), torch.nn.Embedding(512, width)
        self.segment, self.norm = torch.nn.Embedding(2, width), torch.nn.LayerNorm(width)
        self.layers = torch.nn.Sequential(*(Layer(width, heads, 0.1, False) for _ in range(depth)))
        self.pooler, self.head = torch.nn.Linear(width, width), torch.nn.Linear(width, classes)
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, ids):
        x = self.word(ids) + self.place.weight[:ids.shape[1]] + self.segment.weight[0]
        x = self.layers(self.drop(self.norm(x)))
        return self.head(self.drop(torch.tanh(self.pooler(x[:, 0]))))


class Vit(torch.nn.Module):
    def __init__(self, depth, width, heads, classes):
        super().__init__()
        self.patches = torch.nn.Conv2d(3, width, 16, 16)
        self.token = torch.nn.Parameter(torch.zeros(1, 1, width))
        self.place = torch.nn.Parameter(torch.zeros(1, 197, width))
        self.layers = torch.nn.Sequential(*(Layer(width, heads, 0.0, True) for _ in range(depth)))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = self.layers(torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.place)
        return self.head(self.norm(x)[:, 0])


# what builds it, side of its images or None, classes, tokens of its texts
WORK = {
    "mlp": (mlp, 28, 10, None),
    "resnet18": (lambda: resnet("resnet18", 10), 32, 10, None),
    "resnet50": (lambda: resnet("resnet50", 2), 224, 2, None),
    "bert-base@128": (lambda: Bert(12, 768, 12, 2), None, 2, 128),
    "bert-base@220": (lambda: Bert(12, 768, 12, 2), None, 2, 220),
    "minilm@220": (lambda: Bert(6, 384, 12, 2), None, 2, 220),
    "minilm@128": (lambda: Bert(6, 384, 12, 2), None, 2, 128),
    "vit-s16": (lambda: Vit(12, 384, 6, 2), 224, 2, None),
}


def main():
    arch, count, layout, precision, repeats = sys.argv[1:6]
    build, side, classes, tokens = WORK[arch]
    count, repeats = int(count), int(repeats)
    torch.set_num_threads(2)
    torch.manual_seed(1)
    model = build().train()
    if tokens:
        images = torch.randint(0, 30522, (count, tokens))
    else:
        images = torch.randint(0, 256, (count, 3, side, side), dtype=torch.uint8)
    if layout == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.arange(count) % classes
    sgd = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=0.01)
    adamw = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01)
    half = count // 2

    def forward(part):
        x = images[part] if tokens else images[part].float().div_(255)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            logits = model(x)
        return torch.nn.functional.cross_entropy(logits.float(), labels[part])

    def fine_tune():
        adamw.zero_grad(set_to_none=True)
        forward(slice(0, count)).backward()
        adamw.step()

    def extrapolate():
        biased, less_biased = forward(slice(0, half)), forward(slice(half, count))
        loss = less_biased + 1.0 * (less_biased - biased)
        sgd.zero_grad(set_to_none=True)
        loss.backward()
        sgd.step()

    step = fine_tune if isinstance(model, (Bert, Vit)) else extrapolate
    step()
    for i in range(repeats):
        if i > 0 and not sys.stdin.readline():
            break
        start = time.monotonic()
        step()
        seconds = time.monotonic() - start
        print(json.dumps({
            "seconds": seconds, "samples_per_s": count / seconds,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


if __name__ == "__main__":
    main()
