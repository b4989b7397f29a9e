// All-reduces by NCCL: kernels whose symbol is a plan::AllReducePart, one for each rank.
//
// The parts are put together when their plan is loaded, with a communicator for each card that all
// plans on the same cards share. A run collects the streams and buffers of the parts as it comes by
// their launches, and gives them to the library as one group with the last of them. NCCL's own
// memory is in no plan, like a context.
#pragma once

#include "CUDA/Code.h"
#include "Nccl.h"
#include "gantry/Plan/AllReducePart.h"

#include <mutex>
#include <span>

namespace gantry::runtime::cuda {

class AllReduceGroup;

/// A communicator on each of several cards; made and destroyed with their contexts.
class Communicators {
public:
  /// UNSUPPORTED or UNAVAILABLE when the library makes none of these cards.
  static Expected<std::shared_ptr<Communicators>> make(const nccl::Nccl &library,
                                                       std::span<PhysicalGPU *const> gpus);
  ~Communicators();
  Communicators(const Communicators &) = delete;

  bool areOn(std::span<PhysicalGPU *const> gpus) const;
  const nccl::Nccl &library() const { return nccl; }
  Context &context(size_t rank) const { return *contexts[rank]; }
  nccl::Communicator of(size_t rank) const { return all[rank]; }

private:
  explicit Communicators(const nccl::Nccl &library) : nccl(library) {}

  const nccl::Nccl &nccl;
  std::vector<std::shared_ptr<Context>> contexts;
  std::vector<nccl::Communicator> all;
};

/// A rank's part.
class AllReduceLaunch final : public LibraryKernel {
public:
  explicit AllReduceLaunch(const plan::AllReducePart &part) : part(part) {}

  Status launch(Context &context, StreamHandle stream, void *const *buffers,
                uint32_t count) const override;
  bool isCollective() const override { return true; }

  const plan::AllReducePart part;
  std::shared_ptr<AllReduceGroup> group; ///< set when the plan is loaded
};

/// The parts on one card. Thread-safe.
class Collectives final : public CodeObject {
public:
  /// CORRUPT when the symbol is no part of a collective.
  Expected<KernelHandle> lookup(const std::string &symbol, const Geometry &geometry) override;

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<AllReduceLaunch>> parts;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

/// Puts parts together, in the order of their ranks. UNSUPPORTED when they are not those of one
/// collective, or belong to another already.
Status connectParts(std::shared_ptr<Communicators> communicators,
                    std::span<const KernelHandle> ranks);

/// Only one run of the process at a time has collectives: their kernels wait for each other across
/// cards, and those of two runs might each hold what the other waits for.
class CollectiveTurn {
public:
  static void take();
  static void give();
};

} // namespace gantry::runtime::cuda
