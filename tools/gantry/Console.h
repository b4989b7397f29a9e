// What the tool says on standard error, and how it ends.
#pragma once

#include "gantry-c/common.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/Status.h"
#include "gantry/Support/Thread.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::tool {

/// Exit statuses of spec section 7.
enum Exit : int { exitSuccess = 0, exitUserError = 1, exitWrongUsage = 2, exitDoesNotFit = 3 };

/// `gantry: error: …` and the like, one line each.
void printError(std::string_view text);
void printWarning(std::string_view text);
void printRemark(std::string_view text);
void printNote(std::string_view text);

/// Prints the failure, unless its message is empty because it was told already, and gives the exit
/// status that its code calls for.
int report(const Status &status);

/// The failure that is reported next is the command line's: its status is exitWrongUsage.
void noteWrongUsage();
/// Reports a failure so, of what can be told only when files have been looked at.
int reportUsage(const Status &status);

/// A diagnostic of the compiler, as it was printed.
struct CompilerLine {
  gantry_severity_t severity;
  std::string text;
};

/// Receives the compiler's lines. Diagnostics are printed as they come; progress lines keep one
/// status line up to date when standard error is a terminal and a phase takes over a second.
class CompilerLog {
public:
  CompilerLog();
  ~CompilerLog();
  CompilerLog(const CompilerLog &) = delete;

  /// A gantry_log_callback_t; `context` is the CompilerLog.
  static void receive(void *context, gantry_severity_t severity, const char *text);
  /// Whether this very error was printed.
  bool hasTold(const std::string &error);
  /// All that was printed so far.
  std::vector<CompilerLine> printed();

private:
  void print(gantry_severity_t severity, std::string_view text);
  void beginPhase(std::string_view name);
  void keepStatusLine();
  void clearStatusLine();

  const bool onTerminal;
  std::mutex mutex; ///< over everything below and the order of lines
  std::condition_variable ended;
  std::vector<CompilerLine> lines;
  std::string phase;
  std::chrono::steady_clock::time_point phaseBegan;
  bool statusShown = false;
  bool stop = false;
  Thread ticker; ///< only on a terminal
};

/// Seconds since an object was made.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  double milliseconds() const { return seconds() * 1e3; }

private:
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

} // namespace gantry::tool
