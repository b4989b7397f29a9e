// The protocol-buffer wire format, as far as ONNX uses it.
//
// A message is a sequence of fields, each a key (number and wire type) and a value: a varint, 4 or
// 8 bytes, or a length and that many bytes. The rules kept here are the format's own: unknown
// fields are skipped by who reads, a singular field given twice keeps the last value, numbers of a
// repeated field come one by one or packed. Nothing is read outside the enclosing message, nesting
// is limited, and strings are views into the bytes that are decoded.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gantry::protobuf {

enum class Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// What all readers of one decoding share.
struct Decoding {
  const char *begin = nullptr;
  std::string error; ///< the first, with the byte where it was found
};

/// One field of a message: its number and its value in whichever form it came.
struct Field {
  uint32_t number = 0;
  Wire wire = Wire::Varint;
  uint64_t bits = 0;      ///< Varint, Fixed64, Fixed32
  std::string_view bytes; ///< Bytes
};

/// Walks the fields of one message. After an error it is at its end, as are all others of the
/// decoding.
class Reader {
public:
  Reader(Decoding &decoding, std::string_view message, int depth = 0);

  /// Fetches the next field; false at the end and after an error.
  bool next(Field &field);
  bool failed() const { return !decoding.error.empty(); }

  Reader inside(const Field &field);
  std::string_view string(const Field &field);
  int64_t integer(const Field &field);
  float number(const Field &field);

  /// Adds the numbers of a repeated field, packed or not.
  template <typename T>
  void numbers(const Field &field, std::vector<T> &into) {
    if (field.wire != Wire::Bytes) {
      expect(field, wireOf<T>(), "numbers");
      into.push_back(convert<T>(field.bits));
      return;
    }
    Reader packed(decoding, field.bytes, depth + 1);
    into.reserve(into.size() + field.bytes.size() / (std::is_floating_point_v<T> ? sizeof(T) : 8));
    while (packed.at != packed.end && !failed())
      into.push_back(convert<T>(packed.value(wireOf<T>())));
  }

private:
  template <typename T>
  static constexpr Wire wireOf() {
    if constexpr (!std::is_floating_point_v<T>)
      return Wire::Varint;
    else
      return sizeof(T) == 4 ? Wire::Fixed32 : Wire::Fixed64;
  }

  template <typename T>
  static T convert(uint64_t bits) {
    if constexpr (!std::is_floating_point_v<T>)
      return T(bits);
    T number;
    std::memcpy(&number, &bits, sizeof number); // little-endian: the low bytes come first
    return number;
  }

  void fail(const std::string &what);
  void expect(const Field &field, Wire wire, const char *what);
  uint64_t value(Wire wire);
  uint64_t varint();
  uint64_t fixed(size_t size);
  std::string_view lengthDelimited();

  Decoding &decoding;
  const char *at, *end;
  int depth;
};

} // namespace gantry::protobuf
