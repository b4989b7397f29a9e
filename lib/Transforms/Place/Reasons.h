// Placement in words: why an op is where it is, what cannot hold together, what would have to
// change.
#pragma once

#include "PlacementInput.h"

namespace gantry::place {

/// The decision about node `index` as an attribute.
DecisionAttr describeDecision(const Input &in, uint32_t index, const placement::Decision &decision);

/// What to say when a request of the op fell back; call for such decisions only.
void remarkFallBack(const Input &in, uint32_t index, const placement::Decision &decision);

/// Warns of each strict rule that gave way to something stronger, at the first of its ops.
void warnOfOverruledRules(const Input &in, llvm::ArrayRef<placement::Decision> decisions);

/// Emits one failure, with a note for each thing that plays a part.
void reportFailure(const Input &in, const placement::Failure &failure);

/// The same of all that one rule puts on a device that is not there, as one error.
void reportUnknownOfRule(const Input &in, llvm::ArrayRef<const placement::Failure *> failures);

/// An answer of `why-not` (spec P10): `node` is asked about, `device` an index.
struct WhyNotWords {
  std::string state;               ///< " is on GPU:0 (...); for GPU:1:", behind the op
  std::vector<std::string> advice; ///< a change each, without the request; the op itself as "\1"
};
WhyNotWords describeWhyNot(const Input &in, uint32_t node, uint32_t device,
                           const placement::WhyNot &answer, const placement::Decision &now);

/// "'MatMul' ('fc1')".
std::string whatIs(const Input &in, uint32_t node);

} // namespace gantry::place
