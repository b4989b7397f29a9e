#include "Collectives.h"

#include <algorithm>
#include <condition_variable>

namespace gantry::runtime::cuda {

using plan::AllReducePart;

// ---- Communicators ----

Expected<std::shared_ptr<Communicators>> Communicators::make(const nccl::Nccl &library,
                                                             std::span<PhysicalGPU *const> gpus) {
  std::shared_ptr<Communicators> made(new Communicators(library));
  std::vector<int> ordinals;
  for (PhysicalGPU *gpu : gpus) {
    Expected<std::shared_ptr<Context>> context = gpu->context();
    if (!context)
      return context.status();
    made->contexts.push_back(context.take());
    ordinals.push_back(gpu->ordinal());
  }
  CurrentContext current(made->context(0));
  GANTRY_RETURN_IF_ERROR(current.status());
  std::vector<nccl::Communicator> all(gpus.size());
  GANTRY_RETURN_IF_ERROR(GANTRY_NCCL_IN(library, made->context(0), createAll, all.data(),
                                        static_cast<int>(all.size()), ordinals.data()));
  made->all = std::move(all);
  return made;
}

/// What waits for a card that is lost would wait forever: then they are not ended but dropped.
Communicators::~Communicators() {
  if (wasForked())
    return;
  const bool isLost = std::any_of(contexts.begin(), contexts.end(),
                                  [](const auto &context) { return !context->lost().ok(); });
  for (size_t rank = 0; rank < all.size(); ++rank) {
    CurrentContext current(context(rank), CurrentContext::For::release);
    (void)(isLost ? nccl.abort(all[rank]) : nccl.destroy(all[rank]));
  }
}

bool Communicators::areOn(std::span<PhysicalGPU *const> gpus) const {
  return std::equal(contexts.begin(), contexts.end(), gpus.begin(), gpus.end(),
                    [](const auto &context, PhysicalGPU *gpu) { return &context->gpu() == gpu; });
}

// ---- AllReduceGroup ----

namespace {

nccl::DataType typeOf(ElementType type) {
  switch (type) {
  case ElementType::i8:
    return nccl::DataType::i8;
  case ElementType::u8:
    return nccl::DataType::u8;
  case ElementType::i32:
    return nccl::DataType::i32;
  case ElementType::u32:
    return nccl::DataType::u32;
  case ElementType::i64:
    return nccl::DataType::i64;
  case ElementType::u64:
    return nccl::DataType::u64;
  case ElementType::f16:
    return nccl::DataType::f16;
  case ElementType::bf16:
    return nccl::DataType::bf16;
  case ElementType::f64:
    return nccl::DataType::f64;
  default:
    return nccl::DataType::f32;
  }
}

} // namespace

/// One collective of a plan. Used by one run at a time (CollectiveTurn).
class AllReduceGroup {
public:
  AllReduceGroup(std::shared_ptr<Communicators> communicators, const AllReducePart &part)
      : communicators(std::move(communicators)), part(part), ready(part.ranks) {}

  /// The launch of a rank; of the last one, all of them go to the library. Those that a run has
  /// left behind are forgotten when the next one begins.
  Status launch(uint32_t rank, StreamHandle stream, const void *value, void *result) {
    if (rank == 0)
      count = 0;
    ready[rank] = {stream, value, result};
    if (++count != part.ranks)
      return {};
    count = 0;
    return issue();
  }

private:
  struct Ready {
    StreamHandle stream = nullptr;
    const void *value = nullptr;
    void *result = nullptr;
  };

  Status issue() {
    const nccl::Nccl &library = communicators->library();
    Context &own = communicators->context(part.ranks - 1);
    GANTRY_RETURN_IF_ERROR(GANTRY_NCCL_IN(library, own, beginGroup));
    Status status;
    for (uint32_t rank = 0; rank < part.ranks && status.ok(); ++rank)
      status = GANTRY_NCCL_IN(library, communicators->context(rank), allReduce, ready[rank].value,
                              ready[rank].result, part.elements, typeOf(part.type),
                              nccl::Reduction::sum, communicators->of(rank), ready[rank].stream);
    Status ended = GANTRY_NCCL_IN(library, own, endGroup);
    return status.ok() ? ended : status;
  }

  std::shared_ptr<Communicators> communicators;
  const AllReducePart part;
  std::vector<Ready> ready; ///< by rank
  uint32_t count = 0;
};

Status AllReduceLaunch::launch(Context &context, StreamHandle stream, void *const *buffers,
                               uint32_t) const {
  return afterCapture(context, stream, group->launch(part.rank, stream, buffers[0], buffers[1]));
}

// ---- Collectives ----

Expected<KernelHandle> Collectives::lookup(const std::string &symbol, const Geometry &geometry) {
  Expected<AllReducePart> part = AllReducePart::parse(symbol);
  if (!part)
    return part.status();
  std::lock_guard lock(mutex);
  parts.push_back(std::make_unique<AllReduceLaunch>(*part));
  kernels.push_back(std::make_unique<Kernel>(Kernel{nullptr, geometry, parts.back().get()}));
  return static_cast<KernelHandle>(kernels.back().get());
}

Status connectParts(std::shared_ptr<Communicators> communicators,
                    std::span<const KernelHandle> ranks) {
  std::vector<AllReduceLaunch *> parts;
  for (KernelHandle handle : ranks) {
    const LibraryKernel *inLibrary = static_cast<const Kernel *>(handle)->inLibrary;
    if (!inLibrary || !inLibrary->isCollective())
      return Status::unsupported("a kernel that is no part of a collective");
    parts.push_back(const_cast<AllReduceLaunch *>(static_cast<const AllReduceLaunch *>(inLibrary)));
    AllReducePart wanted = parts.front()->part;
    wanted.rank = static_cast<uint32_t>(parts.size() - 1);
    wanted.ranks = static_cast<uint32_t>(ranks.size());
    if (parts.back()->part != wanted)
      return Status::unsupported("parts that are not those of one collective");
  }
  for (AllReduceLaunch *part : parts)
    if (part->group != parts.front()->group)
      return Status::unsupported("parts that belong to different collectives");
  if (parts.front()->group)
    return {};
  auto group = std::make_shared<AllReduceGroup>(std::move(communicators), parts.front()->part);
  for (AllReduceLaunch *part : parts)
    part->group = group;
  return {};
}

// ---- CollectiveTurn ----

namespace {
std::mutex turnMutex;
std::condition_variable turnGiven;
bool isTaken = false;
} // namespace

void CollectiveTurn::take() {
  std::unique_lock lock(turnMutex);
  turnGiven.wait(lock, [] { return !isTaken; });
  isTaken = true;
}

void CollectiveTurn::give() {
  std::lock_guard lock(turnMutex);
  isTaken = false;
  turnGiven.notify_one();
}

} // namespace gantry::runtime::cuda
