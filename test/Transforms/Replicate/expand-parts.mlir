// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-replicas))' | FileCheck %s --enable-var-scope

// 7 rows in 4 parts are 2, 2, 2 and 1, of which each device has two. What comes of the shard is made for
// each part, what comes of the sum for each device, and what parts give is added in a tree.
// CHECK-LABEL: func.func @t4_parts(
// CHECK-SAME: %[[X:.*]]: tensor<7xf32>, %[[W:.*]]: tensor<f32>
// CHECK: %[[X0:.*]] = gantry.slice %[[X]] {{.*}}sizes = array<i64: 2>, starts = array<i64: 0>
// CHECK: %[[X1:.*]] = gantry.slice %[[X]] {{.*}}sizes = array<i64: 2>, starts = array<i64: 2>
// CHECK: %[[X2:.*]] = gantry.slice %[[X]] {{.*}}sizes = array<i64: 2>, starts = array<i64: 4>
// CHECK: %[[X3:.*]] = gantry.slice %[[X]] {{.*}}sizes = array<i64: 1>, starts = array<i64: 6>
// CHECK: %[[G0:.*]] = gantry.reduce_sum %[[X0]] {{.*}}GPU:0">, gantry.name = "g/part_0"
// CHECK: %[[G1:.*]] = gantry.reduce_sum %[[X1]] {{.*}}GPU:0">, gantry.name = "g/part_1"
// CHECK: %[[G2:.*]] = gantry.reduce_sum %[[X2]] {{.*}}GPU:1">, gantry.name = "g/part_2"
// CHECK: %[[G3:.*]] = gantry.reduce_sum %[[X3]] {{.*}}GPU:1">, gantry.name = "g/part_3"
// CHECK: %[[S:.*]]:4 = gantry.all_reduce sum tree %[[G0]], %[[G1]], %[[G2]], %[[G3]] on ["GPU:0", "GPU:0", "GPU:1", "GPU:1"]
// CHECK: gantry.mul %[[S]]#0, %[[W]] {{.*}}GPU:0">, gantry.name = "step/replica_0"
// CHECK-NEXT: gantry.mul %[[S]]#2, %[[W]] {{.*}}GPU:1">, gantry.name = "step/replica_1"
// CHECK-NOT: gantry.mul
// CHECK: return
func.func @t4_parts(%x: tensor<7xf32>, %w: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %y:2 = gantry.replicate (%x, %w) on ["GPU:0", "GPU:1"] parts 4 takes [split 0, broadcast] gives [per_replica]
      : (tensor<7xf32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%shard: tensor<?xf32>, %v: tensor<f32>):
    %g = gantry.reduce_sum %shard {axes = array<i64: 0>, gantry.name = "g"} : (tensor<?xf32>) -> tensor<f32>
    %s = gantry.all_reduce sum %g : (tensor<f32>) -> tensor<f32>
    %0 = gantry.mul %s, %v {gantry.name = "step"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    gantry.yield %0 : tensor<f32>
  }
  return %y#0, %y#1 : tensor<f32>, tensor<f32>
}

// 8 parts of three devices are 3, 3, 2, of weights 1, 0, 3 two, none and six: one without parts has the
// others' sum, and computes what is its own alone.
// CHECK-LABEL: func.func @dealt(
// CHECK: gantry.all_reduce sum tree {{.*}} on ["GPU:0", "GPU:0", "GPU:0", "GPU:1", "GPU:1", "GPU:1", "GPU:2", "GPU:2"]
// CHECK: %[[S:.*]]:8 = gantry.all_reduce sum tree {{.*}} on ["GPU:0", "GPU:0", "GPU:2", "GPU:2", "GPU:2", "GPU:2", "GPU:2", "GPU:2"]
// CHECK: %[[A:.*]] = gantry.neg %[[S]]#0 {{.*}}GPU:0"
// CHECK: %[[C:.*]] = gantry.neg %[[S]]#2 {{.*}}GPU:2"
// CHECK: %[[B:.*]] = gantry.neg %[[S]]#0 {{.*}}GPU:1"
// CHECK: return {{.*}}, %[[A]], %[[B]], %[[C]]
func.func @dealt(%x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1", "GPU:2"] parts 8 takes [split 0] gives [sum]
      : (tensor<8xf32>) -> tensor<f32> {
  ^bb0(%shard: tensor<?xf32>):
    %g = gantry.reduce_sum %shard {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    gantry.yield %g : tensor<f32>
  }
  %z:3 = gantry.replicate (%x) on ["GPU:0", "GPU:1", "GPU:2"] weights [1, 0, 3] parts 8 takes [split 0] gives [per_replica]
      : (tensor<8xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  ^bb0(%shard: tensor<?xf32>):
    %g = gantry.reduce_sum %shard {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %s = gantry.all_reduce sum %g : (tensor<f32>) -> tensor<f32>
    %0 = gantry.neg %s : (tensor<f32>) -> tensor<f32>
    gantry.yield %0 : tensor<f32>
  }
  return %y, %z#0, %z#1, %z#2 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// 5 rows in 4 parts are 2, 2, 1: three parts, a mean of which weighs them by their rows. Rows are joined.
// CHECK-LABEL: func.func @fewer_rows(
// CHECK-DAG: gantry.constant dense<4.000000e-01>
// CHECK-DAG: gantry.constant dense<2.000000e-01>
// CHECK: gantry.all_reduce sum tree {{[^,]*}}, {{[^,]*}}, {{[^,]*}} on ["GPU:0", "GPU:0", "GPU:1"]
// CHECK: gantry.concat {{[^,]*}}, {{[^,]*}}, {{[^,]*}} {axis = 0
func.func @fewer_rows(%x: tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %y:2 = gantry.replicate (%x) on ["GPU:0", "GPU:1"] parts 4 takes [split 0] gives [mean, gather 0]
      : (tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  ^bb0(%shard: tensor<?xf32>):
    %m = gantry.reduce_mean %shard {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %0 = gantry.relu %shard : (tensor<?xf32>) -> tensor<?xf32>
    gantry.yield %m, %0 : tensor<f32>, tensor<?xf32>
  }
  return %y#0, %y#1 : tensor<f32>, tensor<5xf32>
}
