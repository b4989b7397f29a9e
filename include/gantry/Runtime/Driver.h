// A kind of device: finds and opens devices, and says what runs programs that use them.
//
// The runtime knows drivers by this interface alone. They live in lib/Drivers, which puts those
// that are built in together (gantry/Drivers/BuiltIn.h). The conformance suite (test/conformance)
// states what every driver and its devices must do.
#pragma once

#include "gantry/Device/DeviceName.h"
#include "gantry/Runtime/Queue.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gantry::runtime {

class Device;
class Executor;
class Program;

/// Which device a plan wants.
struct DeviceRequest {
  std::string name;             ///< full: /job:localhost/replica:0/task:0/device:GPU:0
  uint64_t plannedMemory = 0;   ///< bytes that the plan was made for; 0: what is there
  uint64_t hostMemoryLimit = 0; ///< bytes that may be taken of the host's memory; 0: no limit
  uint32_t physical = 0;        ///< which of the machine's devices of its type it is, or a part of
};

/// Thread-safe. Outlives its devices.
class Driver {
public:
  virtual ~Driver() = default;

  /// "host", "sim" or "cuda": what a plan's device and a kernel's variant name.
  virtual std::string_view name() const = 0;

  /// A device of its own for each call. UNAVAILABLE when this machine has none of that name; then a
  /// driver that the plan lets stand in is asked.
  virtual Expected<std::unique_ptr<Device>> open(const DeviceRequest &request) = 0;

  /// How many devices of a type the machine has, as far as that is known without asking one; 0
  /// where plans say what there is.
  virtual uint32_t numDevices(DeviceType type) {
    (void)type;
    return 0;
  }

  /// Whether an open device is what another plan asks for. FAILED_PRECONDITION says what differs.
  virtual Status checkReuse(const Device &device, const DeviceRequest &request) const {
    (void)device, (void)request;
    return {};
  }

  /// Lets kernels of a library's collective find one another: `ranks` in their order, each loaded
  /// on the device of the same place. UNSUPPORTED or UNAVAILABLE when these devices cannot do it.
  virtual Status connect(std::span<Device *const> devices, std::span<const KernelHandle> ranks) {
    (void)devices, (void)ranks;
    return Status::unsupported("the driver '" + std::string(name()) + "' has no collectives");
  }

  /// What runs a program that uses devices of this driver. Null for the runtime's own executors:
  /// inline where all devices run inline, else by queues.
  virtual std::unique_ptr<Executor> createExecutor(Program &program) {
    (void)program;
    return nullptr;
  }

  /// Whether that executor counts time on a clock of its own; sessions then have a timeline.
  virtual bool hasVirtualClock() const { return false; }
};

} // namespace gantry::runtime
