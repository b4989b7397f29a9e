// How long a command takes by the rates in its plan, and what it keeps busy meanwhile.
//
// The times are the cost model's and the network model's. Launches of one device take turns, as do
// copies over one link in one direction; everything else overlaps. The simulator's virtual clock
// goes by it, and so does what the tool predicts of a plan without running it.
#pragma once

#include "gantry/Device/CostModel.h"
#include "gantry/Device/NetworkModel.h"
#include "gantry/Plan/Views.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace gantry::plan {

/// The plan has been checked, and outlives the clock.
class CommandClock {
public:
  CommandClock(const fb::Plan &plan, const fb::Function &function);

  /// Seconds that a launch, copy or fill takes, or the exchange that a command is a part of, with
  /// all members there; 0 for other commands.
  double duration(const fb::Command &command) const;

  /// A device (with itself) or a link that one command at a time can use.
  using Resource = std::pair<uint32_t, uint32_t>;
  Resource resource(const fb::Command &command) const;
  /// Of an exchange: what leaves and what enters each of its members' hosts, or is inside of one.
  std::vector<Resource> waysOf(const fb::Command &command) const;

private:
  double exchangeSeconds(const fb::Exchange &exchange) const;
  std::vector<uint32_t> tasksOf(const fb::Exchange &exchange) const;

  const fb::Plan &plan;
  const fb::Function &function;
  CostModel costs;
  // Of a plan with exchanges:
  std::vector<uint32_t> tasks; ///< by device
  std::vector<uint32_t> hosts; ///< by task
  NetworkModel network;
};

/// A launch, copy or fill on the clock.
struct Moment {
  const fb::Command *command;
  double start, end; ///< seconds since the run began
};

/// A run of the function as it is predicted: queues do their commands in order and wait for what
/// they are told to wait for. A branch goes the way that takes longer; of a loop the first round is
/// given, and what comes behind it waits for as many as are known. In the plan's order of commands.
std::vector<Moment> predictRun(const fb::Plan &plan, const fb::Function &function);

/// When all of it ends: what a run is predicted to take, wherever a plan's time is told.
double predictedSeconds(const fb::Plan &plan, const fb::Function &function);

/// What no placement on these devices is predicted to beat; 0 when the plan does not say. The
/// compiler adds up ops, and the clock knows the kernels: where the plan beats the sum by the bytes
/// that its kernels save, its own prediction is what is told.
double lowerBoundSeconds(const fb::Plan &plan, const fb::Function &function);

} // namespace gantry::plan
