// Attention and rotary embeddings of ai.onnx (opset 23 and 24). What they share with those of
// com.microsoft comes down to heads as [batch, heads, steps, size], what is added to the scores,
// and a softmax.

#include "AttentionParts.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;
using llvm::APFloat;

Value gantry::onnx::splitHeads(NodeContext &n, Value v, int64_t heads) {
  if (!v)
    return {};
  if (n.rankOf(v) != 3 || heads < 1 || n.shapeOf(v)[2] % heads)
    return n.fail("a tensor [batch, steps, hidden] is needed whose hidden size the " +
                  Twine(heads) + " heads divide");
  Ints s = n.shapeOf(v);
  return n.transpose(n.reshape(v, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

Value gantry::onnx::joinHeads(NodeContext &n, Value v) {
  if (!v)
    return {};
  Ints s = n.shapeOf(v);
  return n.reshape(n.transpose(v, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

/// Each head of the keys or values serves as many heads of the queries.
static Value repeatHeads(NodeContext &n, Value v, int64_t heads) {
  if (!v || n.shapeOf(v)[1] == heads)
    return v;
  Ints s = n.shapeOf(v);
  if (s[1] < 1 || heads % s[1])
    return n.fail("the " + Twine(s[1]) + " heads of keys and values do not divide the " +
                  Twine(heads) + " of the queries");
  Value grouped = n.reshape(v, {s[0], s[1], 1, s[2], s[3]});
  grouped = n.broadcast(grouped, {s[0], s[1], heads / s[1], s[2], s[3]});
  return n.reshape(grouped, {s[0], heads, s[2], s[3]});
}

static Value minusInfinity(NodeContext &n, mlir::Type element) {
  return n.scalar(element, -std::numeric_limits<double>::infinity());
}

Value gantry::onnx::hideWhereNot(NodeContext &n, Value keep, mlir::Type element, double hidden) {
  return n.select(keep, n.scalar(element, 0), n.scalar(element, hidden));
}

Value gantry::onnx::addBias(NodeContext &n, Value a, Value b) {
  return !a ? b : !b ? a : n.add(a, b);
}

/// Hides key j from query i where j > i + offset.
static Value causalBias(NodeContext &n, int64_t queries, int64_t keys, Value offset,
                        mlir::Type element) {
  Value row = n.add(n.iota({queries, 1}, n.i64(), 0), offset);
  Value seen = n.compare(CompareDirection::LE, n.iota({1, keys}, n.i64(), 1), row);
  return hideWhereNot(n, seen, element, -std::numeric_limits<double>::infinity());
}

/// One more column of scores, behind those of the keys.
static Value appendSink(NodeContext &n, Value scores, Value sink) {
  Ints column = n.shapeOf(scores);
  column.back() = 1;
  sink = n.reshape(n.cast(sink, n.elementOf(scores)), {n.typeOf(sink).getNumElements(), 1, 1});
  return n.concat({scores, n.broadcast(sink, column)}, n.rankOf(scores) - 1);
}

/// The weights of each query, zeros for one that sees nothing.
static Value weigh(NodeContext &n, Value scores, Value sink) {
  if (!scores)
    return {};
  int64_t last = n.rankOf(scores) - 1, keys = n.shapeOf(scores)[last];
  if (sink)
    return n.sliceAxis(n.make<SoftmaxOp>(appendSink(n, scores, sink), uint64_t(last)), last, 0,
                       keys);
  mlir::Type element = n.elementOf(scores);
  Value sees = n.compare(CompareDirection::GT, n.reduce<ReduceMaxOp>(scores, {last}, true),
                         minusInfinity(n, element));
  return n.select(sees, n.make<SoftmaxOp>(scores, uint64_t(last)), n.scalar(element, 0));
}

/// The same with what can be read on the way, and zeros for queries that see nothing.
static Value attendStepwise(NodeContext &n, Value q, Value k, Value v, const Scores &scores) {
  Value s = n.mulScalar(n.matmul(q, k, false, true), scores.scale);
  auto show = [&](int64_t stage) {
    if (scores.shown && scores.shownStage == stage)
      *scores.shown = s;
  };
  show(0);
  if (scores.softcap > 0)
    s = n.mulScalar(n.make<TanhOp>(n.mulScalar(s, 1 / scores.softcap)), scores.softcap);
  show(1);
  if (scores.bias)
    s = n.add(s, scores.bias);
  show(2);
  if (!s)
    return {};
  mlir::Type element = n.elementOf(s);
  if (scores.precision)
    s = n.cast(s, scores.precision);
  s = n.cast(weigh(n, s, scores.sink), element);
  show(3);
  return n.matmul(s, v);
}

Value gantry::onnx::attend(NodeContext &n, Value q, Value k, Value v, Scores scores) {
  if (!q || !k || !v)
    return {};
  if (n.rankOf(q) != 4 || n.rankOf(k) != 4 || n.rankOf(v) != 4)
    return n.fail("query, key and value must have the same number of dimensions, 3 or 4");
  int64_t heads = n.shapeOf(q)[1], queries = n.shapeOf(q)[2], keys = n.shapeOf(k)[2];
  k = repeatHeads(n, k, heads);
  v = repeatHeads(n, v, heads);
  if (!k || !v)
    return {};
  bool plain = scores.softcap == 0 && !scores.shown && !scores.precision && !scores.mayHideAll &&
               !scores.offset && !scores.sink && n.elementOf(q) == n.elementOf(v);
  if (plain)
    return n.make<AttentionOp>(q, k, v, Maybe{scores.bias}, APFloat(scores.scale), scores.causal);
  if (scores.causal) {
    Value offset = scores.offset ? scores.offset : n.scalarInt(n.i64(), 0);
    scores.bias = addBias(n, scores.bias, causalBias(n, queries, keys, offset, n.elementOf(q)));
  }
  return attendStepwise(n, q, k, n.cast(v, n.elementOf(q)), scores);
}

//===----------------------------------------------------------------------===//
// Of ai.onnx
//===----------------------------------------------------------------------===//

/// What a mask adds to the scores: a truth value hides where it is false. A mask that is too short
/// hides the keys behind its end.
static Value maskBias(NodeContext &n, Value mask, int64_t keys, mlir::Type element) {
  if (!mask)
    return {};
  double hidden = -std::numeric_limits<double>::infinity();
  if (n.rankOf(mask) < 1 || n.rankOf(mask) > 4)
    return n.fail("operand 3 (attn_mask) needs 1 to 4 dimensions");
  if (n.isBool(mask))
    mask = hideWhereNot(n, mask, element, hidden);
  else if (n.elementOf(mask) != element)
    return n.fail("operand 3 (attn_mask) must be truth values or of the queries' type");
  int64_t rank = n.rankOf(mask), length = n.shapeOf(mask)[rank - 1];
  if (length == 1 || length >= keys)
    return mask;
  Ints low(rank, 0), high(rank, 0);
  high[rank - 1] = keys - length;
  return n.make<PadOp>(mask, minusInfinity(n, element), IntsRef(low), IntsRef(high),
                       PadMode::Constant);
}

static Values attention(NodeContext &n) {
  Value q = n.input(0), k = n.input(1), v = n.input(2), filled = n.input(6);
  int64_t queryHeads = n.intAttr("q_num_heads", 0), keyHeads = n.intAttr("kv_num_heads", 0);
  bool joined = n.rankOf(q) == 3;
  if (n.rankOf(k) != n.rankOf(q) || n.rankOf(v) != n.rankOf(q) || (!joined && n.rankOf(q) != 4))
    return {n.fail("query, key and value must have the same number of dimensions, 3 or 4")};
  if (joined && (queryHeads < 1 || keyHeads < 1))
    return {n.fail("q_num_heads and kv_num_heads are needed for operands of 3 dimensions")};
  if (joined) {
    q = splitHeads(n, q, queryHeads);
    k = splitHeads(n, k, keyHeads);
    v = splitHeads(n, v, keyHeads);
  }
  bool hasPast = n.input(4) && n.input(5);
  if (bool(n.input(4)) != bool(n.input(5)) || (filled && hasPast))
    return {n.fail("past_key and past_value belong together, and exclude nonpad_kv_seqlen")};
  int64_t past = hasPast && n.rankOf(n.input(4)) == 4 ? n.shapeOf(n.input(4))[2] : 0;
  if (hasPast) {
    k = n.concat({n.input(4), k}, 2);
    v = n.concat({n.input(5), v}, 2);
  }
  if (!q || !k || !v)
    return {};
  int64_t batch = n.shapeOf(q)[0], queries = n.shapeOf(q)[2], keys = n.shapeOf(k)[2],
          size = n.shapeOf(q)[3];
  mlir::Type element = n.elementOf(q);
  Scores scores;
  scores.scale = n.floatAttr("scale", 1 / std::sqrt(double(std::max<int64_t>(size, 1))));
  scores.softcap = n.floatAttr("softcap", 0);
  scores.causal = n.intAttr("is_causal", 0) != 0;
  if (n.hasAttr("softmax_precision"))
    scores.precision = n.elementType(n.intAttr("softmax_precision", 1));
  Value shown;
  scores.shownStage = n.intAttr("qk_matmul_output_mode", 0);
  if (n.wantsOutput(3))
    scores.shown = &shown;
  if (scores.shownStage < 0 || scores.shownStage > 3 || n.hasFailed() ||
      (scores.precision && !isa<FloatType>(scores.precision)))
    return {n.fail("qk_matmul_output_mode must be 0 to 3, and softmax_precision a float type")};
  scores.bias = maskBias(n, n.input(3), keys, element);
  scores.mayHideAll = n.input(3) || filled;
  if (past > 0)
    scores.offset = n.scalarInt(n.i64(), past);
  if (filled) {
    if (n.shapeOf(filled) != Ints{batch})
      return {n.fail("operand 6 (nonpad_kv_seqlen) needs an entry for each batch")};
    Value count = n.reshape(n.cast(filled, n.i64()), {batch, 1, 1, 1});
    Value isKey = n.compare(CompareDirection::LT, n.iota({1, 1, 1, keys}, n.i64(), 3), count);
    scores.bias = addBias(
        n, scores.bias, hideWhereNot(n, isKey, element, -std::numeric_limits<double>::infinity()));
    scores.offset = n.addScalar(count, -double(queries));
  }
  Value y = attend(n, q, k, v, scores);
  return {joined ? joinHeads(n, y) : y, k, v, shown};
}

Value gantry::onnx::rotate(NodeContext &n, Value x, Value cosines, Value sines, bool interleaved) {
  if (!x || !cosines || !sines)
    return {};
  int64_t rank = n.rankOf(x), last = rank - 1;
  Ints shape = n.shapeOf(x);
  int64_t half = n.shapeOf(cosines).back(), size = shape[last];
  if (n.shapeOf(sines) != n.shapeOf(cosines) || 2 * half > size)
    return n.fail("the caches of cosines and sines must be equal in shape, and twice their last "
                  "dimension at most the size of a head");
  Value first, second;
  if (interleaved) {
    first = n.sliceAxis(x, last, 0, half, half > 1 ? 2 : 1);
    second = n.sliceAxis(x, last, half ? 1 : 0, half, half > 1 ? 2 : 1);
  } else {
    first = n.sliceAxis(x, last, 0, half);
    second = n.sliceAxis(x, last, half, half);
  }
  Value real = n.sub(n.mul(cosines, first), n.mul(sines, second));
  Value imaginary = n.add(n.mul(sines, first), n.mul(cosines, second));
  if (!real || !imaginary)
    return {};
  if (n.shapeOf(real) != n.shapeOf(first))
    return n.fail("the caches of cosines and sines do not fit batch and steps");
  Value rotated;
  if (interleaved) {
    Ints column = n.shapeOf(real), both = column;
    column.push_back(1);
    both.back() *= 2;
    rotated =
        n.reshape(n.concat({n.reshape(real, column), n.reshape(imaginary, column)}, rank), both);
  } else {
    rotated = n.concat({real, imaginary}, last);
  }
  return 2 * half == size
             ? rotated
             : n.concat({rotated, n.sliceAxis(x, last, 2 * half, size - 2 * half)}, last);
}

Value gantry::onnx::overHeads(NodeContext &n, Value cache) {
  if (!cache)
    return {};
  Ints s = n.shapeOf(cache);
  return s.size() == 3 ? n.reshape(cache, {s[0], 1, s[1], s[2]})
                       : n.fail("the caches of cosines and sines need 3 dimensions, or 2 and "
                                "position_ids");
}

static Values rotaryEmbedding(NodeContext &n) {
  Value x = n.input(0), cosines = n.input(1), sines = n.input(2), positions = n.input(3);
  bool interleaved = n.intAttr("interleaved", 0) != 0, joined = n.rankOf(x) == 3;
  int64_t heads = n.intAttr("num_heads", 0), turned = n.intAttr("rotary_embedding_dim", 0);
  if (joined)
    x = splitHeads(n, x, heads);
  if (!x || n.rankOf(x) != 4)
    return {n.fail("the input needs 3 dimensions and num_heads, or 4")};
  if (turned == 0)
    turned = n.shapeOf(x)[3];
  if (positions) {
    cosines = n.make<GatherOp>(cosines, positions, uint64_t(0));
    sines = n.make<GatherOp>(sines, positions, uint64_t(0));
  }
  if (!cosines || n.rankOf(cosines) < 1 || 2 * n.shapeOf(cosines).back() != turned)
    return {n.fail("the last dimension of the caches must be half of what is rotated")};
  Value y = rotate(n, x, overHeads(n, cosines), overHeads(n, sines), interleaved);
  return {joined ? joinHeads(n, y) : y};
}

void gantry::onnx::addAttentionOps(OpTable &table) {
  table.add("Attention", attention, {3, 7, 4});
  table.add("RotaryEmbedding", rotaryEmbedding, {3, 4, 1});
}
