// A plan's metadata as JSON, for bindings of other languages and for tools.
#pragma once

#include "gantry/Plan/PlanFile.h"

#include <string>

namespace gantry::runtime {

/// One JSON object; keys are the schema's field names, enums are their names, empty fields are
/// absent. Types are text ("f32[1,3]") beside element and shape.
std::string describePlanJSON(const plan::fb::Plan &plan);

} // namespace gantry::runtime
