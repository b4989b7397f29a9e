#include "gantry/Support/Thread.h"

#include <cstdint>
#include <memory>
#include <new>

namespace gantry {

namespace {
constexpr size_t stackBytes = size_t(8) << 20;

void *runWork(void *given) {
  const std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()> *>(given));
  (*work)();
  return nullptr;
}
} // namespace

bool Thread::start(std::function<void()> work) {
  pthread_attr_t attributes;
  if (runs || ::pthread_attr_init(&attributes) != 0)
    return false;
  std::unique_ptr<std::function<void()>> held(new (std::nothrow)
                                                  std::function<void()>(std::move(work)));
  runs = held && ::pthread_attr_setstacksize(&attributes, stackBytes) == 0 &&
         ::pthread_create(&handle, &attributes, runWork, held.get()) == 0;
  if (runs)
    (void)held.release(); // the thread's
  ::pthread_attr_destroy(&attributes);
  return runs;
}

void Thread::join() {
  if (std::exchange(runs, false))
    ::pthread_join(handle, nullptr);
}

void Thread::detach() {
  if (std::exchange(runs, false))
    ::pthread_detach(handle);
}

size_t stackLeft() {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0)
    return SIZE_MAX;
  void *lowest = nullptr;
  size_t size = 0;
  const bool isKnown = ::pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  ::pthread_attr_destroy(&attributes);
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const auto end = reinterpret_cast<uintptr_t>(lowest);
  return isKnown && here > end ? here - end : SIZE_MAX;
}

} // namespace gantry
