"""Arrays that live on devices.

An Array's contents do not change by anything that Gantry does with it. `to` gives the array itself when it
is on the device already; `copy_to` and `clone` never do. Operators are ops: they run where ops run.
"""

import ctypes

import numpy as np

from . import _c, _dlpack, _library, _notebook, _runtime
from ._operators import Operators
from .device import Device, device as as_device, request, resolve
from .dtypes import BY_NUMBER, as_dtype, bfloat16, bool_
from .errors import FailedPreconditionError, InvalidArgumentError


class GivenTo(str):
    """Who was given an array, in words."""

    __slots__ = ()


class Array(Operators):
    """Typed memory on a device: `shape`, `dtype`, `device`, `nbytes`."""

    __slots__ = ("_handle", "_type", "shape", "dtype", "device", "_kept", "__weakref__")
    __array_priority__ = 100  # NumPy's operators leave mixed expressions to us

    def __init__(self, *_):
        raise TypeError("use gantry.array(values, dtype=..., device=...) to make an Array")

    @classmethod
    def _wrap(cls, handle, shape, dtype, device, kept=None, kind=None):
        """Takes a handle of the C API over, a number, with what is known of it."""
        self = object.__new__(cls)
        self._handle, self.shape, self.dtype, self.device, self._kept = handle, shape, dtype, device, kept
        self._type = kind or type_of(dtype, shape, device)
        return self

    @classmethod
    def _adopt(cls, handle, kept=None):
        """The same where only the handle knows."""
        info = _library.sized(_c.gantry_array_info_t)
        _library.check(_library.runtime().gantry_array_info(handle, ctypes.byref(info)))
        dims = ctypes.cast(info.dims, ctypes.POINTER(ctypes.c_int64))
        return cls._wrap(handle, tuple(dims[:info.rank]), BY_NUMBER[info.element], _known(info.device), kept)

    def __del__(self, _may_release=_runtime.may_release, _opened=_library._opened, _NoHandle=FailedPreconditionError):
        if _may_release():
            try:
                _opened["gantry-runtime"].gantry_array_destroy(self._handle)
            except (AttributeError, _NoHandle):  # it was never made, or given away
                pass

    def __getattr__(self, name):
        """Asked for what is not there: the handle of an array that was given away."""
        if name != "_handle" or not isinstance(self._kept, GivenTo):
            raise AttributeError(f"an Array has no attribute '{name}'")
        raise FailedPreconditionError(f"this array, {self.dtype}{list(self.shape)} on {self.device!r}, was given away to "
                                      f"{self._kept}; use what came of it, or a clone() made before")

    @property
    def is_deleted(self):
        """Whether it was given away (`donate`): nothing can be done with it any more."""
        return isinstance(self._kept, GivenTo)

    # ---- looking ----

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        count = 1
        for dim in self.shape:
            count *= dim
        return count

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self):
        return self.dtype.itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __repr__(self):
        if self.is_deleted:
            return f"Array(given away to {self._kept}, dtype={self.dtype}, device={self.device!r})"
        values = np.array2string(self._shown(), separator=", ", prefix="Array(", threshold=100, edgeitems=3)
        shape = f", shape={self.shape}" if not self.size and self.ndim > 1 else ""
        return f"Array({values}{shape}, dtype={self.dtype}, device={self.device!r})"

    def _repr_html_(self):
        return _notebook.array(self)

    # ---- moving ----

    def to(self, target):
        """The array on a device: itself when it is there."""
        found = resolve(as_device(target))
        return self if found == self.device else self._copy(found)

    def copy_to(self, target):
        """A new array on a device, also on its own."""
        return self._copy(resolve(as_device(target)))

    def clone(self):
        """A new array beside this one."""
        return self._copy(self.device)

    copy = clone

    def cpu(self):
        return self.to("CPU:0")

    def cuda(self, index=0):
        return self.to(f"GPU:{index}")

    def _copy(self, target):
        handle = ctypes.c_void_p()
        _runtime.current()  # in a child that is an error in words
        _library.check(_library.runtime().gantry_array_copy_to(self._handle, target.encoded, ctypes.byref(handle)))
        return Array._wrap(handle.value, self.shape, self.dtype, target)

    # ---- exchange ----

    def numpy(self):
        """The values as a NumPy array of their own."""
        _runtime.current()
        values = np.empty(self.shape, self.dtype.numpy)
        _library.check(_library.runtime().gantry_array_read(self._handle, values.ctypes.data, values.nbytes))
        return values

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("NumPy gets a copy of an array; np.from_dlpack(x) shares memory of the host")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def item(self):
        """The value of an array with one element, as Python has it."""
        if self.size != 1:
            raise InvalidArgumentError(f"item() wants one element, the array is {self.dtype}{list(self.shape)}")
        return self._shown().item()

    def tolist(self):
        return self._shown().tolist()

    def _shown(self):
        """The values as numbers, also of bfloat16 where NumPy has none."""
        values = self.numpy()
        if self.dtype is bfloat16 and values.dtype == np.uint16:
            wide = values.astype(np.uint32) * np.uint32(1 << 16)
            return np.frombuffer(wide.tobytes(), np.float32).reshape(values.shape)
        return values

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        if self.size != 1:
            raise InvalidArgumentError(f"{self.dtype}{list(self.shape)} is neither true nor false: say x.all(), x.any() "
                                       "or len(x) > 0")
        return bool(self.item())

    def __contains__(self, value):
        return bool((self._shown() == value).any())

    def __round__(self, digits=None):
        return round(self.item(), digits)

    def __format__(self, spec):
        return format(self.item(), spec) if spec else str(self)

    def __index__(self):
        if self.dtype.is_floating or self.shape:
            raise TypeError("only an integer scalar can be an index")
        return int(self.item())

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        """The memory itself, for another library. BufferError where it cannot be shared."""
        return _dlpack.capsule(self, max_version)

    def __dlpack_device__(self):
        return _dlpack.device_of(self)

    def __reduce__(self):
        return _restore, (self.numpy(), self.dtype.name, self.device.name)


