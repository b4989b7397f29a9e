// What can be told beforehand (weights, plans, arenas, arrays) is told by whoever allocates it;
// this is for the many small things of which nobody can take back what was begun.
#include "LowMemory.h"

#include "Console.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <new>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace gantry::tool {

namespace {
/// Allocates nothing and runs no destructor: both may be why it was called.
[[noreturn]] void end(const char *what, const char *remedy) {
  for (const char *part : {"gantry: error: ", what, "; ", remedy, "\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
  ::_exit(exitDoesNotFit);
}

constexpr const char *giveMore =
    "give it more (ulimit -v, the limit of its container), or fewer --threads";

/// What nobody catches: std::bad_alloc, and that no thread could be started. A handler of operator
/// new would come before those who ask with std::nothrow and say what there is no memory for.
[[noreturn]] void endOrAbort() {
  if (const std::exception_ptr thrown = std::current_exception())
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc &) {
      end("there is no more memory", giveMore);
    } catch (const std::system_error &error) {
      if (error.code() == std::errc::resource_unavailable_try_again)
        end("there is no memory for another thread, or no more are allowed", giveMore);
    } catch (...) {
    }
  std::abort();
}

// ---- the stack ----

/// What the compiler wants (lib/CAPI/Guard.cpp), and for arguments, the environment and the tool.
constexpr size_t leastStack = (size_t(1) << 20) + (size_t(1) << 18);
/// More than that is not known to be used.
constexpr size_t mostGrown = size_t(4) << 20;

/// The kernel lets the main stack grow when it is touched, and ends the process where there is no
/// memory left for that. So it grows now, or never; only the page that is touched takes memory.
__attribute__((noinline)) void growStack(size_t bytes) {
  volatile char *lowest = static_cast<char *>(__builtin_alloca(bytes));
  *lowest = 0;
}

[[noreturn]] void onNoStack(int) { end("there is no memory for the stack", giveMore); }

/// While the stack grows, on a stack of its own.
void growStackOrEnd(size_t bytes) {
  alignas(16) static char room[1 << 14];
  const stack_t own = {room, 0, sizeof room};
  struct sigaction action = {}, before = {};
  action.sa_handler = onNoStack;
  action.sa_flags = SA_ONSTACK;
  ::sigaltstack(&own, nullptr);
  ::sigaction(SIGSEGV, &action, &before);
  growStack(bytes);
  ::sigaction(SIGSEGV, &before, nullptr);
  const stack_t none = {nullptr, SS_DISABLE, 0};
  ::sigaltstack(&none, nullptr);
}

} // namespace

void checkStack() {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0)
    return;
  if (limit.rlim_cur < leastStack) {
    char text[80];
    std::snprintf(text, sizeof text, "the stack is limited to %llu KiB, expected at least %zu KiB",
                  static_cast<unsigned long long>(limit.rlim_cur >> 10), leastStack >> 10);
    end(text, "let it have more (ulimit -s 8192)");
  }
  growStackOrEnd(std::min<size_t>(limit.rlim_cur / 2, mostGrown));
}

void endInOrderWithoutMemory() {
  std::set_terminate(endOrAbort);
  // The C library looks for the unwinder when an exception first passes through one of its own
  // functions (pthread_once), and aborts when there is no memory for that. Now there is.
  void *frame;
  (void)::backtrace(&frame, 1);
}

} // namespace gantry::tool
