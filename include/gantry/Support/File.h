// Files: mapped for reading, written so that nobody ever sees half of one.
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace gantry {

/// A file mapped read-only; page aligned. Move only. The mapping lives as long as the object; pages
/// are shared with other processes and read when first touched.
class MappedFile {
public:
  /// Errors: NOT_FOUND (no such file), INVALID_ARGUMENT (a folder, no permission).
  static Expected<MappedFile> open(const std::string &path);

  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return {data, size}; }

private:
  friend class NamelessFile;
  MappedFile(const uint8_t *data, uint64_t size) : data(data), size(size) {}
  const uint8_t *data = nullptr;
  uint64_t size = 0;
};

/// Writes a file beside its final place and renames it there on commit: the old file, or the new
/// one, never a part. What is not committed is removed. A path that names something other than a
/// regular file (/dev/stdout, a pipe), or an open one that was unlinked (/proc/self/fd/N), is
/// written directly. Move only.
class AtomicFile {
public:
  static Expected<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  Status write(std::span<const uint8_t> bytes);
  /// Call once, last.
  Status commit();

private:
  AtomicFile(int descriptor, std::string path, std::string temporary)
      : descriptor(descriptor), path(std::move(path)), temporary(std::move(temporary)) {}
  int descriptor = -1;
  std::string path;
  std::string temporary; ///< empty when written directly or committed
};

/// A file in TMPDIR that has no name any more, so that nothing is left behind however the program
/// ends. Move only.
class NamelessFile {
public:
  static Expected<NamelessFile> create();

  NamelessFile(NamelessFile &&other) noexcept;
  NamelessFile &operator=(NamelessFile &&) = delete;
  ~NamelessFile();

  /// Errors: INVALID_ARGUMENT, which names the folder.
  Status write(std::span<const uint8_t> bytes);
  /// What was written; the mapping outlives this object.
  Expected<MappedFile> map() const;

private:
  NamelessFile(int descriptor, std::string folder)
      : descriptor(descriptor), folder(std::move(folder)) {}
  int descriptor = -1;
  std::string folder;
};

/// AtomicFile in one call.
Status writeFileAtomically(const std::string &path, std::span<const uint8_t> bytes);

} // namespace gantry
