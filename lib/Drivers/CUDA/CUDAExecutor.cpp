#include "CUDAExecutor.h"

#include "CUDADevice.h"
#include "HostCopy.h"
#include "Libraries/Collectives.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/CommandRecorder.h"
#include "gantry/Runtime/Runtime.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace gantry::runtime::cuda {

namespace fb = plan::fb;

namespace {

std::string nameOf(const Program &program, const Step &step) {
  return describeCommand(program.plan().metadata(), program.commandOf(step));
}

/// Segments whose work may be behind a failure, by the first and the last of it.
class SegmentsErrorContext final : public ErrorContext {
public:
  SegmentsErrorContext(const Program &program, uint32_t firstStep, uint32_t lastStep)
      : program(program), first(firstStep), last(lastStep) {}

protected:
  std::string what() const override {
    uint32_t begin = first, end = last;
    while (begin < end && isOrder(begin))
      ++begin;
    while (end > begin && isOrder(end))
      --end;
    const std::string name = nameOf(program, program.steps()[begin]);
    return begin == end
               ? "the segment of " + name
               : "the segment from " + name + " to " + nameOf(program, program.steps()[end]);
  }

private:
  bool isOrder(uint32_t at) const {
    const Step::Kind kind = program.steps()[at].kind;
    return kind == Step::Kind::signal || kind == Step::Kind::wait;
  }
  const Program &program;
  uint32_t first, last;
};

class StepErrorContext final : public ErrorContext {
public:
  StepErrorContext(const Program &program, const Step &step) : program(program), step(step) {}

protected:
  std::string what() const override { return nameOf(program, step); }

private:
  const Program &program;
  const Step &step;
};

} // namespace

CUDAExecutor::CUDAExecutor(const Program &program, CUDAOptions options)
    : program(program), options(options), segments(splitProgram(program)) {
  for (Queue *queue : program.queues())
    if (!queue->device().runsInline())
      queues.push_back(static_cast<StreamQueue *>(queue));
  for (const Step &step : program.steps()) {
    if (step.kind != Step::Kind::launch)
      continue;
    if (!origin)
      origin = static_cast<StreamQueue *>(step.queue);
    const LibraryKernel *inLibrary = static_cast<const Kernel *>(step.kernel)->inLibrary;
    hasCollectives |= inLibrary && inLibrary->isCollective();
  }
  if (!origin && !queues.empty())
    origin = queues.front();
  std::set<PhysicalGPU *> seen;
  for (StreamQueue *queue : queues)
    if (PhysicalGPU &gpu = queue->cudaDevice().gpu();
        &gpu != &origin->cudaDevice().gpu() && seen.insert(&gpu).second)
      completionStreams.push_back(queue);
  captured.resize(segments.all.size());
  lastNumber.resize(segments.all.size());
}

CUDAExecutor::~CUDAExecutor() {
  if (waiter.joinable()) {
    {
      std::lock_guard lock(mutex);
      isEnding = true;
      changed.notify_all();
    }
    waiter.join();
  }
  release();
}

Status CUDAExecutor::lost() const {
  for (StreamQueue *queue : queues)
    if (queue->handle())
      GANTRY_RETURN_IF_ERROR(queue->in().lost());
  return {};
}

Status CUDAExecutor::named(const Step &step, Status status) const {
  if (status.ok())
    return status;
  Status gone = lost();
  return gone.ok() ? program.withStep(step, std::move(status)) : gone;
}

Status CUDAExecutor::ofSegment(Status status) const {
  if (status.ok())
    return status;
  Status gone = lost();
  return gone.ok() ? Status(status.code(), ErrorContext::now() + ": " + status.message()) : gone;
}

// ---- the order of things ----

Status CUDAExecutor::runSegments() {
  issued = finished = 0;
  std::fill(lastNumber.begin(), lastNumber.end(), 0);
  pendingDownloads.clear();
  mustJoin = false;
  GANTRY_RETURN_IF_ERROR(prepare());
  GANTRY_RETURN_IF_ERROR(followCaller());
  for (uint32_t at = 0; at < program.steps().size();) {
    GANTRY_RETURN_IF_ERROR(program.checkCancelled(stepAt(at)));
    const uint32_t index = segments.startingAt[at];
    if (index == Segments::none) {
      Expected<uint32_t> next = doHostStep(at);
      if (!next)
        return next.status();
      at = *next;
      continue;
    }
    GANTRY_RETURN_IF_ERROR(runSegment(index));
    const Segment &segment = segments.all[index];
    at = segment.end;
    if (!segment.read)
      continue;
    Expected<uint32_t> next = doControl(segment, at);
    if (!next)
      return next.status();
    at = *next;
  }
  return {};
}

