// A small plan of a job of three tasks, with every kind of exchange.
#pragma once

#include "SamplePlan.h"

namespace gantry::plan::test {

inline void addTaskDevice(fb::PlanT &plan, const std::string &name) {
  auto device = std::make_unique<fb::DeviceT>();
  device->name = name;
  device->driver = "host";
  plan.devices.push_back(std::move(device));
}

inline uint32_t addExchange(fb::PlanT &plan, fb::ExchangeKind kind, uint32_t group,
                            std::vector<uint64_t> sizes, std::vector<uint32_t> rows = {}) {
  auto exchange = std::make_unique<fb::ExchangeT>();
  exchange->kind = kind;
  exchange->group = group;
  exchange->sizes = std::move(sizes);
  exchange->rows = std::move(rows);
  exchange->name = "e" + std::to_string(plan.exchanges.size());
  plan.exchanges.push_back(std::move(exchange));
  return static_cast<uint32_t>(plan.exchanges.size() - 1);
}

/// What a member of an exchange does.
inline std::unique_ptr<fb::CommandT> member(const fb::PlanT &plan, uint32_t exchange, uint32_t rank,
                                            std::vector<fb::BufferRef> buffers) {
  const fb::ExchangeT &about = *plan.exchanges[exchange];
  fb::Opcode opcode = fb::Opcode::part;
  if (about.kind == fb::ExchangeKind::message)
    opcode = rank == 0 ? fb::Opcode::send : fb::Opcode::receive;
  auto result = command(opcode, std::move(buffers));
  result->copy_kind = fb::CopyKind::betweenTasks;
  result->device = plan.groups[about.group]->devices[rank];
  result->exchange = exchange;
  result->rank = rank;
  result->name = about.name;
  return result;
}

/// Devices, arenas (transient, 1024) and tasks have the same numbers. Groups: 0 all, 1 the first
/// two. Exchanges: 0 message, 1 all_gather, 2 all_to_all, 3 broadcast, 4 the loop's message.
/// Blocks: 0 body, 1 loop condition, 2 loop body, in tasks 0 and 1.
inline Sample makeJob() {
  Sample sample;
  fb::PlanT &plan = sample.plan;
  plan.strings = {"operand 0 of 'add'"};
  for (uint32_t task = 0; task < 3; ++task) {
    addTaskDevice(plan, "/job:worker/replica:0/task:" + std::to_string(task) + "/device:CPU:0");
    addArena(plan, task, fb::ArenaKind::transient, 1024);
  }
  for (const std::vector<uint32_t> &devices : {std::vector<uint32_t>{0, 1, 2}, {0, 1}}) {
    plan.groups.push_back(std::make_unique<fb::GroupT>());
    plan.groups.back()->devices = devices;
  }
  addExchange(plan, fb::ExchangeKind::message, 1, {64});
  addExchange(plan, fb::ExchangeKind::allGather, 0, {64, 32, 0});
  addExchange(plan, fb::ExchangeKind::allToAll, 0, {8, 16, 24}, {1, 2, 1});
  addExchange(plan, fb::ExchangeKind::broadcast, 0, {40});
  addExchange(plan, fb::ExchangeKind::message, 1, {1});

  auto function = std::make_unique<fb::FunctionT>();
  function->name = "main";
  function->num_queues = 2;
  function->num_semaphores = 1;
  for (int i = 0; i < 3; ++i)
    function->blocks.push_back(std::make_unique<fb::BlockT>());
  auto fill = [](uint32_t task, uint64_t offset, uint64_t size) {
    auto result = command(fb::Opcode::fill, {inArena(task, offset, size)});
    result->device = task;
    return result;
  };
  auto &body = function->blocks[0]->commands;
  body.push_back(fill(0, 0, 64));
  body.push_back(member(plan, 0, 0, {inArena(0, 0, 64)}));
  body.push_back(member(plan, 0, 1, {inArena(1, 0, 64)}));
  for (uint32_t task = 0; task < 3; ++task)
    body.push_back(
        member(plan, 1, task,
               {inArena(task, 64, plan.exchanges[1]->sizes[task]), inArena(task, 128, 96)}));
  for (uint32_t task = 0; task < 3; ++task)
    body.push_back(member(plan, 2, task,
                          {inArena(task, 256, task == 1 ? 96 : 48),
                           inArena(task, 384, 4 * plan.exchanges[2]->sizes[task])}));
  for (uint32_t task = 0; task < 3; ++task)
    body.push_back(member(plan, 3, task, {inArena(task, 512, 40)}));
  body.push_back(order(fb::Opcode::signal, 0, 0));
  body.push_back(order(fb::Opcode::wait, 0, 1));
  body.push_back(nested(fb::Opcode::loop, inArena(0, 600, 1), {1, 2}));
  body.back()->conditions = {inArena(0, 600, 1), inArena(1, 600, 1)};
  auto &condition = function->blocks[1]->commands;
  condition.push_back(fill(0, 600, 1));
  condition.push_back(member(plan, 4, 0, {inArena(0, 600, 1)}));
  condition.push_back(member(plan, 4, 1, {inArena(1, 600, 1)}));
  function->blocks[2]->commands.push_back(fill(0, 0, 64));
  function->blocks[2]->commands.push_back(fill(1, 0, 64));
  plan.functions.push_back(std::move(function));
  return sample;
}

} // namespace gantry::plan::test
