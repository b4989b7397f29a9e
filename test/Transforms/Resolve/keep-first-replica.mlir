// RUN: gantry-opt %s --gantry-keep-first-replica | FileCheck %s

// The first device gets the whole, whatever its weight was; the variable is there once.
// CHECK: gantry.variable @w
// CHECK-NOT: gantry.variable
// CHECK-LABEL: func.func @r5_first(
// CHECK: gantry.replicate(%arg0) on ["GPU:1"] takes [split 0] gives [mean]
// CHECK: gantry.all_reduce
gantry.variable @w = dense<0.5> : tensor<f32>
gantry.variable @"w/replica_1" mirror of @w = dense<0.5> : tensor<f32>
func.func @r5_first(%x: tensor<6xf32>) -> tensor<f32> {
  %y = gantry.replicate (%x) on ["GPU:1", "GPU:0"] weights [0, 1] takes [split 0] gives [mean] : (tensor<6xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<?xf32>):
    %0 = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %1 = gantry.all_reduce sum %0 : (tensor<f32>) -> tensor<f32>
    gantry.assign @w, %1 : tensor<f32>
    gantry.yield %1 : tensor<f32>
  }
  return %y : tensor<f32>
}

// Of one device there is nothing to leave out.
// CHECK-LABEL: func.func @r5_one(
// CHECK: gantry.replicate(%arg0) on ["GPU:0"] takes [per_replica] gives [per_replica]
func.func @r5_one(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = gantry.replicate (%x) on ["GPU:0"] takes [per_replica] gives [per_replica] : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6xf32>):
    gantry.yield %a : tensor<6xf32>
  }
  return %y : tensor<6xf32>
}
