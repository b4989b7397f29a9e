// A message is headers, an empty line, and as many bytes as the header Content-Length says. Lines
// that are no header are passed on: `--help` writes plain text, and `-lit-test` reads it.
#include "MessageFilter.h"

#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace llvm;

/// As in MLIR's server, which reads no longer ones.
static constexpr uint64_t kMostBytes = uint64_t(1) << 30;

static void writeAll(int file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return; // The other side is gone; the server hears of it at its next read.
    bytes = bytes.drop_front(size_t(written));
  }
}

/// With its end; empty at the end of the file.
static std::string readLine(std::FILE *from) {
  char *line = nullptr;
  size_t capacity = 0;
  const ssize_t length = ::getline(&line, &capacity, from);
  std::string text(line ? line : "", length > 0 ? size_t(length) : 0);
  std::free(line);
  return text;
}

/// False at the end, and at a message that is too long to be one.
static bool passMessage(std::FILE *from, int to, const gantry::lsp::Rewrite &rewrite) {
  std::string line = readLine(from);
  if (line.empty())
    return false;
  if (!StringRef(line).starts_with("Content-")) {
    writeAll(to, line);
    return true;
  }
  uint64_t size = 0;
  for (; !StringRef(line).trim().empty(); line = readLine(from))
    if (StringRef number = line; number.consume_front("Content-Length:"))
      if (number.trim().getAsInteger(10, size) || size > kMostBytes)
        return false;
  std::string body(size, '\0');
  body.resize(std::fread(body.data(), 1, size, from));
  const std::string message = rewrite(body);
  writeAll(to, "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n" + message);
  return true;
}

/// In the place of `standard`, one end of a pipe; gives the other end and what `standard` was.
/// False, and all as before, when that cannot be had.
static bool putPipeAt(int standard, int &other, int &before) {
  int ends[2];
  if (::pipe(ends) != 0)
    return false;
  const bool isInput = standard == STDIN_FILENO;
  before = ::dup(standard);
  other = ends[isInput ? 1 : 0];
  const bool isDone = before >= 0 && ::dup2(ends[isInput ? 0 : 1], standard) >= 0;
  ::close(ends[isInput ? 0 : 1]);
  if (!isDone) {
    ::close(other);
    if (before >= 0)
      ::close(before);
  }
  return isDone;
}

/// What is not filtered is not safe.
[[noreturn]] static void end(const char *why) {
  errs() << "gantry-lsp-server: error: " << why << "\n";
  ::_exit(1);
}

void gantry::lsp::filterInput(Rewrite rewrite) {
  int to, before;
  if (!putPipeAt(STDIN_FILENO, to, before))
    end("no pipe can be had");
  Thread reader;
  const bool runs = reader.start([from = ::fdopen(before, "r"), to, rewrite = std::move(rewrite)] {
    while (from && passMessage(from, to, rewrite)) {
    }
    ::close(to);
  });
  if (!runs)
    end("no thread can be started");
  reader.detach();
}

gantry::lsp::OutputFilter::OutputFilter(Rewrite rewrite) {
  int source;
  if (!putPipeAt(STDOUT_FILENO, source, output))
    end("no pipe can be had");
  const bool runs =
      reader.start([from = ::fdopen(source, "r"), to = output, rewrite = std::move(rewrite)] {
        while (from && passMessage(from, to, rewrite)) {
        }
        if (from)
          std::fclose(from);
      });
  if (!runs)
    end("no thread can be started");
}

gantry::lsp::OutputFilter::~OutputFilter() {
  std::fflush(stdout);
  ::dup2(output, STDOUT_FILENO); // The last end for writing is closed: the thread finds the end.
  reader.join();
  ::close(output);
}
