// RUN: gantry-opt %s | gantry-opt | FileCheck %s

// CHECK: gantry.variable @w {gantry.device = #gantry.device<"GPU:1">} = dense<5.000000e-01> : tensor<4xf32>
// CHECK: gantry.variable central @step = dense<0> : tensor<i64>
// CHECK: gantry.variable local @own = dense<0> : tensor<i64>
// CHECK: gantry.variable @"w/replica_1" mirror of @w = dense<5.000000e-01> : tensor<4xf32>
gantry.variable @w {gantry.device = #gantry.device<"GPU:1">} = dense<0.5> : tensor<4xf32>
gantry.variable central @step = dense<0> : tensor<i64>
gantry.variable local @own = dense<0> : tensor<i64>
gantry.variable @"w/replica_1" mirror of @w = dense<0.5> : tensor<4xf32>

// CHECK-LABEL: func.func @access(
// CHECK: gantry.assign_add @step, %{{.*}} : tensor<i64>
// CHECK: gantry.assign @w, %{{.*}} : tensor<4xf32>
// CHECK: gantry.read @w : tensor<4xf32>
// Reads on both sides of an assignment are two values.
// CHECK: gantry.assign @w
// CHECK: gantry.read @w
func.func @access(%one: tensor<i64>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  gantry.assign_add @step, %one : tensor<i64>
  gantry.assign @w, %x : tensor<4xf32>
  %0 = gantry.read @w : tensor<4xf32>
  %1 = gantry.add %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  gantry.assign @w, %1 : tensor<4xf32>
  %2 = gantry.read @w : tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @updates(
// CHECK: gantry.update %{{.*}} : (tensor<4xi1>) -> tensor<4xi1>
// CHECK: gantry.update_add %{{.*}}, %{{.*}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
func.func @updates(%b: tensor<4xi1>, %i: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi32>) {
  %0 = gantry.update %b : (tensor<4xi1>) -> tensor<4xi1>
  %1 = gantry.update_add %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0, %1 : tensor<4xi1>, tensor<4xi32>
}

// CHECK-LABEL: func.func @replicas(
// CHECK: gantry.replicate(%{{.*}}) on ["GPU:0", "GPU:1"] weights [2, 1] takes [split 0, broadcast, per_replica] gives [gather 0, sum, per_replica]
// CHECK: gantry.all_reduce mean %{{.*}}
func.func @replicas(%x: tensor<6x4xf32>, %b: tensor<4xf32>)
    -> (tensor<6x4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
  %y:4 = gantry.replicate (%x, %b, %b, %b) on ["GPU:0", "GPU:1"] weights [2, 1]
      takes [split 0, broadcast, per_replica] gives [gather 0, sum, per_replica]
      : (tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<6x4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%shard: tensor<?x4xf32>, %c: tensor<4xf32>, %own: tensor<4xf32>):
    %0 = gantry.add %shard, %c : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    %1 = gantry.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
    %2 = gantry.all_reduce mean %own : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0, %1, %2 : tensor<?x4xf32>, tensor<f32>, tensor<4xf32>
  }
  return %y#0, %y#1, %y#2, %y#3 : tensor<6x4xf32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @share(
// CHECK: gantry.share : tensor<f32>
func.func @share() -> tensor<f32> {
  %0 = gantry.share : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @parts(
// CHECK: gantry.replicate(%{{.*}}) on ["GPU:0", "GPU:1"] weights [2, 1] parts 8 takes [split 0] gives [sum]
// CHECK: gantry.all_reduce sum tree %{{.*}}, %{{.*}} on ["GPU:0", "GPU:0"]
func.func @parts(%x: tensor<6xf32>, %b: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] weights [2, 1] parts 8 takes [split 0] gives [sum]
      : (tensor<6xf32>) -> tensor<f32> {
  ^bb0(%shard: tensor<?xf32>):
    %0 = gantry.reduce_sum %shard {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    gantry.yield %0 : tensor<f32>
  }
  %z:2 = gantry.all_reduce sum tree %b, %b on ["GPU:0", "GPU:0"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %y, %z#0 : tensor<f32>, tensor<4xf32>
}
