// Attention and rotary embeddings of com.microsoft: masks, packed projections, and caches of keys
// and values. Each is composed of what the ops of ai.onnx are.

#include "AttentionParts.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// What a mask of 0 and 1, or lengths of the sequences, add to the scores.
static Value paddingBias(NodeContext &n, Value mask, int64_t batch, int64_t queries, int64_t keys,
                         mlir::Type element, double hidden) {
  Ints shape = n.shapeOf(mask);
  Value column = n.iota({1, 1, 1, keys}, n.i64(), 3);
  auto rows = [&](int64_t from) {
    return n.reshape(n.cast(n.slice(mask, {from}, {batch}), n.i64()), {batch, 1, 1, 1});
  };
  if (shape == Ints{batch} || shape == Ints{2 * batch}) {
    Value keep = n.compare(CompareDirection::LT, column, rows(0));
    // Behind the ends, the starts: what is left of them is padding, too.
    if (shape != Ints{batch})
      keep = n.make<LogicalAndOp>(keep, n.compare(CompareDirection::GE, column, rows(batch)));
    return hideWhereNot(n, keep, element, hidden);
  }
  Ints broadcastable;
  if (shape == Ints{batch, keys})
    broadcastable = {batch, 1, 1, keys};
  else if (shape == Ints{batch, queries, keys})
    broadcastable = {batch, 1, queries, keys};
  else
    return n.fail("the mask's shape is not supported; [batch], [2 * batch], [batch, keys] and "
                  "[batch, queries, keys] are");
  Value keep = n.compare(CompareDirection::GT, mask, n.scalarInt(n.elementOf(mask), 0));
  return hideWhereNot(n, n.reshape(keep, broadcastable), element, hidden);
}

static Value defaultScale(NodeContext &n, Value q, Scores &scores) {
  scores.scale = n.floatAttr("scale", 0);
  if (scores.scale == 0 && q)
    scores.scale = 1 / std::sqrt(double(std::max<int64_t>(n.shapeOf(q)[3], 1)));
  return q;
}

/// Operands behind the first `count` ask for caches that are filled in place, and the like.
static bool refuseOperandsFrom(NodeContext &n, size_t count) {
  for (size_t i = count; i < n.numInputs(); ++i)
    if (n.input(i)) {
      n.fail("operand " + Twine(i) + " is not supported; the first " + Twine(count) + " are");
      return true;
    }
  return false;
}

/// One of `count` tensors that lie side by side in dimension 3 of [batch, steps, heads, count,
/// size].
static Value unpack(NodeContext &n, Value packed, int64_t which) {
  Ints s = n.shapeOf(packed);
  Value one = n.reshape(n.sliceAxis(packed, 3, which, 1), {s[0], s[1], s[2], s[4]});
  return n.transpose(one, {0, 2, 1, 3});
}

namespace {
/// [batch, heads, steps, size] each; null after a failure.
struct Heads {
  Value q, k, v;
};
} // namespace

/// A bias has entries for queries, keys and values, one after the other. Keys and values that come
/// as heads have theirs in them already.
static Heads readHeads(NodeContext &n, Value query, Value key, Value value, Value bias) {
  int64_t heads = n.intAttr("num_heads", 0);
  auto haveRanks = [&](int64_t ofQuery, int64_t ofOthers) {
    return key && value && n.rankOf(query) == ofQuery && n.rankOf(key) == ofOthers &&
           n.rankOf(value) == ofOthers;
  };
  if (n.rankOf(query) == 5 && n.shapeOf(query)[3] == 3 && !key && !value && !bias)
    return {unpack(n, query, 0), unpack(n, query, 1), unpack(n, query, 2)};
  if (key && n.rankOf(query) == 3 && n.rankOf(key) == 5 && n.shapeOf(key)[3] == 2 && !value &&
      !bias)
    return {splitHeads(n, query, heads), unpack(n, key, 0), unpack(n, key, 1)};
  bool areHeads = haveRanks(3, 4);
  if (!areHeads && !haveRanks(3, 3))
    return {n.fail("supported are query, key and value of 3 dimensions, packed [batch, steps, "
                   "heads, 3, size] or [.., 2, size] without bias, and keys and values of 4"),
            {},
            {}};
  int64_t wide = n.shapeOf(query)[2];
  int64_t wideValue = areHeads ? n.shapeOf(value)[1] * n.shapeOf(value)[3] : n.shapeOf(value)[2];
  if (bias && n.shapeOf(bias) != Ints{2 * wide + wideValue})
    return {n.fail("the bias needs " + Twine(2 * wide + wideValue) + " entries"), {}, {}};
  auto split = [&](Value x, int64_t from, int64_t count) {
    return splitHeads(n, bias ? n.add(x, n.slice(bias, {from}, {count})) : x, heads);
  };
  Value q = split(query, 0, wide);
  if (areHeads)
    return {q, key, value};
  return {q, split(key, wide, wide), split(value, 2 * wide, wideValue)};
}

