#!/usr/bin/python3
"""PyTorch's side of the benchmark: the same step as bench/step.c, one line of JSON a repeat.

usage: torch_step.py ARCH SAMPLES FORMAT PRECISION REPEATS
Two forward passes of half the samples each, one backward pass, one SGD step; the bytes are turned
into numbers inside the step, as on the other side. Waits for a line before every repeat but the first.
"""
import json
import resource
import sys
import time

import torch
import torchvision


def mlp():
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(2352, 100), torch.nn.ReLU(), torch.nn.Linear(100, 100),
        torch.nn.ReLU(), torch.nn.Linear(100, 10))


WORK = {
    "mlp": (mlp, 28, 10),
    "resnet18": (lambda: torchvision.models.resnet18(num_classes=10), 32, 10),
    "resnet50": (lambda: torchvision.models.resnet50(num_classes=2), 224, 2),
}


def main():
    arch, count, layout, precision, repeats = sys.argv[1:6]
    build, side, classes = WORK[arch]
    count, repeats = int(count), int(repeats)
    torch.set_num_threads(2)
    torch.manual_seed(1)
    model = build().train()
    images = torch.randint(0, 256, (count, 3, side, side), dtype=torch.uint8)
    if layout == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.arange(count) % classes
    sgd = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=0.01)
    half = count // 2

    def forward(part):
        x = images[part].float().div_(255)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            logits = model(x)
        return torch.nn.functional.cross_entropy(logits.float(), labels[part])

    def step():
        biased, less_biased = forward(slice(0, half)), forward(slice(half, count))
        loss = less_biased + 1.0 * (less_biased - biased)
        sgd.zero_grad(set_to_none=True)
        loss.backward()
        sgd.step()

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
