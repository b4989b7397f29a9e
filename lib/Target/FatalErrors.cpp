// LLVM's handler of fatal errors must not return, so it jumps out, as lld's driver does. This file
// has exceptions, unlike LLVM, whose frames let them pass.

#include "gantry/Target/FatalErrors.h"

#include "gantry/Dialect/Gantry/IR/Diagnostics.h"

#include "llvm/Support/ErrorHandling.h"

#include <csetjmp>
#include <cstdio>
#include <mutex>
#include <new>
#include <string>

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

/// Apart from setjmp, whose function must not have much.
static gantry::Status runOrNoMemory(llvm::function_ref<void()> work) {
  try {
    work();
    return {};
  } catch (const std::bad_alloc &) {
    return gantry::Status::doesNotFit("there is no more memory to compile with");
  }
}

gantry::Status gantry::runGuarded(llvm::function_ref<void()> work) {
  installOnce();
  Guard here;
  Guard *outer = guard;
  guard = &here;
  if (setjmp(here.back) != 0) {
    guard = outer;
    return Status::internal(here.reason);
  }
  Status status = runOrNoMemory(work);
  guard = outer;
  return status;
}

llvm::LogicalResult gantry::emitFatal(mlir::Location loc, const std::string &what,
                                      const Status &fatal) {
  if (fatal.code() != StatusCode::doesNotFit)
    return mlir::emitError(loc) << "internal error: LLVM gave up making " << what << ": "
                                << fatal.message();
  auto error = mlir::emitError(loc) << fatal.message();
  setStatusCode(*error.getUnderlyingDiagnostic(), StatusCode::doesNotFit);
  return error;
}
