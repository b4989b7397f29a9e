// Elementwise ops of several operands. What one of them gets is as large as the result; give() adds
// up what was broadcast.

#include "Rules.h"

using namespace mlir;
using namespace gantry;

namespace {
/// Operands and result of an op of two, as they stand in formulas.
struct Pair {
  Term d, x, y;

  Pair(GradientBuilder &b, Value x, Value y) : d(wideCotangent(b)), x(wide(b, x)), y(wide(b, y)) {}
};
} // namespace

/// Gives an operand what `formula` makes, if it is wanted.
static void giveIf(GradientBuilder &b, unsigned operand, StringRef name,
                   function_ref<Value()> formula) {
  if (b.wants(operand))
    b.give(operand, formula(), name);
}

static void buildAdd(AddOp, GradientBuilder &b) {
  for (unsigned i : {0, 1})
    giveIf(b, i, i ? "rhs" : "lhs", [&] { return b.ofResult(); });
}

static void buildAddN(AddNOp op, GradientBuilder &b) {
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    giveIf(b, i, "", [&] { return b.ofResult(); });
}

static void buildSub(SubOp, GradientBuilder &b) {
  giveIf(b, 0, "lhs", [&] { return b.ofResult(); });
  giveIf(b, 1, "rhs", [&] { return -Term(b, b.ofResult()); });
}

static void buildMul(MulOp op, GradientBuilder &b) {
  Pair p(b, op.getLhs(), op.getRhs());
  giveIf(b, 0, "lhs", [&] { return p.d * p.y; });
  giveIf(b, 1, "rhs", [&] { return p.d * p.x; });
}

static void buildDiv(DivOp op, GradientBuilder &b) {
  Pair p(b, op.getLhs(), op.getRhs());
  giveIf(b, 0, "lhs", [&] { return p.d / p.y; });
  giveIf(b, 1, "rhs", [&] { return -p.d * ((p.x / p.y) / p.y); });
}

/// The remainder is a - q b with a whole number q, whichever way it was rounded: from the result,
/// since a / b rounded may be the next one (1.0 and 0.1).
template <typename Op>
static void buildRemainder(Op op, GradientBuilder &b) {
  Pair p(b, op.getLhs(), op.getRhs());
  giveIf(b, 0, "lhs", [&] { return p.d; });
  giveIf(b, 1, "rhs", [&] { return -p.d * nearest((p.x - wide(b, op.getResult())) / p.y); });
}

/// Where the formulas would be 0 times infinity the slope is 0: a^0 is flat in a, 0^b in b >= 0.
static void buildPow(PowOp op, GradientBuilder &b) {
  Pair p(b, op.getLhs(), op.getRhs());
  giveIf(b, 0, "lhs", [&] { return select(p.y == 0, 0, p.d * (p.y * power(p.x, p.y - 1))); });
  giveIf(b, 1, "rhs", [&] {
    Term isFlat = p.x == 0 && p.y >= 0;
    return select(isFlat, 0, p.d * (wide(b, op.getResult()) * logarithm(p.x)));
  });
}

/// Equal operands get a half each; whoever is not the extreme one gets nothing.
template <typename Op, bool isLargest>
static void buildExtreme(Op op, GradientBuilder &b) {
  Pair p(b, op.getLhs(), op.getRhs());
  Term part = select(p.x == p.y, p.d * 0.5, p.d);
  auto loses = [](Term x, Term y) { return isLargest ? x < y : x > y; };
  giveIf(b, 0, "lhs", [&] { return select(loses(p.x, p.y), 0, part); });
  giveIf(b, 1, "rhs", [&] { return select(loses(p.y, p.x), 0, part); });
}

static void buildPrelu(PreluOp op, GradientBuilder &b) {
  Pair p(b, op.getLhs(), op.getRhs());
  giveIf(b, 0, "lhs", [&] { return select(p.x > 0, p.d, p.d * p.y); });
  giveIf(b, 1, "rhs", [&] { return select(p.x > 0, 0, p.d * p.x); });
}

/// min(max(x, low), high): x passes at both ends; low above high gives all to high.
static void buildClamp(ClampOp op, GradientBuilder &b) {
  Term d = wideCotangent(b), x = wide(b, op.getInput());
  Term low = wide(b, op.getLow()), high = wide(b, op.getHigh());
  giveIf(b, 0, "input", [&] { return select(x >= low && x <= high, d, 0); });
  giveIf(b, 1, "low", [&] { return select(x < low && low <= high, d, 0); });
  giveIf(b, 2, "high", [&] { return select(x > high || low > high, d, 0); });
}

static void buildSelect(SelectOp op, GradientBuilder &b) {
  Term d(b, b.ofResult()), condition(b, op.getCondition());
  giveIf(b, 1, "true", [&] { return select(condition, d, 0); });
  giveIf(b, 2, "false", [&] { return select(condition, 0, d); });
}

static void buildCast(CastOp, GradientBuilder &b) { b.give(0, b.ofResult()); }
static void buildUpdate(UpdateOp, GradientBuilder &b) { b.give(0, b.ofResult()); }
static void buildUpdateAdd(UpdateAddOp, GradientBuilder &b) {
  giveIf(b, 0, "current", [&] { return b.ofResult(); });
  giveIf(b, 1, "value", [&] { return b.ofResult(); });
}
static void buildDropout(DropoutOp, GradientBuilder &b) { b.give(0, b.ofResult()); }

void gantry::addBinaryRules(MLIRContext &context) {
  addRule<AddOp, buildAdd>(context);
  addRule<AddNOp, buildAddN>(context);
  addRule<SubOp, buildSub>(context);
  addRule<MulOp, buildMul>(context);
  addRule<DivOp, buildDiv>(context);
  addRule<RemOp, buildRemainder<RemOp>>(context);
  addRule<ModOp, buildRemainder<ModOp>>(context);
  addRule<PowOp, buildPow>(context);
  addRule<MaximumOp, buildExtreme<MaximumOp, true>>(context);
  addRule<MinimumOp, buildExtreme<MinimumOp, false>>(context);
  addRule<PreluOp, buildPrelu>(context);
  addRule<ClampOp, buildClamp>(context);
  addRule<SelectOp, buildSelect>(context);
  addRule<CastOp, buildCast>(context);
  addRule<UpdateOp, buildUpdate>(context);
  addRule<UpdateAddOp, buildUpdateAdd>(context);
  addRule<DropoutOp, buildDropout>(context);
}
