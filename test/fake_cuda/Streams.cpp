// Streams, events, capture and graphs. A stream that is captured has nodes where others have work.
#include "Fake.h"

#include <algorithm>

namespace fake {

// ---- running what waits ----

namespace {

/// Something that may run next: the head of a stream, or a node of the graph that is there.
struct Candidate {
  Stream *stream = nullptr;
  size_t node = SIZE_MAX;
  uint64_t number = 0;
};

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (Stream *stream : state().streams) {
    if (stream->ops.empty())
      continue;
    const Op &op = stream->ops.front();
    if (op.kind == Op::Kind::wait && op.event && op.event->reached < op.ticket)
      continue;
    if (op.kind != Op::Kind::graph || op.nodes.empty()) {
      all.push_back({stream, SIZE_MAX, op.number});
      continue;
    }
    for (size_t i = 0; i < op.nodes.size(); ++i)
      if (!op.isDone[i] && std::all_of(op.nodes[i].after.begin(), op.nodes[i].after.end(),
                                       [&](size_t before) { return op.isDone[before]; }))
        all.push_back({stream, i, op.number});
  }
  return all;
}

void runOne(const Candidate &chosen) {
  Op &op = chosen.stream->ops.front();
  switch (op.kind) {
  case Op::Kind::work:
    perform(op.work, op.doer);
    break;
  case Op::Kind::record:
    if (op.event)
      op.event->reached = std::max(op.event->reached, op.ticket);
    break;
  case Op::Kind::wait:
    break;
  case Op::Kind::graph:
    if (chosen.node != SIZE_MAX) {
      perform(op.nodes[chosen.node].work, op.doers[chosen.node]);
      op.isDone[chosen.node] = true;
    }
    if (!std::all_of(op.isDone.begin(), op.isDone.end(), [](bool done) { return done; }))
      return;
    break;
  }
  chosen.stream->ops.pop_front();
}

template <typename IsOver>
Result drainUntil(IsOver isOver) {
  Result result = Result::success;
  while (!isOver()) {
    std::vector<Candidate> all = candidates();
    if (all.empty()) {
      fault("deadlock: what is waited for never comes");
      result = Result::unknown;
      break;
    }
    if (state().options.seed != 0)
      runOne(all[state().random() % all.size()]);
    else
      runOne(*std::min_element(all.begin(), all.end(), [](const auto &a, const auto &b) {
        return std::pair(a.number, a.node) < std::pair(b.number, b.node);
      }));
  }
  close();
  return result;
}

} // namespace

Result drain(Stream &stream) {
  const Result result = drainUntil([&] { return stream.ops.empty(); });
  join(state().host, stream.clock);
  return result != Result::success ? result : stream.context->error;
}

Result drain(Event &event, uint64_t ticket) {
  const Result result = drainUntil([&] { return event.reached >= ticket; });
  join(state().host, event.clock);
  return result != Result::success ? result : event.context->error;
}

// ---- adding work ----

namespace {

void addNode(Stream &stream, Work work) {
  Capture &capture = *stream.capture;
  Node node{std::move(work), stream.frontier, stream.lane};
  capture.graph.nodes.push_back(std::move(node));
  stream.frontier = {capture.graph.nodes.size() - 1};
}

Op &addOp(Stream &stream, Op::Kind kind) {
  join(stream.clock, state().host);
  advance(stream.clock, stream.actor);
  Op op;
  op.kind = kind;
  op.number = state().nextOp++;
  op.doer.actor = stream.actor;
  op.doer.clock = stream.clock;
  stream.ops.push_back(std::move(op));
  return stream.ops.back();
}

} // namespace

void enqueue(Stream &stream, Work work) {
  work.context = stream.context;
  if (stream.capture)
    return addNode(stream, std::move(work));
  Op &op = addOp(stream, Op::Kind::work);
  op.doer.name = work.name;
  op.work = std::move(work);
}

// ---- capture ----

bool capturesHere() {
  for (const Capture *capture : state().captures)
    if (capture->mode != CaptureMode::relaxed &&
        (capture->mode == CaptureMode::global || capture->thread == std::this_thread::get_id()))
      return true;
  return false;
}

void breakCapture(Capture &capture) { capture.isBroken = true; }

