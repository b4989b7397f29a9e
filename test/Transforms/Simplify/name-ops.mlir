// Stable names (spec P13).
// RUN: gantry-opt %s --gantry-name-ops | FileCheck %s

// An own name is kept; others are paths from the outputs: operand 1 of operand 0 of what makes output 0.
// CHECK-LABEL: @paths
// CHECK: gantry.exp %{{.*}} {gantry.name = "Exp/output0.0.1"}
// CHECK: gantry.add %{{.*}}, %{{.*}} {gantry.name = "sum"}
// CHECK: gantry.relu %{{.*}} {gantry.name = "Relu/output0"}
// CHECK: gantry.neg %{{.*}} {gantry.name = "Neg/logits"}
func.func @paths(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {gantry.name = "logits"}) {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.add %x, %0 {gantry.name = "sum"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.neg %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// The same graph with its ops in another order and other values: the same names.
// CHECK-LABEL: @paths_again
// CHECK: gantry.exp %{{.*}} {gantry.name = "Exp/output0.0.1"}
// CHECK: gantry.add %{{.*}}, %{{.*}} {gantry.name = "sum"}
// CHECK: gantry.neg %{{.*}} {gantry.name = "Neg/logits"}
// CHECK: gantry.relu %{{.*}} {gantry.name = "Relu/output0"}
func.func @paths_again(%input: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {gantry.name = "logits"}) {
  %e = gantry.exp %input : (tensor<4xf32>) -> tensor<4xf32>
  %s = gantry.add %input, %e {gantry.name = "sum"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %n = gantry.neg %s : (tensor<4xf32>) -> tensor<4xf32>
  %r = gantry.relu %s : (tensor<4xf32>) -> tensor<4xf32>
  return %r, %n : tensor<4xf32>, tensor<4xf32>
}

// Ops of one node share its name; numbers count from the outputs. A name that is taken is skipped.
// CHECK-LABEL: @shared
// CHECK: gantry.exp %{{.*}} {gantry.name = "node.2"}
// CHECK: gantry.neg %{{.*}} {gantry.name = "node.1"}
// CHECK: gantry.relu %{{.*}} {gantry.name = "node"}
func.func @shared(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("node")
  %1 = gantry.neg %0 {gantry.name = "node.1"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.relu %1 {gantry.name = "node"} : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Long paths are hashed.
// CHECK-LABEL: @deep
// CHECK: gantry.exp %{{.*}} {gantry.name = "Exp/~{{[0-9a-f]+}}"}
// CHECK: gantry.relu %{{.*}} {gantry.name = "Relu/output0.0.0.0.0.0.0"}
func.func @deep(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.neg %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.neg %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = gantry.neg %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = gantry.neg %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = gantry.neg %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = gantry.neg %6 : (tensor<4xf32>) -> tensor<4xf32>
  return %7 : tensor<4xf32>
}

// Parts of an op are named by their numbers, however they hang on each other, and what they read by that.
// CHECK-LABEL: @parts
// CHECK: gantry.exp %{{.*}} {gantry.name = "Exp/output0.part0.1"}
// CHECK: gantry.add_n {{.*}} {gantry.name = "AddN/output0.part0"}
// CHECK: gantry.add_n {{.*}} {gantry.name = "AddN/output0.part1"}
// CHECK: gantry.add_n {{.*}} {gantry.name = "AddN/output0"}
func.func @parts(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.add_n %x, %0 {gantry.part = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.add_n %1, %x {gantry.part = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.add_n %2, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Bodies are reached through their results: region 0 of what makes output 0, its value 0.
// CHECK-LABEL: @bodies
// CHECK: gantry.neg %{{.*}} {gantry.name = "Neg/output0.r0.0"}
// CHECK: gantry.abs %{{.*}} {gantry.name = "Abs/output0.r1.0"}
func.func @bodies(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.if %c -> (tensor<4xf32>) {
    %1 = gantry.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  } else {
    %1 = gantry.abs %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  } : tensor<i1>
  return %0 : tensor<4xf32>
}
