// Maxima, minima and bounds of f32 become what is one instruction from sm_80 on; NaN still comes through.

// RUN: gantry-opt %s --gantry-choose-gpu-instructions | FileCheck %s

// CHECK-LABEL: func.func @most(
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f32)
// CHECK: %[[MOST:.*]] = llvm.intr.maximum(%[[X]], %[[Y]])
// CHECK: llvm.intr.minimum(%[[MOST]], %[[Y]])
// CHECK-NOT: arith.m
func.func @most(%x: f32, %y: f32) -> f32 {
  %0 = arith.maximumf %x, %y : f32
  %1 = arith.minimumf %0, %y : f32
  return %1 : f32
}

// A bound is a number that is no zero and no NaN.
// CHECK-LABEL: func.func @bounded(
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK: %[[LEAST:.*]] = llvm.intr.maximum(%[[X]], %{{.*}})
// CHECK: llvm.intr.minimum(%[[LEAST]], %{{.*}})
// CHECK: arith.select
// CHECK: return
func.func @bounded(%x: f32) -> (f32, f32) {
  %low = arith.constant -88.0 : f32
  %high = arith.constant 88.0 : f32
  %zero = arith.constant 0.0 : f32
  %below = arith.cmpf olt, %x, %low : f32
  %0 = arith.select %below, %low, %x : f32
  %above = arith.cmpf ogt, %0, %high : f32
  %1 = arith.select %above, %high, %0 : f32
  %negative = arith.cmpf olt, %x, %zero : f32
  %2 = arith.select %negative, %zero, %x : f32
  return %1, %2 : f32, f32
}

// Other types have no such instruction.
// CHECK-LABEL: func.func @wide(
// CHECK: arith.maximumf
func.func @wide(%x: f64, %y: f64) -> f64 {
  %0 = arith.maximumf %x, %y : f64
  return %0 : f64
}
