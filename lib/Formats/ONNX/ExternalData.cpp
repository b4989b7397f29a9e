// Opening with the kernel's own check (openat2, RESOLVE_BENEATH) where it has one, else part by
// part with O_NOFOLLOW: both refuse '..', absolute paths and links at the moment of opening, so
// that nothing can be exchanged between a check and its use. Links are followed only when a root is
// given below which they have to end.

#include "gantry/Formats/ONNX/ExternalData.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace gantry;
using namespace gantry::onnx;
using std::string_view;

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
std::vector<std::string> splitPath(string_view location) {
  std::vector<std::string> parts;
  if (location.starts_with('/') || location.find('\0') != string_view::npos)
    return {};
  while (!location.empty()) {
    const size_t slash = std::min(location.find('/'), location.size());
    const string_view part = location.substr(0, slash);
    if (part == "..")
      return {};
    if (!part.empty() && part != ".")
      parts.emplace_back(part);
    location.remove_prefix(std::min(slash + 1, location.size()));
  }
  return parts;
}

std::string joinPath(const std::vector<std::string> &parts) {
  std::string path;
  for (const std::string &part : parts)
    path += (path.empty() ? "" : "/") + part;
  return path;
}

int openBeneath(int folder, const std::string &path) {
  open_how how = {};
  // O_NONBLOCK: a pipe in the folder must not make us wait for its writer.
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return int(syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

int openByParts(int folder, const std::vector<std::string> &parts) {
  Descriptor at(dup(folder));
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    at = Descriptor(openat(at.fd, parts[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (at.fd < 0)
      return -1;
  }
  return openat(at.fd, parts.back().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

Status describe(string_view location, int error) {
  std::string name = "external data '" + std::string(location) + "'";
  if (error == ENOENT || error == ENOTDIR)
    return Status::notFound(name + ": no such file in the model's folder");
  if (error == ELOOP || error == EXDEV)
    return Status::invalidArgument(name + ": the path goes through a link; where links may lead "
                                          "is said with --external-root FOLDER");
  return Status::invalidArgument(name + ": " + std::strerror(error));
}

/// What the kernel calls an open file, whatever way led to it.
std::string pathOf(const Descriptor &file) {
  const std::string link = "/proc/self/fd/" + std::to_string(file.fd);
  char path[PATH_MAX];
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  return length > 0 && size_t(length) < sizeof path ? std::string(path, size_t(length)) : "";
}

/// Opens the file by any way, looks where it lies, and only then reads it: between the two it
/// cannot be exchanged.
Expected<Descriptor> openBelow(const std::string &root, int folder, string_view location,
                               const std::string &path) {
  const std::string name = "external data '" + std::string(location) + "'";
  Descriptor top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (top.fd < 0)
    return Status::invalidArgument("--external-root '" + root + "': " + std::strerror(errno));
  Descriptor found(openat(folder, path.c_str(), O_PATH | O_CLOEXEC));
  if (found.fd < 0)
    return describe(location, errno);
  const std::string at = pathOf(found), below = pathOf(top);
  if (at.empty() || below.empty())
    return Status::unavailable(name + ": where its links lead cannot be told, /proc is missing");
  if (!at.starts_with(below == "/" ? below : below + "/"))
    return Status::invalidArgument(name + ": its links lead to '" + at +
                                   "', which is not below --external-root '" + root + "'");
  struct stat info;
  if (fstat(found.fd, &info) != 0 || !S_ISREG(info.st_mode))
    return Status::invalidArgument(name + " is not a regular file");
  Descriptor file(
      ::open(("/proc/self/fd/" + std::to_string(found.fd)).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0)
    return describe(location, errno);
  return file;
}

} // namespace

Expected<std::shared_ptr<const Mapping>> ExternalData::open(string_view location) {
  if (auto known = files.find(location); known != files.end())
    return known->second;
  const std::vector<std::string> parts = splitPath(location);
  if (parts.empty())
    return Status::invalidArgument(
        "external data '" + std::string(location) +
        "' is not inside the model's folder; give a relative path without '..'");

  Descriptor base(::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (base.fd < 0)
    return describe(location, errno);
  Descriptor file(openBeneath(base.fd, joinPath(parts)));
  if (file.fd < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG))
    file = Descriptor(openByParts(base.fd, parts));
  if (file.fd < 0 && !root.empty() && (errno == ELOOP || errno == EXDEV)) {
    Expected<Descriptor> linked = openBelow(root, base.fd, location, joinPath(parts));
    if (!linked)
      return linked.status();
    file = linked.take();
  }
  if (file.fd < 0)
    return describe(location, errno);

  struct stat info;
  if (fstat(file.fd, &info) != 0)
    return describe(location, errno);
  if (!S_ISREG(info.st_mode))
    return Status::invalidArgument("external data '" + std::string(location) +
                                   "' is not a regular file");
  if (info.st_nlink != 1)
    return Status::invalidArgument(
        "external data '" + std::string(location) +
        "' has more than one hard link; copy the file into the model's folder");

  auto mapping = std::make_shared<Mapping>();
  if (info.st_size > 0) {
    void *data = mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED)
      return describe(location, errno);
    mapping->data = static_cast<const char *>(data);
    mapping->size = uint64_t(info.st_size);
  }
  files.emplace(location, mapping);
  return std::shared_ptr<const Mapping>(mapping);
}

std::vector<std::string> ExternalData::paths() const {
  std::vector<std::string> result;
  for (const auto &[location, mapping] : files)
    result.push_back((folder.empty() ? "" : folder + "/") + location);
  return result;
}
