// Runs a program segment by segment: each is issued on the streams of its queues, or replayed as
// the graph that issuing it once was captured as. The host stages what goes up before, and takes
// what came down after.
//
// Segments follow one another on one stream; inside of them the plan's signals and waits are
// events. The host waits where the plan says that it does, and at the end of a run.
#pragma once

#include "Segments.h"
#include "Stream.h"
#include "gantry/Drivers/CUDADriver.h"
#include "gantry/Runtime/Executor.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace gantry::runtime::cuda {

class CUDAExecutor final : public Executor {
public:
  CUDAExecutor(const Program &program, CUDAOptions options);
  ~CUDAExecutor() override;

  Status run(CommandOrder order) override;
  Status runTimed(CommandOrder order, std::vector<CommandEvent> &events) override;
  bool runsLater() const override { return true; }
  bool followsStreams() const override { return origin != nullptr; }
  void start(CommandOrder order, std::span<const OutputCopy> outputs,
             RunCompletion &completion) override;

private:
  /// A segment as it was captured, with the addresses that it was captured for.
  struct Captured {
    GraphExecHandle exec = nullptr;
    std::vector<void *> addresses;
    bool isRefused = false; ///< CUDA makes no graph of it
  };
  /// What a segment that was issued brings to the host.
  struct PendingDownload {
    uint64_t number = 0; ///< of its segment among those issued in the run
    void *to = nullptr;
    const void *pinned = nullptr;
    uint64_t bytes = 0;
  };

  // CUDAExecutor.cpp: the order of things
  Status runHere();
  void takeTurn() const;
  void giveTurn() const;
  Status runSegments();
  Expected<uint32_t> doHostStep(uint32_t at);
  Expected<uint32_t> doControl(const Segment &segment, uint32_t at);
  Status runSegment(uint32_t index);
  Status stageIn(const Segment &segment);
  Status finishUpTo(uint64_t number);
  Status finishAll();
  void settle();
  template <typename Observe>
  Status runSteps(Observe observe);
  void waitForRuns();

  // Caller.cpp: order with a stream of the caller's
  Status followCaller();
  Status leadCaller();
  Expected<StreamQueue *> besideCaller(StreamHandle stream) const;

  // Issue.cpp: what CUDA is told
  Status prepare();
  Status issue(const Segment &segment);
  Status issueStep(const Segment &segment, uint32_t at);
  Status issueCopies(const std::vector<PinnedCopy> &copies, uint32_t at);
  Status issueRead(const Segment &segment);
  Status follow(StreamQueue &later, StreamQueue &earlier);
  Status replay(uint32_t index);
  Status launchCaptured(uint32_t index);
  Status capture(uint32_t index, Status &refusal);
  Status refuse(uint32_t index, Status refusal);
  Status instantiate(Captured &captured, GraphHandle graph);
  std::vector<void *> addressesOf(const Segment &segment) const;
  void release();
  static Status make(std::unique_ptr<StreamEvent> &event, StreamQueue &queue);

  const Step &stepAt(uint32_t at) const { return program.steps()[at]; }
  uint8_t *pinnedAt(const PinnedCopy &copy) const { return pinned + copy.slot; }
  Status lost() const;
  /// `status` with the ErrorContext in front, but for what is about a context.
  Status ofSegment(Status status) const;
  /// `status` with the step in front, but for what is about a context and not about the step.
  Status named(const Step &step, Status status) const;

  const Program &program;
  CUDAOptions options;
  Segments segments;
  StreamQueue *origin = nullptr; ///< on whose stream segments follow one another
  std::vector<StreamQueue *> queues;
  std::vector<StreamQueue *>
      completionStreams; ///< one of each card but the origin's: tells of its failures
  bool isPrepared = false;
  bool hasCollectives = false; ///< runs take turns with those of the process that have some
  uint8_t *pinned = nullptr;
  std::vector<std::unique_ptr<StreamEvent>> semaphores; ///< of signals inside of segments
  std::vector<std::unique_ptr<StreamEvent>> ends;       ///< by queue: its part of a segment
  std::vector<std::unique_ptr<StreamEvent>> awaited;    ///< by segment: its end, for the host
  std::vector<Captured> captured;                       ///< by segment
  bool saidRefusal = false;                             ///< in the log, once

  // Of the run that goes on:
  uint64_t issued = 0, finished = 0; ///< segments
  std::vector<uint64_t> lastNumber;  ///< by segment: when it was issued last
  std::vector<PendingDownload> pendingDownloads;
  bool mustJoin = false;    ///< the host's next step comes after everything
  bool callerLeads = false; ///< what the caller's stream had may still go on

  std::unique_ptr<StreamEvent> beforeRun, afterRun; ///< on the caller's stream, and on the origin
  StreamQueue *beside = nullptr;                    ///< a queue of the card of the caller's stream

  // Runs that were started and go on without their caller:
  struct Pending {
    RunCompletion *completion = nullptr;
    std::vector<OutputCopy> outputs;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Pending> pending;
  bool isEnding = false;
  std::thread waiter;
};

} // namespace gantry::runtime::cuda
