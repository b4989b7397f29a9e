"""What the book's tabs share: hyperparameters, the board, data and the loop of training."""

import inspect

import gantry as gt


def add_to_class(Class):
    """A decorator that makes a function a method."""
    def wrapper(function):
        setattr(Class, function.__name__, function)
        return function
    return wrapper


def cpu():
    return gt.cpu()


def gpu(i=0):
    return gt.gpu(i)


def num_gpus():
    return gt.num_gpus()


def try_gpu(i=0):
    return gt.try_gpu(i)


def try_all_gpus():
    return [gpu(i) for i in range(num_gpus())]


class HyperParameters:
    """Keeps what its __init__ was given."""

    def save_hyperparameters(self, ignore=()):
        frame = inspect.currentframe().f_back
        _, _, _, local = inspect.getargvalues(frame)
        self.hparams = {name: value for name, value in local.items()
                        if name not in {*ignore, "self"} and not name.startswith("_")}
        for name, value in self.hparams.items():
            setattr(self, name, value)


class ProgressBoard(HyperParameters):
    """What was drawn, by label: `lines` has pairs of x and the mean of every n values. These stay on their device until then, so that
    nothing waits for each of them."""

    def __init__(self, xlabel=None, ylabel=None, xlim=None, ylim=None, xscale="linear", yscale="linear", display=True):
        self.save_hyperparameters()
        self.lines, self._waiting = {}, {}

    def draw(self, x, y, label, every_n=1):
        waiting = self._waiting.setdefault(label, [])
        waiting.append((x, y))
        if len(waiting) >= max(1, every_n):
            self._waiting[label] = []
            values = gt.stack([value for _, value in waiting]).numpy() if hasattr(y, "device") else [value for _, value in waiting]
            self.lines.setdefault(label, []).append((sum(place for place, _ in waiting) / len(waiting), float(sum(values) / len(waiting))))


class DataModule(HyperParameters):
    """Data: subclasses give get_dataloader(train), and get_tensorloader makes that of arrays."""

    def __init__(self, root="../data", num_workers=4):
        self.save_hyperparameters()

    def get_dataloader(self, train):
        raise NotImplementedError

    def train_dataloader(self):
        return self.get_dataloader(train=True)

    def val_dataloader(self):
        return self.get_dataloader(train=False)

    def get_tensorloader(self, tensors, train, indices=slice(0, None)):
        from ..torch.utils.data import DataLoader, TensorDataset
        return DataLoader(TensorDataset(*(each[indices] for each in tensors)), self.batch_size, shuffle=train)


class BookModule(HyperParameters):
    """What networks of the book have besides those of their library."""

    def _begin_board(self, plot_train_per_epoch=2, plot_valid_per_epoch=1):
        self.plot_train_per_epoch, self.plot_valid_per_epoch, self.board = plot_train_per_epoch, plot_valid_per_epoch, ProgressBoard()

    def loss(self, y_hat, y):
        raise NotImplementedError

    def plot(self, key, value, train):
        """Puts a value on the board."""
        trainer, self.board.xlabel = self.trainer, "epoch"
        batches = trainer.num_train_batches if train else trainer.num_val_batches
        x = trainer.train_batch_idx / trainer.num_train_batches if train else trainer.epoch + 1
        every = batches / (self.plot_train_per_epoch if train else self.plot_valid_per_epoch)
        self.board.draw(x, value, ("train_" if train else "val_") + key, every_n=int(every))

    def training_step(self, batch):
        made = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("loss", self._seen(made), train=True)
        return made

    def validation_step(self, batch):
        self.plot("loss", self._seen(self.loss(self(*batch[:-1]), batch[-1])), train=False)

    @staticmethod
    def _seen(value):
        return value


class BookTrainer(HyperParameters):
    """The loop of training: `fit` calls prepare_data, prepare_model, and for each batch prepare_batch. Classes of the tabs have
    `train_batch`."""

    def __init__(self, max_epochs, num_gpus=0, gradient_clip_val=0):
        self.save_hyperparameters()
        self.gpus = [gpu(i) for i in range(min(num_gpus, gt.num_gpus()))]

    def prepare_data(self, data):
        self.train_dataloader, self.val_dataloader = data.train_dataloader(), data.val_dataloader()
        self.num_train_batches = len(self.train_dataloader)
        self.num_val_batches = len(self.val_dataloader) if self.val_dataloader is not None else 0

    def prepare_model(self, model):
        model.trainer = self
        model.board.xlim = [0, self.max_epochs]
        if self.gpus:
            self._move(model, self.gpus[0])
        self.model = model

    def prepare_batch(self, batch):
        return [each.to(self.gpus[0]) for each in batch] if self.gpus else batch

    def fit(self, model, data):
        self.prepare_data(data)
        self.prepare_model(model)
        self.optim = model.configure_optimizers()
        self._fit_epochs()

    def _fit_epochs(self):
        self.epoch = self.train_batch_idx = self.val_batch_idx = 0
        for self.epoch in range(self.max_epochs):
            self.fit_epoch()

    def fit_epoch(self):
        self._set_training(True)
        for batch in self.train_dataloader:
            self.train_batch(self.prepare_batch(batch))
            self.train_batch_idx += 1
        if self.val_dataloader is None:
            return
        self._set_training(False)
        for batch in self.val_dataloader:
            self.validate_batch(self.prepare_batch(batch))
            self.val_batch_idx += 1

    def validate_batch(self, batch):
        self.model.validation_step(batch)

    def _set_training(self, on):
        self.model.training = on

    def _move(self, model, device):
        model.to(device)

    def clipped(self, gradients):
        """Gradients scaled so that the norm of all is at most gradient_clip_val."""
        norm = gt.optim.global_norm(gradients)
        factor = self.gradient_clip_val / gt.maximum(norm, float(self.gradient_clip_val))
        return [each * factor for each in gradients]
