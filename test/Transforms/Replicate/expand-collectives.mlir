// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-collectives{small-bytes=16 piece-bytes=16}))' | FileCheck %s --enable-var-scope

// Small values are added up where they are wanted, each time in the order of the ranks.
// CHECK-LABEL: func.func @r3_small(
// CHECK-SAME: %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[S0:.*]] = gantry.add_n %[[A]], %[[B]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "g/sum/replica_0"}
// CHECK-NEXT: %[[S1:.*]] = gantry.add_n %[[A]], %[[B]] {gantry.device = #gantry.device<"GPU:1">, gantry.name = "g/sum/replica_1"}
// CHECK-NEXT: return %[[S0]], %[[S1]]
func.func @r3_small(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = gantry.all_reduce sum %a, %b on ["GPU:0", "GPU:1"] {gantry.name = "g"} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// Chunk i of all is cut where it is, added up by rank i, and joined by every rank.
// CHECK-LABEL: func.func @r3_exchange(
// CHECK-SAME: %[[A:.*]]: tensor<2x4xf32>, %[[B:.*]]: tensor<2x4xf32>
// CHECK: %[[FA:.*]] = gantry.reshape %[[A]] : (tensor<2x4xf32>) -> tensor<8xf32>
// CHECK: %[[FB:.*]] = gantry.reshape %[[B]]
// CHECK: %[[A0:.*]] = gantry.slice %[[FA]] {gantry.device = #gantry.device<"GPU:0">, sizes = array<i64: 4>, starts = array<i64: 0>
// CHECK: %[[B0:.*]] = gantry.slice %[[FB]] {gantry.device = #gantry.device<"GPU:1">, sizes = array<i64: 4>, starts = array<i64: 0>
// CHECK: %[[S0:.*]] = gantry.add_n %[[A0]], %[[B0]] {gantry.device = #gantry.device<"GPU:0">}
// CHECK: %[[A1:.*]] = gantry.slice %[[FA]] {gantry.device = #gantry.device<"GPU:0">, sizes = array<i64: 4>, starts = array<i64: 4>
// CHECK: %[[B1:.*]] = gantry.slice %[[FB]] {gantry.device = #gantry.device<"GPU:1">, sizes = array<i64: 4>, starts = array<i64: 4>
// CHECK: %[[S1:.*]] = gantry.add_n %[[A1]], %[[B1]] {gantry.device = #gantry.device<"GPU:1">}
// CHECK: gantry.concat %[[S0]], %[[S1]] {axis = 0 : i64, gantry.device = #gantry.device<"GPU:0">}
// CHECK: gantry.concat %[[S0]], %[[S1]] {axis = 0 : i64, gantry.device = #gantry.device<"GPU:1">}
func.func @r3_exchange(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0:2 = gantry.all_reduce sum %a, %b on ["GPU:0", "GPU:1"] : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// 5 elements on 3 ranks: chunks of 2, 2 and 1. Equal shares are one division of the sum.
// CHECK-LABEL: func.func @uneven(
// CHECK-COUNT-3: gantry.slice {{.*}}sizes = array<i64: 2>, starts = array<i64: 0>
// CHECK: gantry.add_n {{.*}}GPU:0"
// CHECK: gantry.constant dense<0.333333343>
// CHECK: gantry.mul {{.*}}GPU:0"
// CHECK-COUNT-3: gantry.slice {{.*}}sizes = array<i64: 2>, starts = array<i64: 2>
// CHECK-COUNT-3: gantry.slice {{.*}}sizes = array<i64: 1>, starts = array<i64: 4>
// CHECK-COUNT-3: gantry.concat {{.*}} : (tensor<2xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<5xf32>
func.func @uneven(%a: tensor<5xf32>) -> tensor<5xf32> {
  %0:3 = gantry.all_reduce mean %a, %a, %a on ["GPU:0", "GPU:1", "GPU:2"] : (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>)
  return %0#2 : tensor<5xf32>
}

// Other shares are taken before the sum.
// CHECK-LABEL: func.func @weighted(
// CHECK: gantry.constant dense<7.500000e-01>
// CHECK: %[[A:.*]] = gantry.mul {{.*}}GPU:0"
// CHECK: gantry.constant dense<2.500000e-01>
// CHECK: %[[B:.*]] = gantry.mul {{.*}}GPU:1"
// CHECK: gantry.add_n %[[A]], %[[B]]
// CHECK-NOT: gantry.mul
func.func @weighted(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.all_reduce mean %a, %b on ["GPU:0", "GPU:1"] weights [3, 1] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4xf32>
}

// Chunks of 64 bytes go in pieces of 16.
// CHECK-LABEL: func.func @pieces(
// CHECK-COUNT-8: gantry.add_n {{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT: gantry.add_n
func.func @pieces(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> {
  %0:2 = gantry.all_reduce sum %a, %b on ["GPU:0", "GPU:1"] : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
  return %0#0 : tensor<32xf32>
}
