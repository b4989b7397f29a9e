#include "VirtualClock.h"

#include <algorithm>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::each;

uint32_t deviceOf(const fb::Plan &plan, const fb::Function &function, const fb::BufferRef &buffer) {
  switch (buffer.space()) {
  case fb::Space::arena:
    return plan.arenas()->Get(buffer.index())->device();
  case fb::Space::input:
    return function.inputs()->Get(buffer.index())->device();
  case fb::Space::output:
    return function.outputs()->Get(buffer.index())->device();
  }
  return 0;
}

VirtualClock::VirtualClock(const fb::Plan &plan, const fb::Function &function)
    : plan(plan), function(function) {
  for (const fb::Link *link : each(plan.links()))
    links.emplace(Resource(link->from(), link->to()), link);
}

double VirtualClock::flopRate(uint32_t index) const {
  const fb::Device &device = *plan.devices()->Get(index);
  if (device.peak_flops() > 0)
    return device.peak_flops();
  return device.type() == fb::DeviceType::gpu ? SimDefaults::gpuFlops : SimDefaults::cpuFlops;
}

double VirtualClock::byteRate(uint32_t index) const {
  const fb::Device &device = *plan.devices()->Get(index);
  if (device.bandwidth() > 0)
    return device.bandwidth();
  return device.type() == fb::DeviceType::gpu ? SimDefaults::gpuBandwidth
                                              : SimDefaults::cpuBandwidth;
}

double VirtualClock::copyDuration(uint32_t from, uint32_t to, double bytes) const {
  if (from == to)
    return 2 * bytes / byteRate(to); // read and written
  auto link = links.find({from, to});
  double latency = SimDefaults::linkLatency, rate = SimDefaults::linkBandwidth;
  if (link != links.end()) {
    latency = link->second->latency();
    if (link->second->bandwidth() > 0)
      rate = link->second->bandwidth();
  }
  return latency + bytes / rate;
}

double VirtualClock::duration(const fb::Command &command) const {
  double operandBytes = 0;
  for (const fb::BufferRef *buffer : each(command.buffers()))
    operandBytes += static_cast<double>(buffer->size());
  switch (command.opcode()) {
  case fb::Opcode::launch: {
    // Every byte of the operands once is the least that an unknown kernel moves.
    double bytes = command.bytes() ? static_cast<double>(command.bytes()) : operandBytes;
    return std::max(static_cast<double>(command.flops()) / flopRate(command.device()),
                    bytes / byteRate(command.device()));
  }
  case fb::Opcode::copy: {
    auto [from, to] = resource(command);
    return copyDuration(from, to, static_cast<double>(command.buffers()->Get(0)->size()));
  }
  case fb::Opcode::fill:
    return operandBytes / byteRate(command.device());
  default:
    return 0;
  }
}

VirtualClock::Resource VirtualClock::resource(const fb::Command &command) const {
  if (command.opcode() != fb::Opcode::copy)
    return {command.device(), command.device()};
  return {deviceOf(plan, function, *command.buffers()->Get(0)),
          deviceOf(plan, function, *command.buffers()->Get(1))};
}

} // namespace gantry::runtime
