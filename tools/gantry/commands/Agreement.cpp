#include "Agreement.h"

#include "gantry/Plan/Views.h"

#include <cmath>

namespace gantry::tool {

using arrays::Tolerance;

Tolerance toleranceOf(const Execution &execution) {
  Tolerance coarsest = Tolerance::of(ElementType::f64);
  const auto look = [&](ElementType element) {
    coarsest = coarsest.coarser(Tolerance::of(element));
  };
  const plan::fb::Plan &metadata = execution.plan().metadata();
  for (const auto *function : plan::each(metadata.functions())) {
    if (function->name()->string_view() != execution.function().name)
      continue;
    for (const auto *value : plan::each(function->values()))
      if (value->type())
        look(plan::elementOf(*value->type()));
  }
  for (const auto *variable : plan::each(metadata.variables()))
    if (variable->type())
      look(plan::elementOf(*variable->type()));
  for (const auto *bindings : {&execution.function().inputs, &execution.function().outputs})
    for (const auto &binding : *bindings)
      look(binding.type.element);
  return coarsest;
}

/// Two digits without a padded exponent: "2e-6", as the tolerances are written.
static std::string shortNumber(double value) {
  std::string text = format("%.2g", value);
  const size_t exponent = text.find_first_of("+-", text.find('e'));
  if (exponent != text.npos && text[exponent + 1] == '0')
    text.erase(exponent + 1, 1);
  return text;
}

std::string distanceText(const arrays::Difference &difference, const arrays::ArrayView &expected,
                         const Tolerance &tolerance) {
  const double off = difference.maxAbsolute;
  if (!arrays::isFloat(expected.element))
    return format("max difference %.3g, integers must be equal", off);
  if (!std::isfinite(off))
    return "NaN and infinities are not in the same places";
  const double largest = arrays::largestOf(expected);
  if (off > 0 && largest == 0)
    return format("off by %.3g, where only zeros are expected", off);
  return shortNumber(off > 0 ? off / largest : 0) + " of the largest value, " + tolerance.text +
         " allowed";
}

} // namespace gantry::tool
