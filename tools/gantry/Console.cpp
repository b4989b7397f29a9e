#include "Console.h"

#include "gantry/Support/Names.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace gantry::tool {

namespace {
/// One line, whatever names are in the text.
void printLine(std::string_view prefix, std::string_view text) {
  std::fprintf(stderr, "%.*s%s\n", static_cast<int>(prefix.size()), prefix.data(),
               printable(text).c_str());
}

/// Steers the terminal, which the text of a stream cannot.
void writeToTerminal(const std::string &text) {
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}
} // namespace

void printError(std::string_view text) { printLine("gantry: error: ", text); }
void printWarning(std::string_view text) { printLine("gantry: warning: ", text); }
void printRemark(std::string_view text) { printLine("gantry: remark: ", text); }
void printNote(std::string_view text) { printLine("gantry: ", text); }

static bool isWrongUsage = false;

void noteWrongUsage() { isWrongUsage = true; }

int reportUsage(const Status &status) {
  noteWrongUsage();
  return report(status);
}

int report(const Status &status) {
  if (status.ok())
    return exitSuccess;
  if (!status.message().empty())
    printError(status.message());
  if (isWrongUsage)
    return exitWrongUsage;
  return status.code() == StatusCode::doesNotFit ? exitDoesNotFit : exitUserError;
}

CompilerLog::CompilerLog() : onTerminal(::isatty(STDERR_FILENO) == 1) {
  if (onTerminal)
    (void)ticker.start([this] { keepStatusLine(); }); // else there is no such line
}

CompilerLog::~CompilerLog() {
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  ended.notify_all();
  ticker.join();
  clearStatusLine();
}

void CompilerLog::receive(void *context, gantry_severity_t severity, const char *text) {
  auto *log = static_cast<CompilerLog *>(context);
  if (severity == GANTRY_SEVERITY_PROGRESS)
    log->beginPhase(text);
  else
    log->print(severity, text);
}

bool CompilerLog::hasTold(const std::string &error) {
  std::lock_guard lock(mutex);
  return std::any_of(lines.begin(), lines.end(), [&](const CompilerLine &line) {
    return line.severity == GANTRY_SEVERITY_ERROR && line.text == error;
  });
}

std::vector<CompilerLine> CompilerLog::printed() {
  std::lock_guard lock(mutex);
  return lines;
}

void CompilerLog::print(gantry_severity_t severity, std::string_view text) {
  std::lock_guard lock(mutex);
  clearStatusLine();
  lines.push_back({severity, std::string(text)});
  // A diagnostic with a location has its severity in it: "model.onnx:node 'x': error: …".
  const bool saysItself = text.find("error: ") != std::string_view::npos ||
                          text.find("warning: ") != std::string_view::npos;
  if (severity == GANTRY_SEVERITY_ERROR && !saysItself)
    printError(text);
  else if (severity == GANTRY_SEVERITY_WARNING && !saysItself)
    printWarning(text);
  else if (severity == GANTRY_SEVERITY_REMARK)
    printRemark(text);
  else if (severity == GANTRY_SEVERITY_NOTE)
    printLine("gantry: note: ", text);
  else
    printLine("", text);
}

void CompilerLog::beginPhase(std::string_view name) {
  std::lock_guard lock(mutex);
  phase = name;
  phaseBegan = std::chrono::steady_clock::now();
}

void CompilerLog::keepStatusLine() {
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, std::chrono::milliseconds(250), [this] { return stop; })) {
    const auto took = std::chrono::steady_clock::now() - phaseBegan;
    if (phase.empty() || took < std::chrono::seconds(1)) {
      clearStatusLine();
      continue;
    }
    // Carriage return and "erase to the end of the line" keep it one line.
    writeToTerminal(
        format("\r\x1b[K%s … %.0f s", phase.c_str(), std::chrono::duration<double>(took).count()));
    statusShown = true;
  }
}

void CompilerLog::clearStatusLine() {
  if (!statusShown)
    return;
  writeToTerminal("\r\x1b[K");
  statusShown = false;
}

} // namespace gantry::tool
