"""BERT and ViT in PyTorch, written for the tests: one text at a time, without padding or masks."""
import math

import torch


def attend(q, k, v, heads, drop=None):
    """[length][width] each; drop(head, weights) may mask the softmax."""
    length, width = q.shape
    out = []
    for h in range(heads):
        part = slice(h * width // heads, (h + 1) * width // heads)
        weights = torch.softmax(q[:, part] @ k[:, part].T / math.sqrt(width // heads), -1)
        out.append((drop(h, weights) if drop else weights) @ v[:, part])
    return torch.cat(out, -1)


class BertLayer(torch.nn.Module):
    def __init__(self, width, heads, intermediate, eps, activation):
        super().__init__()
        linear = torch.nn.Linear
        self.heads, self.activation = heads, activation
        self.names = {
            "attention.self.query": linear(width, width), "attention.self.key": linear(width, width),
            "attention.self.value": linear(width, width),
            "attention.output.dense": linear(width, width),
            "attention.output.LayerNorm": torch.nn.LayerNorm(width, eps),
            "intermediate.dense": linear(width, intermediate),
            "output.dense": linear(intermediate, width),
            "output.LayerNorm": torch.nn.LayerNorm(width, eps)}

    def forward(self, x, drop):
        m = self.names
        q, k, v = (m["attention.self." + n](x) for n in ("query", "key", "value"))
        a = attend(q, k, v, self.heads, lambda h, w: drop(0, h, w))
        a = m["attention.output.dense"](a)
        x = m["attention.output.LayerNorm"](x + drop(1, 0, a))
        h = m["output.dense"](self.activation(m["intermediate.dense"](x)))
        return m["output.LayerNorm"](x + drop(2, 0, h))


class Bert:
    """Parameters under Hugging Face's names, in a dictionary: modules without a tree."""

    def __init__(self, words, positions, segments, width, depth, heads, intermediate, classes=0,
                 eps=1e-12, pooler=True, activation=torch.nn.functional.gelu):
        self.word = torch.nn.Embedding(words, width)
        self.position = torch.nn.Embedding(positions, width)
        self.segment = torch.nn.Embedding(segments, width) if segments else None
        self.norm = torch.nn.LayerNorm(width, eps)
        self.layers = [BertLayer(width, heads, intermediate, eps, activation) for _ in range(depth)]
        self.pooler = torch.nn.Linear(width, width) if pooler else None
        self.classifier = torch.nn.Linear(width, classes) if classes else None

    def modules(self):
        e = "bert.embeddings."
        yield e + "word_embeddings", self.word
        yield e + "position_embeddings", self.position
        if self.segment is not None:
            yield e + "token_type_embeddings", self.segment
        yield e + "LayerNorm", self.norm
        for i, layer in enumerate(self.layers):
            for name, module in layer.names.items():
                yield f"bert.encoder.layer.{i}.{name}", module
        if self.pooler is not None:
            yield "bert.pooler.dense", self.pooler
        if self.classifier is not None:
            yield "classifier", self.classifier

    def parameters(self):
        return [(f"{name}.{n}", p) for name, m in self.modules() for n, p in m.named_parameters()]

    def double(self):
        for _, m in self.modules():
            m.double()

    def hidden(self, ids, drop=None):
        """The last hidden states of one text; drop(layer, head, numbers) masks."""
        drop = drop or (lambda layer, head, x: x)
        x = self.word(ids) + self.position(torch.arange(len(ids)))
        if self.segment is not None:
            x = x + self.segment.weight[0]
        x = drop(0, 0, self.norm(x))
        for i, layer in enumerate(self.layers):
            x = layer(x, lambda which, head, y, i=i: drop(1 + 3 * i + which, head, y))
        return x

    def logits(self, ids, drop=None, drop_features=lambda x: x):
        return self.classifier(drop_features(torch.tanh(self.pooler(self.hidden(ids, drop)[0]))))


class VitBlock(torch.nn.Module):
    def __init__(self, width, heads, intermediate):
        super().__init__()
        self.norm1, self.norm2 = (torch.nn.LayerNorm(width, 1e-6) for _ in range(2))
        self.attn, self.mlp, self.heads = torch.nn.Module(), torch.nn.Module(), heads
        self.attn.qkv = torch.nn.Linear(width, 3 * width)
        self.attn.proj = torch.nn.Linear(width, width)
        self.mlp.fc1 = torch.nn.Linear(width, intermediate)
        self.mlp.fc2 = torch.nn.Linear(intermediate, width)

    def forward(self, x):
        q, k, v = self.attn.qkv(self.norm1(x)).chunk(3, -1)
        a = torch.stack([attend(q[i], k[i], v[i], self.heads) for i in range(len(x))])
        x = x + self.attn.proj(a)
        return x + self.mlp.fc2(torch.nn.functional.gelu(self.mlp.fc1(self.norm2(x))))


class Vit(torch.nn.Module):
    """timm's names."""

    def __init__(self, side, patch, width, depth, heads, classes):
        super().__init__()
        places = 1 + (side // patch)**2
        self.cls_token = torch.nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = torch.nn.Parameter(torch.zeros(1, places, width))
        self.patch_embed = torch.nn.Module()
        self.patch_embed.proj = torch.nn.Conv2d(3, width, patch, patch)
        self.blocks = torch.nn.ModuleList(VitBlock(width, heads, 4 * width) for _ in range(depth))
        self.norm = torch.nn.LayerNorm(width, 1e-6)
        self.head = torch.nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch_embed.proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])
