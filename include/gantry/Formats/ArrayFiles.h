// Arrays in files: NumPy's .npy and ONNX's TensorProto (.npz: Archive.h).
//
// All parsers work on bytes in memory, check every size against them before anything is allocated,
// and may be given hostile files.
#pragma once

#include "gantry/Formats/Array.h"
#include "gantry/Support/File.h"

namespace gantry::arrays {

/// Reads one array of a NumPy file: versions 1 to 3, either byte order, either memory order.
/// Types: ?, i1..i8, u1..u8, f2, f4, f8, and V2 (bfloat16 of ml_dtypes).
/// `file` names it in messages. Errors: CORRUPT, UNSUPPORTED (the type is listed), DOES_NOT_FIT.
Expected<Array> parseNpy(ByteSpan bytes, std::string_view file);
/// Header of a version 1.0 file; the array's bytes follow it. bf16 is written as uint16.
std::string npyHeader(ElementType element, std::span<const int64_t> shape);

/// Reads an ONNX TensorProto, the form of ONNX's test data (`input_0.pb`); its name may be empty.
Expected<NamedArray> parseTensorProto(ByteSpan bytes, std::string_view file);

/// Reads one array of either format, told by the content, else by the ending of `path`; that of a
/// .npy file has no name.
Expected<NamedArray> parseArray(ByteSpan bytes, const std::string &path);

/// Why a system call failed, in the lower case of our messages.
std::string systemReason(int error);

/// A file's bytes: mapped where that is possible, else read. "-" is standard input.
class FileBytes {
public:
  /// Of pipes, sockets and terminals at most `mostOfStream` bytes: some of them never end. Errors:
  /// NOT_FOUND, INVALID_ARGUMENT (a folder, another device, no permission), DOES_NOT_FIT.
  static Expected<FileBytes> open(const std::string &path,
                                  uint64_t mostOfStream = quarterOfMemory());
  ByteSpan bytes() const { return mapped ? mapped->bytes() : owned.bytes().first(used); }

private:
  static uint64_t quarterOfMemory();
  Status readStream(int descriptor, const std::string &path, uint64_t most);
  std::optional<MappedFile> mapped;
  AlignedBuffer owned;
  size_t used = 0;
};

/// Writes the parts one after the other into `path`, all or nothing; "-" is standard output.
Status writeFile(const std::string &path, std::span<const ByteSpan> parts);

/// As parseArray, of a whole file. "-" reads standard input.
Expected<NamedArray> readArray(const std::string &path);
/// Writes one array as .npy ("-": standard output), or not at all: a failure leaves no file behind.
Status writeNpy(const std::string &path, const ArrayView &array);

} // namespace gantry::arrays
