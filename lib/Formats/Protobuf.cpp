#include "gantry/Formats/Protobuf.h"

using namespace gantry::protobuf;

/// Graphs inside attributes of nodes inside graphs: deeper files are refused, not followed.
static constexpr int kMaxDepth = 64;

Reader::Reader(Decoding &decoding, std::string_view message, int depth)
    : decoding(decoding), at(message.data()), end(message.data() + message.size()), depth(depth) {
  if (depth > kMaxDepth)
    fail("messages are nested more than " + std::to_string(kMaxDepth) + " deep");
}

void Reader::fail(const std::string &what) {
  if (!failed())
    decoding.error = what + " (at byte " + std::to_string(at - decoding.begin) + ")";
  at = end;
}

void Reader::expect(const Field &field, Wire wire, const char *what) {
  if (field.wire != wire)
    fail("field " + std::to_string(field.number) + " must be " + what);
}

bool Reader::next(Field &field) {
  if (at == end || failed())
    return false;
  const uint64_t key = varint();
  field = {uint32_t(key >> 3), Wire(key & 7), 0, {}};
  switch (field.wire) {
  case Wire::Varint:
  case Wire::Fixed64:
  case Wire::Fixed32:
    field.bits = value(field.wire);
    break;
  case Wire::Bytes:
    field.bytes = lengthDelimited();
    break;
  default:
    fail("wire type " + std::to_string(key & 7) + " is not used by ONNX");
  }
  if (!failed() && (key >> 3 == 0 || key >> 3 > 0x1fffffff))
    fail("field number " + std::to_string(key >> 3) + " does not exist");
  return !failed();
}

Reader Reader::inside(const Field &field) {
  expect(field, Wire::Bytes, "a message");
  return Reader(decoding, field.bytes, depth + 1);
}

std::string_view Reader::string(const Field &field) {
  expect(field, Wire::Bytes, "bytes");
  return field.bytes;
}

int64_t Reader::integer(const Field &field) {
  expect(field, Wire::Varint, "an integer");
  return int64_t(field.bits);
}

float Reader::number(const Field &field) {
  expect(field, Wire::Fixed32, "a floating-point number");
  return convert<float>(field.bits);
}

uint64_t Reader::value(Wire wire) {
  if (wire == Wire::Varint)
    return varint();
  return fixed(wire == Wire::Fixed64 ? 8 : 4);
}

uint64_t Reader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at == end) {
      fail("the message ends inside a number");
      return 0;
    }
    const auto byte = uint8_t(*at++);
    value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return value;
  }
  fail("a number is longer than 10 bytes");
  return 0;
}

uint64_t Reader::fixed(size_t size) {
  if (size_t(end - at) < size) {
    fail("the message ends inside a number");
    return 0;
  }
  uint64_t value = 0;
  std::memcpy(&value, at, size);
  at += size;
  return value;
}

std::string_view Reader::lengthDelimited() {
  const uint64_t length = varint();
  if (failed())
    return {};
  if (length > uint64_t(end - at)) {
    fail("a field of " + std::to_string(length) + " bytes reaches beyond its message");
    return {};
  }
  const std::string_view bytes(at, length);
  at += length;
  return bytes;
}
