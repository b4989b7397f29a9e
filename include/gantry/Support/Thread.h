// Threads that may not be had: where the system starts no more of them (ulimit -u, no memory for a
// stack), whoever wanted one goes on without it. std::thread throws then, and nobody here catches.
#pragma once

#include <cstddef>
#include <functional>
#include <pthread.h>
#include <utility>

namespace gantry {

/// A thread with a stack of 8 MiB, whatever `ulimit -s` says. Move only; joined when it goes.
class Thread {
public:
  Thread() = default;
  Thread(Thread &&other) noexcept : handle(other.handle), runs(std::exchange(other.runs, false)) {}
  Thread &operator=(Thread &&) = delete;
  ~Thread() { join(); }

  /// Runs `work` beside the caller; false, and nothing happens, when the system starts no thread.
  /// One at a time.
  bool start(std::function<void()> work);
  /// Whether there is one to be joined.
  explicit operator bool() const { return runs; }
  void join();
  /// It goes on by itself, as long as the process lives.
  void detach();

private:
  pthread_t handle{};
  bool runs = false;
};

/// Bytes of stack that the calling thread has left; all that there are when that is not known.
size_t stackLeft();

} // namespace gantry
