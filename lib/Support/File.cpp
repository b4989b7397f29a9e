// Files by POSIX calls: read with mmap, written with write(2) as a file without a name, which gets
// one when it is complete.
#include "gantry/Support/File.h"

#include "TemporaryName.h"

#include "gantry/Support/Environment.h"

#include <algorithm>
#include <cerrno>
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
  if (error == ENOMEM)
    return Status::doesNotFit(message + "there is no memory for it");
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

namespace {
/// A new file in `folder` that has no name; -1 where the system cannot make or name one.
int openNameless(const std::string &folder, int access, mode_t mode) {
  if (::access("/proc/self/fd", X_OK) != 0) // by which it gets its name
    return -1;
  return openRetrying(folder.c_str(), access | O_TMPFILE, mode);
}

std::string folderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string descriptorPath(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// The error number, 0 for none.
int giveName(int descriptor, const char *name) {
  return ::linkat(AT_FDCWD, descriptorPath(descriptor).c_str(), AT_FDCWD, name,
                  AT_SYMLINK_FOLLOW) == 0
             ? 0
             : errno;
}
} // namespace

/// What is being written: where to, and under which name until then, if it has one.
struct AtomicFile::Target {
  std::string path;
  TemporaryName temporary;
  bool inPlace = false; ///< written directly

  Status cannotWrite(int error) const { return fileError(path, "write", error); }
};

AtomicFile::AtomicFile(int descriptor, std::unique_ptr<Target> target)
    : descriptor(descriptor), target(std::move(target)) {}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), target(std::move(other.target)) {}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Expected<AtomicFile> AtomicFile::create(const std::string &path) {
  auto target = std::make_unique<Target>();
  target->path = path;
  struct stat info;
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return Status::invalidArgument("cannot write '" + path + "': it is a folder");
  if (exists && (!S_ISREG(info.st_mode) || info.st_nlink == 0)) {
    // Renaming over a device or pipe would replace it, and an open file that was unlinked (given as
    // /proc/self/fd/N) has no name to rename to.
    target->inPlace = true;
    int descriptor =
        openRetrying(path.c_str(), S_ISREG(info.st_mode) ? O_WRONLY | O_TRUNC : O_WRONLY);
    if (descriptor < 0)
      return target->cannotWrite(errno);
    return AtomicFile(descriptor, std::move(target));
  }
  if (exists) {
    // Write through a symbolic link, not over it.
    if (char *resolved = ::realpath(path.c_str(), nullptr)) {
      target->path = resolved;
      std::free(resolved);
    }
  }
  constexpr mode_t mode = 0666; // less the umask, as any new file
  int descriptor = openNameless(folderOf(target->path), O_WRONLY, mode);
  if (descriptor < 0) {
    target->temporary = TemporaryName::beside(target->path);
    descriptor = openRetrying(target->temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, mode);
  }
  if (descriptor < 0) {
    const int error = errno;
    target->temporary.forget();
    return fileError(path, "write", error);
  }
  if (exists)
    (void)::fchmod(descriptor, info.st_mode & 07777);
  return AtomicFile(descriptor, std::move(target));
}

Status AtomicFile::write(std::span<const uint8_t> bytes) {
  int error = writeAll(descriptor, bytes);
  return error ? target->cannotWrite(error) : Status();
}

Status AtomicFile::commit() {
  // Closing reports what a full disk or a network file system held back; the second descriptor
  // keeps a file without a name alive.
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0 && ::close(copy) != 0)
    return target->cannotWrite(errno);
  if (target->inPlace)
    return {};
  const char *path = target->path.c_str();
  if (target->temporary.empty()) {
    const int error = giveName(descriptor, path);
    if (error == 0)
      return {};
    if (error != EEXIST)
      return target->cannotWrite(error);
    // Only renaming replaces a file.
    target->temporary = TemporaryName::beside(target->path);
    if (const int second = giveName(descriptor, target->temporary.c_str()))
      return target->cannotWrite(second);
  }
  if (::rename(target->temporary.c_str(), path) != 0)
    return target->cannotWrite(errno);
  target->temporary.forget();
  return {};
}

/// The error number, 0 for none. What cannot be synchronised, as a pipe, is as it should be.
static int synchronise(int descriptor) {
  while (::fsync(descriptor) != 0)
    if (errno != EINTR)
      return errno == EINVAL || errno == EROFS || errno == ENOTSUP ? 0 : errno;
  return 0;
}

Status AtomicFile::commitDurably() {
  if (const int error = synchronise(descriptor))
    return target->cannotWrite(error);
  GANTRY_RETURN_IF_ERROR(commit());
  if (target->inPlace)
    return {};
  // The name stands in the folder. One that may be written, but not read, cannot be asked.
  const int folder = openRetrying(folderOf(target->path).c_str(), O_RDONLY | O_DIRECTORY);
  if (folder < 0)
    return {};
  const int error = synchronise(folder);
  ::close(folder);
  return error ? target->cannotWrite(error) : Status();
}

Expected<NamelessFile> NamelessFile::create() {
  std::string folder = environment("TMPDIR");
  if (folder.empty())
    folder = "/tmp";
  int descriptor = openNameless(folder, O_RDWR, 0600);
  if (descriptor < 0) {
    TemporaryName name = TemporaryName::beside(folder + "/gantry");
    descriptor = openRetrying(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (descriptor < 0)
      return fileError(folder, "write a temporary file in", errno);
  }
  return NamelessFile(descriptor, std::move(folder));
}

Expected<NamelessFile> NamelessFile::inMemory() {
  const int descriptor = ::memfd_create("gantry", MFD_CLOEXEC);
  return descriptor >= 0 ? Expected<NamelessFile>(NamelessFile(descriptor, "memory")) : create();
}

NamelessFile::NamelessFile(NamelessFile &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), folder(std::move(other.folder)) {}

NamelessFile::~NamelessFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

std::string NamelessFile::path() const { return descriptorPath(descriptor); }

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
