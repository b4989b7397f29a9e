// Order with a stream of the caller's: the run waits for what is on it, and what is put on it after
// the start of a run waits for that. The host waits for neither.
#include "CUDADevice.h"
#include "CUDAExecutor.h"

#include <algorithm>

namespace gantry::runtime::cuda {

namespace {
/// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD, of whichever context is current.
bool isDefault(StreamHandle stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }
} // namespace

/// A queue of the stream's context: events belong to one.
Expected<StreamQueue *> CUDAExecutor::besideCaller(StreamHandle stream) const {
  if (isDefault(stream))
    return origin;
  ContextHandle context = nullptr;
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(origin->in(), streamContext, stream, &context));
  const auto found = std::find_if(queues.begin(), queues.end(), [&](const StreamQueue *queue) {
    return queue->in().is(context);
  });
  if (found == queues.end())
    return Status::invalidArgument("the caller's stream is of another context than the primary "
                                   "ones of the GPUs that the function runs on");
  return *found;
}

Status CUDAExecutor::followCaller() {
  auto *stream = static_cast<StreamHandle>(program.stream());
  callerLeads = false;
  beside = nullptr;
  if (!stream)
    return {};
  CurrentContext asking(origin->in());
  GANTRY_RETURN_IF_ERROR(asking.status());
  Expected<StreamQueue *> found = besideCaller(stream);
  if (!found)
    return found.status();
  Context &context = (*found)->in();
  CurrentContext current(context);
  GANTRY_RETURN_IF_ERROR(current.status());
  CaptureStatus capture = CaptureStatus::none;
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, isCapturing, stream, &capture));
  if (capture != CaptureStatus::none)
    return Status::failedPrecondition("the caller's stream is being captured, and a run cannot be");
  if (beforeRun && &beforeRun->in() != &context)
    beforeRun.reset();
  GANTRY_RETURN_IF_ERROR(make(beforeRun, **found));
  GANTRY_RETURN_IF_ERROR(GANTRY_CUDA_IN(context, recordEvent, beforeRun->handle(), stream));
  beforeRun->setRecorded();
  GANTRY_RETURN_IF_ERROR(origin->wait(*beforeRun));
  beside = *found;
  callerLeads = true;
  return {};
}

/// Segments end on the origin's stream, so that its end is the run's.
Status CUDAExecutor::leadCaller() {
  if (!beside)
    return {};
  GANTRY_RETURN_IF_ERROR(make(afterRun, *origin));
  GANTRY_RETURN_IF_ERROR(origin->record(*afterRun));
  CurrentContext current(beside->in());
  GANTRY_RETURN_IF_ERROR(current.status());
  return GANTRY_CUDA_IN(beside->in(), waitEvent, static_cast<StreamHandle>(program.stream()),
                        afterRun->handle(), 0);
}

} // namespace gantry::runtime::cuda
