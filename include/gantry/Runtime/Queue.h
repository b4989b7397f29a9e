// Work for a device, in order: launches, copies and fills, and what orders queues among one
// another.
//
// A call enqueues and may return before the work is done; what is wrong with the call itself is
// returned, what fails later is told by the Completion that is handed to notify. The memory, the
// arrays of a Launch and the events that a call names must live until then.
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>

namespace gantry::runtime {

class Device;

/// A kernel that a device can launch: a KernelFn for devices that run inline, else the driver's own
/// handle. Valid as long as the CodeObject that it came from.
using KernelHandle = void *;

/// One kernel call; the arrays live until the launch has finished.
struct Launch {
  KernelHandle kernel = nullptr;
  void *const *buffers = nullptr;
  uint32_t numBuffers = 0;
  int64_t items = 0;
  int64_t grain = 1;
  const uint64_t *sizes =
      nullptr; ///< bytes of each buffer, for drivers that check them; may be null
};

/// How work ended: success, or its first failure and what Queue::mark had said of it.
struct Outcome {
  Status status;
  uint32_t mark = 0;
};

/// Is told how the work on a queue ended.
class Completion {
public:
  /// From any thread, perhaps before notify has returned. May not call the driver.
  virtual void finished(Outcome outcome) = 0;

protected:
  ~Completion() = default;
};

/// A moment in the work of a queue. Recorded anew, it is the later moment.
class Event {
public:
  virtual ~Event() = default;
  /// Returns when the queue has come to where the event was recorded last, and says how the work
  /// before it went. At once when it never was.
  virtual Status wait() = 0;
};

/// Belongs to one thread at a time; different queues of a device may be used at once. A queue is
/// idle when it is destroyed.
class Queue {
public:
  explicit Queue(Device &device) : owner(device) {}
  virtual ~Queue() = default;
  Queue(const Queue &) = delete;

  Device &device() const { return owner; }

  /// Whether the work of a call is over when it returns: then nobody records events on the queue
  /// or waits for it. So it is on a device that runs inline, unless somebody else moves the bytes.
  virtual bool isOverOnReturn() const;

  /// What is enqueued from now on goes by this number in its Outcome.
  void mark(uint32_t number) { current = number; }

  virtual Status launch(const Launch &launch) = 0;
  /// Copies inside the device. The ranges may overlap.
  virtual Status copy(void *destination, const void *source, uint64_t bytes) = 0;
  /// Copies from host memory to the device, and back.
  virtual Status upload(void *destination, const void *source, uint64_t bytes) = 0;
  virtual Status download(void *destination, const void *source, uint64_t bytes) = 0;
  /// Copies from memory of another device of the same driver. UNSUPPORTED where devices cannot.
  virtual Status copyFrom(Device &source, void *destination, const void *data, uint64_t bytes) = 0;
  /// Sets every byte.
  virtual Status fill(void *destination, uint8_t value, uint64_t bytes) = 0;

  /// Sets the event to this moment.
  virtual Status record(Event &event) = 0;
  /// Lets what follows wait for an event of the same driver, as it was recorded last. When the work
  /// before the event failed, this queue fails with the same Outcome.
  virtual Status wait(Event &event) = 0;

  /// Tells `completion` once when all that is on the queue now is over. After a failure the rest of
  /// it is not run; what is enqueued after this call starts afresh.
  virtual void notify(Completion &completion) = 0;

  /// Waits for all that is on the queue, and says how it went.
  virtual Outcome finish();

protected:
  uint32_t currentMark() const { return current; }

private:
  Device &owner;
  uint32_t current = 0;
};

} // namespace gantry::runtime
