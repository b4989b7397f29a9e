"""The classifier of handwritten digits of examples/digits/train.py, by PyTorch: what check_training.py compares with."""

import numpy as np
import sklearn.datasets
import torch
from torch import nn

SEED, EPOCHS, BATCH = 7, 60, 64


class Digits(nn.Module):
    """image f32[n,1,8,8], 0 to 16  ->  logits f32[n,10]."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classify = nn.Sequential(nn.Dropout(0.3), nn.Linear(32 * 2 * 2, 10))

    def forward(self, image):
        return self.classify(self.features(image * (1.0 / 16.0)).flatten(1))


def split():
    """(training images, labels), (held-out images, labels); images f32[n,1,8,8]."""
    data = sklearn.datasets.load_digits()
    images = torch.tensor(data.images, dtype=torch.float32)[:, None]
    labels = torch.tensor(data.target)
    order = torch.tensor(np.random.RandomState(SEED).permutation(len(images)))
    held_out, training = order[: len(order) // 5], order[len(order) // 5:]
    return (images[training], labels[training]), (images[held_out], labels[held_out])


def shifted(images, generator):
    """Each image moved by up to one pixel: a writer does not centre to the pixel."""
    moved = torch.zeros_like(images)
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    offsets = torch.randint(0, 3, (len(images), 2), generator=generator)
    for i, (y, x) in enumerate(offsets.tolist()):
        moved[i] = padded[i, :, y:y + 8, x:x + 8]
    return moved


def train(images, labels):
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    net = Digits()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    generator = torch.Generator().manual_seed(SEED)
    for _ in range(EPOCHS):
        net.train()
        for batch in torch.randperm(len(images), generator=generator).split(BATCH):
            loss = nn.functional.cross_entropy(
                net(shifted(images[batch], generator)), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return net.eval()
