// The documentation is the generated page of each dialect, built in. MLIR's server offers no hook
// for hovers and writes to the standard output, so its messages are read behind it.

#include "HoverDocs.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace llvm;

/// Pages of the dialects, as `make docs` writes them.
static constexpr const char *kPages[] = {
#include "GantryDialectPage.inc"
    ,
#include "PlanDialectPage.inc"
};

//===----------------------------------------------------------------------===//
// Documentation
//===----------------------------------------------------------------------===//

/// Cuts [begin of `from`, begin of `to`) out of the text; `to` empty means to the end.
static std::string without(StringRef text, StringRef from, StringRef to) {
  size_t begin = text.find(from);
  if (begin == StringRef::npos)
    return text.str();
  size_t end = to.empty() ? text.size() : std::min(text.find(to, begin), text.size());
  return (text.take_front(begin) + text.drop_front(end)).str();
}

/// Of the section of one op: no grammar, which the cursor is on, no traits, and no tables of
/// operands and results, whose types are in the line.
static std::string readable(StringRef section) {
  std::string text = section.str();
  if (size_t syntax = text.find("Syntax:"); syntax != std::string::npos) {
    size_t open = text.find("```", syntax), close = text.find("```", open + 3);
    if (open != std::string::npos && close != std::string::npos)
      text.erase(syntax, close + 3 - syntax);
  }
  text = without(text, "\nTraits:", "\n#### ");
  text = without(text, "\nInterfaces:", "\n#### ");
  text = without(text, "\nEffects:", "\n#### ");
  text = without(text, "\n#### Operands:", "\n#### Results:");
  text = without(text, "\n#### Results:", "");
  std::string compact;
  for (StringRef rest = StringRef(text).trim(); !rest.empty();) {
    auto [paragraph, next] = rest.split("\n\n");
    compact += (compact.empty() ? "" : "\n\n") + paragraph.trim().str();
    rest = next.ltrim('\n');
  }
  return compact;
}

static StringMap<std::string> readPages() {
  StringMap<std::string> docs;
  for (StringRef page : kPages) {
    SmallVector<StringRef> sections;
    page.split(sections, "\n### `");
    for (StringRef section : ArrayRef(sections).drop_front()) {
      auto [op, rest] = section.split('`');
      docs[op] = readable(rest.split('\n').second);
    }
  }
  return docs;
}

std::string gantry::lsp::documentationOf(StringRef op) {
  static const StringMap<std::string> docs = readPages();
  return docs.lookup(op);
}

std::string gantry::lsp::withDocumentation(StringRef message) {
  llvm::Expected<json::Value> parsed = json::parse(message);
  if (!parsed) {
    consumeError(parsed.takeError());
    return message.str();
  }
  json::Object *object = parsed->getAsObject();
  json::Object *result = object ? object->getObject("result") : nullptr;
  json::Object *contents = result ? result->getObject("contents") : nullptr;
  std::optional<StringRef> text = contents ? contents->getString("value") : std::nullopt;
  // A hover over an op begins with its name in quotes.
  if (!text || !text->consume_front("\""))
    return message.str();
  auto [op, rest] = text->split('"');
  std::string docs = documentationOf(op);
  if (docs.empty())
    return message.str();
  (*contents)["value"] = ("**" + op + "** " + docs + "\n\n---\n\n\"" + op + "\"" + rest).str();
  return formatv("{0:2}", *parsed).str();
}

//===----------------------------------------------------------------------===//
// The way of the messages
//===----------------------------------------------------------------------===//

static void writeAll(int file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return; // The editor is gone; the server hears of it at its next read.
    bytes = bytes.drop_front(size_t(written));
  }
}

/// Reads a message, which has its length in a header; false at the end. What is no header is passed
/// on: `--help` writes plain text.
static bool passMessage(std::FILE *from, int to) {
  char *line = nullptr;
  size_t capacity = 0;
  ssize_t length = ::getline(&line, &capacity, from);
  std::string header(line ? line : "", length > 0 ? size_t(length) : 0);
  std::free(line);
  if (header.empty())
    return false;
  uint64_t size = 0;
  StringRef number = header;
  if (!number.consume_front("Content-Length:") || number.trim().getAsInteger(10, size)) {
    writeAll(to, header);
    return true;
  }
  while (std::getc(from) != '\n' && !std::feof(from)) {
  }
  std::string body(size, '\0');
  body.resize(std::fread(body.data(), 1, size, from));
  std::string message = gantry::lsp::withDocumentation(body);
  writeAll(to, "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n" + message);
  return true;
}

gantry::lsp::OutputFilter::OutputFilter() {
  int ends[2];
  if (::pipe(ends) != 0)
    return;
  std::FILE *from = ::fdopen(ends[0], "r");
  output = from ? ::dup(STDOUT_FILENO) : -1;
  if (output < 0 || ::dup2(ends[1], STDOUT_FILENO) < 0) {
    output = -1;
    return;
  }
  ::close(ends[1]);
  reader = std::thread([from, to = output] {
    while (passMessage(from, to)) {
    }
    std::fclose(from);
  });
}

gantry::lsp::OutputFilter::~OutputFilter() {
  if (!isActive())
    return;
  std::fflush(stdout);
  ::dup2(output, STDOUT_FILENO); // The last end for writing is closed: the thread finds the end.
  reader.join();
  ::close(output);
}
