#include "QueueChart.h"

#include "gantry/Show/Text.h"

#include "gantry/Support/Format.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace gantry::show {

namespace {

/// Numbering of the schedule: of each device, compute, then copies by where they come from.
std::string queueName(uint32_t queue) {
  constexpr const char *names[] = {"compute", "copies in", "copies out", "copies from peers"};
  return queue < 4 ? names[queue] : "queue " + std::to_string(queue);
}

/// Seconds that a queue works in each slice of the run.
std::vector<double> busyIn(const std::vector<const plan::Moment *> &moments, double slice,
                           size_t width) {
  std::vector<double> busy(width);
  for (const plan::Moment *moment : moments) {
    const auto first = static_cast<size_t>(moment->start / slice);
    for (size_t i = first; i < width && static_cast<double>(i) * slice < moment->end; ++i) {
      const double begin = std::max(moment->start, static_cast<double>(i) * slice);
      const double end = std::min(moment->end, static_cast<double>(i + 1) * slice);
      busy[i] += std::max(0.0, end - begin);
    }
  }
  return busy;
}

/// Five shades; the least of work is seen.
const char *shade(double share) {
  static const char *shades[] = {"·", "░", "▒", "▓", "█"};
  return shades[share <= 0 ? 0 : std::clamp(static_cast<int>(std::ceil(share * 4)), 1, 4)];
}

} // namespace

static std::string drawQueues(const Subject &subject, const std::vector<plan::Moment> &moments) {
  // Beside the chart there are the names of queues and their shares.
  constexpr size_t beside = 36, widest = 64;
  const size_t width = std::clamp(subject.question.width - beside, size_t(10), widest);
  double end = 0;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const plan::Moment *>> queues;
  for (const plan::Moment &moment : moments) {
    end = std::max(end, moment.end);
    queues[{moment.command->device(), moment.command->queue()}].push_back(&moment);
  }
  if (end <= 0)
    return "";
  Table table({"queue", "", ">busy"});
  for (const auto &[place, commands] : queues) {
    const std::vector<double> busy = busyIn(commands, end / static_cast<double>(width), width);
    std::string row;
    double total = 0;
    for (double seconds : busy) {
      row += shade(seconds * static_cast<double>(width) / end);
      total += seconds;
    }
    table.add({shortDeviceName(subject.plan, place.first) + " " + queueName(place.second), row,
               format("%.0f %%", 100 * total / end)});
  }
  const std::string length = formatSeconds(end);
  const std::string gap(width > displayWidth(length) + 1 ? width - displayWidth(length) - 1 : 1,
                        ' ');
  table.add({"", "0" + gap + length, ""});
  return table.text(Long::wrap, subject.question.width);
}

std::string chartOf(const Subject &subject, const plan::fb::Function &function,
                    const Moments &moments) {
  return drawQueues(subject, moments ? *moments : plan::predictRun(subject.plan, function));
}

std::string timelineForPeople(const Subject &subject, const Moments &moments) {
  const auto functions = subject.functions();
  std::string text;
  for (const plan::fb::Function *function : functions) {
    if (functions.size() > 1)
      text += "function " + printable(plan::textOf(function->name())) + ":\n";
    text += chartOf(subject, *function, moments);
  }
  return text;
}

} // namespace gantry::show