/// Gives the step that follows.
Expected<uint32_t> CUDAExecutor::doHostStep(uint32_t at) {
  const Step &step = stepAt(at);
  switch (step.kind) {
  case Step::Kind::signal: // what the host did is done
    return at + 1;
  case Step::Kind::wait: {
    const uint32_t segment = segments.segmentOfSignal[step.target];
    if (segment != Segments::none)
      GANTRY_RETURN_IF_ERROR(finishUpTo(lastNumber[segment]));
    return at + 1;
  }
  case Step::Kind::join:
    mustJoin = true;
    return at + 1;
  case Step::Kind::jump:
    return step.target;
  default:
    break;
  }
  const bool isHosts = step.queue->device().runsInline();
  if (mustJoin || !isHosts || step.kind == Step::Kind::jumpIfFalse)
    GANTRY_RETURN_IF_ERROR(finishAll());
  mustJoin = false;
  if (step.kind == Step::Kind::jumpIfFalse)
    return *static_cast<const uint8_t *>(step.buffers[0]) ? at + 1 : step.target;
  if (step.kind == Step::Kind::call) {
    program.plan().runtime().threadPool().parallelFor(reinterpret_cast<KernelFn>(step.kernel),
                                                      step.buffers, step.items, step.grain);
    return at + 1;
  }
  Status status = program.perform(step);
  if (status.ok() && !isHosts)
    status = step.queue->finish().status;
  if (!status.ok())
    return named(step, std::move(status));
  return at + 1;
}

/// What the host looks at came with the segment.
Expected<uint32_t> CUDAExecutor::doControl(const Segment &segment, uint32_t at) {
  const Step &step = stepAt(at);
  GANTRY_RETURN_IF_ERROR(finishAll());
  mustJoin = false;
  if (step.kind == Step::Kind::jumpIfFalse)
    return *pinnedAt(*segment.read) ? at + 1 : step.target;
  int64_t first[2];
  std::memcpy(first, pinnedAt(*segment.read), sizeof first);
  if (Status status = program.judgeCheck(step, first[0], first[1]); !status.ok())
    return program.withStep(step, std::move(status));
  return at + 1;
}

Status CUDAExecutor::runSegment(uint32_t index) {
  const Segment &segment = segments.all[index];
  // Its pinned memory is its own again when it has run.
  if (lastNumber[index] > finished)
    GANTRY_RETURN_IF_ERROR(finishUpTo(lastNumber[index]));
  GANTRY_RETURN_IF_ERROR(stageIn(segment));
  const uint32_t last = std::max(segment.begin + 1, segment.end) - 1;
  SegmentsErrorContext doing(program, segment.begin, last);
  GANTRY_RETURN_IF_ERROR(options.graphs ? replay(index) : issue(segment));
  for (uint32_t at = segment.begin; at < segment.end; ++at)
    program.countCopies(stepAt(at));
  lastNumber[index] = ++issued;
  if (segment.isAwaited)
    GANTRY_RETURN_IF_ERROR(ofSegment(origin->record(*awaited[index])));
  for (const PinnedCopy &copy : segment.downloads)
    pendingDownloads.push_back(
        {issued, stepAt(copy.step).buffers[copy.buffer + 1], pinnedAt(copy), copy.bytes});
  return {};
}

/// What is to go up may itself still be on its way down.
Status CUDAExecutor::stageIn(const Segment &segment) {
  for (const PinnedCopy &copy : segment.uploads) {
    const void *source = stepAt(copy.step).buffers[copy.buffer];
    const auto begin = reinterpret_cast<uintptr_t>(source);
    for (const PendingDownload &each : pendingDownloads)
      if (rangesOverlap(begin, copy.bytes, reinterpret_cast<uintptr_t>(each.to), each.bytes)) {
        GANTRY_RETURN_IF_ERROR(finishAll());
        break;
      }
    copyOnHost(options.copyingPool, pinnedAt(copy), source, copy.bytes);
  }
  return {};
}

Status CUDAExecutor::finishAll() {
  if (callerLeads && issued == finished)
    GANTRY_RETURN_IF_ERROR(origin->finish().status);
  callerLeads = false;
  return finishUpTo(issued);
}

/// Waits for a segment and those before it, and takes what they bring.
Status CUDAExecutor::finishUpTo(uint64_t number) {
  if (number <= finished)
    return {};
  uint32_t first = Segments::none, last = 0, wanted = Segments::none;
  for (uint32_t i = 0; i < lastNumber.size(); ++i) {
    if (lastNumber[i] <= finished || lastNumber[i] > number)
      continue;
    const Segment &segment = segments.all[i];
    first = std::min(first, segment.begin);
    last = std::max(last, std::max(segment.begin + 1, segment.end) - 1);
    if (lastNumber[i] == number)
      wanted = i;
  }
  SegmentsErrorContext doing(program, first, last);
  if (number < issued && wanted != Segments::none && segments.all[wanted].isAwaited) {
    GANTRY_RETURN_IF_ERROR(ofSegment(awaited[wanted]->wait()));
    finished = number;
  } else {
    GANTRY_RETURN_IF_ERROR(ofSegment(origin->finish().status));
    for (StreamQueue *witness : completionStreams)
      GANTRY_RETURN_IF_ERROR(ofSegment(witness->finish().status));
    finished = issued;
  }
  for (const PendingDownload &each : pendingDownloads)
    if (each.number <= finished)
      copyOnHost(options.copyingPool, each.to, each.pinned, each.bytes);
  std::erase_if(pendingDownloads,
                [&](const PendingDownload &each) { return each.number <= finished; });
  return {};
}

