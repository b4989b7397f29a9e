// RUN: gantry-opt %s --gantry-assign-devices --mlir-print-local-scope | FileCheck %s

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">, #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">]>} {

// A request is obeyed; the op then has the device's full name.
// CHECK-LABEL: @p1_request_is_obeyed(
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">}
func.func @p1_request_is_obeyed(%x: tensor<4xf32>) {
  %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// A partial request means any device that it matches: here the first one.
// CHECK-LABEL: @p3_partial_request(
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">}
// CHECK: gantry.exp %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">}
func.func @p3_partial_request(%x: tensor<4xf32>) {
  %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU">} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.exp %x {gantry.device = #gantry.device<"/job:localhost">} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// Without a request the first device; in bodies of control flow as well. Constants get none.
// CHECK-LABEL: @default(
// CHECK: gantry.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: gantry.add %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">}
// CHECK: gantry.if
// CHECK: gantry.neg %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">}
func.func @default(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %one = gantry.constant dense<1.0> : tensor<4xf32>
  %0 = gantry.add %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.if %c -> (tensor<4xf32>) {
    %2 = gantry.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %2 : tensor<4xf32>
  } else {
    gantry.yield %0 : tensor<4xf32>
  } : tensor<i1>
  return %1 : tensor<4xf32>
}

}
