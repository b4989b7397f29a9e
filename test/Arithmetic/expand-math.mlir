// RUN: gantry-opt %s --gantry-expand-math | FileCheck %s

// A function becomes operations that processors have.
// CHECK-LABEL: @exp(
// CHECK-NOT: math.exp
// CHECK: math.fma {{.*}} : f32
// CHECK: return
func.func @exp(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// On vectors as well.
// CHECK-LABEL: @tanh_of_vector(
// CHECK-NOT: math.tanh
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: return
func.func @tanh_of_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.tanh %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// And with twice the precision, on integers of as many bits.
// CHECK-LABEL: @log_of_f64(
// CHECK-NOT: math.log
// CHECK: arith.bitcast {{.*}} : f64 to i64
// CHECK: math.fma {{.*}} : f64
// CHECK: return
func.func @log_of_f64(%x: f64) -> f64 {
  %0 = math.log %x : f64
  return %0 : f64
}

// Flags of the op are not those of its parts: these may not be reordered.
// CHECK-LABEL: @no_flags(
// CHECK-NOT: fastmath
// CHECK: return
func.func @no_flags(%x: f32, %y: f32) -> f32 {
  %0 = math.powf %x, %y fastmath<reassoc,contract,nsz> : f32
  return %0 : f32
}

// A subnormal result takes a power of two in two factors, each a shifted half of the exponent.
// CHECK-LABEL: @exp_scales_twice(
// CHECK: %[[HALF:.*]] = arith.shrui %[[BITS:.*]], %{{.*}} : i32
// CHECK: %[[REST:.*]] = arith.subi %[[BITS]], %[[HALF]] : i32
// CHECK: arith.shli %[[HALF]]
// CHECK: arith.shli %[[REST]]
func.func @exp_scales_twice(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// The digits of 2/pi are chosen, not loaded: angles of any size need no branch.
// CHECK-LABEL: @sin(
// CHECK-NOT: memref
// CHECK-NOT: scf
// CHECK: arith.select
// CHECK: return
func.func @sin(%x: f64) -> f64 {
  %0 = math.sin %x : f64
  return %0 : f64
}

// The remainder takes a step for each digit of the quotient.
// CHECK-LABEL: @remainder(
// CHECK: scf.while
// CHECK: arith.cmpf oge, %{{.*}} : f32
// CHECK: scf.condition
// CHECK: math.trunc
// CHECK: scf.yield
func.func @remainder(%x: f32, %y: f32) -> f32 {
  %0 = arith.remf %x, %y : f32
  return %0 : f32
}

// Of vectors, as many as the largest one.
// CHECK-LABEL: @remainder_of_vector(
// CHECK: vector.reduction <or>
// CHECK: scf.condition
func.func @remainder_of_vector(%x: vector<8xf64>, %y: vector<8xf64>) -> vector<8xf64> {
  %0 = arith.remf %x, %y : vector<8xf64>
  return %0 : vector<8xf64>
}

// What processors have, and other types, stay.
// CHECK-LABEL: @others(
// CHECK: math.sqrt %{{.*}} : f32
// CHECK: math.floor %{{.*}} : f64
// CHECK: math.exp %{{.*}} : f16
func.func @others(%x: f32, %y: f64, %z: f16) -> (f32, f64, f16) {
  %0 = math.sqrt %x : f32
  %1 = math.floor %y : f64
  %2 = math.exp %z : f16
  return %0, %1, %2 : f32, f64, f16
}
