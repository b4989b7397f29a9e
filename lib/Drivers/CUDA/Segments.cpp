#include "Segments.h"

#include "CUDADevice.h"
#include "Stream.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>

namespace gantry::runtime::cuda {

namespace fb = plan::fb;

namespace {

bool overlap(const fb::BufferRef &a, const fb::BufferRef &b) {
  return a.space() == b.space() && a.index() == b.index() &&
         rangesOverlap(a.offset(), a.size(), b.offset(), b.size());
}

class Splitter {
public:
  explicit Splitter(const Program &program)
      : program(program), isTarget(program.steps().size() + 1),
        hostAwaits(program.function().num_semaphores()) {
    made.startingAt.assign(program.steps().size() + 1, Segments::none);
    made.isInside.assign(program.steps().size(), false);
    made.isDirect.assign(program.steps().size(), false);
    made.segmentOfSignal.assign(program.function().num_semaphores(), Segments::none);
  }

  Segments run() {
    for (const Step &step : program.steps()) {
      if (step.kind == Step::Kind::jump || step.kind == Step::Kind::jumpIfFalse)
        isTarget[step.target] = true;
      if (step.kind == Step::Kind::wait && isHosts(step))
        hostAwaits[step.target] = true;
    }
    for (uint32_t at = 0; at < program.steps().size(); ++at)
      add(at);
    close();
    findOrderInside();
    return std::move(made);
  }

private:
  static bool isHosts(const Step &step) { return step.queue->device().runsInline(); }
  const fb::BufferRef &buffer(const Step &step, uint32_t i) const {
    return *program.commandOf(step).buffers()->Get(i);
  }

  void add(uint32_t at) {
    const Step &step = program.steps()[at];
    if (isTarget[at])
      close();
    if (looksAtDevice(step))
      return addRead(at);
    if (step.kind == Step::Kind::signal && isHosts(step))
      return; // what it is for is over when the host comes by
    if (!belongs(step))
      return close();
    if (step.kind == Step::Kind::upload && readsWhatIsBrought(step))
      close();
    Segment &segment = open(at);
    addQueue(segment, step);
    if (step.kind == Step::Kind::upload || step.kind == Step::Kind::download)
      addPinned(segment, at);
    segment.end = at + 1;
    made.isDirect[at] = step.kind == Step::Kind::copyFrom;
    if (step.kind != Step::Kind::signal)
      return;
    made.segmentOfSignal[step.target] = static_cast<uint32_t>(made.all.size() - 1);
    if (hostAwaits[step.target]) {
      segment.isAwaited = true;
      close();
    }
  }

  Segment &open(uint32_t at) {
    if (!isOpen) {
      made.startingAt[at] = static_cast<uint32_t>(made.all.size());
      made.all.emplace_back();
      made.all.back().begin = made.all.back().end = at;
      isOpen = true;
    }
    return made.all.back();
  }
  void close() { isOpen = false; }

  static bool looksAtDevice(const Step &step) {
    return (step.kind == Step::Kind::jumpIfFalse || step.kind == Step::Kind::check) &&
           !isHosts(step);
  }

  /// The host looks at a byte of a condition, at two i64 of a check.
  void addRead(uint32_t at) {
    const Step &step = program.steps()[at];
    Segment &segment = open(at);
    const uint64_t bytes = step.kind == Step::Kind::check ? 2 * sizeof(int64_t) : 1;
    segment.read = PinnedCopy{at, 0, takePinned(bytes), bytes};
    segment.end = at;
    close();
  }

  /// Whether it is work for a GPU alone.
  bool belongs(const Step &step) const {
    if (isHosts(step))
      return false;
    switch (step.kind) {
    case Step::Kind::launch:
    case Step::Kind::fill:
    case Step::Kind::signal:
    case Step::Kind::wait:
      return true;
    case Step::Kind::copy:
      return isApart(step);
    case Step::Kind::copyFrom:
      return isDirect(step);
    case Step::Kind::upload:
    case Step::Kind::download:
      return isCommandOfDevice(step) && fitsPinned(step);
    default:
      return false;
    }
  }

