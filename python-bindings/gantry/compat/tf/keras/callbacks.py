"""tf.keras.callbacks: gantry.callbacks by Keras's names and arguments. A class of one's own is made of gantry.callbacks.Callback."""

from gantry import callbacks as _own

from ..._names import missing as _missing

__path__ = []  # so that a name that is missing is told on import, too

Callback = _own.Callback


def EarlyStopping(monitor="val_loss", min_delta=0, patience=0, mode="auto", restore_best_weights=False):
    return _own.EarlyStopping(monitor, max(1, patience), min_delta, mode, restore_best_weights)


def ReduceLROnPlateau(monitor="val_loss", factor=0.1, patience=10, mode="auto", min_delta=1e-4, min_lr=0.0):
    return _own.ReduceOnPlateau(monitor, factor, patience, min_delta, mode, min_lr)


def CSVLogger(filename):
    return _own.CSV(filename)


def TensorBoard(log_dir="logs"):
    return _own.TensorBoard(log_dir)


def __getattr__(name):
    return _missing(f"tf.keras.callbacks.{name}")
