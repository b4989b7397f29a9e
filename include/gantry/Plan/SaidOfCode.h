// What a plan says of its machine code, as a number: what the code takes and which machine it needs
// is told once, where nothing else in the plan contradicts a change of it. So it has a hash, which
// comes with the code and is looked at when a plan is opened.
#pragma once

#include "gantry/Plan/Plan_generated.h"

#include <cstdint>
#include <span>

namespace gantry::plan {

/// XXH3-64 of all that the signature says.
uint64_t hashOf(const fb::Signature &signature);

/// Code.said_hash: of kind, target and features, and of the hashes of its signatures, in order.
uint64_t saidHashOf(const fb::Code &code, std::span<const uint64_t> signatureHashes);

/// Sets it for all code that has signatures.
void setSaidHashes(fb::PlanT &plan);

} // namespace gantry::plan
