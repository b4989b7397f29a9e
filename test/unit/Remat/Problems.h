// Training steps as problems: small uneven ones by chance, and a transformer's of any size.
#pragma once

#include "gantry/Remat/Remat.h"

#include <algorithm>
#include <functional>
#include <random>

namespace gantry::test {

/// Makes values and steps one after the other.
struct ProblemBuilder {
  remat::Problem problem;

  uint32_t value(uint64_t bytes) {
    problem.bytes.push_back(bytes);
    return uint32_t(problem.bytes.size() - 1);
  }
  /// A step that makes one value.
  uint32_t step(double seconds, std::vector<uint32_t> reads, uint64_t bytes,
                std::vector<uint32_t> replaces = {}) {
    uint32_t made = value(bytes);
    problem.steps.push_back({seconds, std::move(reads), {made}, std::move(replaces)});
    return made;
  }
  remat::Step &last() { return problem.steps.back(); }
  size_t size() const { return problem.steps.size(); }
};

/// A way there with skips, a loss, a way back that reads in reverse what the way there made, and
/// updates of weights that may not run twice; sizes and seconds are uneven.
inline remat::Problem randomTraining(std::mt19937 &random, size_t mostSteps) {
  auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  auto size = [&] { return below(12) == 0 ? 0 : uint64_t(1 + below(16)); };
  auto seconds = [&] { return below(10) == 0 ? 0 : double(2 + below(18)) / 2; };
  ProblemBuilder b;
  auto list = [&](std::vector<uint32_t> values) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  };
  const bool updates = below(2);
  const uint32_t perLayer = updates ? 3 : 2;
  const uint32_t layers = std::max<uint32_t>(1, uint32_t(mostSteps - 1) / perLayer - below(2));
  std::vector<uint32_t> there{b.value(size())}; // by layer, its input; the last one the result
  std::vector<uint32_t> weights, beside(layers);
  std::vector<uint32_t> skips(layers);
  for (uint32_t k = 0; k < layers; ++k) {
    weights.push_back(b.value(size()));
    std::vector<uint32_t> reads{there[k], weights[k]};
    skips[k] = below(3) == 0 ? below(k + 1) : k;
    reads.push_back(there[skips[k]]);
    const bool elementwise = k > 0 && below(3) == 0;
    uint64_t bytes = elementwise ? b.problem.bytes[there[k]] : size();
    there.push_back(b.step(seconds(), list(reads), bytes));
    if (elementwise)
      b.last().replaces = {there[k]};
    beside[k] = there.back();
    if (below(4) == 0) { // a second result: a mask, statistics
      beside[k] = b.value(size());
      b.last().makes.push_back(beside[k]);
    }
    b.last().scratch = below(3) == 0 ? size() : 0;
    b.last().mayRepeat = below(12) != 0;
  }
  uint32_t gradient = b.step(seconds(), {there.back()}, b.problem.bytes[there.back()]);
  if (below(2))
    b.last().replaces = {there.back()};
  if (below(3) == 0)
    b.problem.kept.push_back(there.back());
  for (uint32_t k = layers; k-- > 0;) {
    std::vector<uint32_t> reads{gradient, weights[k]};
    if (below(4) != 0)
      reads.push_back(there[k]);
    if (below(2))
      reads.push_back(there[k + 1]);
    if (below(2))
      reads.push_back(beside[k]);
    if (updates && b.size() < mostSteps - k) {
      uint32_t updated = b.step(seconds(), list({gradient, there[k], weights[k]}),
                                b.problem.bytes[weights[k]], {weights[k]});
      b.last().mayRepeat = false;
      b.problem.kept.push_back(updated);
    }
    const bool elementwise = below(3) == 0;
    uint64_t bytes = elementwise ? b.problem.bytes[gradient] : b.problem.bytes[there[k]];
    uint32_t next = b.step(seconds(), list(reads), bytes);
    if (elementwise)
      b.last().replaces = {gradient};
    b.last().scratch = below(4) == 0 ? size() : 0;
    gradient = next;
  }
  if (below(2))
    b.problem.kept.push_back(gradient);
  return b.problem;
}

