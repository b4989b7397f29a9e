// A plan with a part of its metadata changed and its checksums made right again. What a mutation
// does follows from the plan and the number alone.
#pragma once

#include "PlanSites.h"

#include "gantry/Support/AlignedBuffer.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gantry::plan::test {

class Mutator {
public:
  /// `file` is a whole plan, and stays the caller's; as is `schema` (PlanSites.h).
  Mutator(std::span<const uint8_t> file, std::span<const uint8_t> schema);

  struct Mutant {
    AlignedBuffer bytes;
    std::vector<std::string> changes; ///< what was changed, in words
  };

  /// Bytes of header, segment table and metadata, or one to three sites of the metadata, have other
  /// values. What lies in segments, code above all, is as it was.
  Mutant make(uint64_t seed, uint64_t number) const;

private:
  std::span<const uint8_t> file;
  size_t metadataAt, metadataEnd; ///< bytes of the file
  Sites sites;
};

} // namespace gantry::plan::test
