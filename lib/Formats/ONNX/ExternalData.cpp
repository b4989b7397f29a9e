// Opening with the kernel's own check (openat2, RESOLVE_BENEATH) where it has one, else part by
// part with O_NOFOLLOW: both refuse '..', absolute paths and links at the moment of opening, so
// that nothing can be exchanged between a check and its use.

#include "gantry/Formats/ONNX/ExternalData.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace gantry;
using namespace gantry::onnx;
using llvm::StringRef;

Mapping::~Mapping() {
  if (data)
    munmap(const_cast<char *>(data), size);
}

namespace {

/// A file descriptor that closes itself.
struct Descriptor {
  int fd = -1;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
};

/// The parts of a path that stays inside its folder by its text alone; empty for any other.
llvm::SmallVector<StringRef> splitPath(StringRef location) {
  llvm::SmallVector<StringRef> parts, kept;
  if (location.starts_with("/") || location.contains('\0'))
    return {};
  location.split(parts, '/');
  for (StringRef part : parts) {
    if (part == "..")
      return {};
    if (!part.empty() && part != ".")
      kept.push_back(part);
  }
  return kept;
}

int openBeneath(int folder, const std::string &path) {
  open_how how = {};
  // O_NONBLOCK: a pipe in the folder must not make us wait for its writer.
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return int(syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

int openByParts(int folder, llvm::ArrayRef<StringRef> parts) {
  Descriptor at(dup(folder));
  for (StringRef part : parts.drop_back()) {
    at = Descriptor(
        openat(at.fd, part.str().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (at.fd < 0)
      return -1;
  }
  return openat(at.fd, parts.back().str().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

Status describe(StringRef location, int error) {
  std::string name = "external data '" + location.str() + "'";
  if (error == ENOENT || error == ENOTDIR)
    return Status::notFound(name + ": no such file in the model's folder");
  if (error == ELOOP || error == EXDEV)
    return Status::invalidArgument(name + ": the path goes through a link; external data must be "
                                          "a regular file inside the model's folder");
  return Status::invalidArgument(name + ": " + std::strerror(error));
}

} // namespace

Expected<std::shared_ptr<const Mapping>> ExternalData::open(StringRef location) {
  if (auto known = files.find(location); known != files.end())
    return known->second;
  llvm::SmallVector<StringRef> parts = splitPath(location);
  if (parts.empty())
    return Status::invalidArgument(
        "external data '" + location.str() +
        "' is not inside the model's folder; give a relative path without '..'");

  Descriptor base(::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (base.fd < 0)
    return describe(location, errno);
  Descriptor file(openBeneath(base.fd, llvm::join(parts, "/")));
  if (file.fd < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG))
    file = Descriptor(openByParts(base.fd, parts));
  if (file.fd < 0)
    return describe(location, errno);

  struct stat info;
  if (fstat(file.fd, &info) != 0)
    return describe(location, errno);
  if (!S_ISREG(info.st_mode))
    return Status::invalidArgument("external data '" + location.str() + "' is not a regular file");
  if (info.st_nlink != 1)
    return Status::invalidArgument(
        "external data '" + location.str() +
        "' has more than one hard link; copy the file into the model's folder");

  auto mapping = std::make_shared<Mapping>();
  if (info.st_size > 0) {
    void *data = mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED)
      return describe(location, errno);
    mapping->data = static_cast<const char *>(data);
    mapping->size = uint64_t(info.st_size);
  }
  files[location] = mapping;
  return std::shared_ptr<const Mapping>(mapping);
}
