// RUN: gantry-opt %s --gantry-expand-gradients | FileCheck %s

// A loss weighs 1. What a mean and a sum divide and stretch has the name of their op.
// CHECK-LABEL: @loss(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x4xf32>, %[[W:[^:]*]]: tensor<4x2xf32>
// CHECK: %[[V1:.*]] = gantry.matmul %[[X]], %[[W]] {gantry.name = "dense"}
// CHECK: %[[V2:.*]] = gantry.reduce_sum %[[V1]] {axes = array<i64: 0, 1>, gantry.name = "sum"}
// CHECK: %[[V3:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.reshape %[[V3]] {gantry.name = "sum/grad"}{{.*}} -> tensor<1x1xf32>
// CHECK: %[[V5:.*]] = gantry.broadcast %[[V4]] {gantry.name = "sum/grad"}{{.*}} -> tensor<8x2xf32>
// CHECK: %[[V6:.*]] = gantry.matmul %[[X]], %[[V5]] {gantry.name = "dense/grad_rhs", transpose_a}
// CHECK: return %[[V2]], %[[V6]]
func.func @loss(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>) -> (tensor<f32>, tensor<4x2xf32>) {
  %0:2 = gantry.gradient (%w) : (tensor<4x2xf32>) -> (tensor<f32>, tensor<4x2xf32>) {
  ^bb0(%v: tensor<4x2xf32>):
    %1 = gantry.matmul %x, %v {gantry.name = "dense"} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %2 = gantry.reduce_sum %1 {axes = array<i64: 0, 1>, gantry.name = "sum"} : (tensor<8x2xf32>) -> tensor<f32>
    gantry.yield %2 : tensor<f32>
  }
  return %0#0, %0#1 : tensor<f32>, tensor<4x2xf32>
}

