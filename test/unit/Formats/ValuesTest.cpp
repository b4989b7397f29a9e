// Printing, comparing and making up values.
#include "gantry/Formats/Values.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace gantry;
using namespace gantry::arrays;

namespace {
template <typename T>
Array arrayOf(ElementType element, std::vector<int64_t> shape, std::vector<T> values) {
  auto array = Array::make(element, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i)
    storeFloat(element, array->bytes.data() + i * elementTypeSize(element), double(values[i]));
  return array.take();
}
} // namespace

TEST(Half, AllValuesSurviveTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (std::isnan(halfToFloat(half)))
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(halfToFloat(half)))));
    else
      EXPECT_EQ(floatToHalf(halfToFloat(half)), half);
    if (!std::isnan(bfloatToFloat(half)))
      EXPECT_EQ(floatToBfloat(bfloatToFloat(half)), half);
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(floatToHalf(1.0f + 0x1p-11f), 0x3c00);     // halfway: down to even
  EXPECT_EQ(floatToHalf(1.0f + 3 * 0x1p-11f), 0x3c02); // halfway: up to even
  EXPECT_EQ(floatToHalf(65519.996f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00); // halfway beyond the largest
  EXPECT_EQ(floatToHalf(0x1p-25f), 0);      // halfway to the smallest
  EXPECT_EQ(floatToHalf(std::nextafterf(0x1p-25f, 1.0f)), 1);
}

TEST(Compare, AppliesBothTolerances) {
  const auto expected = arrayOf<double>(ElementType::f32, {4}, {1, 100, 0, -5});
  const auto actual = arrayOf<double>(ElementType::f32, {4}, {1.0009, 100.09, 1e-7, -5});
  const Difference fine = compare(actual.view(), expected.view(), 1e-3, 1e-6);
  EXPECT_TRUE(fine.close());
  EXPECT_NEAR(fine.maxAbsolute, 0.09, 1e-5);
  const Difference strict = compare(actual.view(), expected.view(), 1e-4, 0);
  EXPECT_EQ(strict.outside, 3u);
  EXPECT_EQ(strict.worst, 1u);
}

TEST(Compare, NansAndInfinities) {
  const double nan = NAN, inf = INFINITY;
  const auto a = arrayOf<double>(ElementType::f64, {3}, {nan, inf, -inf});
  EXPECT_TRUE(compare(a.view(), a.view(), 0, 0).close());
  const auto b = arrayOf<double>(ElementType::f64, {3}, {1, -inf, 3});
  EXPECT_EQ(compare(a.view(), b.view(), 1, 1).outside, 3u);
  EXPECT_EQ(compare(b.view(), a.view(), 1, 1).outside, 3u);
}

TEST(Compare, ByTheLargestValue_r5) {
  const Tolerance tolerance = Tolerance::of(ElementType::f32);
  const auto expected = arrayOf<double>(ElementType::f64, {3}, {80, -1e-7, 0});
  // The second one is all wrong by its own measure.
  const auto near = arrayOf<double>(ElementType::f64, {3}, {80.0007, 1e-7, -7e-4});
  EXPECT_TRUE(compare(near.view(), expected.view(), tolerance).close());
  const auto far = arrayOf<double>(ElementType::f64, {3}, {80, 0, 9e-4});
  EXPECT_EQ(compare(far.view(), expected.view(), tolerance).outside, 1u);
  EXPECT_EQ(compare(far.view(), expected.view(), tolerance).worst, 2u);
  // Infinities are no measure, and zeros allow nothing but zeros.
  const auto odd = arrayOf<double>(ElementType::f64, {3}, {INFINITY, 0, NAN});
  EXPECT_EQ(largestOf(odd.view()), 0);
  EXPECT_TRUE(compare(odd.view(), odd.view(), tolerance).close());
  const auto off = arrayOf<double>(ElementType::f64, {3}, {INFINITY, 1e-300, NAN});
  EXPECT_EQ(compare(off.view(), odd.view(), tolerance).outside, 1u);
  EXPECT_EQ(compare(odd.view(), near.view(), tolerance).outside, 2u);
}

