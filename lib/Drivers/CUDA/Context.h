// A physical GPU, and the context on it.
//
// The context is made when it is first used and goes with its last user: memory, code, queues and
// events hold it. After a failure that CUDA does not recover from it is lost: every use of it says
// so, in the words of the first one that saw the failure, until its last user is gone; the next use
// makes a new one.
#pragma once

#include "Library.h"
#include "Staging.h"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace gantry::runtime {
class ThreadPool;
} // namespace gantry::runtime

namespace gantry::runtime::cuda {

namespace cublaslt {
struct CublasLt;
} // namespace cublaslt
namespace nccl {
struct Nccl;
} // namespace nccl

class PhysicalGPU;

/// The primary context of a card. Thread-safe.
class Context {
public:
  Context(PhysicalGPU &gpu, ContextHandle handle);
  ~Context();
  Context(const Context &) = delete;

  PhysicalGPU &gpu() const { return owner; }
  const Library &api() const;
  bool is(ContextHandle other) const { return handle == other; }

  /// What was lost, if it is; to be asked before work is given to the context.
  Status lost() const;
  /// `result` of a call named `call`. One that loses the context is remembered and told with
  /// the ErrorContext of the thread; later failures are told as the first.
  Status check(Result result, const char *call);

  /// Buffers for transfers outside of runs, and their stream; the caller holds the lock.
  Staging &staging() { return transfers; }

private:
  friend class CurrentContext;
  PhysicalGPU &owner;
  ContextHandle handle;
  Staging transfers;
  mutable std::mutex mutex;
  std::optional<Status> failure;
};

/// What the thread does, for the message of a failure that loses a context: the work that failed is
/// behind the call that says so.
class ErrorContext {
public:
  ErrorContext() : outer(innermost) { innermost = this; }
  ErrorContext(const ErrorContext &) = delete;
  /// "the segment from 'a' to 'b'"; empty where nobody says.
  static std::string now() { return innermost ? innermost->what() : ""; }

protected:
  ~ErrorContext() { innermost = outer; }
  virtual std::string what() const = 0;

private:
  static thread_local const ErrorContext *innermost;
  const ErrorContext *outer;
};

/// Makes a context the thread's own for as long as the object lives, and what was current before
/// afterwards. Calls nothing where it is so already.
class CurrentContext {
public:
  /// To work in the context, or to give back what is there: then it is worth a second try.
  enum class For { work, release };
  explicit CurrentContext(Context &context, For what = For::work);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;

  /// Of making it current; nothing may be called when it is a failure.
  const Status &status() const { return failure; }

private:
  Context *entered = nullptr;
  Context *outer = nullptr;
  Status failure;
};

/// A library, opened when it is first asked for.
template <typename Library>
struct LazyLibrary {
  bool isAskedFor = false;
  std::shared_ptr<const Library> library;
  Status why; ///< there is none
};

/// A physical GPU; logical devices are parts of it. Asking it anything but its context makes none.
class PhysicalGPU {
public:
  /// `copyingPool`: see CUDAOptions.
  static Expected<std::unique_ptr<PhysicalGPU>> open(const Library &api, int ordinal,
                                                     ThreadPool *copyingPool);

  const Library &api() const { return library; }
  DeviceNumber number() const { return device; }
  int ordinal() const { return index; }
  ThreadPool *copyingPool() const { return pool; }
  const std::string &name() const { return gpuName; }
  /// 90 for sm_90.
  uint32_t architecture() const { return arch; }
  uint64_t memory() const { return bytes; }
  bool hasVirtualMemory() const { return virtualMemory; }
  /// Whether it can read and write the other's memory; asked once.
  bool canAccess(const PhysicalGPU &other);

  /// The context, made when there is none. UNAVAILABLE or DOES_NOT_FIT when CUDA cannot make one;
  /// the failure that lost it while it still has users.
  Expected<std::shared_ptr<Context>> context();
  /// Of the buffers for transfers outside of runs; makes no context.
  uint64_t pinnedBytes();
  /// The library of matrix products, opened when it is first asked for. UNAVAILABLE without it.
  Expected<const cublaslt::CublasLt *> cublasLt();
  /// The same of the library of collectives.
  Expected<const nccl::Nccl *> nccl();

private:
  friend class Context;
  void letGo();
  template <typename Library>
  Expected<const Library *> open(LazyLibrary<Library> &lazy);
  PhysicalGPU(const Library &api, int ordinal, ThreadPool *copyingPool)
      : library(api), index(ordinal), pool(copyingPool) {}
  Status read();

  const Library &library;
  int index;
  ThreadPool *pool;
  DeviceNumber device = 0;
  std::string gpuName;
  uint32_t arch = 0;
  uint64_t bytes = 0;
  bool virtualMemory = false;
  std::mutex mutex;
  std::condition_variable gone;
  std::weak_ptr<Context> current;
  bool isRetained = false;
  std::map<DeviceNumber, bool> peers; ///< whether they can be accessed
  LazyLibrary<cublaslt::CublasLt> products;
  LazyLibrary<nccl::Nccl> collectives;
};

} // namespace gantry::runtime::cuda

/// Calls a function of the table in a context, and names it when it fails.
#define GANTRY_CUDA_IN(context, name, ...)                                                         \
  ((context).check((context).api().name(__VA_ARGS__), ::gantry::runtime::cuda::symbolOf_##name))
