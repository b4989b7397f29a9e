// What CUDA is told: the same calls whether a segment is captured or issued as it stands.
#include "CUDADevice.h"
#include "CUDAExecutor.h"
#include "gantry/Runtime/Runtime.h"

#include <algorithm>

namespace gantry::runtime::cuda {

Status CUDAExecutor::make(std::unique_ptr<StreamEvent> &event, StreamQueue &queue) {
  if (!event)
    event = std::make_unique<StreamEvent>(queue.cudaDevice().gpu());
  return event->prepare();
}

/// Makes what must not be made while something is captured: streams, events, pinned memory, and
/// access to the memory of other cards.
Status CUDAExecutor::prepare() {
  if (isPrepared)
    return lost();
  for (StreamQueue *queue : queues)
    GANTRY_RETURN_IF_ERROR(queue->prepare());
  semaphores.resize(program.function().num_semaphores());
  ends.resize(queues.size());
  awaited.resize(segments.all.size());
  for (size_t i = 0; i < queues.size(); ++i)
    GANTRY_RETURN_IF_ERROR(make(ends[i], *queues[i]));
  for (uint32_t at = 0; at < program.steps().size(); ++at) {
    const Step &step = stepAt(at);
    if (step.kind == Step::Kind::signal && segments.isInside[at])
      GANTRY_RETURN_IF_ERROR(
          make(semaphores[step.target], *static_cast<StreamQueue *>(step.queue)));
    if (step.kind == Step::Kind::copyFrom && segments.isDirect[at])
      GANTRY_RETURN_IF_ERROR(static_cast<CUDADevice *>(step.source)
                                 ->memory()
                                 .shareWith(static_cast<CUDADevice &>(step.queue->device()).gpu()));
  }
  for (size_t i = 0; i < awaited.size(); ++i)
    if (segments.all[i].isAwaited)
      GANTRY_RETURN_IF_ERROR(make(awaited[i], *origin));
  if (segments.pinnedBytes != 0 && !pinned) {
    CurrentContext current(origin->in());
    GANTRY_RETURN_IF_ERROR(current.status());
    void *data = nullptr;
    GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(origin->in(), allocateHost, &data, segments.pinnedBytes,
                                          flags::hostPortable));
    pinned = static_cast<uint8_t *>(data);
    origin->cudaDevice().countPinned(static_cast<int64_t>(segments.pinnedBytes));
  }
  isPrepared = true;
  return {};
}

void CUDAExecutor::release() {
  if (!origin || !origin->handle())
    return;
  if (pinned)
    origin->cudaDevice().countPinned(-static_cast<int64_t>(segments.pinnedBytes));
  CurrentContext current(origin->in(), CurrentContext::For::release);
  if (!current.status().ok())
    return; // it went with what was lost
  for (Captured &each : captured)
    if (each.exec)
      (void)origin->in().api().destroyGraphExec(each.exec);
  if (pinned)
    (void)origin->in().api().freeHost(pinned);
}

/// What follows on `later` comes after what is on `earlier` now.
Status CUDAExecutor::follow(StreamQueue &later, StreamQueue &earlier) {
  const auto found = std::find(queues.begin(), queues.end(), &earlier);
  StreamEvent &end = *ends[static_cast<size_t>(found - queues.begin())];
  GANTRY_RETURN_IF_ERROR(earlier.record(end));
  return later.wait(end);
}

Status CUDAExecutor::issue(const Segment &segment) {
  for (StreamQueue *queue : segment.queues)
    if (queue != origin)
      GANTRY_RETURN_IF_ERROR(ofSegment(follow(*queue, *origin)));
  for (uint32_t at = segment.begin; at < segment.end; ++at)
    if (Status status = issueStep(segment, at); !status.ok())
      return named(stepAt(at), std::move(status));
  for (StreamQueue *queue : segment.queues)
    if (queue != origin)
      GANTRY_RETURN_IF_ERROR(ofSegment(follow(*origin, *queue)));
  return segment.read ? issueRead(segment) : Status();
}

Status CUDAExecutor::issueStep(const Segment &segment, uint32_t at) {
  const Step &step = stepAt(at);
  switch (step.kind) {
  case Step::Kind::signal:
    return segments.isInside[at] ? step.queue->record(*semaphores[step.target]) : Status();
  case Step::Kind::wait:
    return segments.isInside[at] ? step.queue->wait(*semaphores[step.target]) : Status();
  case Step::Kind::upload:
    return issueCopies(segment.uploads, at);
  case Step::Kind::download:
    return issueCopies(segment.downloads, at);
  default:
    return program.enqueue(step);
  }
}

