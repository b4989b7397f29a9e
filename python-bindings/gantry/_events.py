"""Event files of TensorBoard: records of TensorFlow's TFRecord format (length, masked CRC-32C of the length, bytes, masked CRC-32C of
the bytes) with messages of tensorflow/core/util/event.proto, of which scalars are written alone.
"""

import struct


def _table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)  # Castagnoli's polynomial, bits reversed
        yield value


_CRC = tuple(_table())


def crc32c(data):
    """The CRC-32C of bytes (RFC 3720, B.4)."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _CRC[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def _masked(data):
    value = crc32c(data)
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data):
    """A record of a message."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _varint(value):
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(made) + bytes([value])


def _bytes(field, data):
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _event(wall_time):
    return b"\x09" + struct.pack("<d", wall_time)  # field 1, a double


def version(wall_time):
    """The Event that a file begins with."""
    return _event(wall_time) + _bytes(3, b"brain.Event:2")


def scalars(wall_time, step, values):
    """An Event with a Summary of numbers by tag."""
    summary = b"".join(_bytes(1, _bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", value)) for tag, value in values.items())
    return _event(wall_time) + b"\x10" + _varint(step) + _bytes(5, summary)
