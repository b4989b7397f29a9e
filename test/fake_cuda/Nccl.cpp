// A small NCCL in the same file: the parts of a group become work of their streams, each of which
// waits for all of them before and after, and are computed on the host. Values are added from the
// last rank to the first, as the real one promises no order either. GANTRY_NCCL_LIB names this file
// as well.
#include "CUDA/Libraries/NcclApi.h"
#include "Fake.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

// Signatures are those that the driver calls.
namespace gantry::runtime::cuda::nccl {
#define GANTRY_NCCL_FUNCTION(name, symbol, ...) extern "C" Result symbol(__VA_ARGS__);
#define GANTRY_NCCL_QUESTION(name, symbol, answer, ...) extern "C" answer symbol(__VA_ARGS__);
#include "CUDA/Libraries/NcclFunctions.def"
} // namespace gantry::runtime::cuda::nccl

namespace fake {

namespace nccl = gantry::runtime::cuda::nccl;
using nccl::DataType;
using Status = nccl::Result;

namespace {

/// Communicators that were made together.
struct Clique {
  std::vector<Context *> contexts; ///< by rank
  std::vector<Event> begins, ends; ///< by rank: of its part of the group at hand
  size_t left = 0;                 ///< communicators that are still there
};

struct Communicator {
  Clique *clique = nullptr;
  size_t rank = 0;
};

uint64_t bytesOf(DataType type) {
  switch (type) {
  case DataType::i8:
  case DataType::u8:
    return 1;
  case DataType::f16:
  case DataType::bf16:
    return 2;
  case DataType::i64:
  case DataType::u64:
  case DataType::f64:
    return 8;
  default:
    return 4;
  }
}

template <typename T>
T at(uint64_t address, uint64_t index) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void *>(address + index * sizeof(T)), sizeof value);
  return value;
}

float halfToFloat(bool isBrain, uint16_t bits) {
  return isBrain ? std::bit_cast<float>(uint32_t(bits) << 16)
                 : static_cast<float>(std::bit_cast<_Float16>(bits));
}

uint16_t floatToHalf(bool isBrain, float value) {
  if (!isBrain)
    return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::isnan(value) ? 0x7fff
                           : static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A rank's part: all values, and its own result.
struct Part final : LibraryWork {
  DataType type = DataType::f32;
  uint64_t elements = 0;
  std::vector<uint64_t> values; ///< by rank
  size_t rank = 0;
  uint64_t result = 0;

  std::vector<Touched> touches() const override {
    return {{values[rank], elements * bytesOf(type), false},
            {result, elements * bytesOf(type), true}};
  }

  template <typename T>
  void addAs() const {
    std::vector<T> sums(elements);
    for (uint64_t i = 0; i < elements; ++i) {
      T sum = at<T>(values.back(), i);
      for (size_t r = values.size() - 1; r-- > 0;)
        sum = static_cast<T>(sum + at<T>(values[r], i));
      sums[i] = sum;
    }
    std::memcpy(reinterpret_cast<void *>(result), sums.data(), elements * sizeof(T));
  }

  void addHalves(bool isBrain) const {
    std::vector<uint16_t> sums(elements);
    for (uint64_t i = 0; i < elements; ++i) {
      sums[i] = at<uint16_t>(values.back(), i);
      for (size_t r = values.size() - 1; r-- > 0;)
        sums[i] = floatToHalf(isBrain, halfToFloat(isBrain, sums[i]) +
                                           halfToFloat(isBrain, at<uint16_t>(values[r], i)));
    }
    std::memcpy(reinterpret_cast<void *>(result), sums.data(), elements * sizeof(uint16_t));
  }

  void run() const override {
    switch (type) {
    case DataType::f32:
      return addAs<float>();
    case DataType::f64:
      return addAs<double>();
    case DataType::f16:
    case DataType::bf16:
      return addHalves(type == DataType::bf16);
    case DataType::i8:
    case DataType::u8:
      return addAs<uint8_t>();
    case DataType::i32:
    case DataType::u32:
      return addAs<uint32_t>();
    case DataType::i64:
    case DataType::u64:
      return addAs<uint64_t>();
    }
  }
};

/// What a thread has asked for in the group that it has begun.
struct Asked {
  Communicator *communicator;
  Stream *stream;
  std::shared_ptr<Part> part;
};
thread_local unsigned depth = 0;
thread_local std::vector<Asked> asked;
thread_local Status failure = Status::success; ///< of a call in the group, which then does nothing

Status statusOf(Result result) {
  return result == Result::success        ? Status::success
         : result == Result::notSupported ? Status::invalidUsage
                                          : Status::unhandledCudaError;
}

Communicator *communicatorOf(nccl::Communicator handle) {
  return state().ofLibraries.contains(handle) ? reinterpret_cast<Communicator *>(handle) : nullptr;
}

/// All of a group, in the order of the ranks.
Status issue(std::vector<Asked> group) {
  Clique &clique = *group.front().communicator->clique;
  std::sort(group.begin(), group.end(), [](const Asked &a, const Asked &b) {
    return a.communicator->rank < b.communicator->rank;
  });
  bool isWhole = group.size() == clique.contexts.size();
  for (size_t rank = 0; rank < group.size(); ++rank)
    isWhole &= group[rank].communicator->clique == &clique &&
               group[rank].communicator->rank == rank &&
               group[rank].part->type == group[0].part->type &&
               group[rank].part->elements == group[0].part->elements;
  if (!isWhole) {
    fault("ncclGroupEnd: a rank is missing, or asks for something else: the others wait forever");
    return Status::invalidUsage;
  }
  std::vector<uint64_t> values;
  for (const Asked &each : group)
    values.push_back(each.part->values.front());
  auto meet = [&](std::vector<Event> &events) {
    for (const Asked &each : group)
      if (Result result = recordEvent(events[each.communicator->rank], *each.stream);
          result != Result::success)
        return result;
    for (const Asked &each : group)
      for (Event &event : events)
        if (Result result = waitEvent(*each.stream, event); result != Result::success)
          return result;
    return Result::success;
  };
  if (Result result = meet(clique.begins); result != Result::success)
    return statusOf(result);
  for (const Asked &each : group) {
    each.part->rank = each.communicator->rank;
    each.part->values = values;
    Work work;
    work.kind = Work::Kind::library;
    work.inLibrary = each.part;
    work.name = "ncclAllReduce of " + std::to_string(each.part->elements) + " by rank " +
                std::to_string(each.communicator->rank);
    enqueue(*each.stream, std::move(work));
  }
  return statusOf(meet(clique.ends));
}

Status dropCommunicator(const Call &call, nccl::Communicator handle) {
  Communicator *communicator = communicatorOf(handle);
  if (!communicator)
    return Status::invalidArgument;
  state().ofLibraries.erase(handle);
  Clique *clique = communicator->clique;
  if (--clique->left == 0) {
    for (std::vector<Event> *events : {&clique->begins, &clique->ends})
      for (Event &event : *events)
        forgetEvent(event);
    delete clique;
  }
  delete communicator;
  return statusOf(call.end());
}

} // namespace
} // namespace fake