def _restore(values, dtype, device):
    return array(values, dtype=dtype, device=device)


_types = {}


def type_of(dtype, shape, device):
    """What caches know an array by: one object for each element type, shape and device."""
    kind = (dtype.number, shape, device.name)
    return _types.setdefault(kind, kind)


_devices = {}


def _known(name):
    """The Device of a full name that the library gave."""
    if name not in _devices:
        _devices[name] = Device(name.decode())
    return _devices[name]


def _target(wanted):
    """Where an array is made: asked for here, or the configured place, or the host."""
    asked = request(wanted)
    if asked is None:
        asked = as_device(_runtime.settings.default_device or "CPU:0")
    return resolve(asked)


def as_numpy(values, dtype=None):
    """Values as a contiguous NumPy array: floats are f32 and ints i32 unless they say otherwise themselves."""
    if isinstance(values, Array):
        values = values.numpy()
    plain = not hasattr(values, "dtype")
    made = np.asarray(values)
    if dtype is not None:
        kind = as_dtype(dtype)
        if plain and not kind.is_floating and kind is not bool_:
            _check_range(made, kind)
        return np.ascontiguousarray(_converted(made, kind)).reshape(made.shape), kind
    if plain and made.dtype == np.float64:
        made = made.astype(np.float32)
    elif plain and made.dtype == np.int64:
        if made.size and (made.max() > 2**31 - 1 or made.min() < -2**31):
            raise InvalidArgumentError("the values do not fit int32; give dtype='int64'")
        made = made.astype(np.int32)
    try:
        kind = as_dtype(made.dtype)
    except TypeError:
        raise InvalidArgumentError(f"an array of NumPy's {made.dtype} has no counterpart here") from None
    return np.ascontiguousarray(made).reshape(made.shape), kind


