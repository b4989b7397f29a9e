#include "gantry/Runtime/ImmediateDevice.h"

#include "gantry/Runtime/Driver.h"

namespace gantry::runtime {

namespace {

class ReachedEvent final : public Event {
public:
  Status wait() override { return {}; }
};

/// A failure is the answer to the call that failed, so there is none left to be told later.
class ImmediateQueue final : public Queue {
public:
  explicit ImmediateQueue(ImmediateDevice &device) : Queue(device), immediate(device) {}

  Status launch(const Launch &launch) override { return immediate.launch(launch); }
  Status copy(void *destination, const void *source, uint64_t bytes) override {
    return immediate.copy(destination, source, bytes);
  }
  Status upload(void *destination, const void *source, uint64_t bytes) override {
    return immediate.upload(destination, source, bytes);
  }
  Status download(void *destination, const void *source, uint64_t bytes) override {
    return immediate.download(destination, source, bytes);
  }
  Status copyFrom(Device &source, void *destination, const void *data, uint64_t bytes) override {
    return immediate.copyFrom(source, destination, data, bytes);
  }
  Status fill(void *destination, uint8_t value, uint64_t bytes) override {
    return immediate.fill(destination, value, bytes);
  }
  Status record(Event &) override { return {}; }
  Status wait(Event &) override { return {}; }
  void notify(Completion &completion) override { completion.finished({}); }
  Outcome finish() override { return {}; }

private:
  ImmediateDevice &immediate;
};

} // namespace

std::unique_ptr<Queue> ImmediateDevice::createQueue() {
  return std::make_unique<ImmediateQueue>(*this);
}

std::unique_ptr<Event> ImmediateDevice::createEvent() { return std::make_unique<ReachedEvent>(); }

Status ImmediateDevice::copyFrom(Device &source, void *, const void *, uint64_t) {
  return Status::unsupported("a copy from a device of driver '" +
                             std::string(source.driver().name()) + "' to one of driver '" +
                             std::string(driver().name()) + "'");
}

} // namespace gantry::runtime
