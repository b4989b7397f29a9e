// Whole files in and out; the format of a file is told by its first bytes.
#include "gantry/Formats/ArrayFiles.h"

#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gantry::arrays {

std::string systemReason(int error) {
  std::string reason = std::strerror(error);
  // "I/O error" keeps its capitals.
  if (reason.size() > 1 && std::isupper(static_cast<unsigned char>(reason[0])) &&
      std::islower(static_cast<unsigned char>(reason[1])))
    reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  return reason;
}

uint64_t FileBytes::quarterOfMemory() {
  return uint64_t(::sysconf(_SC_PHYS_PAGES)) / 4 * uint64_t(::sysconf(_SC_PAGESIZE));
}

Status FileBytes::readStream(int descriptor, const std::string &path, uint64_t most) {
  for (;;) {
    if (used > most)
      return Status::doesNotFit("'" + path + "' goes on after " + formatBytes(most) +
                                "; what is larger has to be a file");
    if (used == owned.size()) {
      auto larger = AlignedBuffer::allocate(
          std::min(std::max<uint64_t>(owned.size() * 2, 1 << 16), most + 1));
      if (!larger.data())
        return Status::doesNotFit("no memory to read '" + path + "'");
      if (used)
        std::memcpy(larger.data(), owned.data(), used);
      owned = std::move(larger);
    }
    const ssize_t count = ::read(descriptor, owned.data() + used, owned.size() - used);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return Status::invalidArgument("cannot read '" + path + "': " + systemReason(errno));
    if (count == 0)
      return {};
    used += static_cast<size_t>(count);
  }
}

/// Of a device nobody knows where it ends, and some never do. A terminal ends where its user says.
static Status refuseDevice(int descriptor, const std::string &name) {
  struct stat info;
  if (::fstat(descriptor, &info) != 0)
    return Status::invalidArgument("cannot read '" + name + "': " + systemReason(errno));
  const bool isDevice = S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode);
  if (isDevice && !::isatty(descriptor))
    return Status::invalidArgument("cannot read '" + name +
                                   "': it is a device, expected a file or a pipe");
  return {};
}

Expected<FileBytes> FileBytes::open(const std::string &path, uint64_t mostOfStream) {
  FileBytes file;
  struct stat info;
  // Pipes and terminals cannot be mapped; whatever else is wrong is told by MappedFile.
  const bool isStream = path == "-" || (::stat(path.c_str(), &info) == 0 &&
                                        !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
  if (!isStream) {
    auto mapped = MappedFile::open(path);
    if (!mapped)
      return mapped.status();
    file.mapped = mapped.take();
    return file;
  }
  const int descriptor = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return Status::invalidArgument("cannot open '" + path + "': " + systemReason(errno));
  const std::string name = path == "-" ? "standard input" : path;
  Status status = refuseDevice(descriptor, name);
  if (status.ok())
    status = file.readStream(descriptor, name, mostOfStream);
  if (descriptor != STDIN_FILENO)
    ::close(descriptor);
  if (!status.ok())
    return status;
  return file;
}

/// Standard output by its descriptor: /dev/stdout may be a regular file, which would be replaced
/// under the feet of whoever else writes to it.
static Status writeStandardOutput(std::span<const ByteSpan> parts) {
  for (ByteSpan part : parts)
    while (!part.empty()) {
      const ssize_t count = ::write(STDOUT_FILENO, part.data(), part.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return Status::invalidArgument(std::string("cannot write standard output: ") +
                                       systemReason(errno));
      part = part.subspan(static_cast<size_t>(count));
    }
  return {};
}

Status writeFile(const std::string &path, std::span<const ByteSpan> parts) {
  if (path == "-")
    return writeStandardOutput(parts);
  auto file = AtomicFile::create(path);
  if (!file)
    return file.status();
  for (ByteSpan part : parts)
    GANTRY_RETURN_IF_ERROR(file->write(part));
  return file->commit();
}

Status writeNpy(const std::string &path, const ArrayView &array) {
  const std::string header = npyHeader(array.element, array.shape);
  const ByteSpan parts[] = {{reinterpret_cast<const uint8_t *>(header.data()), header.size()},
                            {array.data, static_cast<size_t>(array.size())}};
  return writeFile(path, parts);
}

Expected<NamedArray> parseArray(ByteSpan bytes, const std::string &path) {
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (bytes.empty())
    return Status::corrupt("'" + path +
                           "' is empty; expected a .npy or .npz file or an ONNX TensorProto");
  // A file that calls itself .npy is told what is wrong with it as one.
  if (!text.starts_with("\x93NUMPY") && !path.ends_with(".npy"))
    return parseTensorProto(bytes, path);
  auto array = parseNpy(bytes, path);
  if (!array)
    return array.status();
  return NamedArray{"", array.take()};
}

Expected<NamedArray> readArray(const std::string &path) {
  auto file = FileBytes::open(path);
  if (!file)
    return file.status();
  return parseArray(file->bytes(), path);
}

} // namespace gantry::arrays
