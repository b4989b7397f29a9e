"""DLPack's capsules: a pointer with a name, which says whether somebody has taken it over."""

import ctypes

from . import _library
from .errors import InvalidArgumentError, UnsupportedError

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

# Names are compared by content, but must live as long as the capsule.
_NAMES = (b"dltensor", b"dltensor_versioned")
_USED = (b"used_dltensor", b"used_dltensor_versioned")
# Where the deleter stands: DLManagedTensor, after the tensor's 48 bytes and the context; DLManagedTensorVersioned,
# after the version and the context.
_DELETER_OFFSETS = (56, 16)
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _delete(capsule):
    """A capsule that nobody took over gives its tensor back."""
    for name, offset in zip(_NAMES, _DELETER_OFFSETS):
        if _api.PyCapsule_IsValid(capsule, name):
            managed = _api.PyCapsule_GetPointer(capsule, name)
            deleter = ctypes.c_void_p.from_address(managed + offset).value
            if deleter:
                _DELETER(deleter)(managed)


_DELETE = ctypes.cast(_delete, ctypes.c_void_p)


def capsule(array, max_version=None):
    versioned = max_version is not None and max_version[0] >= 1
    managed = ctypes.c_void_p()
    try:
        _library.check(_library.runtime().gantry_array_to_dlpack(array._handle, versioned, ctypes.byref(managed)))
    except UnsupportedError as error:
        raise BufferError(f"{error}, with .numpy() or .cpu()") from None
    return _api.PyCapsule_New(managed, _NAMES[versioned], _DELETE)


def device_of(array):
    kind, number = ctypes.c_int32(), ctypes.c_int32()
    try:
        _library.check(_library.runtime().gantry_array_dlpack_device(array._handle, ctypes.byref(kind),
                                                                     ctypes.byref(number)))
    except UnsupportedError as error:
        raise BufferError(f"{error}, with .numpy() or .cpu()") from None
    return kind.value, number.value


def take(runtime, other):
    """A handle for an array over another library's memory."""
    if not hasattr(other, "__dlpack__"):
        raise InvalidArgumentError(f"{type(other).__name__} has no __dlpack__; gantry.array(x) copies NumPy's values")
    try:
        given = other.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer from before version 1
        given = other.__dlpack__()
    versioned = bool(_api.PyCapsule_IsValid(id(given), _NAMES[1]))
    if not versioned and not _api.PyCapsule_IsValid(id(given), _NAMES[0]):
        raise InvalidArgumentError("the DLPack capsule has been taken over already")
    managed = _api.PyCapsule_GetPointer(id(given), _NAMES[versioned])
    handle = ctypes.c_void_p()
    _library.check(runtime.library.gantry_array_from_dlpack(runtime.handle, managed, versioned, ctypes.byref(handle)))
    _api.PyCapsule_SetName(given, _USED[versioned])
    return handle