/// A transformer's training step as ops of a graph: `layers` blocks of attention and feed-forward
/// with dropout and layer norm, in the sizes of BERT-base with 4 sequences of 128; each
/// elementwise function is a chain of `fine` ops. Seconds are those of a core with 250 GFLOP/s and
/// 24 GB/s.
class Transformer {
public:
  Transformer(uint32_t layers, uint32_t fine) : fine(fine) {
    mask = b.step(1e-6, {b.value(rows * 4)}, rows * 4);
    uint32_t x = b.step(seconds(0, 2 * hidden), {b.value(rows * 8), weight(30522 * width)}, hidden);
    for (uint32_t i = 0; i < layers; ++i)
      x = block(x);
    uint32_t last = normalise(x);
    const uint64_t logits = rows * 1000 * 4;
    uint32_t table = weight(1000 * width);
    uint32_t scores = product(last, table, logits, 1000 * width);
    uint32_t loss = b.step(seconds(0, 3 * logits), {scores}, 4);
    b.last().scratch = logits;
    b.problem.kept.push_back(loss);
    uint32_t d = b.step(seconds(0, 2 * logits), {scores}, logits, {scores});
    d = productBack(d, last, table, hidden, 1000 * width);
    gradients.push_back(d);
    while (!back.empty()) {
      auto rule = std::move(back.back());
      back.pop_back();
      rule();
    }
  }

  remat::Problem take() { return std::move(b.problem); }

private:
  static constexpr uint64_t sequences = 4, length = 128, rows = sequences * length, width = 768;
  static constexpr uint64_t hidden = rows * width * 4, wide = 4 * hidden;
  static constexpr uint64_t scores = sequences * 12 * length * length * 4;

  uint32_t fine, mask = 0;
  ProblemBuilder b;
  std::vector<uint32_t> gradients; ///< of the value that the next rule is about
  std::vector<std::function<void()>> back;

  static double seconds(double flops, double bytes) { return flops / 250e9 + bytes / 24e9; }
  uint32_t weight(uint64_t count) { return b.value(count * 4); }

