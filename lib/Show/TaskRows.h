// Rows of tables about devices. In a job the tasks do the same, so rows that say the same are one,
// of "/job:worker/task:{0..63}/GPU:{0..7}".
#pragma once

#include "gantry/Plan/Views.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::show {

/// Whether the plan's devices are those of several tasks.
bool isJob(const plan::fb::Plan &plan);

/// The short name of one device; of several, or in a job, the folded one.
std::string devicesText(const plan::fb::Plan &plan, const std::vector<uint32_t> &devices);

/// What is said of devices, or of what goes from some to others.
struct TaskRow {
  std::vector<uint32_t> devices;
  std::vector<uint32_t> others; ///< where it goes; empty: nowhere
  std::vector<std::string> cells;
};

/// In a job rows of other devices with the same cells become one, where the first of them stands;
/// of two columns of devices one is the same in all of them. Else the rows as they are.
std::vector<TaskRow> foldRows(const plan::fb::Plan &plan, std::vector<TaskRow> rows);

} // namespace gantry::show
