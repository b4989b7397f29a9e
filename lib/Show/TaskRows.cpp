#include "TaskRows.h"

#include "gantry/Device/NameRanges.h"
#include "gantry/Device/Task.h"
#include "gantry/Plan/PlanTopology.h"
#include "gantry/Show/Reports.h"

#include <map>

namespace gantry::show {

bool isJob(const plan::fb::Plan &plan) {
  std::optional<TaskName> first;
  for (const plan::fb::Device *device : plan::each(plan.devices()))
    if (Expected<DeviceName> name = plan::nameOf(*device))
      if (first.value_or(taskOf(*name)) != taskOf(*name))
        return true;
      else
        first = taskOf(*name);
  return false;
}

std::string devicesText(const plan::fb::Plan &plan, const std::vector<uint32_t> &devices) {
  if (devices.size() == 1 && !isJob(plan))
    return shortDeviceName(plan, devices.front());
  std::vector<DeviceName> names;
  for (uint32_t device : devices)
    if (Expected<DeviceName> name = plan::nameOf(*plan.devices()->Get(device)))
      names.push_back(name.take());
  return foldDevices(std::move(names));
}

namespace {
/// Joins rows that are alike but for `mine`, one of the two columns.
std::vector<TaskRow> join(std::vector<TaskRow> rows, std::vector<uint32_t> TaskRow::*mine,
                          std::vector<uint32_t> TaskRow::*other) {
  std::vector<TaskRow> joined;
  std::map<std::pair<std::vector<uint32_t>, std::vector<std::string>>, size_t> known;
  for (TaskRow &row : rows) {
    auto [place, isNew] = known.try_emplace({row.*other, row.cells}, joined.size());
    if (isNew) {
      joined.push_back(std::move(row));
      continue;
    }
    std::vector<uint32_t> &into = joined[place->second].*mine;
    into.insert(into.end(), (row.*mine).begin(), (row.*mine).end());
  }
  return joined;
}
} // namespace

std::vector<TaskRow> foldRows(const plan::fb::Plan &plan, std::vector<TaskRow> rows) {
  if (!isJob(plan))
    return rows;
  rows = join(std::move(rows), &TaskRow::devices, &TaskRow::others);
  return join(std::move(rows), &TaskRow::others, &TaskRow::devices);
}

} // namespace gantry::show