  /// CUDA copies ranges that overlap in no order.
  bool isApart(const Step &step) const {
    for (uint32_t i = 0; i < step.numBuffers; i += 2)
      if (overlap(buffer(step, i), buffer(step, i + 1)))
        return false;
    return true;
  }

  static bool isDirect(const Step &step) {
    PhysicalGPU &to = static_cast<CUDADevice &>(step.queue->device()).gpu();
    const PhysicalGPU &from = static_cast<CUDADevice &>(*step.source).gpu();
    return &to == &from || to.canAccess(from);
  }

  /// A command of the host is over before the host goes on, whoever moves its bytes.
  bool isCommandOfDevice(const Step &step) const {
    return !program.plan().device(program.commandOf(step).device())->runsInline();
  }

  bool fitsPinned(const Step &step) const {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < step.numBuffers; i += 2)
      bytes += alignTo(buffer(step, i).size(), bufferAlignment);
    const uint64_t most = step.kind == Step::Kind::upload ? maxPinnedUpload : maxPinnedDownload;
    return bytes <= most && made.pinnedBytes + bytes <= maxPinnedBytes;
  }

  bool readsWhatIsBrought(const Step &step) const {
    if (!isOpen)
      return false;
    for (const PinnedCopy &brought : made.all.back().downloads)
      for (uint32_t i = 0; i < step.numBuffers; i += 2)
        if (overlap(buffer(program.steps()[brought.step], brought.buffer + 1), buffer(step, i)))
          return true;
    return false;
  }

  void addPinned(Segment &segment, uint32_t at) {
    const Step &step = program.steps()[at];
    auto &copies = step.kind == Step::Kind::upload ? segment.uploads : segment.downloads;
    for (uint32_t i = 0; i < step.numBuffers; i += 2)
      if (const uint64_t bytes = buffer(step, i).size())
        copies.push_back({at, i, takePinned(bytes), bytes});
  }

  uint64_t takePinned(uint64_t bytes) {
    const uint64_t slot = made.pinnedBytes;
    made.pinnedBytes += alignTo(bytes, bufferAlignment);
    return slot;
  }

  static void addQueue(Segment &segment, const Step &step) {
    auto *queue = static_cast<StreamQueue *>(step.queue);
    if (std::find(segment.queues.begin(), segment.queues.end(), queue) == segment.queues.end())
      segment.queues.push_back(queue);
  }

  /// Segments come one after the other, so that only order inside of one is left to make.
  void findOrderInside() {
    std::vector<uint32_t> waited(made.segmentOfSignal.size(), Segments::none);
    auto forAll = [&](Step::Kind kind, auto visit) {
      for (uint32_t s = 0; s < made.all.size(); ++s)
        for (uint32_t at = made.all[s].begin; at < made.all[s].end; ++at)
          if (program.steps()[at].kind == kind && !isHosts(program.steps()[at]))
            visit(s, at, program.steps()[at].target);
    };
    forAll(Step::Kind::wait, [&](uint32_t s, uint32_t at, uint32_t semaphore) {
      if (made.segmentOfSignal[semaphore] != s)
        return;
      made.isInside[at] = true;
      waited[semaphore] = s;
    });
    forAll(Step::Kind::signal, [&](uint32_t s, uint32_t at, uint32_t semaphore) {
      made.isInside[at] = waited[semaphore] == s;
    });
  }

  const Program &program;
  std::vector<bool> isTarget;   ///< by step: a jump goes there
  std::vector<bool> hostAwaits; ///< by semaphore
  Segments made;
  bool isOpen = false;
};

} // namespace

Segments splitProgram(const Program &program) { return Splitter(program).run(); }

} // namespace gantry::runtime::cuda
