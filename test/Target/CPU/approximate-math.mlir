// RUN: gantry-opt %s --gantry-approximate-math | FileCheck %s

// f32 functions become arithmetic, which vectorises; on vectors as well.
// CHECK-LABEL: @exp(
// CHECK-NOT: math.exp
// CHECK: math.fma
// CHECK: return
func.func @exp(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: @tanh_of_vector(
// CHECK-NOT: math.tanh
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: return
func.func @tanh_of_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.tanh %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// CHECK-LABEL: @others(
// CHECK-NOT: math.log
// CHECK-NOT: math.erf
// CHECK: return
func.func @others(%x: f32) -> (f32, f32, f32) {
  %0 = math.log %x : f32
  %1 = math.log1p %x : f32
  %2 = math.erf %x : f32
  return %0, %1, %2 : f32, f32, f32
}

// Twice the precision is left for the C library.
// CHECK-LABEL: @f64(
// CHECK: math.exp %{{.*}} : f64
func.func @f64(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}

// But for these two, where upstream's lowering would lose all digits of a small argument.
// CHECK-LABEL: @f64_near_zero(
// CHECK-NOT: math.expm1
// CHECK-NOT: math.log1p
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.log %{{.*}} : f64
// CHECK: return
func.func @f64_near_zero(%x: f64) -> (f64, f64) {
  %0 = math.expm1 %x : f64
  %1 = math.log1p %x : f64
  return %0, %1 : f64, f64
}

// A subnormal result takes a power of two in two factors, each a shifted half of the exponent.
// CHECK-LABEL: @exp_scales_twice(
// CHECK: %[[HALF:.*]] = arith.shrsi %[[BITS:.*]], %{{.*}} : i32
// CHECK: %[[REST:.*]] = arith.subi %[[BITS]], %[[HALF]] : i32
// CHECK: arith.shli %[[HALF]]
// CHECK: arith.shli %[[REST]]
func.func @exp_scales_twice(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}
