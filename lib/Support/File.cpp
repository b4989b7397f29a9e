// Files by POSIX calls: read with mmap, written with write(2) beside the final place, then renamed.
#include "gantry/Support/File.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gantry {

namespace {
Status fileError(const std::string &path, const char *what, int error) {
  std::string message = std::string("cannot ") + what + " '" + path + "': ";
  if (error == ENOENT)
    return Status::notFound(message + "no such file or folder");
  std::string reason = std::strerror(error);
  if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z')
    reason[0] += 'a' - 'A';
  return Status::invalidArgument(message + reason);
}

int openRetrying(const char *path, int flags, mode_t mode = 0) {
  int descriptor;
  do
    descriptor = ::open(path, flags | O_CLOEXEC, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

/// The error number, 0 for none.
int writeAll(int descriptor, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    // Linux takes at most 2 GiB a call.
    size_t piece = std::min<size_t>(bytes.size(), size_t(1) << 30);
    ssize_t written = ::write(descriptor, bytes.data(), piece);
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}
} // namespace

Expected<MappedFile> MappedFile::open(const std::string &path) {
  int descriptor = openRetrying(path.c_str(), O_RDONLY);
  if (descriptor < 0)
    return fileError(path, "open", errno);
  struct stat info;
  if (::fstat(descriptor, &info) != 0) {
    int error = errno;
    ::close(descriptor);
    return fileError(path, "read", error);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return Status::invalidArgument("cannot map '" + path + "': it is not a regular file");
  }
  auto size = static_cast<uint64_t>(info.st_size);
  void *data = nullptr;
  // mmap refuses a length of 0; an empty file is an empty span.
  if (size != 0)
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  int error = errno;
  ::close(descriptor);
  if (data == MAP_FAILED)
    return fileError(path, "map", error);
  return MappedFile(static_cast<const uint8_t *>(data), size);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

MappedFile::~MappedFile() {
  if (size != 0)
    ::munmap(const_cast<uint8_t *>(data), size);
}

Expected<AtomicFile> AtomicFile::create(const std::string &path) {
  std::string target = path;
  mode_t mode = 0666; // less the umask, as any new file
  struct stat info;
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return Status::invalidArgument("cannot write '" + path + "': it is a folder");
  if (exists && (!S_ISREG(info.st_mode) || info.st_nlink == 0)) {
    // Renaming over a device or pipe would replace it, and an open file that was unlinked (given as
    // /proc/self/fd/N) has no name to rename to.
    int descriptor =
        openRetrying(path.c_str(), S_ISREG(info.st_mode) ? O_WRONLY | O_TRUNC : O_WRONLY);
    if (descriptor < 0)
      return fileError(path, "write", errno);
    return AtomicFile(descriptor, path, "");
  }
  if (exists) {
    // Write through a symbolic link, not over it.
    if (char *resolved = ::realpath(path.c_str(), nullptr)) {
      target = resolved;
      std::free(resolved);
    }
  }
  static std::atomic<unsigned> counter{0};
  std::string temporary =
      target + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  int descriptor = openRetrying(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, mode);
  if (descriptor < 0)
    return fileError(path, "write", errno);
  if (exists)
    (void)::fchmod(descriptor, info.st_mode & 07777);
  return AtomicFile(descriptor, target, temporary);
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), path(std::move(other.path)),
      temporary(std::exchange(other.temporary, {})) {}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status AtomicFile::write(std::span<const uint8_t> bytes) {
  int error = writeAll(descriptor, bytes);
  return error ? fileError(path, "write", error) : Status();
}

Status AtomicFile::commit() {
  // close reports what a full disk or a network file system held back.
  if (::close(std::exchange(descriptor, -1)) != 0)
    return fileError(path, "write", errno);
  if (temporary.empty())
    return {};
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return fileError(path, "write", errno);
  temporary.clear();
  return {};
}

Expected<NamelessFile> NamelessFile::create() {
  const char *given = std::getenv("TMPDIR");
  std::string folder = given && *given ? given : "/tmp";
  std::string name = folder + "/gantry-XXXXXX";
  int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0)
    return fileError(folder, "write a temporary file in", errno);
  ::unlink(name.c_str());
  return NamelessFile(descriptor, std::move(folder));
}

NamelessFile::NamelessFile(NamelessFile &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), folder(std::move(other.folder)) {}

NamelessFile::~NamelessFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status NamelessFile::write(std::span<const uint8_t> bytes) {
  int error = writeAll(descriptor, bytes);
  if (!error)
    return {};
  Status status = fileError(folder, "write a temporary file in", error);
  return Status(status.code(), status.message() + "; set TMPDIR to a folder with more room");
}

Expected<MappedFile> NamelessFile::map() const {
  struct stat info;
  if (::fstat(descriptor, &info) != 0)
    return fileError(folder, "read a temporary file in", errno);
  auto size = static_cast<uint64_t>(info.st_size);
  void *data = nullptr;
  if (size != 0)
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED)
    return fileError(folder, "map a temporary file in", errno);
  return MappedFile(static_cast<const uint8_t *>(data), size);
}

Status writeFileAtomically(const std::string &path, std::span<const uint8_t> bytes) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  GANTRY_RETURN_IF_ERROR(file->write(bytes));
  return file->commit();
}

} // namespace gantry
