// Files: mapped for reading, written so that nobody ever sees half of one.
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>
#include <memory>
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

/// Writes a file that has no name until it is committed: the old file, or the new one, never a
/// part, and nothing is left behind however the program ends. Where the file system has no such
/// files, it is one beside its final place, renamed on commit, and removed when it is not committed
/// or a signal ends the program. A path that names something other than a regular file
/// (/dev/stdout, a pipe), or an open one that was unlinked (/proc/self/fd/N), is written directly.
/// Move only.
class AtomicFile {
public:
  static Expected<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  Status write(std::span<const uint8_t> bytes);
  /// Call once, last: either of the two.
  Status commit();
  /// The same, and not before the file and its name are on the disk: what it has reported as
  /// written is there after a loss of power, too.
  Status commitDurably();

private:
  struct Target;
  AtomicFile(int descriptor, std::unique_ptr<Target> target);
  int descriptor = -1;
  std::unique_ptr<Target> target;
};

/// A file that has no name, so that nothing is left behind however the program ends. Move only.
class NamelessFile {
public:
  /// In TMPDIR.
  static Expected<NamelessFile> create();
  /// In memory; in TMPDIR where the system has no files there.
  static Expected<NamelessFile> inMemory();

  NamelessFile(NamelessFile &&other) noexcept;
  NamelessFile &operator=(NamelessFile &&) = delete;
  ~NamelessFile();

  /// Errors: INVALID_ARGUMENT, which names the folder.
  Status write(std::span<const uint8_t> bytes);
  /// By which this process can open it, as long as the object lives, and one that inherits it.
  std::string path() const;
  /// For a child process to inherit.
  int number() const { return descriptor; }
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
