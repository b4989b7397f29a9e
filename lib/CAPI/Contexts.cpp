#include "Contexts.h"

#include "gantry/Pipeline/Pipeline.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/ErrorHandling.h"

#include <new>

using namespace mlir;
using namespace gantry;
using namespace gantry::capi;

/// Times that a context is used, and bytes of weights and code that it may hold to be used again.
static constexpr unsigned kUses = 64;
static constexpr size_t kBlobs = size_t(1) << 20;

struct Contexts::Kept {
  std::unique_ptr<ThreadPool> own; ///< where it is nobody else's
  MLIRContext mlir;
  unsigned uses = 0;
  bool isSpent = false;

  explicit Kept(const DialectRegistry &registry)
      : mlir(registry, MLIRContext::Threading::DISABLED) {
    // The op at fault may be the whole module; its location says which one it is.
    mlir.printOpOnDiagnostic(false);
  }

  /// Whether it holds so much that it is better made anew.
  bool isFull() {
    size_t bytes = 0;
    DenseResourceElementsHandle::getManagerInterface(&mlir).getBlobManager().getBlobMap(
        [&](const auto &blobs) {
          for (const auto &entry : blobs)
            if (const AsmResourceBlob *blob = entry.second.getBlob())
              bytes += blob->getData().size();
        });
    return bytes > kBlobs;
  }
};

/// LLVM ends the process when malloc fails; like this it is as if operator new had failed, which
/// the process may have something to say about.
static void failAsNewDoes(void *, const char *, bool) {
  volatile size_t tooMuch = PTRDIFF_MAX;
  ::operator delete(::operator new(tooMuch));
}

static const DialectRegistry &registry() {
  static const DialectRegistry dialects = [] {
    llvm::install_bad_alloc_error_handler(failAsNewDoes);
    DialectRegistry all;
    registerDialects(all);
    return all;
  }();
  return dialects;
}

/// `threads`, or all that there are for 0; null for one.
static std::unique_ptr<ThreadPool> makePool(unsigned threads) {
  const unsigned most = llvm::hardware_concurrency(threads).compute_thread_count();
  return most > 1 ? std::make_unique<ThreadPool>(most) : nullptr;
}

Contexts::Lease::Lease() : kept(std::make_shared<Kept>(registry())) {
  kept->own = makePool(0);
  if (kept->own)
    kept->mlir.setThreadPool(*kept->own);
}

Contexts::Lease::Lease(std::shared_ptr<Contexts> owner, std::shared_ptr<Kept> kept)
    : owner(std::move(owner)), kept(std::move(kept)) {}

Contexts::Lease::~Lease() {
  if (owner && kept)
    owner->giveBack(std::move(kept));
}

MLIRContext &Contexts::Lease::context() const { return kept->mlir; }

void Contexts::Lease::retire() { kept->isSpent = true; }

unsigned Contexts::Lease::takeShortage() const {
  ThreadPool *pool = owner ? owner->pool.get() : kept->own.get();
  return pool ? pool->takeShortage() : 0;
}

Contexts::Contexts(unsigned threads) : pool(makePool(threads)) {}

std::shared_ptr<Contexts> Contexts::create(unsigned threads) {
  return std::shared_ptr<Contexts>(new Contexts(threads));
}

Contexts::Lease Contexts::take() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!idle.empty()) {
      std::shared_ptr<Kept> kept = std::move(idle.back());
      idle.pop_back();
      return Lease(shared_from_this(), std::move(kept));
    }
  }
  auto made = std::make_shared<Kept>(registry());
  if (pool)
    made->mlir.setThreadPool(*pool);
  return Lease(shared_from_this(), std::move(made));
}

void Contexts::giveBack(std::shared_ptr<Kept> kept) {
  if (++kept->uses >= kUses || kept->isSpent || kept->isFull())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  idle.push_back(std::move(kept));
}
