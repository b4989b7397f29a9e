// The front of the validator: FlatBuffers' verifier, then the rules that it does not know, first of
// the plan's tables, then of the functions that use them.
#include "gantry/Plan/Validate.h"

#include "Walk.h"

namespace gantry::plan {

// One enum in memory, in the file and in the C API.
#define GANTRY_ELEMENT_TYPE(name, value, bytes)                                                    \
  static_assert(static_cast<int>(fb::ElementType::name) == value);
#include "gantry/Support/ElementTypes.def"

Expected<const fb::Plan *> verifyMetadata(std::span<const uint8_t> metadata) {
  // FlatBuffers reads the root's offset and identifier before it looks at the size.
  if (metadata.size() < 16 || metadata.size() > maxMetadataSize)
    return Status::corrupt("plan metadata: a size of " + std::to_string(metadata.size()) +
                           " bytes");
  if (reinterpret_cast<uintptr_t>(metadata.data()) % 8 != 0)
    return Status::corrupt("plan metadata: it does not start at a multiple of 8");
  // A table takes at least 4 bytes, so an honest file never has more of them than this.
  auto maxTables = static_cast<flatbuffers::uoffset_t>(metadata.size() / 4);
  flatbuffers::Verifier verifier(metadata.data(), metadata.size(), /*max_depth=*/32, maxTables);
  if (!fb::VerifyPlanBuffer(verifier))
    return Status::corrupt("plan metadata: the FlatBuffer's structure is damaged");
  return fb::GetPlan(metadata.data());
}

fb::CopyKind copyKindBetween(uint32_t source, fb::DeviceType sourceType, uint32_t destination,
                             fb::DeviceType destinationType) {
  if (source == destination)
    return fb::CopyKind::sameDevice;
  if (sourceType == fb::DeviceType::cpu && destinationType == fb::DeviceType::gpu)
    return fb::CopyKind::hostToDevice;
  if (sourceType == fb::DeviceType::gpu && destinationType == fb::DeviceType::cpu)
    return fb::CopyKind::deviceToHost;
  return fb::CopyKind::deviceToDevice;
}

Status validatePlan(const fb::Plan &plan, std::span<const SegmentInfo> segments,
                    uint64_t metadataSize) {
  // An honest plan has no part twice, so its vectors are no longer than the metadata.
  Walk walk(plan, segments, metadataSize);
  KernelSignatures signatures;
  GANTRY_RETURN_IF_ERROR(checkTables(walk, signatures));
  GANTRY_RETURN_IF_ERROR(checkFunctions(walk, signatures));
  return countOf(plan.exchanges()) == 0 ? Status() : checkExchanges(walk);
}

} // namespace gantry::plan