namespace {

Result beginCapture(Stream &stream, CaptureMode mode) {
  if (stream.capture)
    return Result::invalidValue;
  auto *capture = new Capture{&stream, mode, std::this_thread::get_id(), {}, {&stream}, false};
  state().captures.insert(capture);
  stream.capture = capture;
  stream.frontier.clear();
  stream.lane = capture->graph.lanes++;
  return Result::success;
}

/// All nodes that come before those of the origin, themselves included.
std::set<size_t> joined(const Capture &capture) {
  std::set<size_t> all;
  std::vector<size_t> left(capture.origin->frontier.begin(), capture.origin->frontier.end());
  while (!left.empty()) {
    const size_t node = left.back();
    left.pop_back();
    if (all.insert(node).second)
      for (size_t before : capture.graph.nodes[node].after)
        left.push_back(before);
  }
  return all;
}

Result endCapture(Stream &stream, GraphHandle *graph) {
  Capture *capture = stream.capture;
  if (!capture)
    return Result::invalidValue;
  Result result = Result::success;
  if (capture->origin != &stream)
    return Result::captureUnmatched;
  if (capture->mode != CaptureMode::relaxed && capture->thread != std::this_thread::get_id())
    return Result::captureWrongThread;
  const std::set<size_t> reached = joined(*capture);
  if (capture->isBroken)
    result = Result::captureInvalidated;
  for (Stream *each : capture->streams)
    for (size_t node : each->frontier)
      if (result == Result::success && !reached.contains(node))
        result = Result::captureUnjoined;
  for (Stream *each : capture->streams)
    each->capture = nullptr, each->frontier.clear();
  for (Event *event : state().events)
    if (event->capture == capture)
      event->capture = nullptr, event->frontier.clear(), event->recorded = event->reached = 0;
  if (result == Result::success) {
    auto *made = new Graph(std::move(capture->graph));
    state().graphs.insert(made);
    *graph = reinterpret_cast<GraphHandle>(made);
  }
  state().captures.erase(capture);
  delete capture;
  return result;
}

} // namespace

Result recordEvent(Event &event, Stream &stream) {
  if (event.context != stream.context)
    return Result::invalidHandle;
  if (stream.capture) {
    event.capture = stream.capture;
    event.frontier = stream.frontier;
    return Result::success;
  }
  Op &op = addOp(stream, Op::Kind::record);
  event.capture = nullptr;
  event.clock = stream.clock;
  op.event = &event;
  op.ticket = ++event.recorded;
  return Result::success;
}

Result waitEvent(Stream &stream, Event &event) {
  if (event.capture) {
    if (stream.capture && stream.capture != event.capture)
      return Result::captureMerge;
    if (!stream.capture) {
      stream.capture = event.capture;
      stream.capture->streams.push_back(&stream);
      stream.frontier.clear();
      stream.lane = stream.capture->graph.lanes++;
    }
    stream.frontier.insert(event.frontier.begin(), event.frontier.end());
    return Result::success;
  }
  if (event.recorded == 0)
    return Result::success;
  if (stream.capture) {
    breakCapture(*stream.capture);
    return Result::captureIsolation;
  }
  Op &op = addOp(stream, Op::Kind::wait);
  op.event = &event;
  op.ticket = event.recorded;
  join(stream.clock, event.clock);
  return Result::success;
}

/// What waits for it still does.
void forgetEvent(Event &event) {
  for (Stream *stream : state().streams)
    for (Op &op : stream->ops)
      if (op.event == &event) {
        if (op.kind == Op::Kind::wait)
          (void)drain(event, op.ticket);
        op.event = nullptr;
      }
}

namespace {

// ---- graphs ----

void giveActors(GraphExec &exec) {
  while (exec.actors.size() < exec.graph.lanes)
    exec.actors.push_back(state().nextActor++);
}

bool isSameShape(const Graph &a, const Graph &b) {
  return a.nodes.size() == b.nodes.size() &&
         std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(),
                    [](const Node &x, const Node &y) {
                      return x.work.kind == y.work.kind && x.after == y.after && x.lane == y.lane &&
                             x.work.context == y.work.context;
                    });
}

