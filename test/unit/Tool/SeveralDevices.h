// A plan by hand for CPU:0 and two simulated GPUs: y = (x + w) + 2x, all f32[2,2]. x goes to both
// GPUs, GPU:1 doubles it and hands it to GPU:0, whose sum goes home. w lives on CPU:0 and is
// uploaded at load.
#pragma once

#include "Runtime/PlanBuilder.h"

namespace gantry::tool::test {

namespace fb = plan::fb;

struct SeveralDevices : runtime::test::PlanBuilder {
  static constexpr uint32_t cpu = 0;
  static constexpr uint64_t size = 16;
  uint32_t gpu0, gpu1;
  fb::PlacedOpT *sum = nullptr; ///< the op whose request was softened

  explicit SeveralDevices(const std::vector<uint8_t> &object) {
    gpu0 = addDevice("/job:localhost/replica:0/task:0/device:GPU:0", "sim");
    gpu1 = addDevice("/job:localhost/replica:0/task:0/device:GPU:1", "sim");
    plan.devices[gpu0]->memory_limit = uint64_t(1) << 30;
    plan.strings = {"", "operand 1 of 'first'", "operand 0 of 'second'", "operand 1 of 'sum'",
                    "result 0 of 'main'"};
    plan.placement = "default";
    plan.source = "model.mlir";
    const uint32_t code = addCode(object);
    addBody(addKernel("add_f32", code), addKernel("double_f32", code));
  }

private:
  static constexpr uint32_t compute = 0, in = 1, out = 2, peers = 3;

  fb::CommandT &on(uint32_t device, uint32_t queue, fb::CommandT &command) {
    command.device = device;
    command.queue = queue;
    return command;
  }
  void order(uint32_t fromDevice, uint32_t fromQueue, uint32_t toDevice, uint32_t toQueue) {
    const uint32_t semaphore = function().num_semaphores++;
    on(fromDevice, fromQueue, addCommand(fb::Opcode::signal)).signal = semaphore;
    on(toDevice, toQueue, addCommand(fb::Opcode::wait)).signal = semaphore;
  }
  void move(fb::CopyKind kind, uint32_t device, uint32_t queue, uint32_t cause, fb::BufferRef from,
            fb::BufferRef to) {
    fb::CommandT &command = on(device, queue, copy(from, to));
    command.copy_kind = kind;
    command.cause = cause;
  }
  fb::PlacedOpT &run(const char *name, const char *logName, uint32_t kernel, uint32_t device,
                     std::vector<fb::BufferRef> operands, fb::BufferRef result) {
    fb::CommandT &command = on(device, compute, launch(kernel, std::move(operands), {result}, 4));
    command.name = name;
    command.log_names = {logName};
    command.flops = 4;
    command.bytes = 3 * size;
    auto op = std::make_unique<fb::PlacedOpT>();
    op->log_name = logName;
    op->name = name;
    op->location = "model.mlir:3:8";
    op->device = device;
    op->rule = "default";
    op->kernel_name = plan.kernels[kernel]->symbol;
    op->flops = 4;
    op->bytes = 3 * size;
    function().placed_ops.push_back(std::move(op));
    return *function().placed_ops.back();
  }

  void addBody(uint32_t add, uint32_t twice) {
    using namespace runtime::test;
    const uint32_t weights = addArena(fb::ArenaKind::constants, 64, gpu0);
    const uint32_t memory0 = addArena(fb::ArenaKind::transient, 256, gpu0);
    const uint32_t memory1 = addArena(fb::ArenaKind::transient, 128, gpu1);
    addConstant<float>(weights, 0, {1, 1, 1, 1});
    plan.constants[0]->name = "w";
    plan.constants[0]->home = cpu;
    plan.constants[0]->cause = 1;
    addFunction("main");
    function().num_queues = 4;
    addInput("x", {2, 2});
    addOutput("y", {2, 2});
    const auto at = [](uint32_t arena, uint64_t slot) { return memory(arena, slot * 64, size); };
    move(fb::CopyKind::hostToDevice, gpu0, in, 1, input(0, size), at(memory0, 0));
    order(gpu0, in, gpu0, compute);
    move(fb::CopyKind::hostToDevice, gpu1, in, 2, input(0, size), at(memory1, 0));
    order(gpu1, in, gpu1, compute);
    run("first", "AddV2", add, gpu0, {at(memory0, 0), memory(weights, 0, size)}, at(memory0, 1));
    auto &second = run("second", "Mul", twice, gpu1, {at(memory1, 0)}, at(memory1, 1));
    second.rule = "requested";
    second.reason = "asked at model.mlir:4:8";
    order(gpu1, compute, gpu0, peers);
    move(fb::CopyKind::deviceToDevice, gpu0, peers, 3, at(memory1, 1), at(memory0, 2));
    order(gpu0, peers, gpu0, compute);
    sum = &run("sum", "AddV2", add, gpu0, {at(memory0, 1), at(memory0, 2)}, at(memory0, 3));
    sum->rule = "requested";
    sum->rejected = {"GPU:7: unknown device"};
    sum->fall_back = true;
    order(gpu0, compute, gpu0, out);
    move(fb::CopyKind::deviceToHost, gpu0, out, 4, at(memory0, 3), output(0, size));
  }
};

} // namespace gantry::tool::test
