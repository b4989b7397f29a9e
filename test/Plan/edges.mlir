// Graphs at the edge of what a plan is for.

// RUN: gantry compile %s -o %t.gantry

// No elements: an empty sum is 0.
// RUN: gantry run %t.gantry --function empty --fill ramp 2>/dev/null | FileCheck %s --check-prefix=EMPTY
// EMPTY: f32[4] on CPU:0
// EMPTY-NEXT: [0. 0. 0. 0.]
// EMPTY-NEXT: f32[0,4] on CPU:0
// EMPTY-NEXT: []
func.func @empty(%x: tensor<0x4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  %0 = gantry.reduce_sum %x {axes = array<i64: 0>} : (tensor<0x4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %x : (tensor<0x4xf32>) -> tensor<0x4xf32>
  return %0, %1 : tensor<4xf32>, tensor<0x4xf32>
}

// No inputs, no outputs, no commands.
// RUN: gantry run %t.gantry --function nothing | count 0
func.func @nothing() {
  return
}

// An input given back, twice, under two shapes.
// RUN: gantry run %t.gantry --function identity --fill ramp 2>/dev/null | FileCheck %s --check-prefix=IDENTITY
// IDENTITY: [0. 1. 2. 3.]
// IDENTITY: {{\[}}[0. 1.]
// IDENTITY-NEXT: [2. 3.]]
func.func @identity(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
  %0 = gantry.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
  return %x, %0 : tensor<4xf32>, tensor<2x2xf32>
}

// Constants of types that attributes store in their own ways.
// RUN: gantry run %t.gantry --function constants | FileCheck %s --check-prefix=CONSTANTS
// CONSTANTS: i1[3] on CPU:0
// CONSTANTS-NEXT: [ True False True]
// CONSTANTS: [200 1]
// CONSTANTS: f16[] on CPU:0
// CONSTANTS-NEXT: 1.5
// CONSTANTS: bf16[5] on CPU:0
// CONSTANTS-NEXT: [2.5 2.5 2.5 2.5 2.5]
func.func @constants() -> (tensor<3xi1>, tensor<2xui8>, tensor<f16>, tensor<5xbf16>) {
  %0 = gantry.constant dense<[true, false, true]> : tensor<3xi1>
  %1 = gantry.constant dense<[200, 1]> : tensor<2xui8>
  %2 = gantry.constant dense<1.5> : tensor<f16>
  %3 = gantry.constant dense<2.5> : tensor<5xbf16>
  return %0, %1, %2, %3 : tensor<3xi1>, tensor<2xui8>, tensor<f16>, tensor<5xbf16>
}

// Carried values that change places through views: after three rounds they are exchanged.
// RUN: gantry run %t.gantry --function exchange --fill x=ramp --fill y=ones 2>/dev/null | FileCheck %s --check-prefix=EXCHANGE
// EXCHANGE: [1. 1. 1. 1.]
// EXCHANGE: [0. 1. 2. 3.]
func.func @exchange(%x: tensor<4xf32> {gantry.name = "x"}, %y: tensor<4xf32> {gantry.name = "y"}) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %three = gantry.constant dense<3> : tensor<i64>
  %r:3 = gantry.while (%zero, %x, %y) : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = gantry.compare lt, %i, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %0 : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %1 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = gantry.reshape %a : (tensor<4xf32>) -> tensor<2x2xf32>
    %3 = gantry.reshape %2 : (tensor<2x2xf32>) -> tensor<4xf32>
    gantry.yield %1, %b, %3 : tensor<i64>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>
}

// A function may be called like a kernel.
// RUN: gantry run %t.gantry --function relu_0 --fill ones 2>/dev/null | FileCheck %s --check-prefix=NAMED
// NAMED: [1. 1. 1. 1.]
func.func @relu_0(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