/// Where attention goes one way, queries see no later key. The last query stands at the last key,
/// as in ONNX Runtime's kernels, unless queries are more than keys: then the first ones of both
/// stand at one place.
static void lookBack(NodeContext &n, Scores &scores, int64_t queries, int64_t keys, int64_t past) {
  scores.causal = n.intAttr("unidirectional", 0) != 0 && queries > 1;
  int64_t before = std::max(past, keys - queries);
  if (scores.causal && before > 0)
    scores.offset = n.scalarInt(n.i64(), before);
}

static Values multiHeadAttention(NodeContext &n) {
  Value pastKey = n.input(6), pastValue = n.input(7), shown;
  double hidden = n.floatAttr("mask_filter_value", -10000);
  if (refuseOperandsFrom(n, 8) || n.intAttr("num_heads", 0) < 1)
    return {n.fail("num_heads must be 1 or more")};
  auto [q, k, v] = readHeads(n, n.input(0), n.input(1), n.input(2), n.input(3));
  Scores scores;
  if (!defaultScale(n, q, scores) || !k || !v)
    return {};
  if (bool(pastKey) != bool(pastValue))
    return {n.fail("past_key and past_value belong together")};
  int64_t past = 0;
  if (pastKey) {
    if (n.rankOf(pastKey) != 4)
      return {n.fail("past_key must have 4 dimensions")};
    past = n.shapeOf(pastKey)[2];
    k = n.concat({pastKey, k}, 2);
    v = n.concat({pastValue, v}, 2);
  }
  if (!k || !v)
    return {};
  int64_t batch = n.shapeOf(q)[0], queries = n.shapeOf(q)[2], keys = n.shapeOf(k)[2];
  lookBack(n, scores, queries, keys, past);
  if (n.input(4))
    scores.bias = paddingBias(n, n.input(4), batch, queries, keys, n.elementOf(q), hidden);
  scores.bias = addBias(n, scores.bias, n.input(5));
  if (n.wantsOutput(3))
    scores.shown = &shown, scores.shownStage = 2;
  if (n.hasFailed())
    return {};
  return {joinHeads(n, attend(n, q, k, v, scores)), k, v, shown};
}

/// Fills up the last dimension, of keys, to `keys`.
static Value padKeys(NodeContext &n, Value v, int64_t keys) {
  if (!v || n.rankOf(v) < 1 || n.shapeOf(v).back() >= keys)
    return v;
  Ints low(n.rankOf(v), 0), high(n.rankOf(v), 0);
  high.back() = keys - n.shapeOf(v).back();
  return n.make<PadOp>(v, n.scalar(n.elementOf(v), 0), IntsRef(low), IntsRef(high),
                       PadMode::Constant);
}

