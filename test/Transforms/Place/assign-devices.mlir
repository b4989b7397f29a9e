// RUN: gantry-opt %s --gantry-assign-devices --mlir-print-local-scope | FileCheck %s

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">, #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">]>} {

// A request is obeyed; the op then has the device's full name.
// CHECK-LABEL: @p1_request_is_obeyed(
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">{{[,}]}}
func.func @p1_request_is_obeyed(%x: tensor<4xf32>) {
  %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// A partial request means any device that it matches: the best of them.
// CHECK-LABEL: @p3_partial_request(
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">{{[,}]}}
// CHECK: gantry.exp %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">{{[,}]}}
func.func @p3_partial_request(%x: tensor<4xf32>) {
  %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU">} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.exp %x {gantry.device = #gantry.device<"/job:localhost">} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// Without a request GPUs come before CPUs, then the lowest id; in bodies of control flow as well.
// Constants get none.
// CHECK-LABEL: @p6_default(
// CHECK: gantry.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: gantry.add %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">{{[,}]}}
// CHECK: gantry.if
// CHECK: gantry.neg %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">{{[,}]}}
func.func @p6_default(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
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


// What has no kernel on GPUs goes to the CPU; the log can say why.
// CHECK-LABEL: @p6_kernels(
// CHECK: tosa.sub %{{.*}} {{{.*}}gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, gantry.placement = #gantry.decision<"default", "GPUs before CPUs, then the lowest id", rejected = ["GPU:0: no kernel for 'TosaSub' of f32", "GPU:1: no kernel for 'TosaSub' of f32"]>
func.func @p6_kernels(%x: tensor<4xf32>) {
  %0 = tosa.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// Ends live on the host unless they say otherwise; a request there is one like others.
// CHECK-LABEL: @p16_ends(
// CHECK-SAME: tensor<4xf32> {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">}, %{{.*}}: tensor<4xf32>)
// CHECK-SAME: -> (tensor<4xf32> {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">})
func.func @p16_ends(%x: tensor<4xf32> {gantry.device = #gantry.device<"GPU">}, %y: tensor<4xf32>)
    -> (tensor<4xf32> {gantry.device = #gantry.device<"GPU:1">}) {
  %0 = gantry.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A view has the bytes of its operand: what asks for it elsewhere gets a copy of the operand.
// CHECK-LABEL: @p1_view_elsewhere(
// CHECK: %[[A:.*]] = gantry.abs
// CHECK: %[[C:.*]] = gantry.copy %[[A]] to "/job:localhost/replica:0/task:0/device:GPU:1"
// CHECK: gantry.reshape %[[C]] : (tensor<4xf32>) -> tensor<2x2xf32>
// CHECK: gantry.reshape %[[A]] : (tensor<4xf32>) -> tensor<2x2xf32>
func.func @p1_view_elsewhere(%x: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = gantry.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.reshape %0 {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<2x2xf32>
  %2 = gantry.reshape %0 {gantry.device = #gantry.device<"GPU">} : (tensor<4xf32>) -> tensor<2x2xf32>
  return %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}

// A copy to any GPU stays where the value is when that is one; else it goes to the best.
// CHECK-LABEL: @x1_copy_to_a_type(
// CHECK: gantry.copy %{{.*}} to "/job:localhost/replica:0/task:0/device:GPU:1" : tensor<4xf32>
// CHECK: gantry.copy %{{.*}} to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
func.func @x1_copy_to_a_type(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.abs %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.copy %0 to "GPU" : tensor<4xf32>
  %2 = gantry.copy %x to "GPU" : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// A constant that asks for a device has one.
// CHECK-LABEL: @p7_constants(
// CHECK: gantry.constant {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">}
func.func @p7_constants() -> tensor<2xf32> {
  %0 = gantry.constant {gantry.device = #gantry.device<"GPU:1">} dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = gantry.abs %0 : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

}
