// What depends on constants alone is computed when a plan is loaded.
// RUN: gantry-opt %s --gantry-evaluate-once | FileCheck %s
// RUN: gantry-opt %s --gantry-evaluate-once --gantry-evaluate-once | FileCheck %s
// RUN: gantry-opt %S/Inputs/evaluated-once.mlir --gantry-evaluate-once | FileCheck %S/Inputs/evaluated-once.mlir

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  // A product of weights goes, and its copy with it; what was between is gone.
  // CHECK-LABEL: func.func @main(
  // CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
  // CHECK-SAME: %[[ONCE:[a-z0-9]+]]: tensor<4x4xf32> {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">, gantry.once = 0 : i64}
  // CHECK-NOT: gantry.copy
  // CHECK: %[[Y:.*]] = gantry.matmul %[[X]], %[[ONCE]]
  // CHECK-NEXT: return %[[Y]]
  func.func @main(%x: tensor<4x4xf32> {gantry.device = #gpu}) -> (tensor<4x4xf32> {gantry.device = #gpu}) {
    %a = gantry.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<4x4xf32>
    %b = gantry.matmul %a, %a {gantry.device = #cpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %c = gantry.copy %b to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4x4xf32>
    %y = gantry.matmul %x, %c {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }

  // Another function shares it.
  // CHECK-LABEL: func.func @other(
  // CHECK-SAME: gantry.once = 0 : i64
  func.func @other(%x: tensor<4x4xf32> {gantry.device = #gpu}) -> (tensor<4x4xf32> {gantry.device = #gpu}) {
    %a = gantry.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<4x4xf32>
    %b = gantry.matmul %a, %a {gantry.device = #cpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %c = gantry.copy %b to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4x4xf32>
    %y = gantry.matmul %c, %x {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }

  // What grows element by element stays: it would take more memory than it saves time. So does a copy that is
  // to be made in each run.
  // CHECK-LABEL: func.func @stays(
  // CHECK-NOT: gantry.once
  // CHECK: gantry.mul
  // CHECK: gantry.copy {{.*}} force
  // CHECK: return
  func.func @stays(%x: tensor<4x4xf32> {gantry.device = #gpu}) -> (tensor<4x4xf32> {gantry.device = #gpu}) {
    %a = gantry.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
    %b = gantry.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %c = gantry.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
    %m = gantry.mul %a, %b {gantry.device = #gpu} : (tensor<4x1xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %d = gantry.copy %c to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<1x4xf32>
    %y = gantry.add %x, %m {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %z = gantry.add %y, %d {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
    return %z : tensor<4x4xf32>
  }

  // A product would have it made in each run.
  // CHECK-LABEL: func.func @weight(
  // CHECK-SAME: gantry.once = 1 : i64
  func.func @weight(%x: tensor<4x4xf32> {gantry.device = #gpu}) -> (tensor<4x4xf32> {gantry.device = #gpu}) {
    %a = gantry.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
    %b = gantry.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %m = gantry.mul %a, %b {gantry.device = #gpu} : (tensor<4x1xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %y = gantry.matmul %x, %m {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }

  // Zeros under a scatter are written in each run all the same.
  // CHECK-LABEL: func.func @updated(
  // CHECK-SAME: %{{[^:]*}}: tensor<2x1xi64> {{[^%]*}}, %{{[^:]*}}: tensor<2x4xf32> {{[^%]*}}) ->
  // CHECK: gantry.broadcast
  func.func @updated(%i: tensor<2x1xi64> {gantry.device = #gpu}, %x: tensor<2x4xf32> {gantry.device = #gpu}) -> (tensor<8x4xf32> {gantry.device = #gpu}) {
    %zero = gantry.constant dense<0.0> : tensor<f32>
    %z = gantry.broadcast %zero {gantry.device = #gpu} : (tensor<f32>) -> tensor<8x4xf32>
    %y = gantry.scatter_nd %z, %i, %x {gantry.device = #gpu, reduction = #gantry<reduction add>} : (tensor<8x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }

  // To run what is nothing but constants is what was asked for.
  // CHECK-LABEL: func.func @constants()
  // CHECK: gantry.matmul
  func.func @constants() -> (tensor<4x4xf32> {gantry.device = #gpu}) {
    %a = gantry.constant dense<2.0> : tensor<4x4xf32>
    %b = gantry.matmul %a, %a {gantry.device = #gpu} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %b : tensor<4x4xf32>
  }

  // CHECK-LABEL: func.func @at_load() -> (tensor<4x4xf32> {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">}, tensor<4x4xf32> {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">})
  // CHECK-SAME: attributes {gantry.at_load}
  // CHECK: %[[A:.*]] = gantry.constant
  // CHECK-NEXT: %[[B:.*]] = gantry.matmul %[[A]], %[[A]]
  // CHECK-NEXT: %[[C:.*]] = gantry.copy %[[B]]
  // CHECK: %[[M:.*]] = gantry.mul
  // CHECK-NEXT: return %[[C]], %[[M]] : tensor<4x4xf32>, tensor<4x4xf32>
}