// An op's request and softness are those of its way back.
// CHECK-LABEL: @requests(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x4xf32>, %[[W:[^:]*]]: tensor<4x2xf32>, %[[V:[^:]*]]: tensor<2x2xf32>, %[[S:[^:]*]]: tensor<8x2xf32>
// CHECK: %[[V1:.*]] = gantry.matmul %[[X]], %[[W]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "first"}
// CHECK: %[[V2:.*]] = gantry.matmul %[[V1]], %[[V]] {gantry.device = #gantry.device<"GPU:1">, gantry.name = "second", gantry.soft = #gantry<soft prefer>}
// CHECK: %[[V3:.*]] = gantry.matmul %[[S]], %[[V]] {gantry.device = #gantry.device<"GPU:1">, gantry.name = "second/grad_lhs", gantry.soft = #gantry<soft prefer>, transpose_b}
// CHECK: %[[V4:.*]] = gantry.matmul %[[V1]], %[[S]] {gantry.device = #gantry.device<"GPU:1">, gantry.name = "second/grad_rhs", gantry.soft = #gantry<soft prefer>, transpose_a}
// CHECK: %[[V5:.*]] = gantry.matmul %[[X]], %[[V3]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "first/grad_rhs", transpose_a}
// CHECK: return %[[V5]], %[[V4]]
func.func @requests(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>, %v: tensor<2x2xf32>, %s: tensor<8x2xf32>) -> (tensor<4x2xf32>, tensor<2x2xf32>) {
  %0:3 = gantry.gradient (%w, %v, %s) seeds 1 : (tensor<4x2xf32>, tensor<2x2xf32>, tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<4x2xf32>, tensor<2x2xf32>) {
  ^bb0(%a: tensor<4x2xf32>, %b: tensor<2x2xf32>):
    %1 = gantry.matmul %x, %a {gantry.name = "first", gantry.device = #gantry.device<"GPU:0">} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %2 = gantry.matmul %1, %b {gantry.name = "second", gantry.device = #gantry.device<"GPU:1">, gantry.soft = #gantry<soft prefer>} : (tensor<8x2xf32>, tensor<2x2xf32>) -> tensor<8x2xf32>
    gantry.yield %2 : tensor<8x2xf32>
  }
  return %0#1, %0#2 : tensor<4x2xf32>, tensor<2x2xf32>
}

// What a value gets from its uses is added up from the last one to the first.
// CHECK-LABEL: @uses(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.exp %[[X]] {gantry.name = "first"}
// CHECK: %[[V2:.*]] = gantry.sin %[[X]] {gantry.name = "second"}
// CHECK: %[[V3:.*]] = gantry.neg %[[X]] {gantry.name = "third"}
// CHECK: %[[V4:.*]] = gantry.add_n %[[V1]], %[[V2]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.neg %[[S]] {gantry.name = "third/grad"}
// CHECK: %[[V6:.*]] = gantry.cos %[[X]] {gantry.name = "second/grad"}
// CHECK: %[[V7:.*]] = gantry.mul %[[S]], %[[V6]] {gantry.name = "second/grad"}
// CHECK: %[[V8:.*]] = gantry.add %[[V5]], %[[V7]] {gantry.name = "second/grad"}
// CHECK: %[[V9:.*]] = gantry.mul %[[S]], %[[V1]] {gantry.name = "first/grad"}
// CHECK: %[[V10:.*]] = gantry.add %[[V8]], %[[V9]] {gantry.name = "first/grad"}
// CHECK: return %[[V10]]
func.func @uses(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %1 = gantry.exp %a {gantry.name = "first"} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = gantry.sin %a {gantry.name = "second"} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = gantry.neg %a {gantry.name = "third"} : (tensor<4xf32>) -> tensor<4xf32>
    %4 = gantry.add_n %1, %2, %3 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %4 : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// No work for what nobody wants.
// CHECK-LABEL: @frozen(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x4xf32>, %[[W:[^:]*]]: tensor<4x2xf32>, %[[S:[^:]*]]: tensor<8x2xf32>
// CHECK: %[[V1:.*]] = gantry.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK: %[[V2:.*]] = gantry.matmul %[[X]], %[[W]]
// CHECK: %[[V3:.*]] = gantry.add %[[V2]], %[[V1]]
// CHECK: %[[V4:.*]] = gantry.reduce_sum %[[S]] {axes = array<i64: 0>}
// CHECK: %[[V5:.*]] = gantry.add %[[V3]], %[[V4]]
// CHECK: return %[[V5]]
func.func @frozen(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>, %s: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %b = gantry.constant dense<0.0> : tensor<2xf32>
  %0:2 = gantry.gradient (%b, %s) seeds 1 : (tensor<2xf32>, tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>):
    %1 = gantry.matmul %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %2 = gantry.add %1, %a : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
    gantry.yield %2 : tensor<8x2xf32>
  }
  %3 = gantry.add %0#0, %0#1 : (tensor<8x2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
  return %3 : tensor<8x2xf32>
}

// A value from outside is a constant, even where it is the operand.
// CHECK-LABEL: @from_outside(
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32>
// CHECK: %[[V1:.*]] = gantry.mul %[[X]], %[[X]]
// CHECK: %[[V2:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.mul %[[V2]], %[[X]]
// CHECK: return %[[V3]]
func.func @from_outside(%x: tensor<f32>) -> tensor<f32> {
  %0:2 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    %1 = gantry.mul %a, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    gantry.yield %1 : tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// Zero by definition is no error.
// CHECK-LABEL: @flat(
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32>, %[[Y:[^:]*]]: tensor<f32>
// CHECK: %[[V1:.*]] = gantry.floor %[[X]]
// CHECK: %[[V2:.*]] = gantry.add %[[V1]], %[[Y]]
// CHECK: %[[V3:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: return %[[V4]], %[[V3]]
func.func @flat(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0:3 = gantry.gradient (%x, %y) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = gantry.floor %a : (tensor<f32>) -> tensor<f32>
    %2 = gantry.add %1, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    gantry.yield %2 : tensor<f32>
  }
  return %0#1, %0#2 : tensor<f32>, tensor<f32>
}

// With allow_unused neither is an operand that the loss does not depend on.
// CHECK-LABEL: @unused(
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32>, %[[Y:[^:]*]]: tensor<2xf32>
// CHECK: %[[V1:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.broadcast %[[V2]]{{.*}} -> tensor<2xf32>
// CHECK: return %[[V3]]
func.func @unused(%x: tensor<f32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0:3 = gantry.gradient (%x, %y) allow_unused : (tensor<f32>, tensor<2xf32>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<2xf32>):
    gantry.yield %a : tensor<f32>
  }
  return %0#2 : tensor<2xf32>
}