  uint32_t product(uint32_t x, uint32_t w, uint64_t bytes, uint64_t weights) {
    return b.step(seconds(2.0 * double(rows * weights), double(bytes)), {x, w}, bytes);
  }
  /// Gradient of the operand; the weight is updated as soon as its gradient is there.
  uint32_t productBack(uint32_t d, uint32_t x, uint32_t w, uint64_t bytes, uint64_t weights) {
    double once = seconds(2.0 * double(rows * weights), double(bytes));
    uint32_t dw = b.step(once, {x, d}, weights * 4);
    uint32_t dx = b.step(once, {d, w}, bytes);
    uint32_t moments = b.value(weights * 4), updated = b.value(weights * 4),
             moved = b.value(weights * 4);
    b.problem.steps.push_back({seconds(0, double(28 * weights)),
                               {w, moments, dw},
                               {updated, moved},
                               {w, moments},
                               0,
                               false});
    b.problem.kept.insert(b.problem.kept.end(), {updated, moved});
    return dx;
  }
  /// A chain of elementwise ops whose way back reads the operand of each.
  uint32_t elementwise(uint32_t x, uint64_t bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t y = b.step(seconds(0, 2.0 * double(bytes)), {x}, bytes, {x});
      back.push_back([this, x, bytes] {
        uint32_t d = gradients.back();
        gradients.back() = b.step(seconds(0, 3.0 * double(bytes)), {d, x}, bytes, {d});
      });
      x = y;
    }
    return x;
  }
  /// Multiplies by a mask that can be drawn again.
  uint32_t dropout(uint32_t x, uint64_t bytes) {
    uint32_t drawn = b.step(seconds(0, 2.0 * double(bytes)), {}, bytes / 4);
    uint32_t y = b.step(seconds(0, 2.0 * double(bytes)), {x, drawn}, bytes, {x});
    back.push_back([this, drawn, bytes] {
      uint32_t d = gradients.back();
      gradients.back() = b.step(seconds(0, 2.0 * double(bytes)), {d, drawn}, bytes, {d});
    });
    return elementwise(y, bytes, fine - 1);
  }
  uint32_t normalise(uint32_t x) {
    uint32_t statistics = b.step(seconds(0, hidden), {x}, rows * 8);
    uint32_t y = b.step(seconds(0, 2 * hidden), {x, statistics}, hidden);
    back.push_back([this, x, statistics] {
      uint32_t d = gradients.back();
      gradients.back() = b.step(seconds(0, 4 * hidden), {d, x, statistics}, hidden, {d});
    });
    return elementwise(y, hidden, fine - 1);
  }
  uint32_t linear(uint32_t x, uint64_t in, uint64_t out, uint64_t weights) {
    uint32_t w = weight(weights);
    uint32_t y = product(x, w, out, weights);
    back.push_back([=, this] {
      uint32_t d = gradients.back();
      gradients.back() = productBack(d, x, w, in, weights);
    });
    return y;
  }
  /// x + f(x): the gradient of the sum waits while that of f is made.
  template <typename F>
  uint32_t residual(uint32_t x, F &&f) {
    back.push_back([this] { // runs last
      uint32_t inner = gradients.back();
      gradients.pop_back();
      gradients.back() = b.step(seconds(0, 3 * hidden), {gradients.back(), inner}, hidden,
                                {gradients.back(), inner});
    });
    uint32_t y = f(x);
    back.push_back([this] { gradients.push_back(gradients.back()); });
    return b.step(seconds(0, 3 * hidden), {x, y}, hidden, {x, y});
  }
  uint32_t attend(uint32_t q, uint32_t k, uint32_t v) {
    const double flops = 2.0 * double(rows * length * width);
    uint32_t s = b.step(seconds(flops, scores), {q, k}, scores);
    uint32_t masked = b.step(seconds(0, 2 * scores), {s, mask}, scores, {s});
    uint32_t p = b.step(seconds(0, 2 * scores), {masked}, scores, {masked});
    uint32_t drawn = b.step(seconds(0, 2 * scores), {}, scores / 4);
    uint32_t kept = b.step(seconds(0, 2 * scores), {p, drawn}, scores);
    uint32_t y = b.step(seconds(flops, hidden), {kept, v}, hidden);
    back.push_back([=, this] {
      uint32_t d = gradients.back();
      gradients.pop_back();
      uint32_t dv = b.step(seconds(flops, hidden), {kept, d}, hidden);
      uint32_t dp = b.step(seconds(flops, scores), {d, v}, scores);
      dp = b.step(seconds(0, 2 * scores), {dp, drawn}, scores, {dp});
      dp = b.step(seconds(0, 3 * scores), {dp, p}, scores, {dp});
      uint32_t dk = b.step(seconds(flops, hidden), {dp, q}, hidden);
      uint32_t dq = b.step(seconds(flops, hidden), {dp, k}, hidden);
      gradients.insert(gradients.end(), {dq, dk, dv});
    });
    return y;
  }
  uint32_t block(uint32_t x) {
    x = residual(x, [&](uint32_t in) {
      uint32_t n = normalise(in);
      uint32_t w[3], made[3];
      for (int i = 0; i < 3; ++i) {
        w[i] = weight(width * width);
        made[i] = product(n, w[i], hidden, width * width);
      }
      back.push_back([=, this] { // of q, k and v, added up
        uint32_t sum = 0;
        for (int i = 2; i >= 0; --i) {
          uint32_t d = gradients.back();
          gradients.pop_back();
          uint32_t dn = productBack(d, n, w[i], hidden, width * width);
          sum = i == 2 ? dn : b.step(seconds(0, 3 * hidden), {sum, dn}, hidden, {sum, dn});
        }
        gradients.push_back(sum);
      });
      uint32_t y = attend(made[0], made[1], made[2]);
      y = linear(y, hidden, hidden, width * width);
      return dropout(y, hidden);
    });
    return residual(x, [&](uint32_t in) {
      uint32_t n = normalise(in);
      uint32_t h = linear(n, hidden, wide, 4 * width * width);
      h = elementwise(h, wide, fine);
      h = linear(h, wide, hidden, 4 * width * width);
      return dropout(h, hidden);
    });
  }
};

} // namespace gantry::test
