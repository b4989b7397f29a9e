// Work as it runs: what it touches is checked against what is mapped, and against the order that
// streams and events make.
#include "Fake.h"

#include <algorithm>
#include <cstring>

namespace fake {

namespace {

void checkOrder(const Work &work, const Doer &doer, uint64_t begin, uint64_t bytes, bool writes) {
  if (!state().options.checks_order)
    return;
  auto other = state().order.access(doer, begin, begin + bytes, writes);
  if (!other)
    return;
  fault("race: " + doer.name + (writes ? " writes" : " reads") + " what " + *other +
        " uses, and nothing orders them");
  if (state().options.checks_order == 2)
    lose(*work.context, Result::launchFailed);
}

/// Whether the context's device, or the host where that is meant, has the range.
bool isThere(const Work &work, uint64_t address) {
  return mayTouch(*work.context->device, address, work.bytes) || isPinned(address, work.bytes);
}

void copy(const Work &work, const Doer &doer) {
  if (!isThere(work, work.to) || !isThere(work, work.from))
    return lose(*work.context, Result::illegalAddress);
  if (work.to < work.from + work.bytes && work.from < work.to + work.bytes)
    fault(work.name + " copies to a range that overlaps its source");
  checkOrder(work, doer, work.from, work.bytes, false);
  checkOrder(work, doer, work.to, work.bytes, true);
  open(work.to, work.bytes), open(work.from, work.bytes);
  std::memmove(reinterpret_cast<void *>(work.to), reinterpret_cast<void *>(work.from), work.bytes);
}

void fill(const Work &work, const Doer &doer) {
  if (!mayTouch(*work.context->device, work.to, work.bytes))
    return lose(*work.context, Result::illegalAddress);
  checkOrder(work, doer, work.to, work.bytes, true);
  open(work.to, work.bytes);
  std::memset(reinterpret_cast<void *>(work.to), work.value, work.bytes);
}

void runLibrary(const Work &work, const Doer &doer) {
  const std::vector<Touched> touched = work.inLibrary->touches();
  for (const Touched &range : touched)
    if (!mayTouch(*work.context->device, range.begin, range.bytes))
      return lose(*work.context, Result::illegalAddress);
  for (const Touched &range : touched)
    checkOrder(work, doer, range.begin, range.bytes, range.isWritten);
  openAll();
  work.inLibrary->run();
}

ptx::Checks checksOf(const fake_cuda_options_t &options) {
  if (options.checks_order || options.checks_kernels == 2)
    return ptx::Checks::all;
  return options.checks_kernels == 1 ? ptx::Checks::memory : ptx::Checks::none;
}

void launch(const Work &work, const Doer &doer) {
  if (state().options.skips_kernels)
    return;
  ptx::Launch launch;
  launch.kernel = work.function->name;
  for (size_t i = 0; i < 3; ++i)
    launch.grid[i] = work.grid[i], launch.block[i] = work.block[i];
  launch.dynamicShared = work.sharedBytes;
  launch.arguments = work.arguments;
  launch.checks = checksOf(state().options);
  openAll();
  ptx::Image &image = *work.function->module->image;
  auto outcome = ptx::run(image, launch);
  if (!outcome) {
    fault(work.name + ": " + outcome.status().message());
    return lose(*work.context, Result::launchFailed);
  }
  if (!outcome->faults.empty()) {
    fault(outcome->faults.front().text("kernels.ptx"));
    const bool isAddress = outcome->faults.front().kind == ptx::FaultKind::outOfBounds;
    return lose(*work.context, isAddress ? Result::illegalAddress : Result::launchFailed);
  }
  if (!state().options.checks_order)
    return;
  for (const ptx::TouchedRange &range : image.memory().touched())
    checkOrder(work, doer, range.begin, range.end - range.begin, range.isWritten);
}

} // namespace

/// In a context that is lost nothing runs.
void perform(const Work &work, const Doer &doer) {
  if (work.context->error != Result::success)
    return;
  switch (work.kind) {
  case Work::Kind::launch:
    return launch(work, doer);
  case Work::Kind::copy:
    return copy(work, doer);
  case Work::Kind::fill:
    return fill(work, doer);
  case Work::Kind::library:
    return runLibrary(work, doer);
  case Work::Kind::nothing:
    return;
  }
}

} // namespace fake
