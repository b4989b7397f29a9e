// Device names: the one grammar and the one parser (spec D1-D3) behind IR attributes, flags,
// environment variables, the C API and Python.
//
//   name    := part+ | type-id                    parts in any order, none twice
//   part    := "/job:" (word | "*")  | "/replica:" (number | "*") | "/task:" (number | "*")
//            | "/device:" device | "/physical_device:" device | "/" type-id
//   device  := "*" | type-id
//   type-id := type [":" (number | "*")]          type: CPU or GPU in any case
//            | "cuda" [":" number]                without a slash only; "cuda" alone is GPU:0
#pragma once

#include "gantry/Support/Status.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gantry {

enum class DeviceType : uint8_t { CPU = 0, GPU = 1 };

/// "CPU", "GPU".
std::string_view deviceTypeName(DeviceType type);

/// A device name, of which any part may be absent (any). An id is never present without a type.
struct DeviceName {
  std::optional<std::string> job;
  std::optional<uint32_t> replica;
  std::optional<uint32_t> task;
  std::optional<DeviceType> type;
  std::optional<uint32_t> id;
  /// Names what the machine has ("/physical_device:GPU:0") and not what placement sees.
  bool physical = false;

  /// Parses a full or partial name (D2). Errors: INVALID_ARGUMENT with the column, counted from 1.
  static Expected<DeviceName> parse(std::string_view text);

  /// TYPE:ID of the default task, full.
  static DeviceName local(DeviceType type, uint32_t id);

  /// The present parts in canonical order, "/job:J/replica:R/task:T/device:TYPE:ID" (D1); an absent
  /// id prints as "*", a name without any part as "/device:*". parse(str()) gives the same name.
  std::string str() const;

  /// "GPU:0", "GPU:*" or "*" for the default task; of another task all of the name, so that no two
  /// devices are called the same.
  std::string shortStr() const;

  /// Whether all five parts are present.
  bool isFull() const { return job && replica && task && type && id; }

  /// Job, replica and task alone: equal for the devices of one task.
  DeviceName taskName() const { return {job, replica, task, {}, {}, false}; }

  /// This name with absent job, replica and task set to localhost, 0 and 0; type and id as they
  /// are.
  DeviceName withDefaultTask() const;

  /// Whether every part that is present here is present and equal in `other` (D3).
  bool matches(const DeviceName &other) const;

  /// Whether an op that may be on either goes here (P6): GPUs before CPUs, then the lower name.
  bool isPreferredTo(const DeviceName &other) const;

  bool operator==(const DeviceName &) const = default;
  auto operator<=>(const DeviceName &) const = default;
};

/// Nested scopes (D3): `inner` wins part by part; an inner name that changes the type drops the
/// outer id, so CPU inside GPU:1 is any CPU. Not associative: merge from the outermost scope
/// inwards.
DeviceName mergeScopes(const DeviceName &outer, const DeviceName &inner);

} // namespace gantry