/// Each node's clock has what was before the launch and the nodes before it.
void launchGraph(const GraphExec &exec, Stream &stream) {
  Op &op = addOp(stream, Op::Kind::graph);
  const Clock before = stream.clock;
  op.nodes = exec.graph.nodes;
  op.isDone.assign(op.nodes.size(), false);
  for (const Node &node : op.nodes) {
    Doer doer{exec.actors[node.lane], before, node.work.name};
    for (size_t earlier : node.after)
      join(doer.clock, op.doers[earlier].clock);
    // Also where nodes of a lane are not ordered in this launch, they are known by their lane.
    uint64_t latest = 0;
    for (const Doer &each : op.doers)
      if (each.actor == doer.actor)
        latest = std::max(latest, each.clock[each.actor]);
    advance(doer.clock, doer.actor);
    doer.clock[doer.actor] = std::max(doer.clock[doer.actor], latest + 1);
    op.doers.push_back(std::move(doer));
  }
  for (const Doer &doer : op.doers)
    join(stream.clock, doer.clock);
}

/// CU_STREAM_LEGACY (1) and CU_STREAM_PER_THREAD (2), of the current context. The legacy one waits
/// for streams that are made to be waited for; there are none here (cuStreamCreate).
Stream *defaultStream(uint64_t which) {
  Context *context = currentContext();
  const auto owner = which == 1 ? std::thread::id() : std::this_thread::get_id();
  Stream *&stream = state().defaults[{context, owner}];
  if (!stream) {
    stream = new Stream;
    stream->context = context;
    stream->actor = state().nextActor++;
    state().streams.insert(stream);
  }
  return stream;
}

Stream *streamOf(StreamHandle handle) {
  if (const uint64_t which = bits(handle); which == 1 || which == 2)
    return defaultStream(which);
  auto *stream = reinterpret_cast<Stream *>(handle);
  return state().streams.contains(stream) ? stream : nullptr;
}
Event *eventOf(EventHandle handle) {
  auto *event = reinterpret_cast<Event *>(handle);
  return state().events.contains(event) ? event : nullptr;
}

} // namespace

/// They go with their context.
void dropDefaultStreams(Context &context) {
  std::erase_if(state().defaults, [&](const auto &each) {
    if (each.first.first != &context)
      return false;
    state().streams.erase(each.second);
    delete each.second;
    return true;
  });
}

} // namespace fake

using namespace fake;
using Kind = Call::Kind;

/// The stream of a call, with its context current.
#define FAKE_STREAM(name, handle)                                                                  \
  Stream *name = streamOf(handle);                                                                 \
  if (!name)                                                                                       \
    return Result::invalidHandle;                                                                  \
  if (name->context != currentContext()) {                                                         \
    fault(std::string(__func__) + ": the stream is of another context than the current one");      \
    return Result::invalidContext;                                                                 \
  }

FAKE_CUDA cuStreamCreate(StreamHandle *stream, unsigned streamFlags) {
  FAKE_BEGIN(Kind::makes);
  if (streamFlags != flags::streamNonBlocking)
    fault("a stream that waits for the legacy one");
  auto *made = new Stream;
  made->context = currentContext();
  made->actor = state().nextActor++;
  state().streams.insert(made);
  *stream = reinterpret_cast<StreamHandle>(made);
  return Result::success;
}

FAKE_CUDA cuStreamDestroy_v2(StreamHandle handle) {
  FAKE_BEGIN(Kind::frees);
  Stream *stream = streamOf(handle);
  if (!stream)
    return Result::invalidHandle;
  if (stream->capture)
    breakCapture(*stream->capture);
  if (!stream->ops.empty())
    (void)drain(*stream);
  state().streams.erase(stream);
  delete stream;
  return call.end();
}

FAKE_CUDA cuStreamSynchronize(StreamHandle handle) {
  FAKE_BEGIN(Kind::inContext);
  Stream *stream = streamOf(handle);
  if (!stream)
    return Result::invalidHandle;
  if (stream->capture) {
    breakCapture(*stream->capture);
    return Result::captureUnsupported;
  }
  return drain(*stream);
}

FAKE_CUDA cuStreamGetCtx(StreamHandle handle, ContextHandle *context) {
  FAKE_BEGIN(Kind::inContext);
  Stream *stream = streamOf(handle);
  if (!stream)
    return Result::invalidHandle;
  *context = reinterpret_cast<ContextHandle>(stream->context);
  return Result::success;
}

FAKE_CUDA cuStreamIsCapturing(StreamHandle handle, CaptureStatus *status) {
  FAKE_BEGIN(Kind::inContext);
  Stream *stream = streamOf(handle);
  if (!stream)
    return Result::invalidHandle;
  *status = !stream->capture            ? CaptureStatus::none
            : stream->capture->isBroken ? CaptureStatus::invalidated
                                        : CaptureStatus::active;
  return Result::success;
}

