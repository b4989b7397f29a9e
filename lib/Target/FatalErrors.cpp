// LLVM's handler of fatal errors must not return, so it jumps out, as lld's driver does.

#include "gantry/Target/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"

#include <csetjmp>
#include <cstdio>
#include <mutex>

namespace {
struct Guard {
  std::jmp_buf back;
  std::string reason;
};
} // namespace

static thread_local Guard *guard = nullptr;

/// A fatal error of a thread that is not guarded is somebody else's: then all is as without a
/// handler, which would have printed the reason.
static void leave(void *, const char *reason, bool) {
  if (!guard) {
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    return;
  }
  guard->reason = reason;
  std::longjmp(guard->back, 1);
}

/// LLVM has room for one handler; a program that uses the same LLVM and had its own loses it.
static void installOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::remove_fatal_error_handler();
    llvm::install_fatal_error_handler(leave);
  });
}

std::optional<std::string> gantry::runGuarded(llvm::function_ref<void()> work) {
  installOnce();
  Guard here;
  Guard *outer = guard;
  guard = &here;
  const bool failed = setjmp(here.back) != 0;
  if (!failed)
    work();
  guard = outer;
  if (failed)
    return here.reason;
  return std::nullopt;
}
