"""An existing PyTorch loop that trains by GERNE: the lines marked with an arrow are all it takes.

The data has a weak feature that tells the classes apart, and a strong one that comes from an
attribute, which agrees with the class in 97 % of the training samples.
"""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

import gerne
import gerne.torch


def make(n, agreement, seed):
    """Features, classes, attributes."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(2, (n,), generator=g)
    a = torch.where(torch.rand(n, generator=g) < agreement, y, 1 - y)
    x = torch.randn(n, 2, generator=g)
    x[:, 0] += 3 * y
    x[:, 1] += 6 * a
    return x, y, a


def train(dataset, sampler=None):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = (DataLoader(dataset, batch_sampler=sampler) if sampler             # <--
              else DataLoader(dataset, batch_size=100, shuffle=True))
    for _ in range(10):
        for x, y in loader:
            losses = F.cross_entropy(model(x), y, reduction="none")
            loss = ((losses * sampler.loss_weights(y)).sum() if sampler         # <--
                    else losses.mean())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model


torch.set_num_threads(1)
x, y, a = make(4000, 0.97, seed=1)
test_x, test_y, test_a = make(4000, 0.5, seed=2)
sampler = gerne.torch.BatchSampler(y, a, c=0.5, beta=1.0, per_group=25)         # <--
for name, model in (("plain", train(TensorDataset(x, y))),
                    ("GERNE", train(TensorDataset(x, y), sampler))):
    with torch.no_grad():
        pred = model(test_x).argmax(1)
    figures = gerne.evaluate(test_y.numpy(), test_a.numpy(), pred=pred.numpy())
    print(f"{name}: mean of the groups {figures['gba']:.3f}, worst group {figures['wga']:.3f}")
