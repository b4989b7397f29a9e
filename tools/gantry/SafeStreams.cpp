// The one place that all text of the tool goes through, whoever made it.
#include "SafeStreams.h"

#include "gantry/Support/Names.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <utility>

namespace gantry::tool {

namespace {
struct Stream {
  int descriptor;
  std::string rest; ///< the begin of a character whose end has not come yet
};

bool writeAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return false;
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  return true;
}

/// Bytes at the end that may begin a character of UTF-8.
size_t sizeOfRest(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80)
      continue;
    const size_t size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return size > back ? back : 0;
  }
  return 0;
}

/// Takes all or, when it cannot be written, nothing.
ssize_t put(void *cookie, const char *data, size_t size) {
  auto &stream = *static_cast<Stream *>(cookie);
  std::string text = std::exchange(stream.rest, {}) + std::string(data, size);
  const size_t whole = text.size() - sizeOfRest(text);
  stream.rest = text.substr(whole);
  return writeAll(stream.descriptor, printableLines(std::string_view(text).substr(0, whole)))
             ? static_cast<ssize_t>(size)
             : 0;
}

void replace(FILE *&file, Stream &stream, int buffering) {
  std::fflush(file);
  if (FILE *safe = ::fopencookie(&stream, "w", {nullptr, put, nullptr, nullptr})) {
    std::setvbuf(safe, nullptr, buffering, buffering == _IONBF ? 0 : BUFSIZ);
    file = safe;
  }
}
} // namespace

void makeStreamsSafe() {
  static Stream out{STDOUT_FILENO, {}}, err{STDERR_FILENO, {}};
  replace(stdout, out, ::isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
  replace(stderr, err, _IONBF);
}

} // namespace gantry::tool
