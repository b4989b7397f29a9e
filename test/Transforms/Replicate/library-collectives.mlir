// RUN: gantry-opt %s --verify-diagnostics --pass-pipeline='builtin.module(func.func(gantry-expand-collectives{small-bytes=16}))' | FileCheck %s --enable-var-scope

// A part for each rank where the library does it, else the exchange; one mean behind both.
// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK: %[[NEVER:.*]] = gantry.constant dense<false>
// CHECK: %[[R:.*]]:2 = gantry.if %[[NEVER]]
// CHECK-NEXT: %[[P0:.*]] = gantry.all_reduce sum %[[A]] on ["/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/replica:0/task:0/device:GPU:1"] {{{.*}}device:GPU:0">, gantry.name = "g/part/replica_0", gantry.rank = 0 : i64}
// CHECK-NEXT: %[[P1:.*]] = gantry.all_reduce sum %[[B]] on {{.*}}gantry.rank = 1 : i64}
// CHECK-NEXT: gantry.yield %[[P0]], %[[P1]]
// CHECK: else
// CHECK-NOT: gantry.mul
// CHECK: gantry.concat
// CHECK: gantry.concat
// CHECK: gantry.library = "nccl"
// CHECK: gantry.mul %[[R]]#0
// CHECK: gantry.mul %[[R]]#1
module attributes {gantry.targets = #gantry.targets<libraries = ["nccl"]>, gantry.topology = #gantry.topology<[<"/device:CPU:0">, <"/device:GPU:0">, <"/device:GPU:1">], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"},
                {driver = "cuda", name = "/physical_device:GPU:1"}],
    logical = [{physical = 0}, {physical = 1}, {physical = 2}]}>} {
  func.func @both(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0:2 = gantry.all_reduce mean %a, %b on ["GPU:0", "GPU:1"] {gantry.name = "g"} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
  }

  // Small values are added up where they are wanted.
  // CHECK-LABEL: func.func @small(
  // CHECK-NOT: gantry.if
  // CHECK: return
  func.func @small(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0:2 = gantry.all_reduce sum %a, %b on ["GPU:0", "GPU:1"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0 : tensor<4xf32>
  }

  // CHECK-LABEL: func.func @cpu(
  // CHECK-NOT: gantry.if
  // CHECK: return
  func.func @cpu(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
    // expected-remark @below {{is done by direct exchange, not by NCCL: 'CPU:0' is no GPU}}
    %0:2 = gantry.all_reduce sum %a, %b on ["GPU:0", "CPU:0"] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    return %0#0 : tensor<8xf32>
  }

  // CHECK-LABEL: func.func @shorts(
  // CHECK-NOT: gantry.if
  // CHECK: return
  func.func @shorts(%a: tensor<16xi16>, %b: tensor<16xi16>) -> tensor<16xi16> {
    // expected-remark @below {{is done by direct exchange, not by NCCL: it does not add i16}}
    %0:2 = gantry.all_reduce sum %a, %b on ["GPU:0", "GPU:1"] : (tensor<16xi16>, tensor<16xi16>) -> (tensor<16xi16>, tensor<16xi16>)
    return %0#0 : tensor<16xi16>
  }
}