/// The pinned halves of an upload or a download.
Status CUDAExecutor::issueCopies(const std::vector<PinnedCopy> &copies, uint32_t at) {
  const Step &step = stepAt(at);
  auto &queue = *static_cast<StreamQueue *>(step.queue);
  for (const PinnedCopy &copy : copies) {
    if (copy.step != at)
      continue;
    GANTRY_RETURN_IF_ERROR(
        step.kind == Step::Kind::upload
            ? queue.send(step.buffers[copy.buffer + 1], pinnedAt(copy), copy.bytes)
            : queue.fetch(pinnedAt(copy), step.buffers[copy.buffer], copy.bytes));
  }
  return {};
}

Status CUDAExecutor::issueRead(const Segment &segment) {
  const Step &step = stepAt(segment.read->step);
  auto &queue = *static_cast<StreamQueue *>(step.queue);
  if (&queue != origin)
    GANTRY_RETURN_IF_ERROR(named(step, follow(queue, *origin)));
  if (Status status = queue.fetch(pinnedAt(*segment.read), step.buffers[0], segment.read->bytes);
      !status.ok())
    return named(step, std::move(status));
  return &queue == origin ? Status() : named(step, follow(*origin, queue));
}

// ---- graphs ----

/// All that its commands touch: inputs and outputs may be elsewhere in each run.
std::vector<void *> CUDAExecutor::addressesOf(const Segment &segment) const {
  std::vector<void *> addresses;
  for (uint32_t at = segment.begin; at < segment.end; ++at) {
    const Step &step = stepAt(at);
    for (uint32_t i = 0; i < step.numBuffers; ++i) {
      const bool isPinned = (step.kind == Step::Kind::upload && i % 2 == 0) ||
                            (step.kind == Step::Kind::download && i % 2 == 1);
      if (!isPinned)
        addresses.push_back(step.buffers[i]);
    }
  }
  return addresses;
}

/// A graph is a matter of speed: where CUDA makes none, the segment is issued as it stands.
Status CUDAExecutor::replay(uint32_t index) {
  Captured &known = captured[index];
  const Segment &segment = segments.all[index];
  Status refusal;
  if (!known.isRefused && (!known.exec || addressesOf(segment) != known.addresses))
    GANTRY_RETURN_IF_ERROR(capture(index, refusal));
  if (!known.isRefused && refusal.ok()) {
    refusal = launchCaptured(index);
    if (refusal.ok())
      return {};
  }
  if (!known.isRefused)
    GANTRY_RETURN_IF_ERROR(refuse(index, std::move(refusal)));
  return issue(segment);
}

Status CUDAExecutor::launchCaptured(uint32_t index) {
  CurrentContext current(origin->in());
  GANTRY_RETURN_IF_ERROR(current.status());
  return GANTRY_CUDA_IN(origin->in(), launchGraph, captured[index].exec, origin->handle());
}

/// A lost context would fail in the same way without a graph.
Status CUDAExecutor::refuse(uint32_t index, Status refusal) {
  if (!lost().ok())
    return ofSegment(std::move(refusal));
  captured[index].isRefused = true;
  if (!saidRefusal)
    program.plan().runtime().log(Severity::warning,
                                 "'" + program.plan().name() + "': " + ErrorContext::now() +
                                     " runs command by command, since there is no CUDA graph of "
                                     "it: " +
                                     refusal.message());
  saidRefusal = true;
  return {};
}

/// `refusal`: what CUDA has against a graph of it. What fails besides would fail without a graph.
Status CUDAExecutor::capture(uint32_t index, Status &refusal) {
  Context &context = origin->in();
  CurrentContext current(context);
  GANTRY_RETURN_IF_ERROR(current.status());
  captured[index].addresses.clear();
  refusal = GANTRY_CUDA_IN(context, beginCapture, origin->handle(), CaptureMode::threadLocal);
  if (!refusal.ok())
    return {};
  Status status = issue(segments.all[index]);
  GraphHandle graph = nullptr;
  refusal = GANTRY_CUDA_IN(context, endCapture, origin->handle(), &graph);
  if (status.ok() && refusal.ok())
    refusal = instantiate(captured[index], graph);
  if (graph)
    (void)context.api().destroyGraph(graph);
  if (status.code() == StatusCode::unsupported) { // a call that cannot be captured
    refusal = std::move(status);
    return {};
  }
  if (status.ok() && refusal.ok())
    captured[index].addresses = addressesOf(segments.all[index]);
  return status;
}

/// Only addresses differ from what was captured before, which CUDA can put into what there is.
Status CUDAExecutor::instantiate(Captured &known, GraphHandle graph) {
  Context &context = origin->in();
  if (known.exec) {
    UpdateResult result;
    if (context.api().updateGraph(known.exec, graph, &result) == Result::success)
      return {};
    (void)context.api().destroyGraphExec(known.exec);
    known.exec = nullptr;
  }
  return GANTRY_CUDA_IN(context, instantiate, &known.exec, graph, 0);
}

} // namespace gantry::runtime::cuda
