// Zip archives as NumPy writes them: entries stored or deflated, sizes of 64 bits where 32 do not
// hold them. What is read is trusted in nothing: offsets and sizes are held against the bytes that
// there are, checksums against the content.
#pragma once

#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Status.h"

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::arrays {

/// A file in an archive; `packed` lies in the archive's bytes.
struct ZipEntry {
  std::string name;
  std::span<const uint8_t> packed;
  uint64_t size = 0; ///< unpacked
  uint32_t checksum = 0;
  bool isDeflated = false;
};

/// The archive's entries in the order of its directory; together they take no more bytes than there
/// are. `file` names the archive in messages. Errors: CORRUPT, UNSUPPORTED (encrypted, packed by
/// other methods).
Expected<std::vector<ZipEntry>> readZip(std::span<const uint8_t> archive, std::string_view file);

/// The content of an entry of the archive `file`. Errors: CORRUPT, DOES_NOT_FIT.
Expected<AlignedBuffer> unpack(const ZipEntry &entry, std::string_view file);

/// An archive of stored entries as parts to write one after the other. The same entries give the
/// same bytes.
class ZipParts {
public:
  /// The content is what `pieces` point to, which has to outlive this object.
  void add(const std::string &name, std::span<const std::span<const uint8_t>> pieces);
  /// The whole archive; call once, last. The parts live as long as this object.
  std::span<const std::span<const uint8_t>> finish();

private:
  void append(std::string record);
  std::deque<std::string> records; ///< headers, which `parts` point to
  std::vector<std::span<const uint8_t>> parts;
  std::string directory;
  uint64_t size = 0, entries = 0;
};

} // namespace gantry::arrays