// ---- runs ----

void CUDAExecutor::takeTurn() const {
  if (hasCollectives)
    CollectiveTurn::take();
}

void CUDAExecutor::giveTurn() const {
  if (hasCollectives)
    CollectiveTurn::give();
}

Status CUDAExecutor::run(CommandOrder) {
  takeTurn();
  Status status = runHere();
  giveTurn();
  return status;
}

Status CUDAExecutor::runHere() {
  if (options.syncEach)
    return runSteps([](const Step &, auto work) { return work(); });
  Status status = runSegments();
  if (status.ok())
    status = finishAll();
  if (!status.ok())
    settle();
  return status;
}

/// After a failure: nothing goes on behind a run that is over.
void CUDAExecutor::settle() {
  for (StreamQueue *queue : queues)
    (void)queue->finish();
}

/// Each command by itself, waited for.
template <typename Observe>
Status CUDAExecutor::runSteps(Observe observe) {
  GANTRY_RETURN_IF_ERROR(prepare());
  GANTRY_RETURN_IF_ERROR(followCaller());
  if (callerLeads)
    GANTRY_RETURN_IF_ERROR(origin->finish().status);
  for (uint32_t at = 0; at < program.steps().size();) {
    const Step &step = stepAt(at);
    GANTRY_RETURN_IF_ERROR(program.checkCancelled(step));
    StepErrorContext doing(program, step);
    switch (step.kind) {
    case Step::Kind::signal:
    case Step::Kind::wait:
      ++at;
      continue;
    case Step::Kind::join: // what a collective has put on other queues than its last part's
      for (StreamQueue *queue : queues)
        if (Status status = queue->finish().status; !status.ok())
          return named(step, std::move(status));
      ++at;
      continue;
    case Step::Kind::jump:
      at = step.target;
      continue;
    case Step::Kind::jumpIfFalse: {
      Expected<bool> condition = program.readCondition(step);
      if (!condition)
        return named(step, condition.status());
      at = *condition ? at + 1 : step.target;
      continue;
    }
    default:
      break;
    }
    Status status = observe(step, [&]() -> Status {
      if (step.kind == Step::Kind::call) {
        program.plan().runtime().threadPool().parallelFor(reinterpret_cast<KernelFn>(step.kernel),
                                                          step.buffers, step.items, step.grain);
        return {};
      }
      GANTRY_RETURN_IF_ERROR(program.perform(step));
      return step.queue->finish().status;
    });
    if (!status.ok())
      return named(step, std::move(status));
    ++at;
  }
  return {};
}

Status CUDAExecutor::runTimed(CommandOrder, std::vector<CommandEvent> &events) {
  CommandRecorder recorder(program, events);
  takeTurn();
  Status status = runSteps([&](const Step &step, auto work) {
    const double start = recorder.now();
    Status done = work();
    recorder.add(step, start);
    return done;
  });
  giveTurn();
  return status;
}

void CUDAExecutor::start(CommandOrder, std::span<const OutputCopy> outputs,
                         RunCompletion &completion) {
  takeTurn();
  Status status = options.syncEach ? runHere() : runSegments();
  if (status.ok())
    status = leadCaller();
  if (!status.ok()) {
    settle();
    giveTurn();
    completion.runFinished(std::move(status));
    return;
  }
  std::lock_guard lock(mutex);
  pending = Pending{&completion, {outputs.begin(), outputs.end()}};
  if (!waiter.joinable())
    waiter = std::thread([this] { waitForRuns(); });
  changed.notify_all();
}

/// On a thread of the executor's: the end of a run that was started.
void CUDAExecutor::waitForRuns() {
  for (;;) {
    Pending mine;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return pending || isEnding; });
      if (!pending)
        return;
      mine = std::move(*pending);
      pending.reset();
    }
    Status status = finishAll();
    if (!status.ok())
      settle();
    giveTurn();
    for (const OutputCopy &copy : mine.outputs)
      if (status.ok())
        status = copy.device->download(copy.destination, copy.source, copy.bytes);
    mine.completion->runFinished(std::move(status));
  }
}

} // namespace gantry::runtime::cuda
