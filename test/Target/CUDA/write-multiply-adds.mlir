// RUN: gantry-opt %s --gantry-write-multiply-adds | FileCheck %s --implicit-check-not=fastmath

// What a reduction lets be one operation becomes one.
// CHECK-LABEL: @term(
// CHECK: %[[R:.*]] = math.fma %arg0, %arg1, %arg2 : f32
// CHECK-NEXT: return %[[R]]
func.func private @term(%a: f32, %b: f32, %sum: f32) -> f32 {
  %0 = arith.mulf %a, %b fastmath<reassoc,nsz,contract> : f32
  %1 = arith.addf %sum, %0 fastmath<reassoc,nsz,contract> : f32
  return %1 : f32
}

// Elsewhere both are rounded, as each op alone is.
// CHECK-LABEL: @apart(
// CHECK: arith.mulf
// CHECK: arith.addf
func.func private @apart(%a: f32, %b: f32, %sum: f32) -> f32 {
  %0 = arith.mulf %a, %b : f32
  %1 = arith.addf %sum, %0 : f32
  return %1 : f32
}

// A product that is read elsewhere exists, and was rounded.
// CHECK-LABEL: @read_twice(
// CHECK: arith.mulf
// CHECK: arith.addf
func.func private @read_twice(%a: f32, %b: f32, %sum: f32) -> (f32, f32) {
  %0 = arith.mulf %a, %b fastmath<contract> : f32
  %1 = arith.addf %sum, %0 fastmath<contract> : f32
  return %0, %1 : f32, f32
}