/// One step of generating text: attention to what an encoder gave, or to a cache that gets the keys
/// and values of this step at place past_sequence_length of it.
static Values decoderMaskedAttention(NodeContext &n) {
  Value mask = n.input(3), added = n.input(4), pastKey = n.input(5), pastValue = n.input(6), shown;
  bool inPlace = n.intAttr("past_present_share_buffer", 0) != 0;
  double hidden = n.floatAttr("mask_filter_value", -10000);
  n.ignoreAttrs({"output_qk"}); // whether output 3 is listed says the same
  if (n.intAttr("num_heads", 0) < 1)
    return {n.fail("num_heads must be 1 or more")};
  if (n.input(9))
    return {n.fail("operand 9 (cache_indirection) is not supported: beams share a cache by it; "
                   "export with a cache of each")};
  if (n.rankOf(n.input(0)) != 3 || n.shapeOf(n.input(0))[1] != 1)
    return {n.fail("the query must be [batch, 1, hidden]")};
  auto [q, k, v] = readHeads(n, n.input(0), n.input(1), n.input(2), n.input(10));
  Scores scores;
  if (!defaultScale(n, q, scores) || !k || !v)
    return {};
  if (bool(pastKey) != bool(pastValue) || (pastKey && inPlace && !n.input(7)))
    return {n.fail("past_key and past_value belong together, and past_sequence_length to a cache "
                   "that is filled in place")};
  int64_t batch = n.shapeOf(q)[0];
  Value place;
  if (pastKey && inPlace) {
    if (n.rankOf(pastKey) != 4 || n.rankOf(pastValue) != 4 ||
        n.typeOf(n.input(7)).getNumElements() != 1)
      return {n.fail("past_key and past_value must have 4 dimensions, and past_sequence_length be "
                     "one number")};
    place = n.reshape(n.cast(n.input(7), n.i64()), {1});
    k = writeSteps(n, pastKey, k, n.broadcast(place, {batch}), 2, /*circular=*/false);
    v = writeSteps(n, pastValue, v, n.broadcast(place, {batch}), 2, /*circular=*/false);
  } else if (pastKey) {
    k = n.concat({pastKey, k}, 2);
    v = n.concat({pastValue, v}, 2);
  }
  if (!k || !v)
    return {};
  int64_t keys = n.shapeOf(k)[2];
  if (mask)
    scores.bias = paddingBias(n, padKeys(n, mask, keys), batch, 1, keys, n.elementOf(q), hidden);
  scores.bias = addBias(n, scores.bias, padKeys(n, added, keys));
  if (place) {
    Value isFilled = n.compare(CompareDirection::LE, n.iota({1, 1, 1, keys}, n.i64(), 3), place);
    scores.bias = addBias(
        n, scores.bias,
        hideWhereNot(n, isFilled, n.elementOf(q), -std::numeric_limits<double>::infinity()));
  }
  if (n.wantsOutput(3))
    scores.shown = &shown, scores.shownStage = 2;
  if (n.hasFailed())
    return {};
  Value y = joinHeads(n, attend(n, q, k, v, scores));
  if (n.wantsOutput(3) && place) {
    auto past = n.shapeScalar(7, "past_sequence_length");
    if (!past || *past < 0 || *past >= keys)
      return {n.fail("past_sequence_length must be less than the places of the cache")};
    shown = n.sliceAxis(shown, 3, 0, *past + 1);
  }
  return {y, k, v, shown};
}

/// Keys (0) or values (1) of the steps before, which lie in one tensor, and those of now.
static Value afterPast(NodeContext &n, Value past, int64_t which, Value fresh) {
  if (!past || !fresh)
    return fresh;
  Ints shape = n.shapeOf(past);
  Value one = n.reshape(n.sliceAxis(past, 0, which, 1), IntsRef(shape).drop_front());
  return n.concat({one, fresh}, 2);
}

