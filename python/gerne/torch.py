"""GERNE in an existing PyTorch loop: three lines.

    sampler = gerne.torch.BatchSampler(y, a, c=0.5, beta=1.0, per_group=100)
    for x, y in DataLoader(dataset, batch_sampler=sampler):
        loss = (F.cross_entropy(model(x), y, reduction="none") * sampler.loss_weights(y)).sum()

PyTorch itself is imported only where tensors are made.
"""
from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, Iterator, List, Optional

import numpy as np

from ._arrays import as_int
from .errors import UsageError
from .groups import Groups
from .sampler import Batch, Sampler

__all__ = ["BatchSampler"]


class BatchSampler:
    """Batches of indices for a DataLoader's batch_sampler, and the weights of their losses.

    Each batch holds the samples of GERNE's two batches, every distinct one once; the weighted sum
    of the losses is L_lb + beta (L_lb - L_b). Batches differ in size. Takes what gerne.Sampler
    takes. A pass over it (an epoch) has `steps` batches, by default as many as it takes to draw as
    many samples as there are. Batches are a pure function of the seed and the number of the pass:
    set `epoch` to repeat one, or to resume.

    BatchNorm sees the two batches as one; dropout and augmentation are the same for both.

    >>> import gerne.torch
    >>> y, a = [0] * 100 + [1] * 100, [0] * 95 + [1] * 5 + [0] * 5 + [1] * 95
    >>> sampler = gerne.torch.BatchSampler(y, a, per_group=5, seed=1)
    >>> len(sampler)
    10
    >>> batches = list(sampler)
    >>> len(batches), max(map(max, batches)) < 200
    (10, True)
    """

    def __init__(self, y: Any, a: Any = None, *, per_group: Optional[int] = None,
                 per_class: Optional[int] = None, c: float = 0.5, beta: float = 1.0, seed: int = 0,
                 share_majority: bool = False, rounded: bool = False, pseudo: bool = False,
                 beyond_bounds: bool = False, steps: Optional[int] = None) -> None:
        groups = Groups(_array(y), None if a is None else _array(a))
        if per_group is None and per_class is None:
            raise UsageError("the size of a batch is missing", "give per_group or per_class")
        self._sampler = Sampler(groups, per_group=per_group, per_class=per_class, c=c, beta=beta,
                                seed=seed, share_majority=share_majority, rounded=rounded,
                                pseudo=pseudo, beyond_bounds=beyond_bounds)
        if per_class is None:
            assert per_group is not None
            per_class = per_group * len(groups.attribute_names)
        drawn = int(per_class) * len(groups.class_names)
        self.steps = -(-len(groups) // drawn) if steps is None else as_int(steps, "steps", 1)
        self.epoch = 0
        self._pending: Deque[np.ndarray] = deque()

    def __len__(self) -> int:
        return self.steps

    def draw(self, step: int) -> Batch:
        """The batch of a step, counted over all passes: indices and weights as arrays."""
        return self._sampler.draw(step)

    def __iter__(self) -> Iterator[List[int]]:
        # A DataLoader with workers makes an iterator that it does not use: nothing happens before
        # the first batch.
        first = as_int(self.epoch, "epoch") * self.steps
        self.epoch += 1
        self._pending.clear()
        for step in range(first, first + self.steps):
            batch = self.draw(step)
            self._pending.append(batch.weights)
            yield batch.samples.tolist()

    def loss_weights(self, like: Any = None) -> Any:
        """The weights of the next batch of the loop, as a tensor: call it once for every batch.

        A DataLoader gives batches in the order in which they were drawn, whatever its number of
        workers. like, a tensor with one row per sample of the batch (such as its labels), places
        the weights on its device and checks their number.
        """
        import torch
        if not self._pending:
            raise UsageError("there is no batch whose weights were not taken",
                             "call loss_weights once for every batch of the loop")
        weights = torch.from_numpy(self._pending.popleft())
        if like is None:
            return weights
        if not isinstance(like, torch.Tensor) or like.dim() < 1:
            raise UsageError(f"like is a {type(like).__name__}, expected a tensor of the batch")
        if like.shape[0] != weights.shape[0]:
            raise UsageError(f"the batch has {like.shape[0]} samples, but {weights.shape[0]} were "
                             "drawn", "call loss_weights once for every batch, in order")
        return weights.to(like.device)

    def state_dict(self) -> Dict[str, int]:
        """Where the sampler is: the number of the next pass."""
        return {"epoch": self.epoch}

    def load_state_dict(self, state: Dict[str, int]) -> None:
        """Continues where state_dict was taken."""
        self.epoch = as_int(state["epoch"], "epoch")


def _array(labels: Any) -> Any:
    """Tensors as arrays; everything else as it is."""
    return labels.detach().cpu().numpy() if hasattr(labels, "detach") else labels
