// RUN: gantry-opt %s --gantry-expand-gradients | FileCheck %s

// Functions of one and of several operands.

// By the result, so that the operand can go.
// CHECK-LABEL: @tanh(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.tanh %[[X]]
// CHECK: %[[V2:.*]] = gantry.mul %[[V1]], %[[V1]]
// CHECK: %[[V3:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.sub %[[V3]], %[[V2]]
// CHECK: %[[V5:.*]] = gantry.mul %[[S]], %[[V4]]
// CHECK: return %[[V5]]
func.func @tanh(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y = gantry.tanh %x1 : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// By the operand.
// CHECK-LABEL: @log(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.log %[[X]]
// CHECK: %[[V2:.*]] = gantry.div %[[S]], %[[X]]
// CHECK: return %[[V2]]
func.func @log(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y = gantry.log %x1 : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// By the result where alpha keeps the sign,
// CHECK-LABEL: @leaky_relu(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.leaky_relu %[[X]] {alpha = 1.250000e-01 : f64}
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.compare {{ *}}gt, %[[V1]], %[[V2]]
// CHECK: %[[V4:.*]] = gantry.constant dense<1.250000e-01> : tensor<f32>
// CHECK: %[[V5:.*]] = gantry.mul %[[S]], %[[V4]]
// CHECK: %[[V6:.*]] = gantry.select %[[V3]], %[[S]], %[[V5]]
// CHECK: return %[[V6]]
func.func @leaky_relu(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y = gantry.leaky_relu %x1 {alpha = 0.125 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// and by the operand where it does not.
// CHECK-LABEL: @leaky_relu_below(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.leaky_relu %[[X]] {alpha = -1.250000e-01 : f64}
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.compare {{ *}}gt, %[[X]], %[[V2]]
// CHECK: %[[V4:.*]] = gantry.constant dense<-1.250000e-01> : tensor<f32>
// CHECK: %[[V5:.*]] = gantry.mul %[[S]], %[[V4]]
// CHECK: %[[V6:.*]] = gantry.select %[[V3]], %[[S]], %[[V5]]
// CHECK: return %[[V6]]
func.func @leaky_relu_below(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y = gantry.leaky_relu %x1 {alpha = -0.125 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// Small results lose nothing.
// CHECK-LABEL: @softplus(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.softplus %[[X]]
// CHECK: %[[V2:.*]] = gantry.neg %[[V1]]
// CHECK: %[[V3:.*]] = gantry.expm1 %[[V2]]
// CHECK: %[[V4:.*]] = gantry.neg %[[V3]]
// CHECK: %[[V5:.*]] = gantry.mul %[[S]], %[[V4]]
// CHECK: return %[[V5]]
func.func @softplus(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y = gantry.softplus %x1 : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// What was broadcast is added up.
// CHECK-LABEL: @add(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[Z:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[V1:.*]] = gantry.add %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.reduce_sum %[[S]] {axes = array<i64: 0>}
// CHECK: return %[[S]], %[[V2]]
func.func @add(%x: tensor<3x4xf32>, %z: tensor<4xf32>, %s: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  %0:3 = gantry.gradient (%x, %z, %s) seeds 1 : (tensor<3x4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>, %z1: tensor<4xf32>):
    %y = gantry.add %x1, %z1 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    gantry.yield %y : tensor<3x4xf32>
  }
  return %0#1, %0#2 : tensor<3x4xf32>, tensor<4xf32>
}

// Down to a scalar.
// CHECK-LABEL: @mul_scalar(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[Z:[^:]*]]: tensor<f32>, %[[S:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[V1:.*]] = gantry.mul %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.mul %[[S]], %[[X]]
// CHECK: %[[V3:.*]] = gantry.reduce_sum %[[V2]] {axes = array<i64: 0, 1>}
// CHECK: return %[[V3]]
func.func @mul_scalar(%x: tensor<3x4xf32>, %z: tensor<f32>, %s: tensor<3x4xf32>) -> tensor<f32> {
  %0:2 = gantry.gradient (%z, %s) seeds 1 : (tensor<f32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<f32>) {
  ^bb0(%z1: tensor<f32>):
    %y = gantry.mul %x, %z1 : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
    gantry.yield %y : tensor<3x4xf32>
  }
  return %0#1 : tensor<f32>
}

// Dimensions of size 1 stay.
// CHECK-LABEL: @kept(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[Z:[^:]*]]: tensor<3x1xf32>, %[[S:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[V1:.*]] = gantry.sub %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.neg %[[S]]
// CHECK: %[[V3:.*]] = gantry.reduce_sum %[[V2]] {axes = array<i64: 1>}
// CHECK: %[[V4:.*]] = gantry.reshape %[[V3]]{{.*}} -> tensor<3x1xf32>
// CHECK: return %[[V4]]
func.func @kept(%x: tensor<3x4xf32>, %z: tensor<3x1xf32>, %s: tensor<3x4xf32>) -> tensor<3x1xf32> {
  %0:2 = gantry.gradient (%z, %s) seeds 1 : (tensor<3x1xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x1xf32>) {
  ^bb0(%z1: tensor<3x1xf32>):
    %y = gantry.sub %x, %z1 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
    gantry.yield %y : tensor<3x4xf32>
  }
  return %0#1 : tensor<3x1xf32>
}

// Only what is wanted is computed.
// CHECK-LABEL: @div(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Z:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.div %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.div %[[S]], %[[Z]]
// CHECK: return %[[V2]]
func.func @div(%x: tensor<4xf32>, %z: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y = gantry.div %x1, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// The quotient of the result: a / b rounded may be the next one.
// CHECK-LABEL: @rem(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Z:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.rem %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.neg %[[S]]
// CHECK: %[[V3:.*]] = gantry.sub %[[X]], %[[V1]]
// CHECK: %[[V4:.*]] = gantry.div %[[V3]], %[[Z]]
// CHECK: %[[V5:.*]] = gantry.round %[[V4]]
// CHECK: %[[V6:.*]] = gantry.mul %[[V2]], %[[V5]]
// CHECK: return %[[V6]]
func.func @rem(%x: tensor<4xf32>, %z: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%z, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%z1: tensor<4xf32>):
    %y = gantry.rem %x, %z1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// 0 to any power and anything to 0 are flat.
// CHECK-LABEL: @pow(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Z:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.pow %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.compare {{ *}}eq, %[[Z]], %[[V2]]
// CHECK: %[[V4:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V5:.*]] = gantry.sub %[[Z]], %[[V4]]
// CHECK: %[[V6:.*]] = gantry.pow %[[X]], %[[V5]]
// CHECK: %[[V7:.*]] = gantry.mul %[[Z]], %[[V6]]
// CHECK: %[[V8:.*]] = gantry.mul %[[S]], %[[V7]]
// CHECK: %[[V9:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V10:.*]] = gantry.select %[[V3]], %[[V9]], %[[V8]]
// CHECK: %[[V11:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V12:.*]] = gantry.compare {{ *}}eq, %[[X]], %[[V11]]
// CHECK: %[[V13:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V14:.*]] = gantry.compare {{ *}}ge, %[[Z]], %[[V13]]
// CHECK: %[[V15:.*]] = gantry.logical_and %[[V12]], %[[V14]]
// CHECK: %[[V16:.*]] = gantry.log %[[X]]
// CHECK: %[[V17:.*]] = gantry.mul %[[V1]], %[[V16]]
// CHECK: %[[V18:.*]] = gantry.mul %[[S]], %[[V17]]
// CHECK: %[[V19:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V20:.*]] = gantry.select %[[V15]], %[[V19]], %[[V18]]
// CHECK: return %[[V10]], %[[V20]]
func.func @pow(%x: tensor<4xf32>, %z: tensor<4xf32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:3 = gantry.gradient (%x, %z, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>, %z1: tensor<4xf32>):
    %y = gantry.pow %x1, %z1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}

// Equal operands get a half each.
// CHECK-LABEL: @maximum(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Z:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.maximum %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.compare {{ *}}eq, %[[X]], %[[Z]]
// CHECK: %[[V3:.*]] = gantry.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.mul %[[S]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.select %[[V2]], %[[V4]], %[[S]]
// CHECK: %[[V6:.*]] = gantry.compare {{ *}}lt, %[[X]], %[[Z]]
// CHECK: %[[V7:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V8:.*]] = gantry.select %[[V6]], %[[V7]], %[[V5]]
// CHECK: %[[V9:.*]] = gantry.compare {{ *}}lt, %[[Z]], %[[X]]
// CHECK: %[[V10:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V11:.*]] = gantry.select %[[V9]], %[[V10]], %[[V5]]
// CHECK: return %[[V8]], %[[V11]]
func.func @maximum(%x: tensor<4xf32>, %z: tensor<4xf32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:3 = gantry.gradient (%x, %z, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>, %z1: tensor<4xf32>):
    %y = gantry.maximum %x1, %z1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}

// The ends pass; low above high gives all to high.
// CHECK-LABEL: @clamp(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[L:[^:]*]]: tensor<f32>, %[[H:[^:]*]]: tensor<f32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.clamp %[[X]], %[[L]], %[[H]]
// CHECK: %[[V2:.*]] = gantry.compare {{ *}}ge, %[[X]], %[[L]]
// CHECK: %[[V3:.*]] = gantry.compare {{ *}}le, %[[X]], %[[H]]
// CHECK: %[[V4:.*]] = gantry.logical_and %[[V2]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V6:.*]] = gantry.select %[[V4]], %[[S]], %[[V5]]
// CHECK: %[[V7:.*]] = gantry.compare {{ *}}lt, %[[X]], %[[L]]
// CHECK: %[[V8:.*]] = gantry.compare {{ *}}le, %[[L]], %[[H]]
// CHECK: %[[V9:.*]] = gantry.logical_and %[[V7]], %[[V8]]
// CHECK: %[[V10:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V11:.*]] = gantry.select %[[V9]], %[[S]], %[[V10]]
// CHECK: %[[V12:.*]] = gantry.reduce_sum %[[V11]] {axes = array<i64: 0>}
// CHECK: %[[V13:.*]] = gantry.compare {{ *}}gt, %[[X]], %[[H]]
// CHECK: %[[V14:.*]] = gantry.compare {{ *}}gt, %[[L]], %[[H]]
// CHECK: %[[V15:.*]] = gantry.logical_or %[[V13]], %[[V14]]
// CHECK: %[[V16:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V17:.*]] = gantry.select %[[V15]], %[[S]], %[[V16]]
// CHECK: %[[V18:.*]] = gantry.reduce_sum %[[V17]] {axes = array<i64: 0>}
// CHECK: return %[[V6]], %[[V12]], %[[V18]]
func.func @clamp(%x: tensor<4xf32>, %l: tensor<f32>, %h: tensor<f32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<f32>) {
  %0:4 = gantry.gradient (%x, %l, %h, %s) seeds 1 : (tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) {
  ^bb0(%x1: tensor<4xf32>, %l1: tensor<f32>, %h1: tensor<f32>):
    %y = gantry.clamp %x1, %l1, %h1 : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1, %0#2, %0#3 : tensor<4xf32>, tensor<f32>, tensor<f32>
}

// To the operand that was taken.
// CHECK-LABEL: @select(
// CHECK-SAME: %[[C:[^:]*]]: tensor<4xi1>, %[[X:[^:]*]]: tensor<4xf32>, %[[Z:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.select %[[C]], %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.select %[[C]], %[[S]], %[[V2]]
// CHECK: %[[V4:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V5:.*]] = gantry.select %[[C]], %[[V4]], %[[S]]
// CHECK: return %[[V3]], %[[V5]]
func.func @select(%c: tensor<4xi1>, %x: tensor<4xf32>, %z: tensor<4xf32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:3 = gantry.gradient (%x, %z, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>, %z1: tensor<4xf32>):
    %y = gantry.select %c, %x1, %z1 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}

// A product of f16 is computed in f32 and rounded once.
// CHECK-LABEL: @narrow(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf16>, %[[Z:[^:]*]]: tensor<4xf16>, %[[S:[^:]*]]: tensor<3x4xf16>
// CHECK: %[[V1:.*]] = gantry.mul %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.cast %[[S]]{{.*}} -> tensor<3x4xf32>
// CHECK: %[[V3:.*]] = gantry.cast %[[X]]{{.*}} -> tensor<3x4xf32>
// CHECK: %[[V4:.*]] = gantry.cast %[[Z]]{{.*}} -> tensor<4xf32>
// CHECK: %[[V5:.*]] = gantry.mul %[[V2]], %[[V3]]
// CHECK: %[[V6:.*]] = gantry.reduce_sum %[[V5]] {axes = array<i64: 0>}
// CHECK: %[[V7:.*]] = gantry.cast %[[V6]]{{.*}} -> tensor<4xf16>
// CHECK: return %[[V7]]
func.func @narrow(%x: tensor<3x4xf16>, %z: tensor<4xf16>, %s: tensor<3x4xf16>) -> tensor<4xf16> {
  %0:2 = gantry.gradient (%z, %s) seeds 1 : (tensor<4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>, tensor<4xf16>) {
  ^bb0(%z1: tensor<4xf16>):
    %y = gantry.mul %x, %z1 : (tensor<3x4xf16>, tensor<4xf16>) -> tensor<3x4xf16>
    gantry.yield %y : tensor<3x4xf16>
  }
  return %0#1 : tensor<4xf16>
}
