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
