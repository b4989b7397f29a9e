// What a library of collectives is asked to do for one device: the symbol of a variant that the
// library nccl has, as text that says all of it.
//
//   all_reduce sum f32 elements 1048576 rank 1 of 4
//
// Each rank's result is the sum of the values of all ranks, element by element; in which order they
// are added is the library's matter. The launches of all ranks are the first block of a branch that
// the library decides, in the order of their ranks.
#pragma once

#include "gantry/Support/ElementType.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry::plan {

/// The library that does it, and from which version on: bf16 came with that.
inline constexpr std::string_view collectiveLibrary = "nccl", oldestCollectiveLibrary = "2.10";

struct AllReducePart {
  ElementType type = ElementType::f32;
  uint64_t elements = 1;
  uint32_t rank = 0, ranks = 2;

  bool operator==(const AllReducePart &) const = default;

  /// Whether the library adds up values of that type.
  static bool canAdd(ElementType type);

  /// CORRUPT says what is wrong with it.
  static Expected<AllReducePart> parse(std::string_view text);
  std::string text() const;

  /// Of the value, and of the result.
  uint64_t bytes() const { return elements * elementTypeSize(type); }
};

} // namespace gantry::plan