FAKE_CUDA cuStreamWaitEvent(StreamHandle handle, EventHandle eventHandle, unsigned) {
  FAKE_BEGIN(Kind::inContext);
  Stream *stream = streamOf(handle);
  Event *event = eventOf(eventHandle);
  return stream && event ? waitEvent(*stream, *event) : Result::invalidHandle;
}

FAKE_CUDA cuStreamBeginCapture_v2(StreamHandle handle, CaptureMode mode) {
  FAKE_BEGIN(Kind::inContext);
  FAKE_STREAM(stream, handle);
  return beginCapture(*stream, mode);
}

/// A capture ends also where the call fails.
FAKE_CUDA cuStreamEndCapture(StreamHandle handle, GraphHandle *graph) {
  *graph = nullptr;
  FAKE_BEGIN(Kind::frees);
  Stream *stream = streamOf(handle);
  if (!stream)
    return Result::invalidHandle;
  GraphHandle made = nullptr;
  const Result result = endCapture(*stream, &made);
  if (call.end(result) == Result::success) {
    *graph = made;
  } else if (made) {
    state().graphs.erase(reinterpret_cast<Graph *>(made));
    delete reinterpret_cast<Graph *>(made);
  }
  return call.end(result);
}

FAKE_CUDA cuEventCreate(EventHandle *event, unsigned) {
  FAKE_BEGIN(Kind::makes);
  auto *made = new Event;
  made->context = currentContext();
  state().events.insert(made);
  *event = reinterpret_cast<EventHandle>(made);
  return Result::success;
}

FAKE_CUDA cuEventRecord(EventHandle eventHandle, StreamHandle handle) {
  FAKE_BEGIN(Kind::inContext);
  Stream *stream = streamOf(handle);
  Event *event = eventOf(eventHandle);
  return stream && event ? recordEvent(*event, *stream) : Result::invalidHandle;
}

FAKE_CUDA cuEventSynchronize(EventHandle eventHandle) {
  FAKE_BEGIN(Kind::inContext);
  Event *event = eventOf(eventHandle);
  if (!event)
    return Result::invalidHandle;
  if (event->capture) {
    breakCapture(*event->capture);
    return Result::capturedEvent;
  }
  return drain(*event, event->recorded);
}

FAKE_CUDA cuEventDestroy_v2(EventHandle eventHandle) {
  FAKE_BEGIN(Kind::frees);
  Event *event = eventOf(eventHandle);
  if (!event)
    return Result::invalidHandle;
  forgetEvent(*event);
  state().events.erase(event);
  delete event;
  return call.end();
}

FAKE_CUDA cuGraphInstantiateWithFlags(GraphExecHandle *exec, GraphHandle handle,
                                      unsigned long long) {
  FAKE_BEGIN(Kind::makes);
  auto *graph = reinterpret_cast<Graph *>(handle);
  if (!state().graphs.contains(graph))
    return Result::invalidHandle;
  auto *made = new GraphExec{currentContext(), *graph, {}};
  giveActors(*made);
  state().execs.insert(made);
  *exec = reinterpret_cast<GraphExecHandle>(made);
  return Result::success;
}

FAKE_CUDA cuGraphExecUpdate_v2(GraphExecHandle execHandle, GraphHandle handle,
                               UpdateResult *result) {
  FAKE_BEGIN(Kind::inContext);
  auto *exec = reinterpret_cast<GraphExec *>(execHandle);
  auto *graph = reinterpret_cast<Graph *>(handle);
  if (!state().execs.contains(exec) || !state().graphs.contains(graph))
    return Result::invalidHandle;
  *result = {};
  if (!isSameShape(exec->graph, *graph))
    return Result::graphExecUpdateFailure;
  exec->graph = *graph;
  giveActors(*exec);
  return Result::success;
}

FAKE_CUDA cuGraphLaunch(GraphExecHandle execHandle, StreamHandle handle) {
  FAKE_BEGIN(Kind::inContext);
  FAKE_STREAM(stream, handle);
  auto *exec = reinterpret_cast<GraphExec *>(execHandle);
  if (!state().execs.contains(exec))
    return Result::invalidHandle;
  if (stream->capture) {
    breakCapture(*stream->capture);
    fault("a graph is launched into a capture: the fake has no nodes of graphs");
    return Result::captureUnsupported;
  }
  launchGraph(*exec, *stream);
  return Result::success;
}

