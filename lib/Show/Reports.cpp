#include "gantry/Show/Reports.h"

#include "gantry/Device/DeviceName.h"
#include "gantry/Plan/Exchanges.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/ElementType.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/JSONWriter.h"

#include <cstdio>

namespace gantry::show {

using namespace plan;

std::string_view fullDeviceName(const fb::Plan &plan, uint32_t device) {
  return textOf(plan.devices()->Get(device)->name());
}

std::string shortDeviceName(std::string_view full) {
  auto name = DeviceName::parse(full);
  return name ? name->shortStr() : std::string(full);
}

std::string shortDeviceName(const fb::Plan &plan, uint32_t device) {
  return shortDeviceName(fullDeviceName(plan, device));
}

std::string_view nodeOf(const fb::PlacedOp &op) {
  for (const auto *text : {op.node(), op.name()})
    if (!textOf(text).empty())
      return textOf(text);
  return textOf(op.log_name());
}

std::string_view typeOf(const fb::PlacedOp &op) {
  const std::string_view type = textOf(op.source_op());
  return type.empty() ? textOf(op.log_name()) : type;
}

std::string causeOf(std::string_view cause) {
  constexpr std::string_view place = " at node ";
  const size_t at = cause.rfind(place);
  const size_t name = at == cause.npos ? at : at + place.size();
  const size_t end = at == cause.npos ? at : cause.find("'", name + 1);
  const bool again = end != cause.npos &&
                     cause.substr(0, at).find(cause.substr(name, end + 1 - name)) != cause.npos;
  return std::string(again ? cause.substr(0, at) : cause);
}

std::string typeText(const fb::TensorType &type) {
  const auto shape = listOf(type.shape());
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  return tensorTypeName(static_cast<ElementType>(type.element()), dims);
}

uint64_t typeBytes(const fb::TensorType &type) {
  const auto shape = listOf(type.shape());
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  return tensorByteSize(static_cast<ElementType>(type.element()), dims).value_or(0);
}

void addPlacement(JSONWriter &json, const fb::Plan &plan, const fb::PlacedOp &op) {
  json.member("op", textOf(op.log_name()))
      .member("name", textOf(op.name()))
      .member("loc", textOf(op.location()))
      .member("device", fullDeviceName(plan, op.device()))
      .member("rule", textOf(op.rule()))
      .member("reason", textOf(op.reason()))
      .key("rejected")
      .beginArray();
  for (const auto *device : listOf(op.rejected()))
    json.value(textOf(device));
  json.endArray().key("fall_back").boolean(op.fall_back());
}

void addCopy(JSONWriter &json, const fb::Plan &plan, const LedgerCopy &copy) {
  constexpr const char *times[] = {"load", "run", "inside"};
  json.member("name", copy.name)
      .member("loc", copy.location)
      .member("bytes", copy.bytes)
      .member("from", fullDeviceName(plan, copy.from))
      .member("to", fullDeviceName(plan, copy.to))
      .member("kind", copyKindName(copy.kind))
      .member("time", times[static_cast<size_t>(copy.time)])
      .member("cause", copy.cause);
  if (copy.collective)
    json.member("exchange", exchangeKindName(copy.collective->kind()));
  // With the copy before it, as one transfer.
  if (copy.joined)
    json.key("joined").boolean(true);
}

const char *timeOf(CopyTime time) {
  constexpr const char *times[] = {"at load", "every run", "in a branch or loop"};
  return times[static_cast<size_t>(time)];
}

std::string counted(uint64_t count, std::string noun) {
  if (count != 1)
    noun += noun.ends_with("ch") ? "es" : "s";
  return std::to_string(count) + " " + noun;
}

namespace {
/// Bytes of a device's arenas.
struct DeviceArenas {
  uint64_t sizes[3] = {}; ///< by ArenaKind
  uint64_t lowerBound = 0;

  DeviceArenas(const fb::Plan &plan, uint32_t device) {
    for (const auto *arena : listOf(plan.arenas())) {
      if (arena->device() != device)
        continue;
      sizes[static_cast<size_t>(arena->kind())] += arena->size();
      if (arena->kind() == fb::ArenaKind::transient)
        lowerBound += arena->lower_bound();
    }
  }
};
} // namespace

std::string memorySummary(const fb::Plan &plan) {
  std::string out;
  for (uint32_t d = 0; d < plan.devices()->size(); ++d) {
    const DeviceArenas arenas(plan, d);
    const fb::Device &device = *plan.devices()->Get(d);
    const bool isHost = textOf(device.driver()) == "host";
    out += shortDeviceName(plan, d) +
           (isHost ? "" : " (" + std::string(textOf(device.driver())) + ")") + ": constants " +
           formatBytes(arenas.sizes[0]) + ", variables " + formatBytes(arenas.sizes[1]) +
           ", transient " + formatBytes(arenas.sizes[2]);
    if (arenas.lowerBound)
      out += format(" (%.3f times the lower bound)",
                    static_cast<double>(arenas.sizes[2]) / static_cast<double>(arenas.lowerBound));
    if (device.memory_limit())
      out += ", limit " + formatBytes(device.memory_limit());
    out += "\n";
  }
  return out;
}

std::string memoryAsJSON(const fb::Plan &plan) {
  JSONWriter json;
  json.beginArray();
  for (uint32_t d = 0; d < plan.devices()->size(); ++d) {
    const DeviceArenas arenas(plan, d);
    json.beginObject()
        .member("device", fullDeviceName(plan, d))
        .member("driver", textOf(plan.devices()->Get(d)->driver()))
        .member("constants", arenas.sizes[0])
        .member("variables", arenas.sizes[1])
        .member("transient", arenas.sizes[2])
        .member("lower_bound", arenas.lowerBound)
        .member("limit", plan.devices()->Get(d)->memory_limit())
        .endObject();
  }
  return json.endArray().text();
}

} // namespace gantry::show