TEST(Compare, IntegersMustBeEqual_r5) {
  auto a = Array::make(ElementType::i32, {2}), b = Array::make(ElementType::i32, {2});
  for (int i = 0; i < 2; ++i) {
    storeInteger(ElementType::i32, a->bytes.data() + 4 * i, 1000000);
    storeInteger(ElementType::i32, b->bytes.data() + 4 * i, 1000000 + i);
  }
  EXPECT_EQ(compare(a->view(), b->view(), Tolerance::of(ElementType::bf16)).outside, 1u);
}

TEST(Compare, WideIntegersAreExact) {
  auto a = Array::make(ElementType::i64, {1}), b = Array::make(ElementType::i64, {1});
  storeInteger(ElementType::i64, a->bytes.data(), (int64_t(1) << 60) + 1);
  storeInteger(ElementType::i64, b->bytes.data(), int64_t(1) << 60);
  EXPECT_EQ(compare(a->view(), b->view(), 0, 0).outside, 1u);
  EXPECT_EQ(formatIndex(5, std::vector<int64_t>{2, 3}), "[1,2]");
}

TEST(Fill, ParsesWhatItPrints) {
  for (const char *text :
       {"uniform(-1,1)", "uniform(0,0.5)", "randint(0,1000)", "normal", "zeros", "ones", "ramp"}) {
    std::string spec = text;
    for (char &c : spec)
      c = c == '(' || c == ',' ? ':' : c;
    if (spec.back() == ')')
      spec.pop_back();
    auto parsed = parseFill(spec);
    ASSERT_TRUE(parsed) << spec;
    EXPECT_EQ(parsed->text(), text);
  }
}

TEST(Fill, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(parseFill("gaussian").status().message(),
            "unknown fill 'gaussian'; known are uniform:A:B, normal, randint:A:B, zeros, ones and "
            "ramp");
  for (const char *text : {"", "randint", "randint:1", "randint:a:b", "zeros:1:2", "uniform:0:inf"})
    EXPECT_FALSE(parseFill(text)) << text;
  EXPECT_FALSE(parseFill("randint:3:3"));
}

TEST(Fill, IsSeededAndInRange) {
  auto a = Array::make(ElementType::i32, {10000}), b = Array::make(ElementType::i32, {10000});
  const Fill range{Fill::Kind::randint, -2, 3};
  fill(*a, range, 0, "x");
  fill(*b, range, 0, "x");
  EXPECT_EQ(std::memcmp(a->bytes.data(), b->bytes.data(), a->bytes.size()), 0);
  fill(*b, range, 1, "x");
  EXPECT_NE(std::memcmp(a->bytes.data(), b->bytes.data(), a->bytes.size()), 0);
  int64_t seen[5] = {};
  for (uint64_t i = 0; i < 10000; ++i) {
    const int64_t value = integerAt(a->view(), i);
    ASSERT_TRUE(value >= -2 && value < 3);
    ++seen[value + 2];
  }
  for (int64_t count : seen) // 2000 each, standard deviation 40
    EXPECT_NEAR(double(count), 2000, 200);
}

TEST(Fill, NormalHasTheRightMoments) {
  auto a = Array::make(ElementType::f64, {100000});
  fill(*a, {Fill::Kind::normal}, 0, "x");
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    sum += valueAt(a->view(), i);
    squares += valueAt(a->view(), i) * valueAt(a->view(), i);
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02); // six standard errors
  EXPECT_NEAR(squares / 1e5, 1, 0.03);
}

TEST(Print, Floats) {
  EXPECT_EQ(formatValues(arrayOf<double>(ElementType::f32, {2, 2}, {22, 28, 49, 64}).view()),
            "[[22. 28.]\n [49. 64.]]");
  EXPECT_EQ(formatValues(arrayOf<double>(ElementType::f32, {2}, {1, 0.5}).view()), "[1.  0.5]");
  EXPECT_EQ(formatValues(arrayOf<double>(ElementType::i1, {2}, {1, 0}).view()), "[ True False]");
  EXPECT_EQ(formatValues(arrayOf<double>(ElementType::i32, {}, {-7}).view()), "-7");
  EXPECT_EQ(formatValues(arrayOf<double>(ElementType::f32, {0, 3}, {}).view()), "[]");
}