def _check_range(values, kind):
    """Whether integers of that type can hold what a program wrote down."""
    limits = np.iinfo(kind.numpy)
    if values.size and values.dtype.kind in "fiu" and not (limits.min <= values.min() and values.max() <= limits.max):
        raise InvalidArgumentError(f"the values do not fit {kind}, which goes from {limits.min} to {limits.max}")


def _converted(values, kind):
    """Values in the type that NumPy has for `kind`. Where that has no bfloat16, the bits as uint16, rounded to
    nearest, ties to even; what is uint16 are such bits already."""
    if kind is not bfloat16 or kind.numpy != np.uint16 or values.dtype == np.uint16:
        return values.astype(kind.numpy, copy=False)
    values = np.asarray(values, np.float32)
    bits = np.frombuffer(values.tobytes(), np.uint32).reshape(values.shape)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), bits >> 16 | 0x40, rounded).astype(np.uint16)


def fit_number(value, kind):
    """A number, or a list of them, that takes the type of the array it meets; refused where that cannot hold it, for
    types are never changed silently."""
    made = np.asarray(value)
    if kind.is_floating and made.dtype.kind in "fiub":
        return value
    if kind is bool_ and made.dtype.kind == "b":
        return value
    if not kind.is_floating and kind is not bool_ and made.dtype.kind in "fiub":
        limits = np.iinfo(kind.numpy)
        if made.size == 0 or (np.all(made == np.floor(made)) if made.dtype.kind == "f" else True) \
                and limits.min <= made.min() and made.max() <= limits.max:
            return value
    raise InvalidArgumentError(f"{value!r} is no {kind}, which the array is of; x.astype(...) gives one of another type")


def dims_of(shape):
    return (ctypes.c_int64 * max(1, len(shape)))(*shape)


def array(values, dtype=None, device=None):
    """A new array of values: numbers, nested lists, NumPy arrays, Arrays.

    Python's floats become float32 and its ints int32 unless `dtype` says otherwise; arrays keep their type. Made
    on `device`, else where the scope says, else on the host.
    """
    made, kind = as_numpy(values, dtype)
    target, runtime, handle = _target(device), _runtime.current(), ctypes.c_void_p()
    _library.check(runtime.library.gantry_array_from_host(
        runtime.handle, target.encoded, made.ctypes.data, kind.number, dims_of(made.shape), made.ndim,
        ctypes.byref(handle)))
    return Array._wrap(handle.value, made.shape, kind, target)


def borrow(values):
    """An Array over a NumPy array's own memory, for the time of a call: it keeps the NumPy array."""
    made, kind = as_numpy(values)
    runtime, handle = _runtime.current(), ctypes.c_void_p()
    _library.check(runtime.library.gantry_array_from_pointer(
        runtime.handle, None, made.ctypes.data, kind.number, dims_of(made.shape), made.ndim, _NO_RELEASE, None,
        ctypes.byref(handle)))
    return Array._wrap(handle.value, made.shape, kind, _known(b"/job:localhost/replica:0/task:0/device:CPU:0"), made)


_NO_RELEASE = _c.gantry_release_t()


def from_dlpack(other):
    """An array over the memory of another library's array, which is shared and kept."""
    handle = _dlpack.take(_runtime.current(), other)
    return Array._adopt(handle.value)


def full(shape, value, dtype=None, device=None):
    """An array that holds one value everywhere."""
    kind = as_dtype(dtype if dtype is not None else type(value))
    return array(np.full(shape, value, kind.numpy), dtype=kind, device=device)


def _shape(shape):
    """A shape given as numbers or as one tuple."""
    return shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape


def ones(*shape, dtype="float32", device=None):
    return full(_shape(shape), 1, dtype, device)


def zeros(*shape, dtype="float32", device=None):
    return full(_shape(shape), 0, dtype, device)


def arange(start, stop=None, step=1, dtype=None, device=None):
    """Evenly spaced values from `start` up to `stop`, which is left out."""
    values = np.arange(start, step=step) if stop is None else np.arange(start, stop, step)
    if dtype is None:
        dtype = "float32" if values.dtype.kind == "f" else "int32"
    return array(values, dtype=dtype, device=device)
