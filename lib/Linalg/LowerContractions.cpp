// Matrix products and attention.

#include "Blocks.h"
#include "Patterns.h"

#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/BlockQuantized.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

/// The weights of few bits as numbers, which whoever makes code of the product need not have in
/// memory.
static Value unpackWeights(BlockQuantizedAttr quantized, Value packed, Emitter &b) {
  const BlockQuantized form = quantized.getForm();
  const int64_t columns = shapeOf(packed).front();
  auto unpack = [&](Emitter &e, ValueRange) -> Value {
    Type i32 = e.getI32Type();
    Value column = e.loopIndex(0), term = e.loopIndex(1);
    auto over = [&](Value x, int64_t by) -> Value {
      return arith::DivUIOp::create(e, x, e.index(by));
    };
    auto rest = [&](Value x, int64_t by) -> Value {
      return arith::RemUIOp::create(e, x, e.index(by));
    };
    auto times = [&](Value x, int64_t by) -> Value {
      return arith::MulIOp::create(e, x, e.index(by));
    };
    auto byteAt = [&](Value at) -> Value {
      Value byte = tensor::ExtractOp::create(e, packed, ValueRange{column, at});
      return arith::ExtUIOp::create(e, i32, byte);
    };
    auto numberAt = [&](Value at) -> Value {
      Value bits = byteAt(at);
      for (int64_t i = 1; i < BlockQuantized::kWordBytes; ++i) {
        Value byte = byteAt(arith::AddIOp::create(e, at, e.index(i)));
        bits = arith::OrIOp::create(e, bits,
                                    Value(arith::ShLIOp::create(e, byte, e.integer(8 * i, i32))));
      }
      return arith::BitcastOp::create(e, e.getF32Type(), bits);
    };
    Value record = times(over(term, form.block), form.recordWords() * BlockQuantized::kWordBytes);
    Value first = rest(term, form.block);
    Value inRecord = over(times(first, form.bits), 8);
    Value byte =
        byteAt(arith::AddIOp::create(e, Value(arith::AddIOp::create(e, record, inRecord)),
                                     e.index(form.headWords() * BlockQuantized::kWordBytes)));
    Value shift = arith::IndexCastOp::create(e, i32, rest(times(first, form.bits), 8));
    Value q = arith::AndIOp::create(e, Value(arith::ShRUIOp::create(e, byte, shift)),
                                    e.integer((1 << form.bits) - 1, i32));
    Value number = arith::SIToFPOp::create(e, e.getF32Type(), q);
    Value zero =
        form.hasZeros()
            ? numberAt(arith::AddIOp::create(e, record, e.index(BlockQuantized::kWordBytes)))
            : e.number(double(form.zero), e.getF32Type());
    return e.mul(e.sub(number, zero), numberAt(record));
  };
  Value weights = b.elementwise({columns, form.k}, b.getF32Type(), {}, unpack);
  weights.getDefiningOp()->setDiscardableAttr(kBlockQuantizedAttr, quantized);
  return weights;
}

static Value lowerMatmul(MatmulOp op, MatmulOp::Adaptor in, Emitter &b) {
  if (BlockQuantizedAttr quantized = op.getBlockQuantizedAttr())
    return multiplyMatrices(b, in.getLhs(), unpackWeights(quantized, in.getRhs(), b), false, true);
  Value product = multiplyMatrices(b, in.getLhs(), in.getRhs(), op.getTransposeA(),
                                   op.getTransposeB(), Signs::of(op.getLhs(), op.getRhs()));
  if (givesAccumulators(op)) {
    product.getDefiningOp()->setDiscardableAttr(kAccumulateWideAttr, b.getUnitAttr());
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
  Value weights = softmaxAlong(b, scores, typeOf(scores).getRank() - 1);
  Value value = b.convertTo(in.getValue(), elementOf(weights));
  return b.convertTo(multiplyMatrices(b, weights, value, false, false), elementOf(in.getQuery()));
}

void gantry::populateContractionPatterns(SignlessTypeConverter &converter,
                                         RewritePatternSet &patterns) {
  addLowering<MatmulOp, lowerMatmul>(converter, patterns);
  addLowering<AttentionOp, lowerAttention>(converter, patterns);
}