Values gantry::onnx::attendPacked(NodeContext &n, Value all, Value mask, Value past, Value bias) {
  int64_t heads = n.intAttr("num_heads", 0);
  double hidden = n.floatAttr("mask_filter_value", -10000);
  auto sizes = n.intsAttr("qkv_hidden_sizes");
  if (n.intAttr("do_rotary", 0) != 0 || n.intAttr("past_present_share_buffer", 0) != 0)
    return {n.fail("do_rotary and past_present_share_buffer are not supported")};
  n.ignoreAttrs({"rotary_embedding_dim"});
  if (heads < 1)
    return {n.fail("num_heads must be 1 or more")};
  if (!all || n.rankOf(all) != 3)
    return {};
  int64_t wide = n.shapeOf(all)[2];
  if (!sizes || sizes->empty())
    sizes = Ints(3, wide / 3);
  if (sizes->size() != 3 ||
      llvm::any_of(*sizes, [](int64_t s) { return s < 0 || s > kMaxBytes; }) ||
      (*sizes)[0] + (*sizes)[1] + (*sizes)[2] != wide)
    return {n.fail("qkv_hidden_sizes do not add up to the " + Twine(wide) + " columns")};
  Value q = splitHeads(n, n.sliceAxis(all, 2, 0, (*sizes)[0]), heads);
  Value k = splitHeads(n, n.sliceAxis(all, 2, (*sizes)[0], (*sizes)[1]), heads);
  Value v = splitHeads(n, n.sliceAxis(all, 2, (*sizes)[0] + (*sizes)[1], (*sizes)[2]), heads);
  Scores scores;
  if (!defaultScale(n, q, scores) || !k || !v)
    return {};
  if (past && (n.rankOf(past) != 5 || n.shapeOf(past)[0] != 2))
    return {n.fail("the past must be [2, batch, heads, steps, size]")};
  k = afterPast(n, past, 0, k);
  v = afterPast(n, past, 1, v);
  if (!k || !v)
    return {};
  lookBack(n, scores, n.shapeOf(q)[2], n.shapeOf(k)[2], past ? n.shapeOf(past)[3] : 0);
  if (mask)
    scores.bias = paddingBias(n, mask, n.shapeOf(q)[0], n.shapeOf(q)[2], n.shapeOf(k)[2],
                              n.elementOf(q), hidden);
  scores.bias = addBias(n, scores.bias, bias);
  if (n.hasFailed())
    return {};
  Values results{joinHeads(n, attend(n, q, k, v, scores))};
  if (n.wantsOutput(1)) {
    auto lead = [&](Value x) {
      Ints shape = n.shapeOf(x);
      shape.insert(shape.begin(), 1);
      return n.reshape(x, shape);
    };
    results.push_back(n.concat({lead(k), lead(v)}, 0));
  }
  return results;
}

/// The projections of queries, keys and values are one matrix.
static Values packedAttention(NodeContext &n) {
  if (n.rankOf(n.input(0)) != 3 || n.rankOf(n.input(1)) != 2)
    return {n.fail("operands [batch, steps, width] and [width, hidden] are needed")};
  if (n.input(6))
    return {n.fail("operand 6 (past_sequence_length) is not supported: it is of a cache that is "
                   "filled in place; export with a past that grows")};
  Value all = n.matmul(n.input(0), n.input(1));
  if (n.input(2))
    all = n.add(all, n.input(2));
  return attendPacked(n, all, n.input(3), n.input(4), n.input(5));
}

static Values rotaryWithPositions(NodeContext &n) {
  Value x = n.input(0), positions = n.cast(n.input(1), n.i64());
  bool interleaved = n.intAttr("interleaved", 0) != 0, joined = n.rankOf(x) == 3;
  int64_t heads = n.intAttr("num_heads", 0), turned = n.intAttr("rotary_embedding_dim", 0);
  n.ignoreAttrs({"scale"}); // no kernel of ONNX Runtime reads it
  if (n.intAttr("is_packed_batching", 0) != 0)
    return {n.fail("is_packed_batching is not supported")};
  if (n.rankOf(n.input(2)) != 2 || n.rankOf(n.input(3)) != 2)
    return {n.fail("the caches of cosines and sines need 2 dimensions")};
  int64_t half = n.shapeOf(n.input(2))[1];
  if (turned != 0 && (turned != 2 * half || heads < 1))
    return {n.fail("rotary_embedding_dim needs num_heads, and caches half as wide")};
  if (joined) {
    if (heads < 1)
      heads = half > 0 ? n.shapeOf(x)[2] / (2 * half) : 0;
    x = splitHeads(n, x, heads);
  }
  if (!x || n.rankOf(x) != 4)
    return {n.fail("the input needs 3 or 4 dimensions")};
  Ints s = n.shapeOf(x);
  // One number is where the first step stands.
  if (n.shapeOf(positions) == Ints{1})
    positions = n.add(n.iota({1, s[2]}, n.i64(), 1), n.reshape(positions, {1, 1}));
  else if (n.shapeOf(positions) != Ints{s[0], s[2]})
    return {n.fail("position_ids must be one number or [batch, steps]")};
  Value cosines = n.make<GatherOp>(n.input(2), positions, uint64_t(0));
  Value sines = n.make<GatherOp>(n.input(3), positions, uint64_t(0));
  Value y = rotate(n, x, overHeads(n, cosines), overHeads(n, sines), interleaved);
  return {joined ? joinHeads(n, y) : y};
}