using namespace fake;
using Kind = Call::Kind;

#define FAKE_NCCL extern "C" __attribute__((visibility("default"))) fake::Status
#define FAKE_NCCL_BEGIN(kind)                                                                      \
  Call call(__func__, kind);                                                                       \
  if (call.isOver())                                                                               \
  return statusOf(call.result())

FAKE_NCCL ncclGetVersion(int *version) {
  *version = 22703;
  return fake::Status::success;
}

extern "C" __attribute__((visibility("default"))) const char *
ncclGetErrorString(fake::Status status) {
  return status == fake::Status::unhandledCudaError ? "unhandled cuda error"
         : status == fake::Status::invalidUsage     ? "invalid usage"
                                                    : "invalid argument";
}

FAKE_NCCL ncclCommInitAll(nccl::Communicator *communicators, int count, const int *devices) {
  FAKE_NCCL_BEGIN(Kind::makes);
  if (capturesHere())
    fault("ncclCommInitAll while something is captured");
  auto *clique = new Clique;
  clique->left = static_cast<size_t>(count);
  for (int rank = 0; rank < count; ++rank) {
    const int number = state().visible.at(static_cast<size_t>(devices[rank]));
    Context *context = state().contexts[static_cast<size_t>(number)].get();
    const bool isTwice = std::find(devices, devices + rank, devices[rank]) != devices + rank;
    if (!context || isTwice) {
      delete clique;
      return isTwice ? fake::Status::invalidUsage : fake::Status::unhandledCudaError;
    }
    clique->contexts.push_back(context);
    for (std::vector<Event> *events : {&clique->begins, &clique->ends})
      events->emplace_back().context = context;
  }
  for (size_t rank = 0; rank < clique->left; ++rank) {
    auto *made = new Communicator{clique, rank};
    state().ofLibraries.insert(made);
    communicators[rank] = reinterpret_cast<nccl::Communicator>(made);
  }
  return fake::Status::success;
}

FAKE_NCCL ncclCommDestroy(nccl::Communicator communicator) {
  FAKE_NCCL_BEGIN(Kind::frees);
  return dropCommunicator(call, communicator);
}

FAKE_NCCL ncclCommAbort(nccl::Communicator communicator) {
  FAKE_NCCL_BEGIN(Kind::frees);
  return dropCommunicator(call, communicator);
}

FAKE_NCCL ncclGroupStart() {
  FAKE_NCCL_BEGIN(Kind::asks);
  ++depth;
  return fake::Status::success;
}

/// A group is over also where the call fails.
FAKE_NCCL ncclGroupEnd() {
  Call call(__func__, Kind::frees);
  if (depth == 0)
    return fake::Status::invalidUsage;
  if (--depth != 0)
    return statusOf(call.end());
  std::vector<Asked> group = std::exchange(asked, {});
  if (const fake::Status failed = std::exchange(failure, fake::Status::success);
      failed != fake::Status::success)
    return failed;
  if (call.result() == gantry::runtime::cuda::Result::captureUnsupported)
    for (const Asked &each : group)
      if (each.stream->capture)
        breakCapture(*each.stream->capture);
  if (call.end() != gantry::runtime::cuda::Result::success || group.empty())
    return statusOf(call.end());
  return issue(std::move(group));
}

FAKE_NCCL ncclAllReduce(const void *value, void *result, size_t elements, DataType type,
                        nccl::Reduction reduction, nccl::Communicator handle,
                        StreamHandle streamHandle) {
  Call call(__func__, Kind::asks);
  if (call.isOver())
    return failure = statusOf(call.result());
  auto *stream = reinterpret_cast<Stream *>(streamHandle);
  Communicator *communicator = communicatorOf(handle);
  if (!communicator || !state().streams.contains(stream) || reduction != nccl::Reduction::sum)
    return fake::Status::invalidArgument;
  if (stream->context != communicator->clique->contexts[communicator->rank]) {
    fault("ncclAllReduce: the stream is not on the communicator's card");
    return fake::Status::invalidUsage;
  }
  if (depth == 0) {
    fault("ncclAllReduce outside of a group: the call waits for the other ranks forever");
    return fake::Status::invalidUsage;
  }
  auto part = std::make_shared<Part>();
  part->type = type, part->elements = elements;
  part->values = {bits(value)}, part->result = bits(result);
  asked.push_back({communicator, stream, part});
  return fake::Status::success;
}