FAKE_CUDA cuGraphExecDestroy(GraphExecHandle execHandle) {
  FAKE_BEGIN(Kind::frees);
  auto *exec = reinterpret_cast<GraphExec *>(execHandle);
  if (state().execs.erase(exec) == 0)
    return Result::invalidHandle;
  delete exec;
  return call.end();
}

FAKE_CUDA cuGraphDestroy(GraphHandle handle) {
  FAKE_BEGIN(Kind::frees);
  auto *graph = reinterpret_cast<Graph *>(handle);
  if (state().graphs.erase(graph) == 0)
    return Result::invalidHandle;
  delete graph;
  return call.end();
}

// ---- work ----

namespace {

/// A copy on a stream; the host's side must be pinned.
Result addCopy(const char *name, uint64_t to, uint64_t from, size_t bytes, StreamHandle handle,
               uint64_t hostSide) {
  Stream *stream = streamOf(handle);
  if (!stream)
    return Result::invalidHandle;
  if (stream->context != currentContext()) {
    fault(std::string(name) + ": the stream is of another context than the current one");
    return Result::invalidContext;
  }
  if (hostSide && !isPinned(hostSide, bytes)) {
    fault(std::string(name) + ": memory of the host that is not pinned");
    if (stream->capture) {
      breakCapture(*stream->capture);
      return Result::captureUnsupported;
    }
    return Result::invalidValue;
  }
  if (bytes == 0)
    return Result::success;
  Work work;
  work.kind = Work::Kind::copy;
  work.to = to, work.from = from, work.bytes = bytes;
  work.name = std::string(name) + " of " + std::to_string(bytes) + " bytes";
  enqueue(*stream, std::move(work));
  return Result::success;
}

} // namespace

FAKE_CUDA cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t bytes,
                               StreamHandle stream) {
  FAKE_BEGIN(Kind::inContext);
  return addCopy(__func__, to, bits(from), bytes, stream, bits(from));
}

FAKE_CUDA cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t bytes, StreamHandle stream) {
  FAKE_BEGIN(Kind::inContext);
  return addCopy(__func__, bits(to), from, bytes, stream, bits(to));
}

FAKE_CUDA cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes,
                               StreamHandle stream) {
  FAKE_BEGIN(Kind::inContext);
  return addCopy(__func__, to, from, bytes, stream, 0);
}

FAKE_CUDA cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes, StreamHandle stream) {
  FAKE_BEGIN(Kind::inContext);
  return addCopy(__func__, to, from, bytes, stream, 0);
}

FAKE_CUDA cuMemsetD8Async(DevicePointer to, unsigned char value, size_t bytes,
                          StreamHandle handle) {
  FAKE_BEGIN(Kind::inContext);
  FAKE_STREAM(stream, handle);
  Work work;
  work.kind = Work::Kind::fill;
  work.to = to, work.bytes = bytes, work.value = value;
  work.name = "cuMemsetD8Async of " + std::to_string(bytes) + " bytes";
  enqueue(*stream, std::move(work));
  return Result::success;
}

FAKE_CUDA cuLaunchKernel(FunctionHandle handle, unsigned gridX, unsigned gridY, unsigned gridZ,
                         unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                         StreamHandle streamHandle, void **parameters, void **) {
  FAKE_BEGIN(Kind::inContext);
  FAKE_STREAM(stream, streamHandle);
  auto *function = reinterpret_cast<Function *>(handle);
  if (!state().functions.contains(function) || function->module->context != stream->context)
    return Result::invalidHandle;
  if (gridX == 0 || gridY == 0 || gridZ == 0 || blockX == 0 || blockY == 0 || blockZ == 0)
    return Result::invalidValue;
  Work work;
  work.kind = Work::Kind::launch;
  work.function = function;
  work.grid = {gridX, gridY, gridZ}, work.block = {blockX, blockY, blockZ};
  work.sharedBytes = sharedBytes;
  work.arguments.resize(function->info->parameterBytes);
  for (size_t i = 0; i < function->info->parameters.size(); ++i) {
    const ptx::Parameter &parameter = function->info->parameters[i];
    const auto *from = static_cast<const std::byte *>(parameters[i]);
    std::copy(from, from + parameter.size, work.arguments.begin() + long(parameter.offset));
  }
  work.name = "kernel '" + function->name + "'";
  enqueue(*stream, std::move(work));
  return Result::success;
}