// The inner gradient first: - sin x.
// CHECK-LABEL: @twice(
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32>
// CHECK: %[[V1:.*]] = gantry.sin %[[X]]
// CHECK: %[[V2:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.cos %[[X]]
// CHECK: %[[V4:.*]] = gantry.mul %[[V2]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V6:.*]] = gantry.mul %[[V5]], %[[V2]]
// CHECK: %[[V7:.*]] = gantry.neg %[[V6]]
// CHECK: %[[V8:.*]] = gantry.sin %[[X]]
// CHECK: %[[V9:.*]] = gantry.mul %[[V7]], %[[V8]]
// CHECK: return %[[V9]]
func.func @twice(%x: tensor<f32>) -> tensor<f32> {
  %0:2 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    %1:2 = gantry.gradient (%a) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    ^bb0(%b: tensor<f32>):
      %2 = gantry.sin %b : (tensor<f32>) -> tensor<f32>
      gantry.yield %2 : tensor<f32>
    }
    gantry.yield %1#1 : tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// Equal ops stay two here and are one after MergeOps, since what is inside reads the operand.
// CHECK-LABEL: @once(
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32>
// CHECK: %[[V1:.*]] = gantry.exp %[[X]]
// CHECK: %[[V2:.*]] = gantry.exp %[[X]]
// CHECK: %[[V3:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.mul %[[V3]], %[[V2]]
// CHECK: return %[[V1]], %[[V4]]
func.func @once(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = gantry.exp %x : (tensor<f32>) -> tensor<f32>
  %1:2 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    %2 = gantry.exp %a : (tensor<f32>) -> tensor<f32>
    gantry.yield %2 : tensor<f32>
  }
  return %0, %1#1 : tensor<f32>, tensor<f32>
}

// Rows of f16 are added up in f32, and rounded once.
// CHECK-LABEL: @narrow(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf16>, %[[S:[^:]*]]: tensor<4xf16>
// CHECK: %[[V1:.*]] = gantry.softmax %[[X]] {axis = 0 : i64}
// CHECK: %[[V2:.*]] = gantry.cast %[[S]]{{.*}} -> tensor<4xf32>
// CHECK: %[[V3:.*]] = gantry.cast %[[V1]]{{.*}} -> tensor<4xf32>
// CHECK: %[[V4:.*]] = gantry.mul %[[V2]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.reduce_sum %[[V4]] {axes = array<i64: 0>, keep_dims}
// CHECK: %[[V6:.*]] = gantry.sub %[[V2]], %[[V5]]
// CHECK: %[[V7:.*]] = gantry.mul %[[V3]], %[[V6]]
// CHECK: %[[V8:.*]] = gantry.cast %[[V7]]{{.*}} -> tensor<4xf16>
// CHECK: return %[[V8]]
func.func @narrow(%x: tensor<4xf16>, %s: tensor<4xf16>) -> tensor<4xf16> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf16>, tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>) {
  ^bb0(%a: tensor<4xf16>):
    %1 = gantry.softmax %a {axis = 0 : i64} : (tensor<4xf16>) -> tensor<4xf16>
    gantry.yield %1 : tensor<4xf16>
  }
  return %0#1 : tensor<4xf16>
}
