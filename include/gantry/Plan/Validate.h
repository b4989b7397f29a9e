// What a plan must fulfil beyond being a well-formed FlatBuffer, so that the runtime may use every
// number in it unchecked. The rules stand in files of lib/Plan by what they are about
// (ValidateTables.cpp, ValidateKernels.cpp, ValidateFunctions.cpp, ValidateLaunches.cpp,
// ValidateExchanges.cpp), a function each.
#pragma once

#include "gantry/Plan/FileFormat.h"
#include "gantry/Plan/Plan_generated.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <span>

namespace gantry::plan {

/// What the validator needs to know of a segment.
struct SegmentInfo {
  SegmentKind kind;
  uint64_t size; ///< bytes
};

/// Nesting of branches and loops that a plan may have.
inline constexpr unsigned maxBlockDepth = 64;

/// Runs FlatBuffers' structural verifier; gives the root or CORRUPT. `metadata` must be 8-byte
/// aligned.
Expected<const fb::Plan *> verifyMetadata(std::span<const uint8_t> metadata);

/// Checks the meaning of a structurally sound plan. Time is linear in metadataSize. Errors:
/// CORRUPT, naming the place ("functions[0] 'main', block 1, command 3 (copy): ...").
Status validatePlan(const fb::Plan &plan, std::span<const SegmentInfo> segments,
                    uint64_t metadataSize);

/// The copy kind between two devices, as the validator requires it.
fb::CopyKind copyKindBetween(uint32_t source, fb::DeviceType sourceType, uint32_t destination,
                             fb::DeviceType destinationType);

} // namespace gantry::plan
