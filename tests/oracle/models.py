"""The worker's models in Python: same layers, same registration order."""

import torch
from torch import nn
from torch.nn import functional


def mlp(*widths):
    layers = []
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        layers += ([nn.ReLU()] if i else []) + [nn.Linear(a, b)]
    return nn.Sequential(*layers)


class Block(nn.Module):
    """ResNet-18's block: two 3x3 convolutions and the shortcut (He et al. 2016)."""

    def __init__(self, width_in, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        if stride != 1 or width_in != width:
            self.downsample = nn.Sequential(nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


def resnet18(classes):
    def group(width_in, width, stride):
        return nn.Sequential(Block(width_in, width, stride), Block(width, width, 1))

    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         group(64, 64, 1), group(64, 128, 2), group(128, 256, 2), group(256, 512, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


class Bottleneck(nn.Module):
    """ResNet-50's block: 1x1, 3x3 (with the stride), 1x1, and the shortcut."""

    def __init__(self, width_in, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1 = nn.Conv2d(width_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        if stride != 1 or width_in != out:
            self.downsample = nn.Sequential(nn.Conv2d(width_in, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(y)))))
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


def resnet50(classes):
    def group(width_in, width, stride, count):
        return nn.Sequential(Bottleneck(width_in, width, stride),
                             *(Bottleneck(4 * width, width, 1) for _ in range(count - 1)))

    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         group(64, 64, 1, 3), group(256, 128, 2, 4), group(512, 256, 2, 6), group(1024, 512, 2, 3),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes))


def attend(query, key, value, heads, causal):
    def split(x):
        return x.view(x.size(0), x.size(1), heads, x.size(2) // heads).transpose(1, 2)

    mixed = functional.scaled_dot_product_attention(split(query), split(key), split(value), is_causal=causal)
    return mixed.transpose(1, 2).contiguous().view(query.shape)


class GptAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        return self.c_proj(attend(*self.c_attn(x).split(x.size(2), 2), self.heads, True))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = GptAttention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """GPT-2 without dropout; the output layer is the token embedding."""

    def __init__(self, layers, heads, width, vocabulary, positions):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(positions, width)
        self.h = nn.Sequential(*(GptBlock(width, heads) for _ in range(layers)))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1), device=tokens.device))
        return functional.linear(self.ln_f(self.h(x)), self.wte.weight)


class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.attention_output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.intermediate = nn.Linear(width, 4 * width)
        self.output = nn.Linear(4 * width, width)
        self.output_norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x):
        mixed = attend(self.query(x), self.key(x), self.value(x), self.heads, False)
        x = self.attention_norm(self.attention_output(mixed) + x)
        return self.output_norm(self.output(functional.gelu(self.intermediate(x))) + x)


class BertHead(nn.Module):
    def __init__(self, width, vocabulary):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)


class Bert(nn.Module):
    """BERT's encoder and masked-language-model head without dropout."""

    def __init__(self, layers, heads, width, vocabulary, positions):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocabulary, width)
        self.position_embeddings = nn.Embedding(positions, width)
        self.token_type_embeddings = nn.Embedding(2, width)
        self.embedding_norm = nn.LayerNorm(width, eps=1e-12)
        self.layer = nn.Sequential(*(BertLayer(width, heads) for _ in range(layers)))
        self.head = BertHead(width, vocabulary)

    def forward(self, tokens):
        places = torch.arange(tokens.size(1), device=tokens.device)
        x = (self.word_embeddings(tokens) + self.position_embeddings(places) +
             self.token_type_embeddings(torch.zeros_like(tokens)))
        x = self.layer(self.embedding_norm(x))
        x = self.head.norm(functional.gelu(self.head.dense(x)))
        return functional.linear(x, self.word_embeddings.weight, self.head.bias)


class Recommender(nn.Module):
    """DLRM with one index a table."""

    def __init__(self, tables, rows, embedding, dense, hidden):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, embedding) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, hidden), nn.ReLU(), nn.Linear(hidden, embedding), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(embedding + pairs, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.pairs = torch.tril_indices(tables + 1, tables + 1, -1)

    def forward(self, numbers, rows):
        first = self.bottom(numbers)
        vectors = torch.stack([first] + [table(rows[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([first, products], 1)).squeeze(1)


def make(kind, **options):
    """The worker's model of a scenario's workload.model."""
    if kind == "mlp":
        return mlp(*options["widths"])
    if kind in ("resnet18", "resnet50"):
        return {"resnet18": resnet18, "resnet50": resnet50}[kind](options["classes"])
    if kind in ("gpt", "bert"):
        names = ("layers", "heads", "width", "vocabulary", "positions")
        return {"gpt": Gpt, "bert": Bert}[kind](*(options[name] for name in names))
    if kind == "recommender":
        return Recommender(*(options[name] for name in ("tables", "rows", "embedding", "dense", "hidden")))
    raise ValueError(kind)


def loss_of(kind, output, target):
    if kind == "cross_entropy" and target.dim() > 1:
        return functional.cross_entropy(output.flatten(0, -2), target.flatten())
    return {"cross_entropy": functional.cross_entropy, "mse": functional.mse_loss,
            "bce": functional.binary_cross_entropy_with_logits}[kind](output, target)


def load(model, values):
    parameters = list(model.parameters())
    assert [list(p.shape) for p in parameters] == [list(v.shape) for v in values]
    with torch.no_grad():
        for parameter, value in zip(parameters, values):
            parameter.copy_(value)
