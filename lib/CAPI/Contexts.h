// MLIR contexts for compilations and graphs, kept between them: registering everything takes as
// long as compiling a small graph.
#pragma once

#include "ThreadPool.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <mutex>
#include <vector>

namespace gantry::capi {

/// A context never forgets a type, attribute or weight, so each is used a limited number of times,
/// and not again once it holds many bytes.
class Contexts : public std::enable_shared_from_this<Contexts> {
  struct Kept;

public:
  /// A context for one user at a time; goes back when that is done with it.
  class Lease {
  public:
    /// A context of its own.
    Lease();
    Lease(std::shared_ptr<Contexts> owner, std::shared_ptr<Kept> kept);
    Lease(Lease &&) = default;
    ~Lease();

    mlir::MLIRContext &context() const;
    /// It is not used again: it has been changed, or has grown.
    void retire();
    /// See ThreadPool::takeShortage.
    unsigned takeShortage() const;

  private:
    std::shared_ptr<Contexts> owner; ///< null: it goes with the lease
    std::shared_ptr<Kept> kept;
  };

  /// `threads` for passes; 0: all available.
  static std::shared_ptr<Contexts> create(unsigned threads);

  Lease take();

private:
  explicit Contexts(unsigned threads);
  void giveBack(std::shared_ptr<Kept> kept);

  std::unique_ptr<ThreadPool> pool; ///< outlives the contexts; null: one thread
  std::mutex mutex;
  std::vector<std::shared_ptr<Kept>> idle;
};

} // namespace gantry::capi
