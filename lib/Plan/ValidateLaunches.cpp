// A launch against what the code of its kernel relies on: as many buffers as it takes, of the sizes
// that it reads and writes, the memory of each its own, and as much work as there is. (That buffers
// lie at multiples of 64, which no signature asks more than, was seen before.)
//
// What signatures say of the plan's code is trusted, as the code is. So a launch that keeps to them
// touches no byte but those of its buffers.
#include "Walk.h"

#include <tuple>

namespace gantry::plan {

namespace {

class LaunchChecker : Walk {
public:
  LaunchChecker(const Walk &walk, const fb::Command &launch)
      : Walk(walk), launch(launch), count(countOf(launch.buffers())) {
    const uint32_t scratch = launch.has_scratch() ? 1 : 0;
    results = launch.num_results() - scratch;
    operands = count - launch.num_results();
  }

  Status run(const fb::Signature &signature) {
    GANTRY_RETURN_IF_ERROR(checkCounts(signature));
    GANTRY_RETURN_IF_ERROR(checkSizes(signature.reads(), 0));
    GANTRY_RETURN_IF_ERROR(checkSizes(signature.writes(), operands));
    const uint64_t scratch = launch.has_scratch() ? bufferAt(count - 1).size() : 0;
    if (scratch < signature.scratch())
      return fail(kernel() + " takes " + number(signature.scratch()) +
                  " bytes of scratch memory, the launch has " + number(scratch));
    return checkApart(signature);
  }

  /// The work that a variant for CPUs does; a GPU's is its grid.
  Status checkItems(const fb::Signature &signature, uint64_t items) const {
    if (signature.grid() || items == signature.items())
      return {};
    return fail(kernel() + " has " + number(signature.items()) +
                " work items, the launch asks for " + number(items));
  }

private:
  const fb::Command &launch;
  const uint32_t count;
  uint32_t operands, results;

  std::string kernel() const {
    return "kernel '" + plan.kernels()->Get(launch.kernel())->symbol()->str() + "'";
  }

  const fb::BufferRef &bufferAt(uint32_t index) const { return *launch.buffers()->Get(index); }

  Status checkCounts(const fb::Signature &signature) const {
    const uint32_t reads = countOf(signature.reads()), writes = countOf(signature.writes());
    if (operands == reads && results == writes)
      return {};
    return fail(kernel() + " takes " + number(reads) + " operands and gives " + number(writes) +
                " results, the launch has " + number(operands) + " and " + number(results));
  }

  Status checkSizes(const flatbuffers::Vector<uint64_t> *sizes, uint32_t first) const {
    for (uint32_t i = 0; i < countOf(sizes); ++i)
      if (bufferAt(first + i).size() != sizes->Get(i))
        return fail("buffer " + number(first + i) + " has " + number(bufferAt(first + i).size()) +
                    " bytes, " + kernel() + " takes " + number(sizes->Get(i)));
    return {};
  }

  struct BufferRange {
    std::tuple<fb::Space, uint32_t, uint64_t> begin;
    uint64_t end;
    uint32_t index; ///< of the buffer
  };

  BufferRange rangeOf(uint32_t index) const {
    const fb::BufferRef &buffer = bufferAt(index);
    return {
        {buffer.space(), buffer.index(), buffer.offset()}, buffer.offset() + buffer.size(), index};
  }

  bool isWritten(const BufferRange &range) const { return range.index >= operands; }

  /// The code takes its buffers for different memory, but for those of which it knows better.
  Status checkApart(const fb::Signature &signature) const {
    std::vector<bool> isResultToo(operands);
    for (const fb::SameBuffer *same : each(signature.same())) {
      const BufferRange read = rangeOf(same->read()), written = rangeOf(operands + same->written());
      if (read.begin == written.begin && read.end == written.end)
        isResultToo[same->read()] = true;
    }
    std::vector<BufferRange> ranges;
    for (uint32_t i = 0; i < count; ++i)
      if (bufferAt(i).size() != 0 && (i >= operands || !isResultToo[i]))
        ranges.push_back(rangeOf(i));
    std::ranges::sort(ranges, {}, &BufferRange::begin);
    return checkDisjoint(ranges);
  }

  /// Of those that begin before in the same space, the one that reaches furthest meets the next if
  /// any does.
  Status checkDisjoint(const std::vector<BufferRange> &ranges) const {
    const BufferRange *furthest = nullptr, *furthestWritten = nullptr;
    for (const BufferRange &range : ranges) {
      const auto &[space, index, begin] = range.begin;
      if (furthest && std::tie(space, index) !=
                          std::tie(std::get<0>(furthest->begin), std::get<1>(furthest->begin)))
        furthest = furthestWritten = nullptr;
      const BufferRange *before = isWritten(range) ? furthest : furthestWritten;
      if (before && before->end > begin)
        return fail("buffers " + number(std::min(before->index, range.index)) + " and " +
                    number(std::max(before->index, range.index)) + " overlap, which " + kernel() +
                    " takes for different memory");
      if (!furthest || range.end > furthest->end)
        furthest = &range;
      if (isWritten(range) && (!furthestWritten || range.end > furthestWritten->end))
        furthestWritten = &range;
    }
    return {};
  }
};

/// Whether a device may come to run variants for that driver. Plans that name no driver leave it
/// open.
bool mayRun(const fb::Device &device, std::string_view driver) {
  if (driver.empty() || textOf(device.driver()).empty() || textOf(device.driver()) == driver)
    return true;
  for (const flatbuffers::String *also : each(device.also()))
    if (textOf(also) == driver)
      return true;
  return false;
}

} // namespace

Status checkSignatures(const Walk &walk, const fb::Device &device, const fb::Command &launch,
                       std::span<const SignedVariant> variants) {
  LaunchChecker checker(walk, launch);
  const fb::Signature *last = nullptr; // variants of one code for several drivers follow each other
  for (const SignedVariant &variant : variants) {
    if (!mayRun(device, variant.driver))
      continue;
    const uint64_t items = variant.items != 0 ? variant.items : launch.items();
    GANTRY_RETURN_IF_ERROR(checker.checkItems(*variant.signature, items));
    if (variant.signature != last)
      GANTRY_RETURN_IF_ERROR(checker.run(*variant.signature));
    last = variant.signature;
  }
  return {};
}

} // namespace gantry::plan
