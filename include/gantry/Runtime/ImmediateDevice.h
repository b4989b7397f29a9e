// A device that does everything on the calling thread, before the call returns.
//
// Its driver writes what the device does; queues and events follow from that: a queue passes each
// call on, and every event has been reached when it can be waited for.
#pragma once

#include "gantry/Runtime/Device.h"

namespace gantry::runtime {

class ImmediateDevice : public Device {
public:
  using Device::Device;

  std::unique_ptr<Queue> createQueue() final;
  std::unique_ptr<Event> createEvent() final;

  // Thread-safe; done on return. What they do is said at Queue.
  virtual Status launch(const Launch &launch) = 0;
  virtual Status copy(void *destination, const void *source, uint64_t bytes) = 0;
  virtual Status copyFrom(Device &source, void *destination, const void *data, uint64_t bytes);
};

} // namespace gantry::runtime