/// Keys or values with those of the steps before, operand `at`: as many places as that has, or as
/// all steps take, if these are more.
static Value continueCache(NodeContext &n, size_t at, Value fresh, Value places, int64_t total) {
  Value past = n.input(at);
  Ints shape = n.shapeOf(past), like = n.shapeOf(fresh), none(4, 0), missing(4, 0);
  if (n.rankOf(past) != 4 || shape[0] != like[0] || shape[1] != like[1] || shape[3] != like[3])
    return n.fail("operand " + Twine(at) + " must be [batch, heads, places, size]");
  missing[2] = std::max<int64_t>(total - shape[2], 0);
  if (shape[2] + missing[2] < like[2])
    return n.fail("total_sequence_length is " + Twine(total) +
                  ", less than the steps of the query");
  if (missing[2] > 0)
    past = n.make<PadOp>(past, n.scalar(n.elementOf(past), 0), IntsRef(none), IntsRef(missing),
                         PadMode::Constant);
  return writeSteps(n, past, fresh, places, 2, /*circular=*/false);
}

/// Queries, keys and values of GroupQueryAttention, which may lie side by side in the query.
static Heads readGroupedHeads(NodeContext &n) {
  int64_t heads = n.intAttr("num_heads", 0), keyHeads = n.intAttr("kv_num_heads", 0);
  Value query = n.input(0), key = n.input(1), value = n.input(2);
  if (heads < 1 || keyHeads < 1 || n.rankOf(query) != 3 || bool(key) != bool(value))
    return {
        n.fail("num_heads, kv_num_heads and operands [batch, steps, hidden] are needed"), {}, {}};
  if (!key) {
    int64_t size = n.shapeOf(query)[2] / (heads + 2 * keyHeads);
    if (size < 1 || size * (heads + 2 * keyHeads) != n.shapeOf(query)[2])
      return {n.fail("the packed query is not as wide as all heads"), {}, {}};
    key = n.sliceAxis(query, 2, heads * size, keyHeads * size);
    value = n.sliceAxis(query, 2, (heads + keyHeads) * size, keyHeads * size);
    query = n.sliceAxis(query, 2, 0, heads * size);
  }
  return {splitHeads(n, query, heads), splitHeads(n, key, keyHeads),
          splitHeads(n, value, keyHeads)};
}

/// Turns queries and keys by where they stand: behind `before` others, if any.
static void rotateFrom(NodeContext &n, Value before, bool interleaved, Heads &of) {
  if (!n.input(7) || !n.input(8) || n.rankOf(n.input(7)) != 2 || n.rankOf(n.input(8)) != 2) {
    n.fail("do_rotary needs caches of cosines and sines of 2 dimensions");
    return;
  }
  Ints s = n.shapeOf(of.q);
  Value positions = n.iota({1, s[2]}, n.i64(), 1);
  if (before)
    positions = n.add(positions, n.reshape(before, {s[0], 1}));
  Value cosines = overHeads(n, n.make<GatherOp>(n.input(7), positions, uint64_t(0)));
  Value sines = overHeads(n, n.make<GatherOp>(n.input(8), positions, uint64_t(0)));
  of.q = rotate(n, of.q, cosines, sines, interleaved);
  of.k = rotate(n, of.k, cosines, sines, interleaved);
}

/// Which keys a query sees: none behind the last that is no padding, none too far before it.
static Value visibleKeys(NodeContext &n, const Heads &of, Value last, Value before) {
  int64_t window = n.intAttr("local_window_size", -1);
  Value keyAt = n.iota({1, 1, 1, n.shapeOf(of.k)[2]}, n.i64(), 3);
  Value isKey = n.compare(CompareDirection::LE, keyAt, last);
  if (window > 0) {
    Value queryAt = n.iota({1, 1, n.shapeOf(of.q)[2], 1}, n.i64(), 2);
    if (before)
      queryAt = n.add(queryAt, before);
    Value isNear = n.compare(CompareDirection::GT, keyAt, n.addScalar(queryAt, -double(window)));
    isKey = n.make<LogicalAndOp>(isKey, isNear);
  }
  return isKey;
}

