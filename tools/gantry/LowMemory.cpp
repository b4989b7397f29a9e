// What can be told beforehand (weights, plans, arenas, arrays) is told by whoever allocates it;
// this is for the many small things of which nobody can take back what was begun.
#include "LowMemory.h"

#include "Console.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <new>
#include <system_error>
#include <unistd.h>

namespace gantry::tool {

namespace {
/// Allocates nothing and runs no destructor: both may be why it was called.
[[noreturn]] void end(const char *what) {
  for (const char *part :
       {"gantry: error: ", what,
        "; give it more (ulimit -v, the limit of its container), or fewer --threads\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
  ::_exit(exitDoesNotFit);
}

/// What nobody catches: std::bad_alloc, and that no thread could be started. A handler of operator
/// new would come before those who ask with std::nothrow and say what there is no memory for.
[[noreturn]] void endOrAbort() {
  if (const std::exception_ptr thrown = std::current_exception())
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc &) {
      end("there is no more memory");
    } catch (const std::system_error &error) {
      if (error.code() == std::errc::resource_unavailable_try_again)
        end("there is no memory for another thread, or no more are allowed");
    } catch (...) {
    }
  std::abort();
}
} // namespace

void endInOrderWithoutMemory() {
  std::set_terminate(endOrAbort);
  // The C library looks for the unwinder when an exception first passes through one of its own
  // functions (pthread_once), and aborts when there is no memory for that. Now there is.
  void *frame;
  (void)::backtrace(&frame, 1);
}

} // namespace gantry::tool
