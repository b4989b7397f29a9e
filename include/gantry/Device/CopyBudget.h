// Budgets for copies (spec X4): how many bytes a run may move in each direction.
//
//   budget := entry ("," entry)*        "d2h:0,h2d:1MiB"
//   entry  := ("h2d" | "d2h" | "d2d") ":" bytes
#pragma once

#include "gantry/Device/DeviceName.h"
#include "gantry/Support/Status.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gantry {

/// Host to device, device to host, and the rest: between GPUs, or between the CPUs of two tasks.
enum class CopyDirection : uint8_t { h2d, d2h, d2d };
inline constexpr std::array<std::string_view, 3> copyDirectionNames = {"h2d", "d2h", "d2d"};

/// Of a copy between two devices, whose names say their type.
inline CopyDirection copyDirection(const DeviceName &from, const DeviceName &to) {
  if (from.type == to.type)
    return CopyDirection::d2d;
  return to.type == DeviceType::GPU ? CopyDirection::h2d : CopyDirection::d2h;
}

/// Bytes allowed by direction; nothing where there is no limit.
struct CopyBudget {
  std::array<std::optional<uint64_t>, copyDirectionNames.size()> bytes;

  /// Whether it limits nothing.
  bool isEmpty() const { return *this == CopyBudget(); }
  bool operator==(const CopyBudget &) const = default;

  std::optional<uint64_t> of(CopyDirection direction) const {
    return bytes[static_cast<size_t>(direction)];
  }
};

/// Reads one; empty text is no budget. Errors: INVALID_ARGUMENT with the column, counted from 1.
Expected<CopyBudget> parseCopyBudget(const std::string &text);

} // namespace gantry
