#!/usr/bin/python3
"""PyTorch's side of scripts/bench-training: GERNE as its users write it, with what a run needs around it.

usage: torch_train.py CASE DATA STEPS PER_CLASS
       torch_train.py features DATA IMAGES BATCH
One line of JSON: seconds of the steps with sampling and loading, seconds from the start of the process to the
end of the first step, peak memory. Sampling is vectorised, images of MNIST lie in memory, files are decoded by
two workers of a DataLoader. BatchNorm sees both batches at once, or keeps its statistics (CASE waterbirds).
"""
import time
import csv
import gzip
import json
import os
import resource
import sys

import numpy
import torch

C, BETA = 0.5, 1.0


def age_of_process():
    with open("/proc/self/stat") as file:
        ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


class Sampler:
    """Indices of the biased and the less biased batch of a step, PER_CLASS of each class."""

    def __init__(self, y, a, per_class, seed=0):
        classes, attributes = y.max() + 1, a.max() + 1
        group = y * attributes + a
        self.order = numpy.argsort(group, kind="stable")
        self.counts = numpy.bincount(group, minlength=classes * attributes)
        self.offsets = numpy.concatenate([[0], numpy.cumsum(self.counts)[:-1]])
        alpha = self.counts.reshape(classes, attributes) / numpy.bincount(y)[:, None]
        present = alpha > 0
        less = alpha + C * (present / present.sum(1, keepdims=True) - alpha)
        self.laws = [numpy.cumsum(law, 1) for law in (alpha, less)]
        self.classes, self.attributes, self.per_class = classes, attributes, per_class
        self.random = numpy.random.default_rng(seed)

    def draw(self, law):
        which = self.random.random((self.classes, self.per_class))
        a = (which[:, :, None] > self.laws[law][:, None, :]).sum(2).clip(max=self.attributes - 1)
        group = (numpy.arange(self.classes)[:, None] * self.attributes + a).ravel()
        place = (self.random.random(group.size) * self.counts[group]).astype(numpy.int64)
        return self.order[self.offsets[group] + place]

    def step(self):
        return numpy.concatenate([self.draw(0), self.draw(1)])


def read_idx(path, header):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def coloured_mnist(folder, ratio=0.005):
    images = read_idx(os.path.join(folder, "train-images-idx3-ubyte.gz"), 16).reshape(-1, 28, 28)[:55000]
    y = read_idx(os.path.join(folder, "train-labels-idx1-ubyte.gz"), 8)[:55000].astype(numpy.int64)
    random = numpy.random.default_rng(0)
    a = numpy.where(random.random(len(y)) < ratio, random.integers(0, 10, len(y)), y)
    colours = random.random((10, 3), numpy.float32)
    x = (images[:, None] * colours[a][:, :, None, None]).astype(numpy.uint8)
    return torch.from_numpy(x), y, a


class Files(torch.utils.data.Dataset):
    """Images of a metadata.csv with columns img_filename, y, place and split."""

    def __init__(self, folder):
        with open(os.path.join(folder, "metadata.csv")) as file:
            rows = [r for r in csv.DictReader(file) if r["split"] == "0"]
        self.paths = [os.path.join(folder, r["img_filename"]) for r in rows]
        self.y = numpy.array([int(r["y"]) for r in rows])
        self.a = numpy.array([int(r["place"]) for r in rows])
        self.mean = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
        self.std = torch.tensor([0.229, 0.224, 0.225])[:, None, None]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        from PIL import Image
        pixels = torch.from_numpy(numpy.array(Image.open(self.paths[i]).convert("RGB")))
        return (pixels.permute(2, 0, 1).float().div_(255) - self.mean) / self.std, self.y[i]


def mlp(classes):
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(2352, 100), torch.nn.ReLU(), torch.nn.Linear(100, 100),
        torch.nn.ReLU(), torch.nn.Linear(100, classes))


def memory_batches(data, sampler, steps):
    x, y, _ = data
    labels = torch.from_numpy(y)
    for _ in range(steps):
        chosen = torch.from_numpy(sampler.step())
        yield x[chosen].float().div_(255), labels[chosen]


def file_batches(data, sampler, steps):
    class Batches:
        def __iter__(self):
            return (sampler.step().tolist() for _ in range(steps))

        def __len__(self):
            return steps
    return torch.utils.data.DataLoader(data, batch_sampler=Batches(), num_workers=2)


def train(model, batches, lr=0.01, frozen=False, first=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=0.01)
    model.train()
    if frozen:
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.eval()
    for x, y in batches:
        half = len(y) // 2
        losses = torch.nn.functional.cross_entropy(model(x), y, reduction="none")
        biased, less_biased = losses[:half].mean(), losses[half:].mean()
        optimizer.zero_grad(set_to_none=True)
        (less_biased + BETA * (less_biased - biased)).backward()
        optimizer.step()
        if first is not None and not first:
            first.append(age_of_process())


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        parts = [model(p.float().div_(255)).argmax(1) for p in torch.split(x, 1000)]
    return (torch.cat(parts).numpy() == y).mean()


def features(folder, images, batch):
    """Seconds for what ResNet-50's body makes of files."""
    import torchvision
    model = torchvision.models.resnet50()
    model.fc = torch.nn.Identity()
    model.eval()
    data = torch.utils.data.Subset(Files(folder), range(images))
    start = time.monotonic()
    with torch.no_grad():
        for x, _ in torch.utils.data.DataLoader(data, batch_size=batch, num_workers=2):
            model(x)
    return time.monotonic() - start


def main():
    case, folder, steps, per_class = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(2)
    torch.manual_seed(1)
    if case == "features":
        print(json.dumps({"seconds": features(folder, steps, per_class)}))
        return
    first = []
    if case in ("mlp", "tune"):
        data = coloured_mnist(folder)
        model, batches, y, a = mlp(10), memory_batches, data[1], data[2]
    else:
        import torchvision
        data = Files(folder)
        y, a, batches = data.y, data.a, file_batches
        name = "resnet50" if case == "waterbirds" else "resnet18"
        model = getattr(torchvision.models, name)(num_classes=int(y.max()) + 1)
    frozen = case == "waterbirds"
    train(model, batches(data, Sampler(y, a, per_class), 1), 1e-5, frozen, first)  # warms up
    start = time.monotonic()
    if case == "tune":  # every trial trains and is evaluated, on data that is read once
        for trial in range(24):
            model = mlp(10)
            train(model, batches(data, Sampler(y, a, per_class, trial), steps), 0.1)
            accuracy(model, data[0][:15000], data[1][:15000])
    else:
        train(model, batches(data, Sampler(y, a, per_class), steps), 1e-5, frozen)
    print(json.dumps({"seconds": time.monotonic() - start, "first_step": first[0],
                      "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