/// The first step of generating text, or, with a cache, one that goes on.
static Values groupQueryAttention(NodeContext &n) {
  bool turns = n.intAttr("do_rotary", 0) != 0, isSmooth = n.intAttr("smooth_softmax", 0) > 0;
  bool interleaved = n.intAttr("rotary_interleaved", 0) != 0;
  bool hasPast = n.input(3) && n.typeOf(n.input(3)).getNumElements() > 0;
  Value lengths = n.input(5), added = n.input(10), sink = n.input(11);
  if (n.input(9))
    return {n.fail("operand 9 (position_ids) is not supported; leave it out, and positions count "
                   "from the start of the cache")};
  Heads of = readGroupedHeads(n);
  if (!lengths)
    return {n.fail("operand 5 (seqlens_k) is missing")};
  if (hasPast && !n.input(4))
    return {n.fail("operand 4 (past_value) is missing")};
  Scores scores;
  if (!defaultScale(n, of.q, scores) || !of.k || !of.v)
    return {};
  Ints s = n.shapeOf(of.q);
  if (n.shapeOf(of.k)[2] != s[2] || n.shapeOf(lengths) != Ints{s[0]})
    return {n.fail("keys must be as many as queries, and seqlens_k one for each batch")};
  // seqlens_k is the index of the last key that is no padding. Where all steps are in the query,
  // nothing was before, whatever a cache has.
  Value last = n.reshape(n.cast(lengths, n.i64()), {s[0], 1, 1, 1});
  std::optional<int64_t> total = hasPast ? n.shapeScalar(6, "total_sequence_length") : s[2];
  if (!total)
    return {};
  Value before = *total == s[2] ? Value() : n.addScalar(last, double(1 - s[2]));
  if (turns)
    rotateFrom(n, before, interleaved, of);
  if (hasPast) {
    Value places = before ? n.reshape(before, {s[0]}) : Value();
    of.k = continueCache(n, 3, of.k, places, *total);
    of.v = continueCache(n, 4, of.v, places, *total);
  }
  if (!of.q || !of.k || !of.v || n.hasFailed())
    return {};
  scores.softcap = n.floatAttr("softcap", 0);
  scores.causal = scores.mayHideAll = true;
  scores.offset = before;
  Value isKey = visibleKeys(n, of, last, before);
  scores.bias =
      addBias(n, padKeys(n, added, n.shapeOf(of.k)[2]),
              hideWhereNot(n, isKey, n.elementOf(of.q), -std::numeric_limits<double>::infinity()));
  if (sink && n.shapeOf(sink) != Ints{n.intAttr("num_heads", 0)})
    return {n.fail("operand 11 (head_sink) must be [num_heads]")};
  // Without scores of its own, one more of 0.
  scores.sink = sink || !isSmooth ? sink : n.full({1}, n.elementOf(of.q), 0);
  return {joinHeads(n, attend(n, of.q, of.k, of.v, scores)), of.k, of.v};
}

void gantry::onnx::addMicrosoftAttentionOps(OpTable &table) {
  table.add("Attention", packedAttention, {2, 7, 2}, kMicrosoft);
  table.add("MultiHeadAttention", multiHeadAttention, {1, 10, 4}, kMicrosoft);
  OpTable::Entry &decoder =
      table.add("DecoderMaskedMultiHeadAttention", decoderMaskedAttention, {1, 11, 4}, kMicrosoft);
  decoder.shapeOperands = {7};
  decoder.decidesShapes = [](const Node &node) {
    return node.outputs.size() > 3 && !node.outputs[3].empty();
  };
  table.add("RotaryEmbedding", rotaryWithPositions, {4, 4, 1}, kMicrosoft);
  OpTable::Entry &grouped =
      table.add("GroupQueryAttention", groupQueryAttention, {1, 12, 3}, kMicrosoft);
  grouped.shapeOperands = {6};
  grouped.decidesShapes = [](const Node &node) {
    return node.inputs.size() > 3 && !node.inputs[3].empty();
  };
}
