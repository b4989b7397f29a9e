// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-collectives{small-bytes=16}))' | FileCheck %s --enable-var-scope
// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-collectives{small-bytes=16}))' --verify-diagnostics -o /dev/null

// One device has all parts, and adds each half as soon as it is there: behind the last part two sums wait.
// CHECK-LABEL: func.func @t4_one_device(
// CHECK: %[[P0:.*]] = gantry.relu
// CHECK-NEXT: %[[P1:.*]] = gantry.neg
// CHECK-NEXT: %[[S01:.*]] = gantry.add_n %[[P0]], %[[P1]] {gantry.device = #gantry.device<"CPU:0">, gantry.name = "g/parts_0_to_1/replica_0"}
// CHECK-NEXT: %[[P2:.*]] = gantry.exp
// CHECK-NEXT: %[[P3:.*]] = gantry.tanh
// CHECK-NEXT: %[[S23:.*]] = gantry.add_n %[[P2]], %[[P3]]
// CHECK-NEXT: %[[S03:.*]] = gantry.add_n %[[S01]], %[[S23]]
// CHECK-NEXT: %[[P4:.*]] = gantry.sin
// CHECK-NEXT: %[[S:.*]] = gantry.add_n %[[S03]], %[[P4]] {gantry.device = #gantry.device<"CPU:0">, gantry.name = "g/parts_0_to_4/replica_0"}
// CHECK-NEXT: return %[[S]]
// expected-remark@below {{what parts give is added in a tree: on 'CPU:0' up to 2 sums of each of 1 values wait for others, 32 bytes in all}}
func.func @t4_one_device(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %4 = gantry.sin %x : (tensor<4xf32>) -> tensor<4xf32>
  %s:5 = gantry.all_reduce sum tree %0, %1, %2, %3, %4 on ["CPU:0", "CPU:0", "CPU:0", "CPU:0", "CPU:0"] {gantry.name = "g"}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %s#0 : tensor<4xf32>
}

// The same tree of the same parts on two devices: GPU:0 has no whole sum of parts 2 and 3. What
// nobody reads is not made.
// CHECK-LABEL: func.func @small(
// CHECK-SAME: %[[A:[^:]*]]: tensor<4xf32>, %[[B:[^:]*]]: tensor<4xf32>, %[[C:[^:]*]]: tensor<4xf32>, %[[D:[^:]*]]: tensor<4xf32>
// CHECK-NEXT: %[[AB:.*]] = gantry.add_n %[[A]], %[[B]] {gantry.device = #gantry.device<"GPU:0">
// CHECK-NEXT: %[[CD:.*]] = gantry.add %[[C]], %[[D]] {gantry.device = #gantry.device<"GPU:1">
// CHECK-NEXT: %[[S:.*]] = gantry.add %[[AB]], %[[CD]] {gantry.device = #gantry.device<"GPU:1">, gantry.name = "g/sum/parts_0_to_3/replica_1"}
// CHECK-NEXT: return %[[S]]
// expected-remark@below {{what parts give is added in a tree: on 'GPU:0' up to 1 sums of each of 1 values wait for others, 16 bytes in all}}
func.func @small(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %s:4 = gantry.all_reduce sum tree %a, %b, %c, %d on ["GPU:0", "GPU:0", "GPU:0", "GPU:1"] {gantry.name = "g"}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %s#3 : tensor<4xf32>
}

// Values of many bytes are exchanged in chunks: those of what devices have added up for themselves.
// CHECK-LABEL: func.func @t4_exchange(
// CHECK-SAME: %[[A:[^:]*]]: tensor<8xf32>, %[[B:[^:]*]]: tensor<8xf32>, %[[C:[^:]*]]: tensor<8xf32>
// CHECK-NEXT: %[[AB:.*]] = gantry.add_n %[[A]], %[[B]] {gantry.device = #gantry.device<"GPU:0">}
// CHECK-NEXT: %[[AB0:.*]] = gantry.slice %[[AB]] {gantry.device = #gantry.device<"GPU:0">, sizes = array<i64: 4>, starts = array<i64: 0>
// CHECK-NEXT: %[[C0:.*]] = gantry.slice %[[C]] {gantry.device = #gantry.device<"GPU:1">, sizes = array<i64: 4>, starts = array<i64: 0>
// CHECK-NEXT: %[[S0:.*]] = gantry.add %[[AB0]], %[[C0]] {gantry.device = #gantry.device<"GPU:0">}
// CHECK-NEXT: %[[F:.*]] = gantry.constant dense<0.333333343>
// CHECK-NEXT: %[[M0:.*]] = gantry.mul %[[S0]], %[[F]] {gantry.device = #gantry.device<"GPU:0">}
// CHECK: %[[S1:.*]] = gantry.add {{.*}}GPU:1"
// CHECK: %[[M1:.*]] = gantry.mul %[[S1]]
// CHECK: gantry.concat %[[M0]], %[[M1]] {axis = 0 : i64, gantry.device = #gantry.device<"GPU:0">}
// CHECK: gantry.concat %[[M0]], %[[M1]] {axis = 0 : i64, gantry.device = #gantry.device<"GPU:1">}
// expected-remark@below {{what parts give is added in a tree: on 'GPU:0' up to 1 sums of each of 1 values wait for others, 32 bytes in all}}
func.func @t4_exchange(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %s:3 = gantry.all_reduce mean tree %a, %b, %c on ["GPU:0", "GPU:0", "GPU:1"] : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %s#1, %s#2 : tensor<8xf32>, tensor<8xf32>
}
