"""Arrays that live on devices.

An Array's contents do not change by anything that Gantry does with it. `to` gives the array itself when it
is on the device already; `copy_to` and `clone` never do. Operators are ops: they run where ops run.
"""

import ctypes

import numpy as np

from . import _c, _dlpack, _library, _notebook, _runtime
from ._operators import Operators, Shaped, fixed
from .compat import _names
from .device import Device, device as as_device, request, resolve
from .dtypes import BY_NUMBER, as_dtype, bfloat16, bool_, float32, int32
from .errors import FailedPreconditionError, InvalidArgumentError


class Kept:
    """What functions take as it is, and are traced for anew: variables and networks."""

    __slots__ = ()


class Reads(Kept):
    """What stands for a value that `read` gives: a variable."""

    __slots__ = ()


class GivenTo(str):
    """Who was given an array, in words."""

    __slots__ = ()


class Array(Shaped, Operators):
    """Typed memory on a device: `shape`, `dtype`, `device`, `nbytes`."""

    __slots__ = ("_handle", "_type", "_shape", "_dtype", "_device", "_kept", "__weakref__")
    __array_priority__ = 100  # NumPy's operators leave mixed expressions to us

    def __init__(self, *_):
        raise TypeError("use gantry.array(values, dtype=..., device=...) to make an Array")

    @classmethod
    def _wrap(cls, handle, shape, dtype, device, kept=None, kind=None):
        """Takes a handle of the C API over, a number, with what is known of it."""
        self = object.__new__(cls)
        self._handle, self._shape, self._dtype, self._device, self._kept = handle, shape, dtype, device, kept
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
            instead = None if name.startswith("__") else _names.why(_names.ARRAY, name)
            raise AttributeError(f"an Array has no attribute '{name}'" + (f": {instead}" if instead else ""))
        raise FailedPreconditionError(f"this array, {self.dtype}{list(self.shape)} on {self.device!r}, was given away to "
                                      f"{self._kept}; use what came of it, or a clone() made before")

    @property
    def is_deleted(self):
        """Whether it was given away (`donate`): nothing can be done with it any more."""
        return isinstance(self._kept, GivenTo)

    # ---- looking ----

    shape, dtype, device = fixed("shape", "reshape"), fixed("dtype", "astype"), fixed("device", "to")

    def _show_there(self, what):
        """Refuses what copies an array to the host and does not say so."""
        if _runtime.settings.copies == "explicit" and self.device.type != "CPU":
            raise InvalidArgumentError(f"{what} copies {self.dtype}{list(self.shape)} from {self.device!r} to the host, and copies "
                                       "are explicit; say x.numpy() or x.cpu()")

    def __repr__(self):
        if self.is_deleted:
            return f"Array(given away to {self._kept}, dtype={self.dtype}, device={self.device!r})"
        self._show_there("print")
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
        self._show_there("NumPy")
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
    """Values as a contiguous NumPy array, and their type: floats are f32 and ints i32 unless they say otherwise
    themselves."""
    kind = as_dtype(dtype) if dtype is not None else None
    if isinstance(values, Reads):
        values = values.read()
    if isinstance(values, Array):
        kind = kind or values.dtype
        values = values.numpy() if kind is values.dtype else values._shown()
    plain, made = not hasattr(values, "dtype"), np.asarray(values)
    if kind is None:
        kind = _kind_of(made, plain)
    elif made.dtype.kind not in "biuf" and made.dtype != kind.numpy:
        raise _no_counterpart(made)
    if plain and not kind.is_floating and kind is not bool_ and not _holds(kind, made):
        raise _misfit(kind)
    return np.ascontiguousarray(_converted(made, kind)).reshape(made.shape), kind


def _kind_of(values, plain):
    """The type that values have here which come with none, or with NumPy's."""
    if plain and values.dtype == np.float64:
        return float32
    if plain and values.dtype.kind in "iu":
        if not _holds(int32, values):
            raise InvalidArgumentError(f"the values do not fit int32; give dtype='{values.dtype}'")
        return int32
    try:
        return as_dtype(values.dtype)
    except TypeError:
        raise _no_counterpart(values) from None


def _no_counterpart(values):
    return InvalidArgumentError(f"an array of NumPy's {values.dtype} has no counterpart here")


def _misfit(kind):
    limits = np.iinfo(kind.numpy)
    return InvalidArgumentError(f"the values do not fit {kind}, which goes from {limits.min} to {limits.max}")


def _holds(kind, values):
    """Whether integers of that type can hold numbers, but for their fractions. In Python's integers, since the limits of
    64 bits are no floats."""
    limits = np.iinfo(kind.numpy)
    return not values.size or bool(np.isfinite(values).all()) and \
        limits.min <= int(values.min()) and int(values.max()) <= limits.max


def _converted(values, kind):
    """Values in the type that NumPy has for `kind`. Where that has no bfloat16, the bits as uint16, rounded to
    nearest, ties to even; what is uint16 are such bits already."""
    if kind is not bfloat16 or kind.numpy != np.uint16 or values.dtype == np.uint16:
        return values.astype(kind.numpy, copy=False)
    values = np.asarray(values, np.float32)
    bits = np.frombuffer(values.tobytes(), np.uint32).reshape(values.shape)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), bits >> 16 | 0x40, rounded).astype(np.uint16)


def fits(value, kind):
    """Whether the type can hold a number, or each of several: nothing is lost but the last bits of floats."""
    made = np.asarray(value)
    if kind.is_floating or kind is bool_:
        return made.dtype.kind in ("fiub" if kind.is_floating else "b")
    return made.dtype.kind in "fiub" and _holds(kind, made) and (made.dtype.kind != "f" or bool((made == np.floor(made)).all()))


def fit_number(value, kind):
    """A number, or a list of them, that takes the type of the array it meets; refused where that cannot hold it, for
    types are never changed silently."""
    if fits(value, kind):
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


def tensor(values, dtype=None, device=None):
    """The same, but for an Array: where that is, unless a device is asked for."""
    return array(values, dtype, values.device if device is None and isinstance(values, Array) else device)


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
    """An array that holds one value everywhere: a number that the type can hold."""
    one, kind = as_numpy(value, dtype)
    if kind is not bool_ and not hasattr(value, "dtype") and not fits(value, kind):
        raise InvalidArgumentError(f"{value!r} is no {kind}; give another value or dtype")
    if one.shape:
        raise InvalidArgumentError(f"full takes one value, got {one.size} in the shape {list(one.shape)}")
    return array(np.full(shape, one, one.dtype), dtype=kind, device=device)


def _shape(shape):
    """A shape given as numbers or as one tuple."""
    return shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape


def ones(*shape, dtype="float32", device=None):
    return full(_shape(shape), 1, dtype, device)


def zeros(*shape, dtype="float32", device=None):
    return full(_shape(shape), 0, dtype, device)


def arange(start, stop=None, step=1, dtype=None, device=None):
    """Evenly spaced values from `start` up to `stop`, which is left out: int32 or float32 unless `dtype` says otherwise,
    which has to hold them."""
    values = np.arange(start, step=step) if stop is None else np.arange(start, stop, step)
    kind = as_dtype(dtype) if dtype is not None else _kind_of(values, plain=True)
    if not kind.is_floating and not _holds(kind, values):
        raise _misfit(kind)
    return array(values, dtype=kind, device=device)
