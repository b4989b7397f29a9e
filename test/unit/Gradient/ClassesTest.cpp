// Every op of the dialect has a class, and the class is what its interface says.

#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"
#include "gantry/Gradient/Gradient.h"

#include <gtest/gtest.h>

#include <map>

using namespace mlir;
using namespace gantry;

namespace {
/// Classes by the names of the ops, of Classes.def and Unary.def.
std::map<std::string, std::string> classes() {
  std::map<std::string, std::string> found;
  auto add = [&](const char *op, const char *own) {
    EXPECT_TRUE(found.emplace(std::string("gantry.") + op, own).second) << op << " stands twice";
  };
#define GANTRY_GRADIENT(op, own, reads, words) add(#op, #own);
#include "gantry/Gradient/Classes.def"
#define GANTRY_UNARY_GRADIENT(op, Op, reads, formula) add(#op, "rule");
#include "gantry/Gradient/Unary.def"
  return found;
}

/// What the op's interface makes it. Whether it is zero is asked of no op in particular.
std::string classOf(RegisteredOperationName name) {
  auto *rule = name.getInterface<GradientOpInterface>();
  if (!rule)
    return "none";
  return rule->stopsGradient(rule, nullptr) ? "zero" : "rule";
}

struct Classes : testing::Test {
  Classes() {
    DialectRegistry registry;
    registry.insert<GantryDialect>();
    registerGradients(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<GantryDialect>();
  }
  MLIRContext context{MLIRContext::Threading::DISABLED};
};
} // namespace

TEST_F(Classes, EveryOpHasTheClassOfItsInterface) {
  std::map<std::string, std::string> known = classes();
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("gantry")) {
    std::string op = name.getStringRef().str();
    auto own = known.find(op);
    if (own == known.end()) {
      ADD_FAILURE() << op << " is in no class: add a rule, or say in Classes.def why it has none";
      continue;
    }
    EXPECT_EQ(own->second, classOf(name)) << op;
    known.erase(own);
  }
  for (auto &[op, own] : known)
    ADD_FAILURE() << op << " is in Classes.def, and no op of the dialect";
}
