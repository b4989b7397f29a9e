// Several functions in a graph and in a plan.

// All public ones go into the plan; a run names the one it wants.
// RUN: gantry compile %s -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=ALL --implicit-check-not=@helper
// RUN: gantry run %t.gantry --function twice --fill ramp 2>/dev/null | FileCheck %s --check-prefix=TWICE
// RUN: gantry run %s --function square --fill ramp 2>/dev/null | FileCheck %s --check-prefix=SQUARE
// ALL: plan.func @twice
// ALL: plan.func @square
// TWICE: [0. 2. 4. 6.]
// SQUARE: [0. 1. 4. 9.]

// A constant of one element is part of the kernel.
// ALL-NOT: plan.constant

// Only one of them, chosen when compiling.
// RUN: gantry compile %s --entry square -o %t.square.gantry
// RUN: gantry plan-text %t.square.gantry | FileCheck %s --check-prefix=ONLY --implicit-check-not=@twice
// RUN: gantry run %t.square.gantry --fill ramp 2>/dev/null | FileCheck %s --check-prefix=SQUARE
// ONLY: plan.func @square

// RUN: not gantry run %t.gantry 2>&1 | FileCheck %s --check-prefix=WHICH
// WHICH: gantry: error: the plan has several functions: twice, square; choose one with --function
// RUN: not gantry run %t.gantry --function cube 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: has no function 'cube'; the functions are 'twice', 'square'
// RUN: not gantry compile %s --entry cube -o %t.none.gantry 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: no function is named 'cube'; the functions are

func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = gantry.constant dense<2.0> : tensor<f32>
  %0 = func.call @helper(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @helper(%x: tensor<4xf32>, %f: tensor<f32>) -> tensor<4xf32> {
  %0 = gantry.mul %x, %f : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
