#include "gantry/Plan/Outline.h"

#include "gantry/Plan/Views.h"

#include <algorithm>

namespace gantry::plan {

namespace {
/// Constants that are computed at load lie in no file.
bool isLeftOut(const fb::Constant &constant) {
  return constant.made() == nothingSaid && constant.segment() == nothingSaid;
}
} // namespace

bool isOutline(const fb::Plan &plan) {
  for (const fb::Constant *constant : each(plan.constants()))
    if (isLeftOut(*constant))
      return true;
  for (const fb::Code *code : each(plan.code()))
    if (code->segment() == nothingSaid)
      return true;
  return false;
}

uint64_t bytesLeftOut(const fb::Plan &plan) {
  uint64_t bytes = 0;
  for (const fb::Constant *constant : each(plan.constants()))
    if (isLeftOut(*constant))
      bytes = std::max(bytes, constant->segment_offset() + constant->size());
  for (const fb::Variable *variable : each(plan.variables()))
    if (variable->initial_segment() == nothingSaid && variable->initial_offset() != 0)
      bytes = std::max(bytes, variable->initial_offset() + variable->size());
  return bytes;
}

} // namespace gantry::plan
