// Files of named tensors, .safetensors: the length of a header, the header, which is JSON, and the
// tensors' bytes one after the other. Read where the file is mapped.
// https://huggingface.co/docs/safetensors
#pragma once

#include "gantry/Formats/Array.h"
#include "gantry/Support/File.h"

#include <map>
#include <utility>

namespace gantry::arrays {

/// What a file says besides its tensors: texts by name.
using Metadata = std::map<std::string, std::string>;

/// Most bytes of a header: the format's own limit.
inline constexpr uint64_t maxSafetensorsHeader = 100'000'000;

/// The tensors of a file, over its bytes: neither is copied.
class Safetensors {
public:
  struct Tensor {
    std::string name;
    ElementType element = ElementType::f32;
    std::vector<int64_t> shape;
    ByteSpan bytes; ///< at any address: the format aligns nothing

    ArrayView view() const { return {element, shape, bytes.data()}; }
    std::string type() const { return tensorTypeName(element, shape); }
  };

  /// Reads the header, and checks that the tensors' bytes lie one behind the other up to the end of
  /// the file, each as long as its type says, and that booleans are 0 or 1. `file` names it in
  /// messages. Errors: CORRUPT, which says what and of which tensor, UNSUPPORTED (the type is
  /// listed).
  static Expected<Safetensors> parse(ByteSpan bytes, std::string_view file);

  /// In the order of the header.
  std::span<const Tensor> tensors() const { return all; }
  const Metadata &metadata() const { return texts; }

private:
  std::vector<Tensor> all;
  Metadata texts;
};

/// A file that is mapped, with its tensors.
class SafetensorsFile {
public:
  /// Errors: those of MappedFile::open and Safetensors::parse.
  static Expected<SafetensorsFile> open(const std::string &path);

  const Safetensors &content() const { return parsed; }

private:
  SafetensorsFile(MappedFile file, Safetensors parsed)
      : file(std::move(file)), parsed(std::move(parsed)) {}
  MappedFile file;
  Safetensors parsed;
};

/// Writes a file tensor by tensor, so that they need not be in memory together: the file under its
/// name is the old one or all of the new one, and of what `commit` reported as written a loss of
/// power takes nothing. The same tensors give the same bytes.
class SafetensorsWriter {
public:
  struct Entry {
    std::string name;
    ElementType element = ElementType::f32;
    std::vector<int64_t> shape;
  };

  /// Makes the file with its header. Errors: INVALID_ARGUMENT (a name that is given twice, is
  /// "__metadata__" or is not UTF-8; a shape; what AtomicFile::create says).
  static Expected<SafetensorsWriter> create(const std::string &path, std::vector<Entry> entries,
                                            const Metadata &metadata);

  /// In which order the bytes are wanted: indices of `entries`. Wide elements come first, so that
  /// all are aligned to their size, then it goes by name.
  std::span<const size_t> order() const { return sequence; }

  /// The bytes of the next tensor.
  Status write(ByteSpan bytes) { return file.write(bytes); }
  /// Call once, last.
  Status commit() { return file.commitDurably(); }

private:
  SafetensorsWriter(AtomicFile file, std::vector<size_t> sequence)
      : file(std::move(file)), sequence(std::move(sequence)) {}
  AtomicFile file;
  std::vector<size_t> sequence;
};

/// All of it in one call.
Status writeSafetensors(const std::string &path,
                        std::span<const std::pair<std::string, ArrayView>> arrays,
                        const Metadata &metadata = {});

/// Metadata as a JSON object of texts, which is how it stands in headers; an empty text is none.
/// Errors: INVALID_ARGUMENT.
Expected<Metadata> parseMetadata(std::string_view json);
std::string metadataText(const Metadata &metadata);

/// Other names for the tensors of a file; none: left out.
using TensorNames = std::map<std::string, std::optional<std::string>>;

/// The same as a JSON object, {"fc.weight": "dense/weight", "fc.bias": null}; an empty text is
/// none. Errors: INVALID_ARGUMENT.
Expected<TensorNames> parseTensorNames(std::string_view json);

} // namespace gantry::arrays
