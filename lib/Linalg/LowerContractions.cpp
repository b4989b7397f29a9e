// Matrix products and attention.

#include "Blocks.h"
#include "Patterns.h"

#include "gantry/Dialect/Gantry/IR/Wide.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

static Value lowerMatmul(MatmulOp op, MatmulOp::Adaptor in, Emitter &b) {
  Value product = multiplyMatrices(b, in.getLhs(), in.getRhs(), op.getTransposeA(),
                                   op.getTransposeB(), Signs::of(op.getLhs(), op.getRhs()));
  if (isWide(op)) {
    setWide(product.getDefiningOp());
    return product;
  }
  return b.convertTo(product, Signs::resultType(elementOf(in.getLhs())));
}

/// Scores times scale plus mask; hidden keys get -inf, which softmax turns to 0.
static Value scaleAndMask(AttentionOp op, Value scores, Value mask, Emitter &b) {
  Shape shape(shapeOf(scores));
  unsigned query = shape.size() - 2, key = shape.size() - 1;
  SmallVector<Operand> inputs{b.identity(scores)};
  if (mask)
    inputs.push_back(b.broadcast(mask, shape));
  return b.elementwise(shape, elementOf(scores), inputs, [&](Emitter &e, ValueRange x) {
    Value score = e.mul(x[0], e.number(op.getScale().convertToDouble(), x[0].getType()));
    if (mask)
      score = e.add(score, e.widen(x[1]));
    if (!op.getCausal())
      return score;
    Value hidden = e.compare(arith::CmpIPredicate::sgt, e.loopIndex(key), e.loopIndex(query));
    return e.select(hidden, e.lowest(score.getType(), false), score);
  });
}

/// Scores and weights stay in f32 for f16 and bf16.
static Value lowerAttention(AttentionOp op, AttentionOp::Adaptor in, Emitter &b) {
  Value scores = multiplyMatrices(b, in.getQuery(), in.getKey(), false, /*transposeRhs=*/true);
  scores = scaleAndMask(op, scores, in.getMask(), b);
  Value weights = softmaxAlong(b, scores, typeOf(scores).getRank() - 1, /*logarithm=*/false);
  Value value = b.convertTo(in.getValue(), elementOf(weights));
  return b.convertTo(multiplyMatrices(b, weights, value, false, false), elementOf(in.getQuery()));
}

void gantry::populateContractionPatterns(SignlessTypeConverter &converter,
                                         RewritePatternSet &patterns) {
  addLowering<MatmulOp, lowerMatmul>(converter, patterns);
  addLowering<AttentionOp, lowerAttention>(converter, patterns);
}
