"""Files with a few numbers exchanged for those where programs break: the ends of types, 0, primes, what is no number.

Everything is drawn from a random.Random, so that a case is a function of its seed.
"""

import re

EDGES = [0, 1, 2, 3, 7, 13, 127, 128, 255, 256, 1000, 65535, 65536, 65537]
EDGES += [2 ** power + near for power in (31, 32, 33, 46, 47, 53, 61, 62, 63, 64) for near in (-1, 0, 1)]
EDGES += [-1, -2, -3, -128, -2 ** 31, -2 ** 31 - 1, -2 ** 32, -2 ** 62, -2 ** 63 + 1, -2 ** 63, -2 ** 63 - 1, 10 ** 30]
# As text a number can be more.
WORDS = [*map(str, EDGES), "-0", "+1", "00", "0x10", "1e3", "1e30", "1e308", "1e400", "-1e400", "1e-320", "1e-400", "0.5",
         "-0.0", "1.", ".5", "nan", "inf", "-inf", "NaN", "1_000", "1,000", "٣", "9" * 400, "", " 1", "1 "]
UNITS = ["", "B", "KiB", "MiB", "GiB", "TiB", "TB", "PiB"]

NUMBER = re.compile(r"(?<![\w.%@#])-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|(?<=x)\d+|(?<=<)\d+")


def edge(draw):
    """An integer, mostly one of the ends."""
    return draw.choice(EDGES) if draw.random() < 0.8 else draw.randrange(-2 ** 64, 2 ** 64) >> draw.randrange(64)


def word(draw):
    """A number as text, mostly a valid one."""
    return draw.choice(WORDS) if draw.random() < 0.5 else str(edge(draw))


def in_text(draw, text, replacement=word):
    """The text with one to three of its numbers exchanged."""
    places = list(NUMBER.finditer(text))
    chosen = sorted(draw.sample(places, min(len(places), draw.choice((1, 1, 2, 3)))), key=lambda place: -place.start())
    for place in chosen:
        text = text[:place.start()] + replacement(draw) + text[place.end():]
    return text


# ---- protocol buffers --------------------------------------------------------------------------------------------

def varint(value):
    value, out = value % 2 ** 64, bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("a varint of more than ten bytes")


def fields_of(data):
    """[number, wire type, value] of a message; None when the bytes are none."""
    fields, at = [], 0
    try:
        while at < len(data):
            key, at = read_varint(data, at)
            number, wire = key >> 3, key & 7
            if number == 0 or wire not in (0, 1, 2, 5):
                return None
            if wire == 0:
                value, at = read_varint(data, at)
            else:
                size, at = (8, at) if wire == 1 else (4, at) if wire == 5 else read_varint(data, at)
                value, at = data[at:at + size], at + size
                if at > len(data):
                    return None
            fields.append([number, wire, value])
    except (IndexError, ValueError):
        return None
    return fields


def decode(data):
    """The message as a tree; byte strings that are messages themselves become lists."""
    fields = fields_of(data)
    for field in fields or []:
        if field[1] == 2 and any(byte < 32 for byte in field[2]):  # no name
            field[2] = decode(field[2]) or field[2]
    return fields


def encode(fields):
    out = bytearray()
    for number, wire, value in fields:
        out += varint(number << 3 | wire)
        if wire == 0:
            out += varint(value)
        else:
            value = encode(value) if isinstance(value, list) else value
            out += (varint(len(value)) if wire == 2 else b"") + value
    return bytes(out)


def numbers_in(fields):
    for field in fields:
        if field[1] != 2:
            yield field
        elif isinstance(field[2], list):
            yield from numbers_in(field[2])
        elif field[2] and not field[2].isascii():
            yield field  # raw elements, or packed numbers


def in_protobuf(draw, data):
    """The bytes of a message with one to three of its numbers exchanged, in messages inside it, too."""
    fields = decode(data)
    places = list(numbers_in(fields)) if fields else []
    for field in draw.sample(places, min(len(places), draw.choice((1, 1, 1, 2, 3)))):
        if field[1] == 0:
            field[2] = edge(draw)
        elif field[1] == 2:
            at = draw.randrange(max(1, len(field[2]) - 7))
            field[2] = (field[2][:at] + (edge(draw) % 2 ** 64).to_bytes(8, "little") + field[2][at + 8:])[:len(field[2])]
        else:
            field[2] = bytes(draw.randrange(256) for _ in field[2])
    return encode(fields) if fields else data


def in_bytes(draw, data):
    """The bytes with one to three of them changed, or an end cut off."""
    data = bytearray(data)
    for _ in range(draw.choice((1, 2, 3))):
        if data:
            data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data[:draw.randrange(len(data) + 1)] if draw.random() < 0.1 else data)
