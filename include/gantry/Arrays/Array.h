// Arrays in memory and in files: what the tools read, print, compare and write.
//
// An array is row-major, contiguous and little-endian; readers bring every file into that form.
// All parsers work on bytes in memory, check every size against them before anything is allocated,
// and may be given hostile files.
#pragma once

#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/ElementType.h"
#include "gantry/Support/File.h"
#include "gantry/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::arrays {

using ByteSpan = std::span<const uint8_t>;

/// Most dimensions of an array in a file: NumPy 1's own limit.
inline constexpr size_t maxRank = 32;

bool isFloat(ElementType element);
bool isSigned(ElementType element);

/// `f32[2,3]`; a scalar is `f32[]`.
std::string typeName(ElementType element, std::span<const int64_t> shape);

/// Elements of a shape; none when a dimension is negative or an array of it would be over 2^62
/// bytes.
std::optional<uint64_t> elementCount(std::span<const int64_t> shape);

/// An array that someone else owns.
struct ArrayView {
  ElementType element = ElementType::f32;
  std::span<const int64_t> shape;
  const uint8_t *data = nullptr;

  uint64_t count() const { return elementCount(shape).value_or(0); }
  uint64_t size() const { return count() * elementTypeSize(element); }
};

struct Array {
  ElementType element = ElementType::f32;
  std::vector<int64_t> shape;
  AlignedBuffer bytes;

  /// An uninitialised array. Errors: INVALID_ARGUMENT (shape), DOES_NOT_FIT (memory).
  static Expected<Array> make(ElementType element, std::vector<int64_t> shape);
  ArrayView view() const { return {element, shape, bytes.data()}; }
  std::string type() const { return typeName(element, shape); }
};

struct NamedArray {
  std::string name;
  Array array;
};

/// ElementType `index` as a double: exact but for 64-bit integers beyond 2^53.
double valueAt(const ArrayView &array, uint64_t index);
/// ElementType `index` of an integer or i1 array.
int64_t integerAt(const ArrayView &array, uint64_t index);
/// Stores `value`, rounded to nearest even for floats and truncated and wrapped for integers.
void storeFloat(ElementType element, uint8_t *to, double value);
void storeInteger(ElementType element, uint8_t *to, int64_t value);

/// Makes every element of an i1 array 0 or 1, which kernels rely on; other arrays are left alone.
void normaliseBooleans(Array &array);

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloatToFloat(uint16_t bits);
uint16_t floatToBfloat(float value);

/// Reads one array of a NumPy file: versions 1 to 3, either byte order, either memory order.
/// Types: ?, i1..i8, u1..u8, f2, f4, f8, and V2 (bfloat16 of ml_dtypes).
/// `file` names it in messages. Errors: CORRUPT, UNSUPPORTED (the type is listed), DOES_NOT_FIT.
Expected<Array> parseNpy(ByteSpan bytes, std::string_view file);
/// Header of a version 1.0 file; the array's bytes follow it. bf16 is written as uint16.
std::string npyHeader(ElementType element, std::span<const int64_t> shape);

/// Reads every array of a NumPy archive (np.savez, np.savez_compressed), names without ".npy".
Expected<std::vector<NamedArray>> parseNpz(ByteSpan bytes, std::string_view file);
Status writeNpz(const std::string &path, std::span<const std::pair<std::string, ArrayView>> arrays);

/// Reads an ONNX TensorProto, the form of ONNX's test data (`input_0.pb`); its name may be empty.
Expected<NamedArray> parseTensorProto(ByteSpan bytes, std::string_view file);

/// Why a system call failed, in the lower case of our messages.
std::string systemReason(int error);

/// A file's bytes: mapped where that is possible, else read. "-" is standard input.
class FileBytes {
public:
  /// Errors: NOT_FOUND, INVALID_ARGUMENT (a folder, no permission), DOES_NOT_FIT.
  static Expected<FileBytes> open(const std::string &path);
  ByteSpan bytes() const { return mapped ? mapped->bytes() : owned.bytes().first(used); }

private:
  Status readStream(int descriptor, const std::string &path);
  std::optional<MappedFile> mapped;
  AlignedBuffer owned;
  size_t used = 0;
};

/// Writes the parts one after the other into `path`, all or nothing; "-" is standard output.
Status writeFile(const std::string &path, std::span<const ByteSpan> parts);

/// Reads the arrays of a file, whose format is told by its content: .npy, .npz, else a TensorProto.
/// An .npy file gives one array without a name. "-" reads standard input.
Expected<std::vector<NamedArray>> readArrays(const std::string &path);
/// Writes one array as .npy ("-": standard output), or not at all: a failure leaves no file behind.
Status writeNpy(const std::string &path, const ArrayView &array);

} // namespace gantry::arrays
